"""A kind of file that a platform recognises by its content, and reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal, Protocol

import msgspec

from vnicaudit.model.accepting import AcceptingComment
from vnicaudit.model.description import Description
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import NotJudged, PutAside, ReadError

Item = Domain | Description | ReadError | PutAside | NotJudged
"""An item that reading yields."""

Notation = Literal["xml", "ini", "log", "words", "yaml", "code"]
"""How a file is written, which tells what may stand in one file: beside a log nothing, a section of
an ini file beside XML and commands (``words``) only."""


Extent = Literal["several", "whole", "alone"]
"""Of documents in a file: several, or text around one; one (at most) from the first byte to the
last; one, and nothing but tags and remarks before and behind it."""


class Content(msgspec.Struct, frozen=True):
    """Content to be read. ``before``: how many lines of the file stand before ``data``; None:
    nobody counted."""

    data: bytes
    path: str
    target: str
    before: int | None = 0


class Documents(msgspec.Struct, frozen=True):
    """Recognition of a kind whose documents may stand in files of any other kind."""

    holds: Callable[[bytes], bool]
    """Returns True where a file of a different kind holds one."""
    without: Callable[[bytes], bytes]
    """The file with its documents blanked, every position kept."""
    extent: Callable[[bytes], Extent]
    """A quick look at how much of a file its documents take."""


class FileKind(msgspec.Struct, frozen=True):
    """One kind of content. ``looks_for`` is what has to be in it, or there is nothing to judge;
    empty: files without are in order as well."""

    name: str
    looks_for: str
    notation: Notation
    looks_like: Callable[[bytes], bool]
    """Returns True where a file with this beginning is or may be of this kind."""
    read: Callable[[Content], Iterator[Item]]
    is_one: Callable[[bytes], bool] = lambda _data: True
    """Returns True where the whole file is of the kind that its beginning suggests."""
    among_others: Callable[[bytes], bool] = lambda _head: True
    """Returns True where a file in a folder with this beginning is meant as one, and does not
    merely quote one."""
    may_hold: Callable[[bytes], bool] | None = None
    """A quick look whether it may stand in a file of another kind; None: its notation tells."""
    prepared: Callable[[bytes], bytes] | None = None
    """What of a file of another kind it is to look at, every position kept; None: all."""
    documents: Documents | None = None
    tail: Callable[[int, int], tuple[bytes, int | None]] | None = None
    """Of a large file, by its descriptor and size, only the end is read: that, and how many lines
    stand before it. None: it is read from its beginning."""
    any_size: Callable[[bytes], bool] = lambda _head: False
    """Returns True where a file with this beginning is read however large it is."""
    suffix: str = ""
    """The usual suffix of such files; empty: any."""
    load: Callable[[], None] = lambda: None
    """Imports the reader, which is otherwise imported at first use."""
    why_not: Callable[[bytes], str | None] = lambda _head: None
    """The message for a file with this beginning that cannot be read; None: none."""
    comments: Callable[[Content], tuple[AcceptingComment, ...]] = lambda _content: ()
    """The comments of a file that accept findings, where the items that are read have none from
    their reader. Whom each is about is not told yet."""
    together: Callable[[tuple[str, ...], str], Iterator[Item]] | None = None
    """Reads files and folders that one program is given together, in its order, for a target."""


class Unjudged(Protocol):
    """Finds content in a form that no reader supports."""

    def alone(self, data: bytes, path: str) -> Iterator[NotJudged]:
        """Notes on the subject of a file in a folder that no reader takes."""

    def beside(
        self, data: bytes, path: str, read: Collection[int], *, manifest: bool, listing: bool
    ) -> Iterator[NotJudged]:
        """Notes on further contents of a file of which a part was read, by line. ``read``: the
        lines of what was read; ``manifest``: a KubeVirt manifest would have been read; ``listing``:
        the file is QEMU's command lines, whose reader says what it does not understand."""


class FileKinds:
    """The kinds of files of a run, as they are tried, and what finds the rest."""

    def __init__(self, kinds: Iterable[FileKind], unjudged: Unjudged) -> None:
        self._kinds = tuple(kinds)
        self.unjudged = unjudged

    def __iter__(self) -> Iterator[FileKind]:
        return iter(self._kinds)
