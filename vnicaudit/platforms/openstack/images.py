"""``GET /v2/images``: the images of a cloud with all their properties.

Glance puts the properties of an image beside its own attributes, as texts. Source of those: Glance
33.0.0, ``api/v2/images.py`` (``get_base_properties``, ``_format_image``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping

from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Image, Property
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.calls import CallError, Calls
from vnicaudit.platforms.openstack.guest import readiness_by
from vnicaudit.platforms.openstack.pages import Listing, Page, pages, read_error

_PAGE = 500
"""Glance gives 25 unless asked for more, and 1,000 at most (``api_limit_max``)."""
_BAD_REQUEST = 400

_ATTRIBUTES = frozenset({
    "id", "name", "status", "visibility", "protected", "os_hidden", "checksum", "os_hash_algo",
    "os_hash_value", "owner", "size", "virtual_size", "container_format", "disk_format",
    "created_at", "updated_at", "tags", "direct_url", "min_ram", "min_disk", "self", "file",
    "stores", "schema", "locations",
})  # fmt: skip
_NO_MORE = frozenset({"deleted", "pending_delete", "killed"})
"""Of such an image no server can be made again."""
_ALL = (("visibility", "all"),)
"""Images of others that are shared with the whole community too; Glance leaves them out else."""
_HIDDEN = (("os_hidden", "true"),)
"""Images that are listed to those only who ask: superseded, but servers of them run on."""

Model = Callable[[str], str | None]


class Images:
    """Images by id. ``complete`` False: some may be missing, ``errors`` say why. ``systems``: an
    image names the system in it. ``others``: images of the community."""

    def __init__(self) -> None:
        self.complete = False
        self.systems = False
        self.errors: list[ReadError] = []
        self.by_id: dict[str, Image] = {}
        self.others: set[str] = set()

    def add(self, raw: Mapping[str, object], target: str, model: Model, nova: int | None) -> None:
        """Keep one, unless it has gone."""
        image = image_of(raw, target, model, nova)
        if image is None or image.id is None:
            return
        self.systems = self.systems or image.property("os_distro") is not None
        self.by_id[image.id] = image
        if raw.get("visibility") == "community":
            self.others.add(image.id)


def read_images(calls: Calls, model: Model, nova: int | None = None) -> Images:
    """All images this user may see; ``model`` is what Nova takes for an ``os_distro``, ``nova`` the
    newest release that it may be."""
    found = Images()
    try:
        for query in ((), _HIDDEN):
            for page in _pages(calls, query):
                found.errors += page.errors
                for raw in page.items:
                    found.add(raw, calls.cloud.target, model, nova)
        found.complete = not found.errors
    except TargetError as error:
        found.errors.append(read_error(error))
    return found


def image_of(
    raw: Mapping[str, object], target: str, model: Model, nova: int | None = None
) -> Image | None:
    """The record of one image; None where it has gone."""
    identity = _text(raw, "id")
    if not identity or _text(raw, "status") in _NO_MORE:
        return None
    where = Location(target, xpath=f"images/{identity}")
    properties = tuple(
        Property(sys.intern(name), value, where)
        for name, value in sorted(raw.items())
        if name not in _ATTRIBUTES and isinstance(value, str)
    )
    values = {each.name: each.value for each in properties}
    system = values.get("os_distro")
    return Image(
        target,
        _text(raw, "name") or identity,
        where,
        properties,
        complete=True,
        disk_format=_text(raw, "disk_format") or None,
        libosinfo_model=None if system is None else model(system),
        id=identity,
        updated=_text(raw, "updated_at"),
        owner=_text(raw, "owner"),
        protected=raw.get("protected") is True,
        nova=nova,
        readiness=readiness_by(values),
    )


def _pages(calls: Calls, query: tuple[tuple[str, str], ...]) -> Iterator[Page[dict[str, object]]]:
    """With those of the community, where Glance knows of such."""
    decoder = json_decoder(dict[str, object])
    listing = Listing("image", "/images", "images", _PAGE, (*query, *_ALL))
    known = False
    try:
        for page in pages(calls, listing, decoder):
            known = True
            yield page
    except CallError as error:
        if known or error.status != _BAD_REQUEST:
            raise
        yield from pages(calls, listing._replace(query=query), decoder)


def _text(raw: Mapping[str, object], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""
