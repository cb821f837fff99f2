"""Changes in model terms -> properties of images, which Nova keeps for each server.

Sources: Nova 34.0.0, ``objects/image_meta.py`` (names) and ``cmd/manage.py`` (``image_property
set`` can set a property but not remove one: off is ``false``).
"""

from __future__ import annotations

from collections.abc import Iterable

from vnicaudit.model.finding import Change
from vnicaudit.model.openstack import as_flag
from vnicaudit.model.server import FLAVOR_WORDS, MODEL, PROPERTY_OF


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
