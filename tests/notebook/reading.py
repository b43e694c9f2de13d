"""Reading what a kernel's session holds."""

from __future__ import annotations

import json
from typing import Any


def entries(kernel: Any) -> list[dict[str, Any]]:
    """Return the entries of the kernel's session."""
    code = "import json as _json; print(_json.dumps([e.to_wire() for e in _nb.current().session.entries()]))"
    return list(json.loads(kernel.run(code).stream))


def roles(kernel: Any) -> list[str]:
    """Return the kinds of the entries, messages by role."""
    return [e["message"]["role"] if e["type"] == "message" else e["type"] for e in entries(kernel)]
