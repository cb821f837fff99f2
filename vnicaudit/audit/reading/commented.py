"""Descriptions of a file in YAML or code, each with the comments there that accept its findings.

What is in an INI file has its comments from its reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from vnicaudit.model.accepting import AcceptingComment
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Content, Item, Notation
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.text.comments import CommentEntry, accepting_comments

_MARK = b"vnicaudit:"
_COMMENTED: tuple[Notation, ...] = ("yaml", "code")

_Described = Domain | Image | Flavor | Preference


def with_comments(items: Iterator[Item], content: Content, notation: Notation) -> Iterator[Item]:
    """The items, each with its comments. Without one they come as they are read."""
    if notation not in _COMMENTED or _MARK not in content.data:
        return items
    text = content.data.decode("utf-8", "replace")
    return _commented(list(items), accepting_comments(text, "yaml"), content.path)


def _commented(items: list[Item], entries: Iterable[CommentEntry], file: str) -> Iterator[Item]:
    starts = [_start(item) for item in items if isinstance(item, _Described)]
    found: list[list[AcceptingComment]] = [[] for _ in starts]
    for entry in entries:
        for number, place in enumerate(_about(entry, starts)):
            comment = AcceptingComment(file, *entry, reporter=not number, sole=len(starts) == 1)
            found[place].append(comment)
    own = iter(found)
    for item in items:
        comments = tuple(next(own)) if isinstance(item, _Described) else ()
        yield replace(item, comments=comments) if comments else item


def _about(entry: CommentEntry, starts: list[int]) -> list[int]:
    """Places of the descriptions that an entry may be about: all in its document, or the one that
    its line belongs to."""
    within = [place for place, start in enumerate(starts) if entry.first <= start <= entry.last]
    if within or not starts:
        return within
    before = [start for start in starts if start <= entry.first]
    nearest = max(before, default=min(starts))
    return [place for place, start in enumerate(starts) if start == nearest]


def _start(item: _Described) -> int:
    return item.location.line or 0
