"""Keys that stand in the environment of every test, and the search for them in all that a run leaves behind.

Each key holds the same rare piece of text, so that one search finds them all: in files, in what tests print, log and
show when they fail, and in warnings; plain, as in JSON, as in addresses, in base64, in hex, and in archives.
"""

from __future__ import annotations

import gzip
import os
import time
import zipfile
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final
from urllib.parse import quote

import pytest

PIECE: Final = "".join(reversed("4nTp~Bv5Wx+39dK/7qZ"))  # so that it does not stand in this file, nor in its bytecode
VARIABLES: Final = (
    "ANTHROPIC_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_COMPATIBLE_API_KEY",
    "OPENROUTER_API_KEY",
    "PI_NB_TEST_API_KEY",
)
KEYS: Final = {name: f"sk-{name[:4].lower()}-{PIECE}-{number:04}" for number, name in enumerate(VARIABLES)}
_BLOCK: Final = 1 << 22
_LARGEST_ARCHIVE: Final = 200_000_000


def _forms(piece: str) -> Iterator[bytes]:
    """Yield the piece as it may be written, also in the middle of something encoded."""
    raw = piece.encode()
    yield from (raw, raw.replace(b"/", b"\\/"), quote(piece, safe="").encode(), quote(piece).encode())
    yield from (raw.hex().encode(), raw.hex().upper().encode())
    for before in range(3):
        encoded = b64encode(b"\0" * before + raw)
        whole = encoded[-(-before * 4 // 3) : (before + len(raw)) // 3 * 4]  # what depends on nothing but the piece
        yield from (whole, whole.replace(b"+", b"-").replace(b"/", b"_"))


FORMS: Final = tuple(sorted(set(_forms(PIECE))))
_LONGEST: Final = max(map(len, FORMS))


def is_in(data: bytes | str) -> bool:
    """Return whether a key is in something."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return any(form in raw for form in FORMS)


def found_in(paths: Iterable[Path]) -> list[str]:
    """Return the names of the files that hold a key, in their content or their name."""
    return [str(path) for path in paths if is_in(str(path)) or _is_in_file(path)]


def files_under(folder: Path, *, since: float = 0.0) -> Iterator[Path]:
    """Yield the files below a folder that were written after a moment, but no version control's."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", "node_modules")]
        for path in (Path(place, name) for name in names):
            if not path.is_symlink() and _written(path) >= since:
                yield path


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it has just gone
        return -1.0


def _is_in_file(path: Path) -> bool:
    try:
        if not path.is_file():  # a socket, a pipe
            return False
        with path.open("rb") as file:
            start = file.read(4)
            file.seek(0)
            return _is_in_stream(file) or (start == b"PK\3\4" and _is_in_zip(path)) or _is_in_gzip(path, start)
    except (OSError, EOFError, zipfile.BadZipFile):  # gone, nobody's to read, or half written
        return False


def _is_in_stream(file: IO[bytes]) -> bool:
    before = b""
    while block := file.read(_BLOCK):
        if is_in(before + block):
            return True
        before = block[-_LONGEST:]
    return False


def _is_in_zip(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        names = [one.filename for one in archive.infolist() if one.file_size < _LARGEST_ARCHIVE]
        return any(is_in(name) or _is_in_stream(archive.open(name)) for name in names)


def _is_in_gzip(path: Path, start: bytes) -> bool:
    if not start.startswith(b"\x1f\x8b"):
        return False
    with gzip.open(path) as file:
        return _is_in_stream(file)


# ---------------------------------------------------------------- as a pytest plugin

_BEGAN: Final = time.time()
_SAID: Final[list[str]] = []  # where a key was found


def look_through(seen: bytes | str, what: str) -> None:
    """Look through what passed a test by without being written: a message of a kernel, a frame of a socket."""
    if is_in(seen):
        _SAID.append(f"{os.environ.get('PYTEST_CURRENT_TEST', '?')}: {what}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Look through a test's output, logs, and traceback."""
    where = [name for name, text in report.sections if is_in(text)]
    where += ["what it failed with"] if is_in(report.longreprtext) else []
    _SAID.extend(f"{report.nodeid} ({report.when}): {name}" for name in where)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Look through what a module says when it cannot be imported."""
    _SAID.extend([f"{report.nodeid} (collection)"] if is_in(report.longreprtext) else [])


def pytest_warning_recorded(warning_message: object, nodeid: str) -> None:
    """Look through a warning."""
    _SAID.extend([f"{nodeid} (a warning)"] if is_in(str(warning_message)) else [])


@pytest.hookimpl(tryfirst=True)  # before temporary folders go
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Search all that the run wrote; what is found makes it fail."""
    base = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    _SAID.extend(found_in(files_under(base)))
    _SAID.extend(found_in(files_under(session.config.rootpath, since=_BEGAN)))
    if _SAID:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the places."""
    if _SAID:
        terminalreporter.section("a key was left behind", red=True, bold=True)
        for place in _SAID:
            terminalreporter.line(f"FAILED {place}", red=True)
