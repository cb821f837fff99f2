"""Which image properties Nova keeps for a server, and how that is known.

Nova copies the properties of the image when a server is made or rebuilt
(``utils.get_system_metadata_from_image``), adds defaults where its driver is libvirt (since 25.0:
``_register_undefined_instance_details``), and never looks at the image again. From 2.98 on it says
them. Before, they are known only where the image was not changed since the server was made: what
was copied then is still in the image, and a rebuild, which comes later, copied the same. What Nova
added, or an admin set with ``nova-manage image_property set`` (25.0), is not seen that way.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from vnicaudit.model.openstack import Image
from vnicaudit.model.server import ImageState, Kept
from vnicaudit.platforms.openstack.flavors import text_of
from vnicaudit.platforms.openstack.servers import RawImage, RawServer

_PREFIXES = ("hw_", "img_", "os_", "trait:")
_LEGACY = frozenset({"architecture", "hypervisor_type", "vm_mode", "root_device_name"})
"""Names without such a prefix that Nova knows too (``objects/image_meta.py``)."""
_LONGEST = 255
"""Nova keeps no more of a value."""
_MOST = 500
"""Glance lets an image have 128 properties by default (``image_property_quota``)."""
_DOUBT = timedelta(seconds=60)
"""Clocks of two services may differ, and Nova reads the image before it makes the server."""

Properties = tuple[tuple[str, str], ...]


def kept_of(server: RawServer, image: Image | None) -> tuple[Properties, Kept]:
    """The properties, sorted, and how they are known."""
    if isinstance(server.image, RawImage) and server.image.properties is not None:
        said = ((name, text_of(value)) for name, value in server.image.properties.items())
        return _sorted(said), "api"
    if image is not None and _unchanged(image.updated, server.created or ""):
        copied = ((each.name, each.value) for each in image.properties)
        return _sorted(pair for pair in copied if _is_kept(pair[0])), "image"
    return (), "unseen"


def image_state(server: RawServer, image: Image | None, *, all_seen: bool) -> ImageState:
    """What has become of the image a server was made of; ``all_seen``: this user is shown every
    image that there is."""
    if image is not None:
        return "there"
    if server.image == "":
        return "volume"
    return "gone" if all_seen and server.image_id is not None else "unseen"


def _sorted(pairs: Iterable[tuple[str, str]]) -> Properties:
    return tuple(sorted((name, value[:_LONGEST]) for name, value in pairs)[:_MOST])


def _is_kept(name: str) -> bool:
    return name.startswith(_PREFIXES) or name in _LEGACY


def _unchanged(updated: str, created: str) -> bool:
    """Whether the image surely had its last change before the server was made."""
    last, made = _time(updated), _time(created)
    return last is not None and made is not None and made - last >= _DOUBT


def _time(text: str) -> datetime | None:
    """``2026-11-22T03:18:17Z``; None for what is no time in UTC."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None
