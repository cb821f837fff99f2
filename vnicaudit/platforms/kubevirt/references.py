"""Objects that a virtual machine refers to by name: preference, instance type, network attachment.

They are searched in the same file, then in the YAML and JSON files of the same folder. An object
that occurs twice with different content is ignored, because it is unknown which one the cluster
has.
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from typing import NamedTuple

import msgspec

from vnicaudit.base.opening import read_regular
from vnicaudit.errors import TargetError
from vnicaudit.model.kubevirt import Preference
from vnicaudit.platforms.kubevirt import preferences
from vnicaudit.platforms.kubevirt.objects import Object, objects_of, text_at

INSTANCETYPES = ("VirtualMachineClusterInstancetype", "VirtualMachineInstancetype")
ATTACHMENT = "NetworkAttachmentDefinition"

_MAX_FILES = 2_000
_MAX_TOTAL = 64 * 1024 * 1024
_MAX_FILE = 1024 * 1024
_SUFFIXES = (".yaml", ".yml", ".json")
_OF_INTEREST = re.compile(
    rb"""apiVersion["']?\s*:\s*["']?(?:instancetype\.kubevirt|k8s\.cni\.cncf)\.io/"""
)


class Key(NamedTuple):
    """The key of a preference or an instance type. ``space`` is the namespace as written: empty if
    there is none, and for cluster-wide kinds, which have none. A key without a namespace differs
    from one with it, because ``kubectl -n`` decides."""

    kind: str
    name: str
    space: str


def key_of(kind: str, name: str, space: str) -> Key:
    """The key of an object of that kind and name in that namespace."""
    return Key(kind, name, "" if "Cluster" in kind else space)


class Referred(msgspec.Struct):
    """The preferences, instance types and networks that a file, or a folder, defines. Keys of
    attachments are namespace and name; the namespace is empty if none is written."""

    preferences: dict[Key, Preference | None] = {}
    vcpus: dict[Key, int | None] = {}
    networks: dict[tuple[str, str], str] = {}

    def add(self, found: Object, target: str) -> None:
        """Add one object, if it is of one of these kinds."""
        name = found.name
        if name is None:
            return
        if found.kind in preferences.KINDS:
            key = key_of(found.kind, name, found.space)
            self._add_preference(key, preferences.preference_of(found, target))
        elif found.kind in INSTANCETYPES:
            guest = found.place.at("spec", "cpu", "guest")
            count = None if guest is None else guest.integer
            key = key_of(found.kind, name, found.space)
            if self.vcpus.setdefault(key, count) != count:
                self.vcpus[key] = None
        elif found.kind == ATTACHMENT:
            where = (found.namespace or "", name)
            kind = network_type(text_at(found.place, "spec", "config"))
            if self.networks.setdefault(where, kind) != kind:
                self.networks[where] = ""

    def network(self, namespace: str | None, name: str) -> str:
        """The CNI type of an attachment; empty if it is unknown."""
        exact = self.networks.get((namespace or "", name))
        return exact if exact is not None else self.networks.get(("", name), "")

    def _add_preference(self, key: Key, new: Preference) -> None:
        known = self.preferences.setdefault(key, new)
        if known is not None and _without_place(known) != _without_place(new):
            self.preferences[key] = None


def network_type(config: str | None) -> str:
    """The kind of network behind an attachment: the ``type`` of its CNI configuration, or of the
    first plugin, followed by ``/primary`` if OVN-Kubernetes makes it a primary one. Empty:
    unknown."""
    try:
        data = json.loads(config or "")
    except (ValueError, RecursionError):
        return ""
    if isinstance(data, dict) and isinstance(data.get("plugins"), list) and data["plugins"]:
        data = data["plugins"][0]
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str):
        return ""
    return f"{kind}/primary" if data.get("role") == "primary" else kind


@lru_cache(maxsize=8)
def in_folder(folder: str) -> Referred:
    """The objects that the files of a folder define. Files that cannot be read define nothing.

    Cached until :func:`note_replaced`, because this is called for each manifest of a folder.
    """
    found, total = Referred({}, {}, {}), 0
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIXES))
    except OSError:
        return found
    for name in names[:_MAX_FILES]:
        path = os.path.join(folder, name)
        data = _file_content(path)
        total += len(data)
        if total > _MAX_TOTAL:
            break
        if _OF_INTEREST.search(data):
            _take(found, data, path)
    return found


def note_replaced(before: bytes, after: bytes) -> None:
    """Drop the cache if a file that was replaced defines, or defined, such objects."""
    if _OF_INTEREST.search(before) or _OF_INTEREST.search(after):
        in_folder.cache_clear()


def _take(found: Referred, data: bytes, path: str) -> None:
    try:
        for item in objects_of(data, path):
            if isinstance(item, Object):
                found.add(item, path)
    except TargetError:
        return


def _file_content(path: str) -> bytes:
    """A regular file of moderate size; empty for anything else."""
    try:
        data = read_regular(path, _MAX_FILE + 1)
    except OSError:
        return b""
    return data if len(data) <= _MAX_FILE else b""


def _without_place(preference: Preference) -> Preference:
    return msgspec.structs.replace(
        preference, target="", location=preference.location.__class__(""), places=()
    )
