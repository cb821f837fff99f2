"""Descriptions of a file in YAML or code, each with the comments there that accept its findings.

What is in an INI file has its comments from its reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from vnicaudit.model.accepting import MAX_COMMENTS, AcceptingComment
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Content, Item
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.text.comments import MARK

_Described = Domain | Image | Flavor | Preference
_Comments = Callable[[Content], tuple[AcceptingComment, ...]]


def with_comments(items: Iterator[Item], comments: _Comments, content: Content) -> Iterator[Item]:
    """The items, each with its comments. Without one they come as they are read."""
    if MARK.encode() not in content.data:
        return items
    entries = comments(content)
    return _commented(items, entries) if entries else items


def _commented(items: Iterator[Item], entries: tuple[AcceptingComment, ...]) -> Iterator[Item]:
    read: list[Item] = []
    try:
        read.extend(items)
    finally:  # what came before it failed is good
        yield from _matched(read, entries)


def _matched(items: list[Item], entries: tuple[AcceptingComment, ...]) -> Iterator[Item]:
    starts = [_start(item) for item in items if isinstance(item, _Described)]
    own = iter(_of_each(entries, starts))
    for item in items:
        comments = next(own) if isinstance(item, _Described) else ()
        yield replace(item, comments=comments) if comments else item


def _of_each(
    entries: tuple[AcceptingComment, ...], starts: list[int]
) -> Iterator[tuple[AcceptingComment, ...]]:
    """The comments of each description. Descriptions with the same comments share them: a comment
    may be about thousands."""
    sole = len(starts) == 1
    other = [replace(entry, reporter=False, sole=sole) for entry in entries]
    every = other + [replace(entry, reporter=True, sole=sole) for entry in entries]
    shared: dict[tuple[int, ...], tuple[AcceptingComment, ...]] = {}
    for key in map(tuple, _numbers_of_each(entries, starts)):
        if key not in shared:
            shared[key] = tuple(every[number] for number in key)
        yield shared[key]


def _numbers_of_each(entries: tuple[AcceptingComment, ...], starts: list[int]) -> list[list[int]]:
    """The numbers of each description's comments; of the first that a comment is about, which
    reports what is wrong with it, as many higher as there are comments."""
    found: list[list[int]] = [[] for _ in starts]
    for number, entry in enumerate(entries):
        own = number + len(entries)
        for place in _about(entry, starts):
            if len(found[place]) <= MAX_COMMENTS:
                found[place].append(own)
            own = number
    return found


def _about(entry: AcceptingComment, starts: list[int]) -> list[int]:
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
