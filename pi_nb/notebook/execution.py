"""Running code in the user's namespace as a cell would, but for its history: output collected, errors told shortly."""

from __future__ import annotations

import ast
import linecache
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

from pi_nb.notebook.capture import Capture

__all__ = ["execute", "short_traceback"]

NO_AWAIT = "Top-level await is not possible here; run it in a thread of its own.\n"
MAX_FRAMES = 8  # of a traceback, from its end


def execute(ip: Any, code: str, capture: Capture) -> bool:
    """Run code on this thread, in the user's namespace; what it says, its value and its error go to ``capture``.

    Returns:
        Whether it ended without an error.

    Raises:
        KeyboardInterrupt: It was interrupted.
    """
    name = ""
    with capture.collecting(), ip.builtin_trap, _no_exit(ip):
        try:
            source = ip.transform_cell(code)
            name = ip.compile.cache(source, ip.execution_count, raw_code=code)
            statements, last = _compiled(ip, source, name)
            exec(statements, ip.user_global_ns, ip.user_ns)  # noqa: S102 - this is what it is for
            if last is not None:
                _show_value(ip, eval(last, ip.user_global_ns, ip.user_ns), capture)  # noqa: S307
            return True
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            capture.say(_on_new_line(capture) + short_traceback(error, name))
            return False


def _compiled(ip: Any, source: str, name: str) -> tuple[CodeType, CodeType | None]:
    """Return the statements, and the last expression if the code ends in one.

    Raises:
        SyntaxError: It is no Python.
    """
    tree = ip.transform_ast(ip.compile.ast_parse(source, filename=name))
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ip.compile(ast.Expression(tree.body.pop().value), name, "eval")
    return ip.compile(tree, name, "exec"), last


def _show_value(ip: Any, value: Any, capture: Capture) -> None:
    if value is not None:
        data, _ = ip.display_formatter.format(value)
        capture.say(_on_new_line(capture))
        capture.show(data)


def _on_new_line(capture: Capture) -> str:
    data, _ = capture.output.end()
    return "\n" if data and not data.endswith(b"\n") else ""


@contextmanager
def _no_exit(ip: Any) -> Iterator[None]:
    """Keep ``exit()`` from ending the kernel: it is the user's."""

    def refuse(*_: Any) -> None:
        raise SystemExit("the kernel is the user's and goes on")

    ip.ask_exit = refuse
    try:
        yield
    finally:
        del ip.ask_exit


# ---------------------------------------------------------------- errors


def short_traceback(error: BaseException, name: str) -> str:
    """Return a traceback of the user's own frames, without colours; ``name`` is the file name the code was given."""
    whole = traceback.TracebackException.from_exception(error)
    for part in _chain(whole):
        part.stack[:] = [frame for frame in part.stack if _is_users(frame.filename)][-MAX_FRAMES:]
    text = "".join(whole.format()).replace(f'File "{name}"', "The code")
    return text + ("" if "'await' outside" not in text else NO_AWAIT)


def _chain(part: traceback.TracebackException | None) -> Iterator[traceback.TracebackException]:
    """Yield an error with its causes, and those of a group."""
    while part is not None:
        yield part
        for member in getattr(part, "exceptions", None) or ():
            yield from _chain(member)
        part = part.__cause__ or part.__context__


_LIBRARIES = [Path(sysconfig.get_paths()[kind]).resolve() for kind in ("stdlib", "purelib", "platlib")]
_NOT_USERS = (*_LIBRARIES, Path(__file__).resolve().parents[1])


def _is_users(filename: str) -> bool:
    """Return whether a frame is of code the user wrote, or the model, in a cell or a file of theirs."""
    if filename.startswith("<") and filename not in linecache.cache:
        return False
    place = Path(filename).resolve()
    return not any(place.is_relative_to(folder) for folder in _NOT_USERS)
