"""Copies of a host's files in a tar archive (.gz, .xz), read in one pass, without unpacking it.

Only wanted files are kept, in memory. Nothing in an archive is trusted: members with absolute names
or ``..`` are passed over, as are devices; sizes, their sum, the ratio of compression, and headers
that extend others have limits. Format: tar(5), POSIX.1-2001 (pax) and GNU.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple

from vnicaudit.base.opening import GZIP, XZ, open_regular
from vnicaudit.errors import TargetError
from vnicaudit.platforms.host.copied_tree import TreeEntry, is_log
from vnicaudit.platforms.host.readings import expression_of

_BLOCK = 512
_MOST_HEADER = 64 << 10
"""Bytes of a header that extends another one: long names, pax records."""
_MOST_KEPT = 256 << 20
"""Bytes of all files, names and links that are kept."""
_MOST_NAMES = 200_000
"""Files, folders and links of which the names are kept."""
_LONGEST_NAME, _DEEPEST, _LONGEST_SIZE = 4096, 100, 19
_MOST_RATIO = 250
_FREE = 256 << 20
"""Bytes up to which the ratio does not matter: a report may have large files of zeros."""
_PIECE = 1 << 20
_MOST_MEMORY = 128 << 20
"""Bytes that xz may take to unpack: ``xz -9`` needs half of them, and a file may ask for 4 GiB."""
_ROOTS = ("sos_commands", "machineinfo.json")
"""What shows the root of a host's files."""
_NOT_ONE = (
    "a tar archive without a sosreport, and no sysinfo.tgz of a must-gather: unpack it, and name "
    "its folder"
)
_TOO_MUCH = "too much of it would have to be kept: unpack it, and name its folder"
_TOO_WIDE = "takes too much memory to unpack: unpack it, and name its folder"
_RECORD = re.compile(rb"\d{1,6} (path|linkpath|size)=([^\n]*)\n")
_BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error)


def is_archive(path: str) -> bool:
    """True for a tar archive, compressed by gzip or xz or not, by its beginning."""
    try:
        with open_regular(path, null=False) as file, _unpacked(file) as stream:
            return stream.read(_BLOCK)[257:262] == b"ustar"
    except TargetError:  # told when it is read
        return True
    except _BROKEN:
        return False


class ArchiveFiles:
    """A tree in an archive. Raises TargetError if that cannot be read, or has no host's files."""

    def __init__(self, path: str, wanted: Iterable[str]) -> None:
        """``wanted``: patterns of the files that will be asked for."""
        self._contents: dict[str, bytes] = {}
        self._folders: dict[str, dict[str, TreeEntry]] = {"": {}}
        self._names = self._kept = 0
        try:
            with open_regular(path, null=False) as file, _unpacked(file) as stream:
                self._take(_Limited(stream, file), _matcher(wanted))
        except _BROKEN as error:
            raise TargetError(f"not a whole archive: {error}", file=path) from None
        except TargetError as error:
            raise TargetError(error.message, file=path) from None
        tops = ("", *self._folders[""])
        bases = (top for top in tops if any(map(self._folders.get(top, {}).get, _ROOTS)))
        base = next(bases, None)
        if base is None:
            raise TargetError(_NOT_ONE, file=path)
        self._base = base

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        """Name -> entry of a folder."""
        return self._folders.get(f"{self._base}/{folder}".strip("/"), {})

    def content(self, path: str, most: int) -> bytes | None:
        """A whole file, of a larger log its end."""
        data = self._contents.get(f"{self._base}/{path}".strip("/"))
        if data is None or len(data) <= most:
            return data
        return data[-most:] if is_log(path) else None

    def _take(self, stream: _Limited, wanted: re.Pattern[str]) -> None:
        for member in _members(stream):
            name = _clean(member.name)
            if not name:
                continue
            if member.kind == b"5":
                self._add(name, TreeEntry("folder"))
            elif member.kind == b"2":
                self._add(name, TreeEntry("link", member.link))
            elif not wanted.fullmatch(name):
                self._add(os.path.dirname(name), TreeEntry("folder"))
            elif member.kind == b"1":
                self._keep(name, self._contents.get(_clean(member.link)))
            elif member.kind in (b"0", b"\0", b"7"):
                if self._kept + member.size > _MOST_KEPT:
                    raise TargetError(_TOO_MUCH)
                self._keep(name, stream.exactly(member.size))

    def _keep(self, name: str, data: bytes | None) -> None:
        if data is not None:
            self._kept += len(data)
            self._contents[name] = data
            self._add(name, TreeEntry("file"))

    def _add(self, name: str, entry: TreeEntry) -> None:
        """Note an entry and the folders that it is in; the last one of a name counts, as when they
        are unpacked, except in place of a folder."""
        if name in self._folders:
            return
        self._names += 1
        self._kept += len(name) + len(entry.link)
        if self._names > _MOST_NAMES or self._kept > _MOST_KEPT:
            raise TargetError(_TOO_MUCH)
        above, own = os.path.split(name)
        self._add(above, TreeEntry("folder"))
        self._folders[above][own] = entry
        if entry.kind == "folder":
            self._folders[name] = {}


