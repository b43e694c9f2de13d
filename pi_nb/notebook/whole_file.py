"""Files that a user names, and writing one of them as a whole: it is there as it should be, or as it was before."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

from pi_nb.errors import UserError
from pi_nb.providers.surrogates import well_formed

__all__ = ["file_named", "write_whole"]


def file_named(text: str) -> Path:
    """Return the file that a user names; ``~`` is somebody's home.

    Raises:
        UserError: There can be no such file.
    """
    try:
        file = Path(text).expanduser()
        os.fsencode(file)
    except (RuntimeError, UnicodeEncodeError) as error:  # the home of nobody; half a character
        raise UserError(f"{text!r} names no file: {error}.") from error
    if "\0" in text:
        raise UserError(f"{text!r} names no file: there is a NUL in it.")
    return file


def write_whole(file: Path, text: str) -> None:
    """Write a text as UTF-8, over what was there; if that fails, what was there stays.

    Half characters become U+FFFD. A link stays a link: what it leads to is written.

    Raises:
        UserError: It cannot be written.
    """
    data = well_formed(text).encode()
    try:
        target = file.resolve()
        if target.exists() and not target.is_file():  # a device, or a folder, which the system refuses
            target.write_bytes(data)
        else:
            _replace(target, data)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that go in circles
        raise UserError(f"{str(file)!r} cannot be written: {getattr(error, 'strerror', None) or error}.") from error


def _replace(target: Path, data: bytes) -> None:
    beside = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        beside.write_bytes(data)
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except PermissionError:  # of the folder; the file itself may be open to us
        if not target.exists():
            raise
        target.write_bytes(data)
    finally:
        beside.unlink(missing_ok=True)
