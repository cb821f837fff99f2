"""Read manifests into domains and preferences.

A key that occurs twice is an error if a verdict depends on it, because it is unknown which one was
meant (``faults.py``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain, DomainConfig, FromManifest
from vnicaudit.model.finding import KUBEVIRT, Readiness
from vnicaudit.model.kubevirt import Manifest, Preference
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.kubevirt import objects
from vnicaudit.platforms.kubevirt.faults import ambiguous, misplaced, word_in
from vnicaudit.platforms.kubevirt.interfaces import (
    Key,
    Referred,
    in_folder,
    is_of_interest,
    key_of,
    nics_of,
    settings_among,
)
from vnicaudit.platforms.kubevirt.objects import (
    MACHINE_GROUPS,
    VM_SPEC,
    VMI_SPEC,
    Object,
    documents_of,
    location_of,
    named_systems,
    names_at,
    objects_among,
    place_at,
    readiness_of_devices,
    readiness_of_words,
    text_at,
    vcpus_of,
    with_devices,
)
from vnicaudit.platforms.kubevirt.recognise import PREFIXED, is_wanted
from vnicaudit.text.comment_walk import reason_and_settings
from vnicaudit.text.json_items import json_items
from vnicaudit.text.yaml_nodes import Sequence, YamlPlace, documents

# Suppressions in a manifest: annotations of the virtual machine.
#
# ``suppress.vnicaudit/VNIC071: the vendor supports e1000 only; until=2027-01-31``


PREFIX = "suppress.vnicaudit/"


def suppressions_of(found: Object) -> tuple[str, ...]:
    """The raw JSON of each, as in :attr:`vnicaudit.model.domain.Domain.suppressions`."""
    annotations = found.place.at("metadata", "annotations")
    entries = [
        {"rule": key.removeprefix(PREFIX), **reason_and_settings(text_at(annotations, key) or "")}
        for key in names_at(annotations)
        if key.startswith(PREFIX)
    ]
    return tuple(msgspec.json.encode(entry).decode() for entry in entries)


# Read the manifest of a virtual machine into :class:`~vnicaudit.model.domain.Domain`: a whole one,
# or a piece of one, such as a kustomize patch or a Helm partial.
#
# A piece is something that KubeVirt would refuse as it is. Settings missing from it are elsewhere,
# so they have no defaults. Sources: ``DomainSpec.Devices`` is required (``api/core/v1/schema.go``);
# ``validateInterfacesAssignedToNetworks`` and ``validateNetworksAssignedToInterfaces`` in
# ``pkg/network/admitter/netiface.go``; ``validateRunStrategy`` in ``vms-admitter.go``.


_WHOLE = (
    "the whole manifest, as kustomize or Helm builds it (KubeVirt refuses it as it is here: it "
    "lacks "
    "{})"
)
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


class Reference(NamedTuple):
    """A preference or an instance type that a VM names. ``name`` None: a template decides.
    ``space`` is the VM's namespace."""

    kind: str
    name: str | None
    space: str

    @property
    def key(self) -> Key | None:
        """The reference's key among the objects that were read; None if a template decides the
        name."""
        return None if self.name is None else key_of(self.kind, self.name, self.space)

    @property
    def readiness(self) -> Readiness:
        """The virtio readiness according to the reference's name (``windows.11``, ``fedora``)."""
        return readiness_of_words(self.name)


def domain_of(found: Object, known: list[Referred], target: str) -> Domain | None:
    """The virtual machine that one object describes; None if it has no ``spec.domain``."""
    machine = found.place.at(*VMI_SPEC[found.kind])
    spec = place_at(machine, "spec")
    domain = place_at(spec, "domain")
    if machine is None or spec is None or domain is None:
        return None
    if word_in(found):
        return None
    preference = _reference(found, "preference", "VirtualMachineClusterPreference")
    prefers = _preference(preference, known)
    manifest = _manifest(found.kind, domain, preference, prefers)
    manifest = replace(manifest, version=settings_among(known).version)
    beside = None if prefers is None else prefers.location.file
    if beside == found.place.document.source.file:
        manifest, beside = replace(manifest, preference_judged=True), None
    readiness, by_image = _readiness(found, machine, domain, prefers or preference)
    lacks = lacking(found, spec)
    nics = () if lacks else nics_of(found, spec, prefers, known, target)
    vcpus = _vcpus(found, domain, known)
    arch = text_at(spec, "architecture")
    return Domain(
        name=found.display_name,
        declared=DomainConfig(
            type="kvm",
            arch=None if arch is None else _ARCHITECTURES.get(arch, arch),
            machine=text_at(domain, "machine", "type"),
            vcpus=vcpus,
            vcpus_max=vcpus,
            owner="kubevirt",
            described_by=replace(manifest, by_image=by_image),
            platform=KUBEVIRT,
            readiness=with_devices(readiness, transitional=manifest.transitional),
            encrypted=domain.child("launchSecurity") is not None,
            nics=len(nics),
        ),
        location=location_of(found.place.at("metadata", "name") or found.place, target),
        nics=nics,
        known_by=None if beside is None else FromManifest(beside),
        unjudged=_WHOLE.format(lacks) if lacks else "",
        suppressions=suppressions_of(found),
    )


