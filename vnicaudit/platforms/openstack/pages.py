"""Lists that come in pages, followed by their markers.

A service says where the next page is as a URL: Nova and Neutron in ``<name>_links``, Glance in
``next``, Keystone in ``links``. The host in it is often wrong behind a proxy, so only its marker is
taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.calls import Calls
from vnicaudit.platforms.openstack.failures import plain

T = TypeVar("T")

_MOST_PAGES = 100_000
_NOT_JSON = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_NAME = 80
"""Characters of an id in a message."""


class Listing(NamedTuple):
    """One list of a service: where, under which key its items are, and what else to ask for."""

    service: str
    path: str
    key: str
    limit: int | None
    """None: the list does not come in pages."""
    query: tuple[tuple[str, str], ...] = ()
    microversion: str | None = None


class Page(msgspec.Struct, Generic[T]):
    """The items of one page that could be understood, and what was wrong with the others."""

    items: list[T]
    errors: list[ReadError]


class _Link(msgspec.Struct):
    rel: str = ""
    href: str = ""


class _Links(msgspec.Struct):
    next: str | None = None


class _Named(msgspec.Struct):
    id: str | None = None


def pages(calls: Calls, listing: Listing, decoder: msgspec.json.Decoder[T]) -> Iterator[Page[T]]:
    """Page after page. Raises TargetError where one cannot be had or understood: what was
    yielded before stands."""
    marker: str | None = None
    seen: set[str] = set()
    for _ in range(_MOST_PAGES):
        query = list(listing.query)
        if listing.limit is not None:
            query.append(("limit", str(listing.limit)))
        if marker is not None:
            query.append(("marker", marker))
        body = calls.get(listing.service, listing.path, query, listing.microversion)
        raws, marker = split(body, listing, calls.cloud.target)
        yield decoded(raws, listing, decoder, calls.cloud.target)
        if marker is None:
            return
        if marker in seen:
            break
        seen.add(marker)
    raise _endless(listing, f"the page after {plain(marker or '')[:_NAME]}", calls.cloud.target)


def offset_pages(
    calls: Calls, listing: Listing, decoder: msgspec.json.Decoder[T]
) -> Iterator[Page[T]]:
    """As :func:`pages`, of a list without links: the next page begins behind what came, and an
    empty one is the end."""
    offset, first = 0, b""
    for _ in range(_MOST_PAGES):
        query = [*listing.query, ("limit", str(listing.limit)), ("offset", str(offset))]
        body = calls.get(listing.service, listing.path, query, listing.microversion)
        raws, _marker_of_none = split(body, listing, calls.cloud.target)
        if not raws:
            return
        if bytes(raws[0]) == first:
            break
        yield decoded(raws, listing, decoder, calls.cloud.target)
        offset, first = offset + len(raws), bytes(raws[0])
    raise _endless(listing, f"the page at {offset}", calls.cloud.target)


def _endless(listing: Listing, which: str, target: str) -> TargetError:
    what = f"{listing.service}: GET {listing.path}: its pages never end"
    return TargetError(f"{what}: {which} comes again", file=target)


def split(body: bytes, listing: Listing, target: str) -> tuple[list[msgspec.Raw], str | None]:
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


def decoded(
    raws: list[msgspec.Raw], listing: Listing, decoder: msgspec.json.Decoder[T], target: str
) -> Page[T]:
    """The items that are what they should be; an error for each other one, by its id."""
    page: Page[T] = Page([], [])
    for raw in raws:
        try:
            page.items.append(decoder.decode(raw))
        except _NOT_JSON as error:
            reason = plain(str(error)) or type(error).__name__
            what = f"{listing.key}: {_id_of(raw)} cannot be understood: {reason}"
            page.errors.append(ReadError(what, target))
    return page


def read_error(error: TargetError) -> ReadError:
    """What ended a list, as something that could not be read."""
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
        found = json_as(raw, _Named).id
    except _NOT_JSON:
        found = None
    return "one without an id" if found is None else plain(found)[:_NAME]