class _Member(NamedTuple):
    """One member. Its content follows in the stream."""

    name: str
    kind: bytes
    size: int
    link: str


def _members(stream: _Limited) -> Iterator[_Member]:
    """The members of an archive; what the caller leaves of the content of one is skipped."""
    extended: dict[bytes, bytes] = {}
    while len(block := stream.up_to(_BLOCK)) == _BLOCK and any(block):
        kind, size = block[156:157], _number(block[124:136])
        if block[257:262] != b"ustar" or size is None:
            raise TargetError("not a tar archive, or damaged")
        if kind in (b"L", b"K", b"x", b"g"):
            if size > _MOST_HEADER:
                raise TargetError("has a header that is too large")
            data = stream.exactly(size)
            stream.skip(-size % _BLOCK)
            if kind == b"x":
                extended.update(_RECORD.findall(data))
            elif kind != b"g":
                extended[b"path" if kind == b"L" else b"linkpath"] = data.rstrip(b"\0")
            continue
        more = kind == b"S" and block[482:483] == b"\1"
        while more:  # the map of a sparse file, which is not kept
            more = stream.exactly(_BLOCK)[504:505] == b"\1"
        told = extended.get(b"size", b"")
        size = int(told) if told.isdigit() and len(told) <= _LONGEST_SIZE else size
        prefix = block[345:500] if block[263:265] == b"00" else b""
        own = b"/".join(filter(None, (_text(prefix), _text(block[:100]))))
        name, link = extended.get(b"path", own), extended.get(b"linkpath", _text(block[157:257]))
        extended = {}
        size = size if kind in (b"0", b"\0", b"7", b"S") else 0
        end = stream.position + size + -size % _BLOCK
        yield _Member(os.fsdecode(name), kind, size, os.fsdecode(link))
        stream.skip(end - stream.position)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _number(field: bytes) -> int | None:
    """A size in octal digits, or GNU's binary one; None: it is neither."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if re.fullmatch(rb"[0-7]{0,12}", digits) else None


def _clean(name: str) -> str:
    """The path of a member below the root of its archive; empty for one that is passed over."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    is_odd = len(name) > _LONGEST_NAME or len(parts) > _DEEPEST or "\0" in name
    return "" if name.startswith("/") or ".." in parts or is_odd else "/".join(parts)


def _matcher(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return an expression for the paths of shell patterns, below the root of an archive or a
    folder in it."""
    found = (expression_of(pattern.strip("/")) for pattern in dict.fromkeys(patterns))
    return re.compile(f"(?:[^/]+/)?(?:{'|'.join(found)})")


def _unpacked(file: BinaryIO) -> BinaryIO:
    """The stream of an archive: decompressed, if it is compressed."""
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(GZIP):
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if magic == XZ:
        return _Xz(file)  # type: ignore[return-value]
    return file


class _Xz:
    """Unpacks xz. Python's own reader of such files has no limit of memory."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._engine = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)

    def __enter__(self) -> _Xz:
        return self

    def __exit__(self, *_raised: object) -> None:
        """Do nothing: the file is closed where it was opened."""

    def read(self, size: int) -> bytes:
        """At most so many bytes; empty at the end. Raises LZMAError, EOFError, TargetError."""
        while not self._engine.eof:
            packed = self._packed.read(_PIECE) if self._engine.needs_input else b""
            if self._engine.needs_input and not packed:
                raise EOFError("it ends early")
            if data := self._more(packed, size):
                return data
        packed = (self._engine.unused_data or self._packed.read(_PIECE)).lstrip(b"\0")
        if not packed:
            return b""
        self._engine = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)  # another one follows
        return self._more(packed, size) or self.read(size)

    def _more(self, packed: bytes, size: int) -> bytes:
        try:
            return self._engine.decompress(packed, size)
        except lzma.LZMAError as error:
            if "Memory usage limit" in str(error):
                raise TargetError(_TOO_WIDE) from None
            raise


class _Limited:
    """A decompressed stream that ends with an error where it grows without bounds."""

    def __init__(self, stream: BinaryIO, packed: BinaryIO) -> None:
        self._stream = stream
        self._packed = packed
        self.position = 0

    def up_to(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        parts = []
        while size and (part := self._stream.read(min(size, _PIECE))):
            parts.append(part)
            size -= len(part)
            self.position += len(part)
            if self.position > _FREE + _MOST_RATIO * self._packed.tell():
                raise TargetError("unpacks to far more than a report has: not read")
        return b"".join(parts)

    def exactly(self, size: int) -> bytes:
        """The next bytes. Raises EOFError."""
        data = self.up_to(size)
        if len(data) < size:
            raise EOFError("it ends early")
        return data

    def skip(self, size: int) -> None:
        """Pass over the next bytes. Raises EOFError."""
        while size > 0:
            size -= len(self.exactly(min(size, _PIECE)))