def _reference(found: Object, key: str, default_kind: str) -> Reference | None:
    way = VM_SPEC.get(found.kind)
    place = None if way is None else found.place.at(*way, key)
    if place is None:
        return None
    if not place.certain or not place.complete:
        return Reference(default_kind, None, found.space)
    kind = text_at(place, "kind") or default_kind
    kinds = {"virtualmachinepreference": "VirtualMachinePreference",
             "virtualmachineinstancetype": "VirtualMachineInstancetype"}  # fmt: skip
    return Reference(kinds.get(kind.lower(), default_kind), text_at(place, "name"), found.space)


def _preference(reference: Reference | None, known: list[Referred]) -> Preference | None:
    key = None if reference is None else reference.key
    if key is None:
        return None
    all_found = (each.preferences.get(key) for each in known)
    return next((found for found in all_found if found is not None), None)


def _manifest(
    kind: str, domain: YamlPlace, reference: Reference | None, prefers: Preference | None
) -> Manifest:
    devices = domain.child("devices")
    own = place_at(devices, "networkInterfaceMultiqueue")
    transitional = place_at(devices, "useVirtioTransitional")
    preferred = prefers or Preference("", "", location=location_of(domain, ""))
    read = reference is None or prefers is not None
    open_ended = devices is not None and not devices.complete
    if own is not None:
        multiqueue, multiqueue_read = own.boolean, own.boolean is not None
    else:
        multiqueue = preferred.multiqueue
        multiqueue_read = read and not open_ended and "multiqueue" not in preferred.unseen
    return Manifest(
        kind=kind,
        preference=None if reference is None else reference.name or "of a template",
        preference_read=read and "model" not in preferred.unseen,
        preferred_model=preferred.interface_model,
        preferred_readiness=preferred.readiness,
        multiqueue=multiqueue,
        multiqueue_read=multiqueue_read,
        transitional=bool(preferred.transitional if transitional is None else transitional.boolean),
    )


def _readiness(
    found: Object, machine: YamlPlace, domain: YamlPlace, prefers: Preference | Reference | None
) -> tuple[Readiness, bool]:
    """The guest's virtio readiness: by names in labels and annotations, else by the preference (by
    its name, if it was not read), else by its devices; and True if only the name of its container
    disk shows it."""
    named = readiness_of_words(
        *named_systems(found.place.child("metadata"), machine.child("metadata"))
    )
    if named != "unknown":
        return named, False
    if prefers is not None and prefers.readiness != "unknown":
        return prefers.readiness, False
    return readiness_of_devices(domain, machine.at("spec", "volumes"), found.name or "")


def _vcpus(found: Object, domain: YamlPlace, known: list[Referred]) -> int | None:
    """vCPUs, as KubeVirt counts them: the manifest's own, or the instance type's, or one."""
    own = vcpus_of(domain)
    if own is None or own > 0:
        return own
    reference = _reference(found, "instancetype", "VirtualMachineClusterInstancetype")
    if reference is None:
        return 1
    key = reference.key
    if key is None:
        return None
    counts = (each.vcpus.get(key) for each in known)
    return next((count for count in counts if count is not None), None)


def lacking(found: Object, spec: YamlPlace) -> str:
    """The missing part for which KubeVirt would refuse a virtual machine whose instance has this
    ``spec``; empty if nothing is missing, or a template may fill it in."""
    devices = spec.at("domain", "devices")
    if devices is None:
        return "domain.devices"
    interfaces, networks = _names(devices, "interfaces"), _names(spec, "networks")
    if interfaces is None or networks is None:
        return ""
    if not interfaces and not networks:
        return "running or runStrategy" if _never_said_to_run(found) else ""
    if alone := sorted(interfaces - networks):
        return f"a network named like the interface {alone[0][:40]!r}"
    if alone := sorted(networks - interfaces):
        return f"an interface named like the network {alone[0][:40]!r}"
    return ""


def _names(holder: YamlPlace, key: str) -> frozenset[str] | None:
    """The names in a list; None if a template decides on its items. An item without a name is
    empty."""
    place = holder.child(key)
    if place is None:
        return frozenset() if holder.complete else None
    if not isinstance(place.node, Sequence) or not place.complete:
        return None
    names = []
    for item in place.items():
        name = text_at(item, "name")
        if name is None and (item.child("name") is not None or not item.complete):
            return None
        names.append(name or "")
    return frozenset(names)


