"""Descriptions of a file in YAML or code, each with the comments in the file that accept its
findings.

Descriptions in an INI file get their comments from its reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged, PutAside, ReadError
from vnicaudit.text.comment_walk import MARK

if TYPE_CHECKING:
    from vnicaudit.model.file_kind import Content, Item
    from vnicaudit.model.location import AcceptingComment

    _Comments = Callable[[Content], tuple[AcceptingComment, ...]]

_WITHOUT = (NovaConfig, ReadError, PutAside, NotJudged)
"""Items that get no comments here."""


def with_comments(items: Iterator[Item], comments: _Comments, content: Content) -> Iterator[Item]:
    """The items, each with its comments. If there are none, items are passed on as they are
    read."""
    if MARK.encode() not in content.data:
        return items
    entries = comments(content)
    return _commented(items, entries) if entries else items


def _commented(items: Iterator[Item], entries: tuple[AcceptingComment, ...]) -> Iterator[Item]:
    read: list[Item] = []
    whole = False
    try:
        read.extend(items)
        whole = True
    finally:  # the items before the failure are good
        yield from _with_all(read, entries, whole=whole)


def _with_all(
    items: list[Item], entries: tuple[AcceptingComment, ...], *, whole: bool
) -> Iterator[Item]:
    """Each description with all comments of its file, as its settings may be anywhere in the
    file."""
    places = [place for place, item in enumerate(items) if not isinstance(item, _WITHOUT)]
    between = tuple(replace(entry, reporter=False, settles=False) for entry in entries)
    for place, item in enumerate(items):
        if isinstance(item, _WITHOUT):
            yield item
            continue
        comments, is_last = between, whole and place == places[-1]
        if place == places[0] or is_last:
            is_first = place == places[0]
            comments = tuple(
                replace(entry, reporter=is_first, settles=is_last) for entry in entries
            )
        yield replace(item, comments=comments)
