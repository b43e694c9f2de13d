"""Recognising the pictures that models can see, by what is in the file and not by its name."""

from __future__ import annotations

__all__ = ["HEAD", "MAX_IMAGE_BYTES", "image_kind", "is_whole"]

HEAD = 12
"""Bytes from the start of a file that say what it is."""
MAX_IMAGE_BYTES = 3_750_000
"""Size up to which providers take an image; they count its base64, 5 MB."""


def image_kind(head: bytes) -> str | None:
    """Return the media type of a file that starts like this, or None if it is no image a model can see."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def is_whole(kind: str, data: bytes) -> bool:
    """Tell whether an image has its end.

    A provider refuses a broken image, and then every later request of the session that has it in its history.
    """
    if kind == "image/png":
        return data[12:16] == b"IHDR" and b"IEND" in data[-64:]
    if kind == "image/jpeg":
        return b"\xff\xd9" in data[-64 * 1024 :]
    if kind == "image/gif":
        return data.rstrip(b"\x00").endswith(b";") and len(data) > 13
    return len(data) >= int.from_bytes(data[4:8], "little") + 8