def _never_said_to_run(found: Object) -> bool:
    """True for a VirtualMachine without ``running`` and ``runStrategy``. Called only if it names no
    interface, because examples often leave both out."""
    spec = found.place.child("spec") if found.kind == "VirtualMachine" else None
    if spec is None or not spec.complete:
        return False
    return spec.child("running") is None and spec.child("runStrategy") is None


_NO_KEY = (
    "{} stands behind a log's prefix, the sign of a diff or a stray character: not judged, remove "
    "what stands before it"
)
_DOCUMENTS = re.compile(r"^(?=---)", re.MULTILINE)
_BARE_PROMPT = re.compile(r"\n[^\n]{0,80}[$#%>]\Z")


def read_bytes(
    data: bytes, *, target: str, file: str | None
) -> Iterator[Domain | Preference | ReadError | NotJudged]:
    """Every virtual machine and every preference of a file, in order, and errors for parts that
    could not be read. Raises TargetError if nothing could be read."""
    name = file or target
    here = Referred({}, {}, {})
    items = json_items(data)
    if items is None:
        parsed = list(objects_among(documents(data, name, is_wanted), name))
        named, found = iter(parsed), iter(parsed)
        yield from _unrecognised(data.decode("utf-8-sig", "replace"), name)
    else:  # each object is built when its turn comes: a cluster has many
        named = objects_among(documents_of(items, name, is_of_interest), name)
        found = objects_among(documents_of(items, name), name)
    for item in named:
        if isinstance(item, Object):
            here.add(item, target)
    for one in found:
        if isinstance(one, NotJudged):
            yield one
        elif isinstance(one, TargetError):
            yield ReadError(one.message, name, one.line)
        else:
            yield from items_of(
                one, lambda found: domain_of(found, [here, *beside(name)], target), target, name
            )


def _unrecognised(text: str, file: str) -> Iterator[ReadError]:
    """An error for each document of which a prefix or the end of the file hides what it is."""
    line, last = 1, ""
    for document in _DOCUMENTS.split(text):
        if found := PREFIXED.search(document):
            at = line + document.count("\n", 0, found.start())
            yield ReadError(_NO_KEY.format(found[1] or found[2]), file, at)
        line, last = line + document.count("\n"), document
    whole = _BARE_PROMPT.sub("", last.rstrip())
    rest = whole.removeprefix("---").strip()
    if rest and "apiVersion: kubevirt.io/v1".startswith(rest):
        line += whole.count("\n") - last.count("\n")
        yield ReadError("the last document is cut off", file, line)


DomainOf = Callable[[Object], "Domain | Literal[False] | None"]
"""The domain of a virtual machine; None if it has no ``spec.domain``; False: another object tells
of it."""


def beside(file: str) -> list[Referred]:
    """The objects of a file's folder."""
    return [in_folder(os.path.dirname(os.path.abspath(file)))] if os.path.isfile(file) else []


def items_of(
    found: Object, domain: DomainOf, target: str, file: str
) -> Iterator[Domain | Preference | ReadError | NotJudged]:
    """The virtual machine or the preference that an object is, and its faults."""
    if found.kind in objects.KINDS and found.group == objects.GROUP:
        yield from _errors(ambiguous(found), file)
        yield objects.preference_of(found, target)
    elif found.group in MACHINE_GROUPS and found.kind in VMI_SPEC:
        yield from _machine(found, domain, file)
    elif unknown := _unknown_kind(found):
        yield NotJudged(f"{unknown}: not judged (cut off?)", file, found.place.line_column[0])


_NO_DOMAIN = "{} has no {}: not judged (a patch, or cut off)"
_OTHER_KINDS = ("KubeVirt", "VirtualMachineInstanceMigration", "VirtualMachineInstancePreset")
"""Kinds of kubevirt.io (``api/core/v1/register.go``) without NICs."""


def _unknown_kind(found: Object) -> str:
    """The reason why an object is none of KubeVirt's although it looks like one; empty: none."""
    kind = found.kind[:40] or "an object"
    if found.group in MACHINE_GROUPS and found.kind not in _OTHER_KINDS:
        return f"{kind} is no kind of KubeVirt" if found.kind else f"{kind} without a kind"
    return f"{kind} without an apiVersion" if not found.group and found.kind in VMI_SPEC else ""


def _machine(
    found: Object, domain_from: DomainOf, file: str
) -> Iterator[Domain | ReadError | NotJudged]:
    error = misplaced(found)
    yield from _errors([*ambiguous(found), *([] if error is None else [error])], file)
    domain = domain_from(found)
    if isinstance(domain, Domain):
        yield domain
    elif domain is None and error is None:
        body = ".".join((*VMI_SPEC[found.kind], "spec.domain"))
        text = _NO_DOMAIN.format(found.display_name, body)
        yield NotJudged(text, file, found.place.line_column[0])


def _errors(errors: Iterable[TargetError], file: str) -> Iterator[ReadError]:
    return (ReadError(each.message, file, each.line) for each in errors)
