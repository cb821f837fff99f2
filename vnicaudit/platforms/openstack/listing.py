"""A list of a service as a value, its pages, and what came of it.

A service says where the next page is as a URL: Nova and Neutron in ``<name>_links``, Glance in
``next``, Keystone in ``links``. The host in it is often wrong behind a proxy, so only its marker is
taken. Where it says nothing (Nova's server groups) the next page begins behind what came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.client import CallError, Client
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.versions import Microversion, microversion_text

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

REFUSED = frozenset({403, 404, 410})
"""Answers that mean a user is not shown a list, and not that the list could not be read: the policy
forbids it (403), hides it (404), or this release has it no more (410). Whatever else goes wrong, no
answer at all among it, is an error."""
_MOST_PAGES = 100_000
_NOT_JSON = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_NAME = 80
"""Characters of an id in a message."""


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """One list of a service: where it is, under which key its items are, the record that each
    becomes, how it is asked for, and who may see it."""

    service: str
    path: str
    key: str
    decoder: msgspec.json.Decoder[T]
    limit: int | None
    """Items of a page; None: the list does not come in pages."""
    query: tuple[tuple[str, str], ...] = ()
    microversion: str | None = None
    by_offset: bool = False
    """Its pages have no links: one follows behind what came, and an empty one is the end."""
    refused: frozenset[int] = frozenset()
    """Answers that mean this user may not see it, and that nothing is wrong."""
    hidden: str = ""
    """What this user is not shown then, for a note."""

    def at(self, microversion: Microversion) -> Listing[T]:
        """The list as Nova gives it with this microversion."""
        return replace(self, microversion=microversion_text(microversion))


class ListPage(msgspec.Struct, Generic[T]):
    """The items of one page that could be understood, and what was wrong with the others."""

    items: list[T]
    errors: list[ReadError]


class _Link(msgspec.Struct):
    rel: str = ""
    href: str = ""


class _Links(msgspec.Struct):
    next: str | None = None


class _WithId(msgspec.Struct):
    id: str | None = None


class Collection(Generic[T]):
    """The result of a list that is read whole. ``visible``: False where this user may not see it
    (``hidden`` names what is hidden), None where it was not read to its end (``errors`` say
    why)."""

    def __init__(self) -> None:
        self.visible: bool | None = None
        self.hidden = ""
        self.errors: list[ReadError] = []

    @property
    def complete(self) -> bool:
        """True where every item of the list was read."""
        return self.visible is True and not self.errors

    def add(self, raw: T) -> None:
        """Take one item in."""
        raise NotImplementedError

    def read(self, client: Client, listing: Listing[T]) -> Self:
        """Take in every item of a list, and return itself. Where that fails half-way, it has those
        that came by then."""
        return self.take_in(pages(client, listing), listing)

    def take_in(self, listed: Iterable[ListPage[T]], listing: Listing[T]) -> Self:
        """Take in pages that somebody else asks for; otherwise as :meth:`read`."""
        try:
            for page in listed:
                self.errors += page.errors
                for item in page.items:
                    self.add(item)
            self.visible = True
        except TargetError as error:
            if isinstance(error, CallError) and error.status in listing.refused:
                self.visible, self.hidden = False, listing.hidden
            else:
                self.errors.append(read_error(error))
        return self


def pages(client: Client, listing: Listing[T]) -> Iterator[ListPage[T]]:
    """Page after page. Raises TargetError where one cannot be had or understood: what was
    yielded before stands."""
    return (_by_offset if listing.by_offset else _by_marker)(client, listing)


def _by_marker(client: Client, listing: Listing[T]) -> Iterator[ListPage[T]]:
    marker: str | None = None
    seen: set[str] = set()
    for _ in range(_MOST_PAGES):
        query = [] if listing.limit is None else [("limit", str(listing.limit))]
        if marker is not None:
            query.append(("marker", marker))
        raws, marker = _page(client, listing, query)
        yield decoded(raws, listing, client.cloud.target)
        if marker is None:
            return
        if marker in seen:
            break
        seen.add(marker)
    raise _endless(listing, f"the page after {plain(marker or '')[:_NAME]}", client.cloud.target)


def _by_offset(client: Client, listing: Listing[T]) -> Iterator[ListPage[T]]:
    offset, first = 0, b""
    for _ in range(_MOST_PAGES):
        query = [("limit", str(listing.limit)), ("offset", str(offset))]
        raws, _marker_of_none = _page(client, listing, query)
        if not raws:
            return
        if bytes(raws[0]) == first:
            break
        yield decoded(raws, listing, client.cloud.target)
        offset, first = offset + len(raws), bytes(raws[0])
    raise _endless(listing, f"the page at {offset}", client.cloud.target)


def _page(
    client: Client, listing: Listing[T], place: list[tuple[str, str]]
) -> tuple[list[msgspec.Raw], str | None]:
    query = [*listing.query, *place]
    body = client.get(listing.service, listing.path, query, listing.microversion)
    return split(body, listing, client.cloud.target)


def _endless(listing: Listing[T], which: str, target: str) -> TargetError:
    what = f"{listing.service}: GET {listing.path}: its pages never end"
    return TargetError(f"{what}: {which} comes twice", file=target)


def split(body: bytes, listing: Listing[T], target: str) -> tuple[list[msgspec.Raw], str | None]:
    """The items of a page, each as it came, and the marker of the next page; None: there is no
    next. Raises TargetError where it is no such page."""
    try:
        page = json_as(body, dict[str, msgspec.Raw])
        items = json_as(page[listing.key], list[msgspec.Raw])
        return items, _marker(_next(page, listing.key))
    except _NOT_JSON as error:
        reason = plain(str(error)) or type(error).__name__
    except KeyError:
        reason = f"there is no {listing.key!r} in it"
    what = f"{listing.service}: GET {listing.path}: the answer is not a page of {listing.key}"
    raise TargetError(f"{what}: {reason}", file=target)


def decoded(raws: list[msgspec.Raw], listing: Listing[T], target: str) -> ListPage[T]:
    """The items that are what they should be; an error for each other one, by its id."""
    page: ListPage[T] = ListPage([], [])
    for raw in raws:
        try:
            page.items.append(listing.decoder.decode(raw))
        except _NOT_JSON as error:
            reason = plain(str(error)) or type(error).__name__
            what = f"{listing.key}: {_id_of(raw)} cannot be understood: {reason}"
            page.errors.append(ReadError(what, target))
    return page


def read_error(error: TargetError) -> ReadError:
    """The error that ended a list, as a record of what could not be read."""
    return ReadError(error.message, error.file)


def _next(page: dict[str, msgspec.Raw], key: str) -> str | None:
    if (links := page.get(f"{key}_links")) is not None:
        found = json_as(links, list[_Link])
        return next((link.href for link in found if link.rel == "next"), None)
    if (following := page.get("next")) is not None:
        return json_as(following, str | None)
    if (links := page.get("links")) is not None:
        return json_as(links, _Links).next
    return None


def _marker(url: str | None) -> str | None:
    """The marker in a URL. Raises DecodeError where the URL has none: it leads nowhere."""
    if url is None:
        return None
    try:
        markers = parse_qs(urlsplit(url).query).get("marker")
    except ValueError:
        markers = None
    if not markers:
        raise msgspec.DecodeError("the link to the next page has no marker")
    return markers[-1]


def _id_of(raw: msgspec.Raw) -> str:
    try:
        found = json_as(raw, _WithId).id
    except _NOT_JSON:
        found = None
    return "one without an id" if found is None else plain(found)[:_NAME]
