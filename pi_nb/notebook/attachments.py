"""What goes with a prompt: ``--attach`` adds a file or a value as text, ``--image`` a picture.

Both take an expression of the notebook or the name of a file. A picture may be a matplotlib figure or axes, a PIL
image, an array, a path, bytes, or anything that shows itself as PNG or JPEG.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pi_nb.errors import UserError
from pi_nb.messages import ImageContent, TextContent
from pi_nb.notebook.interpolate import as_prompt_text
from pi_nb.tools.images import MAX_IMAGE_BYTES, image_kind

__all__ = ["attached", "pictures"]

Evaluate = Callable[[str], Any]
LONGEST = 400_000  # characters of one attachment


def attached(expressions: Iterable[str], evaluate: Evaluate) -> Iterator[TextContent | ImageContent]:
    """Yield what ``--attach`` adds, each under its name.

    Raises:
        UserError: There is no such file and it cannot be evaluated, or it is too long; nothing has been sent.
    """
    for expression in expressions:
        file = _file(expression)
        value = file if file is not None else _value("--attach", expression, evaluate)
        if isinstance(value, Path):
            yield _from_file(value)
        elif _is_picture(value):
            yield _picture(expression, value)
        else:
            yield _named(expression, as_prompt_text(value))


def pictures(expressions: Iterable[str], evaluate: Evaluate) -> Iterator[ImageContent]:
    """Yield the pictures that ``--image`` adds.

    Raises:
        UserError: There is no such file and it cannot be evaluated, or it is no picture a model can see.
    """
    for expression in expressions:
        file = _file(expression)
        yield _picture(expression, file if file is not None else _value("--image", expression, evaluate))


def _file(expression: str) -> Path | None:
    """Return the file of that name, if there is one."""
    try:
        path = Path(expression).expanduser()
        return path if path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # too long for a name, a null byte, no such user
        return None


def _value(option: str, expression: str, evaluate: Evaluate) -> Any:
    try:
        return evaluate(expression)
    except Exception as error:
        raise UserError(
            f"{option} {expression}: no such file, and it cannot be evaluated: {type(error).__name__}: {error}",
            hint="Nothing was sent. Name a file, or an expression of this notebook.",
        ) from error


def _from_file(file: Path) -> TextContent | ImageContent:
    data = _read(file)
    if image_kind(data):
        return _picture(str(file), data)
    try:
        return _named(str(file), data.decode())
    except UnicodeDecodeError:
        raise UserError(
            f"{file} is neither text nor a picture.", hint="Read it in Python and attach a value."
        ) from None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.", hint="Nothing was sent.") from error


def _named(name: str, text: str) -> TextContent:
    if len(text) > LONGEST:
        raise UserError(
            f"{name} is {len(text):,} characters long; an attachment may have {LONGEST:,}.",
            hint="Nothing was sent. Attach a part of it, such as --attach 'text[:10000]'.",
        )
    safe = name.replace('"', "'")
    return TextContent(text=f'<file name="{safe}">\n{text}\n</file>')


# ---------------------------------------------------------------- pictures


def _picture(expression: str, value: Any) -> ImageContent:
    data = _bytes(value)
    kind = image_kind(data) if data else None
    if data is None or kind is None:
        what = "its content" if isinstance(value, bytes | Path | str) else type(value).__name__
        raise UserError(
            f"--image {expression}: {what} is no picture that models can see.",
            hint="PNG, JPEG, GIF or WebP: a file, bytes, a matplotlib figure, a PIL image or an array.",
        )
    if len(data) > MAX_IMAGE_BYTES:
        raise UserError(
            f"--image {expression} has {len(data) / 1e6:.1f} MB; models take up to {MAX_IMAGE_BYTES / 1e6:.2f} MB.",
            hint="Nothing was sent. Make it smaller, for example with a lower dpi.",
        )
    return ImageContent(data=base64.b64encode(data).decode(), mime_type=kind)


def _is_picture(value: Any) -> bool:
    return _drawn(value) is not None


def _bytes(value: Any) -> bytes | None:
    """Return a picture as the bytes of a file, or None if it is none."""
    if isinstance(value, str):
        value = Path(value).expanduser()
    if isinstance(value, Path):
        return _read(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return _drawn(value) or _array(value)


def _drawn(value: Any) -> bytes | None:
    """Return what a figure, axes, an image or anything that shows itself looks like."""
    value = getattr(value, "figure", None) or value  # axes and artists know theirs
    for save, options in (("savefig", {"bbox_inches": "tight"}), ("save", {})):
        method = getattr(value, save, None)
        if callable(method) and not isinstance(value, type) and (save == "savefig" or hasattr(value, "getbbox")):
            stream = io.BytesIO()
            method(stream, format="png", **options)
            return stream.getvalue()
    return _shown(value)


def _shown(value: Any) -> bytes | None:
    for name in ("_repr_png_", "_repr_jpeg_"):
        method = getattr(value, name, None)
        found = method() if callable(method) and not isinstance(value, type) else None
        found = found[0] if isinstance(found, tuple) else found
        if isinstance(found, str):
            return base64.b64decode(found)
        if isinstance(found, bytes):
            return found
    return None


def _array(value: Any) -> bytes | None:
    """Return an array as a PNG: rows, columns and perhaps colours; floats from 0 to 1, integers from 0 to 255."""
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple) or not (len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4))):
        return None
    try:
        import numpy as np
        from PIL import Image
    except ImportError:
        raise UserError("An array becomes a picture with Pillow.", hint="%pip install pillow") from None
    pixels = np.asarray(value)
    if pixels.dtype.kind == "f":
        pixels = np.clip(np.nan_to_num(pixels), 0, 1) * 255
    pixels = pixels.squeeze(2) if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    stream = io.BytesIO()
    Image.fromarray(pixels.astype("uint8")).save(stream, format="png")
    return stream.getvalue()
