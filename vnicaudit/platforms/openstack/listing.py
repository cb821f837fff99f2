"""A list of a service as a value, its pages, and the collected items.

A service gives the next page as a URL: Nova and Neutron in ``<name>_links``, Glance in ``next``,
Keystone in ``links``. The host in it is often wrong behind a proxy, so only its marker is used. If
there is no URL (Nova's server groups), the next page begins after the items received so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import plain
from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.openstack import NovaVersions
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.client import CallError, Client

if TYPE_CHECKING:
    from typing_extensions import Self

# Determine the possible releases of Nova from its highest microversion, and the microversion for
# each request.
#
# Source: Nova 34.0.0, ``api/openstack/compute/rest_api_version_history.rst``, whose headings say
# "Maximum in …"; the numbers of releases are on releases.openstack.org.


Microversion = tuple[int, int]

_MAXIMUM = (
    ((2, 3), 11, 11), ((2, 12), 12, 12), ((2, 25), 13, 13), ((2, 38), 14, 14), ((2, 42), 15, 15),
    ((2, 53), 16, 16), ((2, 60), 17, 17), ((2, 65), 18, 18), ((2, 72), 19, 19), ((2, 79), 20, 20),
    ((2, 87), 21, 22), ((2, 88), 23, 23), ((2, 90), 24, 25), ((2, 93), 26, 26), ((2, 95), 27, 28),
    ((2, 96), 29, 30), ((2, 100), 31, 32), ((2, 103), 33, 33), ((2, 104), 34, 34),
)  # fmt: skip
"""Highest microversion of a release, and the first and the last release that has it: Kilo (11), …,
2026.2 Hibiscus (34)."""

_STORED = (2, 98)
"""``image.properties`` of a server: the properties that Nova keeps for it."""
_FLAVOR = (2, 47)
"""``flavor`` of a server has the extra specs that Nova keeps for it, and no longer the id."""
_DOWN_CELLS = (2, 69)
"""A list of servers includes those of a cell that is down, with few facts; before, Nova leaves them
out silently (its API guide, "Handling Down Cells")."""
_SPECS = (2, 61)
"""``extra_specs`` of a flavor in the list of flavors."""
_CPU = (2, 87)
"""The last with ``cpu_info`` of a hypervisor; from 2.88 on Nova instead queries each host for its
uptime, which takes long if one is down."""
_LEAST = (2, 1)


class Microversions(NamedTuple):
    """The microversion for each list, and the features of the answers."""

    servers: Microversion
    flavors: Microversion
    nodes: Microversion

    @property
    def stored_properties(self) -> bool:
        """True if servers come with the image properties that Nova has stored for them."""
        return self.servers >= _STORED


def microversions(highest: Microversion | None) -> Microversions:
    """The lowest microversions that return everything needed, as far as this Nova supports them."""
    most = highest or _LEAST
    return Microversions(
        servers=next((each for each in (_STORED, _DOWN_CELLS) if most >= each), min(most, _FLAVOR)),
        flavors=min(most, _SPECS),
        nodes=min(most, _CPU),
    )


def releases(highest: Microversion | None) -> NovaVersions:
    """The releases of Nova with exactly this highest microversion. One between those of two
    releases belongs to a development snapshot of the later one."""
    if highest is None:
        return NovaVersions("")
    text = microversion_text(highest)
    later = [row for row in _MAXIMUM if row[0] >= highest]
    if not later:
        return NovaVersions(text, oldest=_MAXIMUM[-1][2])
    maximum, oldest, newest = later[0]
    if maximum == _MAXIMUM[0][0]:
        return NovaVersions(text, newest=newest)
    return NovaVersions(text, oldest, newest if maximum == highest else oldest)


def microversion_text(microversion: Microversion) -> str:
    """``(2, 98)`` -> ``2.98``."""
    return f"{microversion[0]}.{microversion[1]}"


T = TypeVar("T")

REFUSED = frozenset({403, 404, 410})
"""Answers that mean that this user is not shown a list, rather than that reading it failed: the
policy forbids it (403), hides it (404), or this release no longer has it (410). Any other failure,
including no answer, is an error."""
_MOST_PAGES = 100_000
_NOT_JSON = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_NAME = 80
"""Maximum number of characters of an id in a message."""


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """One list of a service: its path, the key of its items, the record for each item, how it is
    requested, and who may see it."""

    service: str
    path: str
    key: str
    decoder: msgspec.json.Decoder[T]
    limit: int | None
    """Items per page; None: the list has no pages."""
    query: tuple[tuple[str, str], ...] = ()
    microversion: str | None = None
    by_offset: bool = False
    """Its pages have no links: each follows the items received so far, and an empty one is the
    end."""
    refused: frozenset[int] = frozenset()
    """Answers that mean that this user may not see it, and that nothing is wrong."""
    hidden: str = ""
    """What is hidden from this user then, for a note."""

    def at(self, microversion: Microversion) -> Listing[T]:
        """The list as returned with this microversion."""
        return replace(self, microversion=microversion_text(microversion))


class ListPage(msgspec.Struct, Generic[T]):
    """The items of one page that could be decoded, and errors for the others."""

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
    """The result of reading a list completely. ``visible``: False if this user may not see it
    (``hidden`` says what is hidden), None if it was not read to its end (``errors`` say why)."""

    def __init__(self) -> None:
        self.visible: bool | None = None
        self.hidden = ""
        self.errors: list[ReadError] = []

    @property
    def complete(self) -> bool:
        """True if every item of the list was read."""
        return self.visible is True and not self.errors

    def add(self, raw: T) -> None:
        """Add one item."""
        raise NotImplementedError

    def read(self, client: Client, listing: Listing[T]) -> Self:
        """Add every item of a list, and return itself. If that fails half-way, the items received
        so far stay."""
        return self.take_in(pages(client, listing), listing)

    def take_in(self, listed: Iterable[ListPage[T]], listing: Listing[T]) -> Self:
        """Add pages that the caller requests; otherwise like :meth:`read`."""
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
    """Page after page. Raises TargetError if one cannot be read or decoded; earlier pages remain
    valid."""
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
    """The items of a page, each undecoded, and the marker of the next page; None if there is no
    next page. Raises TargetError if it is not such a page."""
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
    """The items that could be decoded; an error for each other item, by its id."""
    page: ListPage[T] = ListPage([], [])
    for raw in raws:
        try:
            page.items.append(listing.decoder.decode(raw))
        except _NOT_JSON as error:
            reason = plain(str(error)) or type(error).__name__
            try:
                found = json_as(raw, _WithId).id
            except _NOT_JSON:
                found = None
            which = "one without an id" if found is None else plain(found)[:_NAME]
            what = f"{listing.key}: {which} cannot be understood: {reason}"
            page.errors.append(ReadError(what, target))
    return page


def read_error(error: TargetError) -> ReadError:
    """The error that ended a list, as a record for the report."""
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
    """The marker in a URL. Raises DecodeError if the URL has none."""
    if url is None:
        return None
    try:
        markers = parse_qs(urlsplit(url).query).get("marker")
    except ValueError:
        markers = None
    if not markers:
        raise msgspec.DecodeError("the link to the next page has no marker")
    return markers[-1]
