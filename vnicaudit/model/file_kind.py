"""A kind of file that a platform recognises by its content and can read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeGuard

import msgspec

from vnicaudit.model.finding import Description
from vnicaudit.model.report import NotJudged, PutAside, ReadError

if TYPE_CHECKING:
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.finding import AcceptingComment

Item: TypeAlias = "Domain | Description | ReadError | PutAside | NotJudged"
"""An item that reading yields."""

_OTHERS = (Description, ReadError, PutAside, NotJudged)
"""Items that are not domains."""

Notation = Literal["xml", "ini", "log", "words", "yaml", "code"]
"""Syntax of a file, which decides what else the file may contain: a log nothing, a section of an
ini file only XML and commands (``words``)."""


Extent = Literal["several", "whole", "alone"]
"""The part of a file that its documents take: ``several`` documents, or text around one; ``whole``:
at most one, from the first byte to the last; ``alone``: one, with nothing but tags and comments
before and behind it."""


class Content(msgspec.Struct, frozen=True):
    """Content to be read."""

    data: bytes
    path: str
    target: str


class Documents(msgspec.Struct, frozen=True):
    """Recognition of a kind whose documents may be embedded in files of any other kind."""

    holds: Callable[[bytes], bool]
    """Returns True if a file of a different kind contains one."""
    without: Callable[[bytes], bytes]
    """Returns the file with its documents blanked, keeping every position."""
    extent: Callable[[bytes], Extent]
    """Estimates quickly how much of a file its documents take."""


class FileKind(msgspec.Struct, frozen=True):
    """One kind of content. ``looks_for`` names the content without which there is nothing to judge;
    empty: files without it are valid as well."""

    name: str
    looks_for: str
    notation: Notation
    looks_like: Callable[[bytes], bool]
    """Returns True if a file with this beginning is or may be of this kind."""
    read: Callable[[Content], Iterator[Item]]
    is_one: Callable[[bytes], bool] = lambda _data: True
    """Returns True if the whole file is of the kind that its beginning suggests."""
    among_others: Callable[[bytes], bool] = lambda _head: True
    """Returns True if a file in a folder, with this beginning, really is of this kind and does not
    merely quote one."""
    has_place: Callable[[str, bytes], bool] = lambda _path, _head: False
    """Returns True if a program reads the file of this path, with this beginning, as one of this
    kind, whatever it contains. Asked only if no kind recognises its content."""
    may_hold: Callable[[bytes], bool] | None = None
    """Tells quickly whether it may be in a file of another kind; None: the notation decides."""
    prepared: Callable[[bytes], bytes] | None = None
    """Returns the part of a file of another kind that this kind reads, keeping every position;
    None: all of it."""
    documents: Documents | None = None
    any_size: Callable[[bytes], bool] = lambda _head: False
    """Returns True if a file with this beginning is read however large it is."""
    forms: str = ""
    """The languages and tools in whose form it is read, where its name does not tell."""
    suffix: str = ""
    """The usual suffix of such files; empty: any."""
    load: Callable[[], object] = lambda: None
    """Imports the reader, which is otherwise imported at first use."""
    why_not: Callable[[bytes], str | None] = lambda _head: None
    """Returns the message for a file with this beginning that cannot be read; None: it can."""
    comments: Callable[[Content], tuple[AcceptingComment, ...]] = lambda _content: ()
    """Returns the comments of a file that accept findings, for readers that do not attach them to
    items. The descriptions that they belong to are not known yet."""
    together: Callable[[tuple[str, ...], str], Iterator[Item]] | None = None
    """Reads, for a target, files and folders that are given to one program together, in its
    order."""


def is_domain(item: Item) -> TypeGuard[Domain]:
    """True for a domain. The record is not needed to tell: a lint of nova.conf does not load it."""
    return not isinstance(item, _OTHERS)


class Unjudged(Protocol):
    """Finds content in a form that no reader supports."""

    def alone(self, data: bytes, path: str) -> Iterator[NotJudged]:
        """Notes on the content of a file in a folder that no reader accepts."""

    def beside(
        self, data: bytes, path: str, read: Collection[int], *, manifest: bool, listing: bool
    ) -> Iterator[NotJudged]:
        """Notes on further contents of a file of which a part was read, by line. ``read``: the
        lines that were read; ``manifest``: a KubeVirt manifest would have been read;
        ``listing``: the file consists of QEMU's command lines, whose reader reports what it does
        not understand."""


class FileKinds:
    """The kinds of files of a run, in the order in which they are tried, and the finder of
    unsupported forms."""

    def __init__(self, kinds: Iterable[FileKind], unjudged: Unjudged) -> None:
        self._kinds = tuple(kinds)
        self.unjudged = unjudged

    def __iter__(self) -> Iterator[FileKind]:
        return iter(self._kinds)

    def __str__(self) -> str:
        """Everything that is recognised, for a message."""
        kinds = (f"{one.name} ({one.forms})" if one.forms else one.name for one in self._kinds)
        return ", ".join(dict.fromkeys(kinds))
