"""Releases of Nova (the major number) since which a server can be changed, and since which that is
permanent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vnicaudit.model.finding import Change
from vnicaudit.model.openstack import FLAVOR_WORDS, MODEL, PROPERTY_OF, as_flag

if TYPE_CHECKING:
    from vnicaudit.model.openstack import ServerConfig

# Changes in model terms -> properties of images, which Nova keeps for each server.
#
# Sources: Nova 34.0.0, ``objects/image_meta.py`` (names) and ``cmd/manage.py`` (``image_property
# set`` can set a property but not remove one: off is ``false``).


def property_of(change: Change) -> tuple[str, str] | None:
    """``(property, value)`` for a change; None if no property does it: a ring size, a model other
    than virtio, fewer queues."""
    if change.new is None:
        return None
    name = PROPERTY_OF.get(change.field, change.field)
    if name == MODEL:
        return (name, change.new) if change.new == "virtio" else None
    if change.field == "queues":
        return (name, "true") if int(change.new) > int(change.old or 1) else None
    return (name, str(as_flag(change.new)).lower()) if name in FLAVOR_WORDS else None


def properties_of(changes: Iterable[Change]) -> dict[str, str]:
    """Image properties for these changes, name -> value; changes without a property are left
    out."""
    return dict(found for change in changes if (found := property_of(change)) is not None)


IMAGE_PROPERTY = 25
"""Yoga: ``nova-manage image_property`` shows and sets the properties that Nova keeps for a server
(its release notes). From then on it also keeps the values that it chose itself (``hw_vif_model``
and others)."""

LASTING = 30
"""Dalmatian: a property set by ``image_property set`` survives a resize and a cold migration, since
the command changes the request specification too (Launchpad bug 2078999, fixed by 2a1fad4145)."""

VIF_MODELS_SINCE = {"igb": 31, "vmxnet3": 22, "e1000e": 19}
"""Models that Nova's libvirt driver has not always had (``SUPPORTED_VIF_MODELS``, and
``is_vif_model_valid_for_virt`` before it, in ``virt/libvirt/vif.py`` of 15.1.5 to 34.0.0). Before
31 Nova did not know the word ``igb`` at all (``network/model.py``)."""
VIF_WORDS_SINCE = {"igb": 31, "lan9118": 16}
"""Values of ``hw_vif_model`` that Nova has not always known (same sources): an older Nova refuses
the image."""


def lacks_vif_model(model: str, newest: int | None) -> bool:
    """True if the libvirt driver of a Nova, at most as new as ``newest``, certainly lacks that
    model; False if the release is unknown (None)."""
    return newest is not None and newest < VIF_MODELS_SINCE.get(model, 0)


def may_have_overrides(server: ServerConfig) -> bool:
    """True if Nova may keep other properties for a server than its image shows: values that it
    chose itself (``_register_undefined_instance_details`` in nova/virt/libvirt/driver.py) or that
    ``nova-manage image_property`` has set; both since 25.0."""
    newest = None if server.nova is None else server.nova.newest
    return server.properties_source == "image" and (newest is None or newest >= IMAGE_PROPERTY)
