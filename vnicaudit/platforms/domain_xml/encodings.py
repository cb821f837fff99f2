"""Encodings in which ``<`` is not the byte 0x3C: UTF-16, UTF-32 and EBCDIC.

They are converted to UTF-8 first, so that there is only one way to find documents. libxml2 decodes
the others (UTF-8, ISO-8859-x, Shift_JIS …) by the XML declaration. XML 1.0, appendix F, describes
how to tell them apart.
"""

from __future__ import annotations

import codecs
import re

from vnicaudit.errors import TargetError
from vnicaudit.platforms.domain_xml.recognise import EBCDIC

_DECLARED = re.compile(r"(<\?xml[^<>]*?)\sencoding\s*=\s*(?:'([^'<>]*)'|\"([^\"<>]*)\")")
_NUMBERED = re.compile(r"(?i)(?:ibm|cp|ccsid)[-_]?0*(\d{2,4})")
"""IANA writes IBM01140, z/OS IBM-1140 and Python cp1140."""

_DECLARATION = 256
"""Number of bytes that certainly contain an XML declaration."""


def as_utf8(data: bytes, file: str) -> bytes:
    """The text as UTF-8, without the encoding in its XML declaration.

    Raises TargetError if it cannot be decoded.
    """
    try:
        text = data.decode(codec_of(data))
    except UnicodeDecodeError as error:
        raise TargetError(f"not readable as XML: {error.reason}", file=file) from None
    except LookupError as error:
        raise TargetError(f"not readable as XML: {error}", file=file, line=1) from None
    if data.startswith(EBCDIC):
        text = text.replace("\x85", "\n")  # NEL, the line break of mainframes
    return _DECLARED.sub(r"\1", text.lstrip("\ufeff"), count=1).encode("utf-8", "replace")


def codec_of(data: bytes) -> str:
    """Python's name of a foreign encoding: by the byte order mark, by the position of the zero
    bytes around ``<``, or by the declaration. Raises LookupError if it is unknown."""
    if data.startswith(EBCDIC):
        return _ebcdic(data)
    for mark, codec in (
        (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"),
        (b"\0\0\0", "utf-32-be"), (b"\0", "utf-16-be"),
    ):  # fmt: skip
        if data.startswith(mark):
            return codec
    return "utf-32-le" if data[1:4] == b"\0\0\0" else "utf-16-le"


def _ebcdic(data: bytes) -> str:
    """The code page that the declaration names. Raises LookupError if it is unknown or not
    EBCDIC."""
    declaration = _DECLARED.search(data[:_DECLARATION].decode("cp037"))
    if declaration is None:
        raise LookupError("EBCDIC whose XML declaration names no encoding")
    name = declaration.group(2) or declaration.group(3) or ""
    number = _NUMBERED.fullmatch(name)
    try:
        page = codecs.lookup(f"cp{number.group(1).zfill(3)}" if number else name).name
        start = "<?xm".encode(page, "replace")
    except (LookupError, ValueError):  # ValueError: for a name with a zero byte in it
        raise LookupError(
            f"unknown encoding {name[:40]!r}: convert the file to UTF-8 (iconv)"
        ) from None
    if start != EBCDIC:
        raise LookupError(f"EBCDIC declared as {name[:40]!r}")
    return page
