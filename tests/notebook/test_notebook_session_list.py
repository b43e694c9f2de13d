"""Sessions in a list, and their names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi_nb.session.preview import preview
from pi_nb.session.repo import SessionRepo


def test_a_session_without_a_name_is_known_by_what_was_said(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """A line has the id, the time, the size, the name or the first prompt, and where a copy came from."""
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME="/notebooks/list.ipynb", PI_NB_MODEL="scripted:demo")
    kernel.run("%load_ext pi_nb\n%pi_session new")
    kernel.run("%pi where do the boats go in winter?")
    first = kernel.run("print(__import__('pi_nb').notebook.current().session.id[-8:])").stream.strip()
    kernel.run("%pi_session name Two words")
    fork = kernel.run("%pi_session fork").stream
    assert "'Two words (fork)', " in fork
    assert fork.startswith("You are now in ")
    assert f"a copy of {first} 'Two words', which stays as it is. Back: %pi_session open {first}\n" in fork
    lost = kernel.run("%pi_checkout nowhere").error
    assert f"This session is a copy; what was not copied is in '{first}'." in lost
    kernel.run("%pi_session new")
    kernel.run("%pi and where in summer?")
    newest, copied, oldest = kernel.run("%pi_session list").stream.splitlines()
    assert re.match(r"▸ \w{8}  \d{4}-\d\d-\d\d \d\d:\d\d  2 entries  “and where in summer.”", newest)
    assert f"Two words (fork)  copy of {first}" in copied
    assert re.match(rf"  {first}  .*  3 entries  Two words", oldest)
    assert "'Two words'" in kernel.run("%pi_session open Two words").stream
    kernel.run("%pi_session open Two words (fork)")
    assert "'Two words (fork) (fork)'" in kernel.run("%pi_session fork").stream
    assert kernel.run("%pi_session open Tow words").error.endswith("Did you mean 'Two words' or 'Two words (fork)'?")
    assert kernel.run("%pi_session delete --yes Two words").stream.startswith("Deleted ")
    assert kernel.run("%pi_session --yes delete Two words (fork)").stream.startswith("Deleted ")


def test_a_name_of_several_sessions_lists_their_ids(tmp_path: Path) -> None:
    """Ids, not paths; a copied file has the same id, so then it is the files."""
    repo = SessionRepo(tmp_path)
    files = []
    for id in ("one-1", "two-2"):
        with repo.create(tmp_path, id=id) as session:
            session.append_session_info("same")
            session.append_message({"role": "user", "content": "x", "timestamp": 1})
            files.append(session.file)
    message = _refusal(repo, "same")
    assert message == "'same' fits 2 sessions: two-2, one-1."
    files[1].unlink()
    (files[0].parent / "copy.jsonl").write_bytes(files[0].read_bytes())
    assert "copy.jsonl" in _refusal(repo, "same")


def _refusal(repo: SessionRepo, ref: str) -> str:
    try:
        repo.resolve(ref)
    except Exception as error:
        return str(error)
    raise AssertionError("resolved")


def test_a_preview_of_any_file(tmp_path: Path) -> None:
    """Bad lines are counted and passed over; a file that is not there has nothing."""
    file = tmp_path / "x.jsonl"
    rows = [
        {"type": "session"},
        {"type": "message", "message": {"role": "assistant", "content": 'to a "user"'}},
        {
            "type": "message",
            "message": {"role": "user", "content": [{"type": "text", "text": "a\n b"}, {"type": "image"}]},
        },
    ]
    file.write_text('{bad "user"\n'.join(json.dumps(row) + "\n" for row in rows) + "\n")
    assert (preview(file).entries, preview(file).first_prompt) == (4, "a b")
    assert preview(tmp_path / "none").entries == 0
