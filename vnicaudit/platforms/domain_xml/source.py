"""Domain XML as bytes in which tags can be looked for, and the way back to the file's own bytes.

Nothing is decoded that need not be. UTF-16, UTF-32 and EBCDIC are made UTF-8, and each edit is
carried over to where it belongs in the original.
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
"""In these a byte of ASCII may be a part of another character."""


class XmlSource:
    """``data`` is UTF-8, or in an encoding in which ASCII is itself."""

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
        """Edits of ``data`` as edits of the original bytes."""
        if self._codec is None:
            return edits
        return [
            Edit(self._place(edit.start), self._place(edit.end), self._encoded(edit.new))
            for edit in edits
        ]

    def check_declared(self, start: int, end: int) -> None:
        """Raises RefusedError where the document there calls itself by an encoding in which tags
        cannot be told by their bytes."""
        declared = _DECLARED.search(self.data, start, end)
        if self._codec is None and declared is not None:
            _check_transparent(declared[1].decode("ascii"))

    @property
    def text(self) -> str:
        """The whole document, to be shown: without byte order mark, and with surrogates for bytes
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
    """The last ones are kept: a file has many NICs. Raises RefusedError for an encoding that
    cannot be written back."""
    return XmlSource(data)


def _exact_codec(data: bytes) -> str:
    """The codec that leaves a byte order mark alone, as the character it is."""
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
