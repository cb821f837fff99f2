"""Convert a change of a NIC or a preference to edits of its manifest, leaving everything else as it
is.

Source of the fields: KubeVirt ``staging/src/kubevirt.io/api/core/v1/schema.go`` (Interface,
Devices) and ``instancetype/v1beta1/types.go`` (DevicePreferences).
"""

from __future__ import annotations

import re
from functools import lru_cache

from vnicaudit.errors import RefusedError, TargetError
from vnicaudit.model.finding import Change, Location
from vnicaudit.platforms.kubevirt.interfaces import note_replaced
from vnicaudit.text.edits import Edit
from vnicaudit.text.json_items import JsonItem, json_items
from vnicaudit.text.yaml_edits import at_pointer, with_key, with_value
from vnicaudit.text.yaml_nodes import YamlDocument, YamlPlace, documents

__all__ = ["ENTAILED", "OWNER_REWRITES", "SHARED", "edits_for", "note_replaced", "text_of"]

ENTAILED: dict[str, tuple[str, ...]] = {}
"""Field -> others that go with it: none."""

SHARED = frozenset({"queues"})
"""Fields that one setting decides for all NICs of a virtual machine."""

OWNER_REWRITES = False
"""KubeVirt writes definitions from the manifest, but does not rewrite the manifest."""

_INTERFACE = re.compile(r".*/devices/interfaces/\d+(?=/|\Z)")
_DEVICES = re.compile(r".*/devices(?=/|\Z)")
_NUMBER = re.compile(r"\[(\d{1,9})\]")
_ITEM = re.compile(r"(?:\[\d{1,9}\])?(?:/items/\d{1,9})?")
_MULTIQUEUE = "networkInterfaceMultiqueue"
_PREFERRED = ("preferredInterfaceModel", "preferredNetworkInterfaceMultiQueue")


def edits_for(data: bytes, place: Location, change: Change) -> list[Edit]:
    """The edits that make ``change`` at ``place``: where its field is, or would be.

    Raises RefusedError if KubeVirt has no such field, or if it is not certain in the manifest (a
    template, an anchor, a preference).
    """
    pointer = place.xpath or "/"
    top = _document(data, place, pointer)
    if pointer.endswith(_PREFERRED):
        if change.new is None:
            raise RefusedError("a preferred value cannot be removed in place: edit it by hand")
        return [with_value(_place_at(top, pointer), change.new)]
    interface, devices = _INTERFACE.match(pointer), _DEVICES.match(pointer)
    if change.field == "model" and interface and change.new not in (None, "virtio-transitional"):
        return [_edit_to_set(_place_at(top, interface[0]), "model", str(change.new), ("name",))]
    if change.field in ("queues", "multiqueue") and devices:
        return [
            _edit_to_set(_place_at(top, devices[0]), _MULTIQUEUE, _switch(change), ("interfaces",))
        ]
    raise RefusedError(f"this manifest has no field for {change.field}: edit it by hand")


def text_of(data: bytes) -> str:
    """The file's text for display."""
    return data.decode("utf-8-sig", "surrogateescape")


def _switch(change: Change) -> str:
    """The value of the multiqueue switch, which gives a NIC as many queues as vCPUs, or one."""
    if change.field == "multiqueue":
        return change.new or "false"
    return "true" if int(change.new or 1) > int(change.old or 1) else "false"


def _edit_to_set(place: YamlPlace, key: str, value: str, after: tuple[str, ...]) -> Edit:
    found = place.child(key)
    return with_key(place, key, value, after) if found is None else with_value(found, value)


def _place_at(top: YamlPlace, pointer: str) -> YamlPlace:
    found = at_pointer(top, pointer)
    if found is None:
        raise RefusedError("that place is no longer in the document")
    return found


def _document(data: bytes, place: Location, pointer: str) -> YamlPlace:
    """The root of the document, or of the object of a list of JSON, that a pointer is in."""
    file, items = place.file or place.target, _items(data)
    if items is not None:
        match = _ITEM.match(pointer)
        item = items.get(match[0] if match else "")
        if item is not None:
            return item.document(file).top
    number = _NUMBER.match(pointer)
    for document in () if items is not None else _documents(data, file):
        if not document.several if number is None else document.number == int(number[1]):
            return document.top
    raise RefusedError("the document is no longer in the file")


@lru_cache(maxsize=1)
def _items(data: bytes) -> dict[str, JsonItem] | None:
    """The objects of a JSON file by the pointer to each; None if it is not JSON."""
    found = json_items(data)
    return None if found is None else {item.top: item for item in found}


@lru_cache(maxsize=1)
def _documents(data: bytes, file: str) -> tuple[YamlDocument, ...]:
    """Return the readable documents. The last file is cached, because it has many NICs."""
    found = documents(data, file)
    return tuple(document for document in found if not isinstance(document, TargetError))
