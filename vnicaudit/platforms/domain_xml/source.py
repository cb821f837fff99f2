"""Domain XML as bytes in which tags can be searched, and edits of the file's own bytes.

Nothing is decoded unnecessarily. UTF-16, UTF-32 and EBCDIC are converted to UTF-8, and each edit is
converted back to the original bytes.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

from vnicaudit.errors import RefusedError
from vnicaudit.platforms.domain_xml.encodings import codec_of
from vnicaudit.platforms.domain_xml.recognise import is_foreign
from vnicaudit.text.edits import Edit

_DECLARED = re.compile(rb"<\?xml\s[^<>]*?\bencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF32_LE)
_MARKUP = "<>='\"/-_:. \t\r\nazAZ09"
_STATEFUL = ("iso2022", "utf-7", "hz")
"""In these encodings an ASCII byte may be part of another character."""


class XmlSource:
    """``data`` is UTF-8, or in another encoding that contains ASCII unchanged."""

    def __init__(self, original: bytes) -> None:
        self._original = original
        self._codec = _exact_codec(original) if is_foreign(original) else None
        self.data = original
        if self._codec is not None:
            try:
                text = original.decode(self._codec)
                exact = text.encode(self._codec) == original
            except UnicodeError:
                exact = False
            if not exact:
                raise RefusedError("the file's encoding cannot be written back byte for byte")
            self.data = text.encode("utf-8")

    def carried(self, edits: list[Edit]) -> list[Edit]:
        """Edits of ``data`` converted to edits of the original bytes."""
        if self._codec is None:
            return edits
        return [
            Edit(self._place(edit.start), self._place(edit.end), self._encoded(edit.new))
            for edit in edits
        ]

    def check_declared(self, start: int, end: int) -> None:
        """Raises RefusedError if the document declares an encoding in which tags cannot be
        recognised by their bytes."""
        declared = _DECLARED.search(self.data, start, end)
        if self._codec is None and declared is not None:
            _check_transparent(declared[1].decode("ascii"))

    @property
    def text(self) -> str:
        """The whole document for display: without byte order mark, and with surrogates for bytes
        that cannot be decoded."""
        declared = None if self._codec else _DECLARED.search(self.data)
        name = "utf-8" if declared is None else declared[1].decode("ascii")
        try:
            text = self.data.decode(name, "surrogateescape")
        except (LookupError, UnicodeError):
            text = self.data.decode("utf-8", "surrogateescape")
        return text.removeprefix("\ufeff")

    def _place(self, position: int) -> int:
        return len(self._encoded(self.data[:position]))

    def _encoded(self, part: bytes) -> bytes:
        return part.decode("utf-8").encode(self._codec or "utf-8")


@lru_cache(maxsize=2)
def source_of(data: bytes) -> XmlSource:
    """The source for the bytes of a file. The last ones are cached: a file has many NICs. Raises
    RefusedError for an encoding that cannot be written back."""
    return XmlSource(data)


def _exact_codec(data: bytes) -> str:
    """The codec that treats a byte order mark as an ordinary character."""
    try:
        codec = codec_of(data)
    except LookupError as error:
        raise RefusedError(str(error)) from None
    if codec in ("utf-16", "utf-32"):
        return f"{codec}-{'le' if data.startswith(_MARKS) else 'be'}"
    return codec


def _check_transparent(name: str) -> None:
    try:
        codec = codecs.lookup(name).name
        plain = _MARKUP.encode("ascii").decode(codec) == _MARKUP
    except (LookupError, UnicodeError):
        plain = False
    if not plain or codec.startswith(_STATEFUL):
        raise RefusedError(
            f"its encoding, {name[:40]}, cannot be written: convert the file to UTF-8"
        )
