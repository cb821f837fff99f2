"""``GET /v2/images``: the images of a cloud with all their properties, and which of those Nova has
stored for a server.

Glance returns the properties of an image beside its own attributes, as texts. Source of those:
Glance 33.0.0, ``api/v2/images.py`` (``get_base_properties``, ``_format_image``).

Nova copies the properties of the image when a server is created or rebuilt
(``utils.get_system_metadata_from_image``), adds defaults if its driver is libvirt (since 25.0:
``_register_undefined_instance_details``), and never reads the image again. From 2.98 on it reports
them. Before, they are known only if the image was not changed since the server was created: the
copied properties are then still in the image, and a later rebuild copied the same. Properties that
Nova added, or an admin set with ``nova-manage image_property set`` (25.0), are not visible that
way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Image, Property
from vnicaudit.model.server import ImageState, PropertiesSource
from vnicaudit.platforms.openstack.client import CallError, Client
from vnicaudit.platforms.openstack.guest import readiness_by
from vnicaudit.platforms.openstack.listing import Collection, Listing, ListPage, pages
from vnicaudit.platforms.openstack.servers import RawImage, RawServer, text_of

_PAGE = 500
"""Glance returns 25 unless more are requested, and 1,000 at most (``api_limit_max``)."""
_BAD_REQUEST = 400

_ATTRIBUTES = frozenset({
    "id", "name", "status", "visibility", "protected", "os_hidden", "checksum", "os_hash_algo",
    "os_hash_value", "owner", "size", "virtual_size", "container_format", "disk_format",
    "created_at", "updated_at", "tags", "direct_url", "min_ram", "min_disk", "self", "file",
    "stores", "schema", "locations",
})  # fmt: skip
_NO_MORE = frozenset({"deleted", "pending_delete", "killed"})
"""States of images from which no server can be created any more."""
_ALL = (("visibility", "all"),)
"""Also lists images of others that are shared with the whole community, which Glance leaves out by
default."""
_HIDDEN = (("os_hidden", "true"),)
"""Lists images that are only shown on request: superseded, but still used by servers."""

_PREFIXES = ("hw_", "img_", "os_", "trait:")
_LEGACY = frozenset({"architecture", "hypervisor_type", "vm_mode", "root_device_name"})
"""Names without such a prefix that Nova also knows (``objects/image_meta.py``)."""
_LONGEST = 255
"""Maximum length of a value that Nova keeps."""
_MOST = 500
"""Maximum number of properties; Glance allows 128 per image by default
(``image_property_quota``)."""
_DOUBT = timedelta(seconds=60)
"""Clocks of two services may differ, and Nova reads the image before it creates the server."""


Model = Callable[[str], str | None]
Properties = tuple[tuple[str, str], ...]


IMAGES = Listing("image", "/images", "images", json_decoder(dict[str, object]), _PAGE)


class Images(Collection[dict[str, object]]):
    """Images of a cloud by id; ``model`` returns the model that Nova uses for an ``os_distro``,
    ``nova`` is the newest release that it may be. ``others``: images of the community."""

    def __init__(self, target: str, model: Model, nova: int | None = None) -> None:
        super().__init__()
        self.by_id: dict[str, Image] = {}
        self.others: set[str] = set()
        self._target, self._model, self._nova = target, model, nova

    def add(self, raw: dict[str, object]) -> None:
        """Add an image, unless it is deleted."""
        image = image_of(raw, self._target, self._model, self._nova)
        if image is None or image.id is None:
            return
        self.by_id[image.id] = image
        if raw.get("visibility") == "community":
            self.others.add(image.id)


def read_images(client: Client, model: Model, nova: int | None = None) -> Images:
    """All images that this user may see; ``model`` and ``nova`` as in :class:`Images`."""
    listed = (page for query in ((), _HIDDEN) for page in _pages(client, query))
    return Images(client.cloud.target, model, nova).take_in(listed, IMAGES)


def image_of(
    raw: Mapping[str, object], target: str, model: Model, nova: int | None = None
) -> Image | None:
    """The record of one image; None if it is deleted."""
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
        nova=nova,
        readiness=readiness_by(values),
    )


def _pages(
    client: Client, query: tuple[tuple[str, str], ...]
) -> Iterator[ListPage[dict[str, object]]]:
    """Pages of images, including those of the community, if Glance supports that."""
    known = False
    try:
        for page in pages(client, replace(IMAGES, query=(*query, *_ALL))):
            known = True
            yield page
    except CallError as error:
        if known or error.status != _BAD_REQUEST:
            raise
        yield from pages(client, replace(IMAGES, query=query))


def _text(raw: Mapping[str, object], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def stored_properties(
    server: RawServer, image: Image | None
) -> tuple[Properties, PropertiesSource]:
    """The properties, sorted, and how they are known."""
    if isinstance(server.image, RawImage) and server.image.properties is not None:
        said = ((name, text_of(value)) for name, value in server.image.properties.items())
        return _sorted(said), "api"
    if image is not None and _unchanged(image.updated, server.created or ""):
        copied = ((each.name, each.value) for each in image.properties)
        return _sorted(pair for pair in copied if _is_stored(pair[0])), "image"
    return (), "unseen"


def image_state(server: RawServer, image: Image | None, *, all_seen: bool) -> ImageState:
    """The state of the image that a server was created from: ``there``, ``gone``, ``unseen``, or
    ``volume`` for a server created from a volume. ``all_seen``: this user sees every image."""
    if image is not None:
        return "there"
    if server.image == "":
        return "volume"
    return "gone" if all_seen and server.image_id is not None else "unseen"


def _sorted(pairs: Iterable[tuple[str, str]]) -> Properties:
    return tuple(sorted((name, value[:_LONGEST]) for name, value in pairs)[:_MOST])


def _is_stored(name: str) -> bool:
    return name.startswith(_PREFIXES) or name in _LEGACY


def _unchanged(updated: str, created: str) -> bool:
    """True if the image was certainly last changed before the server was created."""
    last, made = _time(updated), _time(created)
    return last is not None and made is not None and made - last >= _DOUBT


def _time(text: str) -> datetime | None:
    """The time in ``2026-11-22T03:18:17Z``; None if it is not a time in UTC."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None
