"""Find the objects in a file of manifests, including those inside of lists and templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.knowledge.readiness import readiness_of_release
from vnicaudit.model.finding import Location, Readiness
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.kubevirt.recognise import is_machine, is_wanted, is_wanted_item
from vnicaudit.text.json_items import JsonItem, decoded_place, json_items
from vnicaudit.text.yaml_nodes import YamlDocument, YamlPlace, documents
from vnicaudit.text.yaml_source import Mapping, Scalar

MAX_OBJECTS = 20_000
"""Maximum number of objects of one document; lists may contain one another by aliases."""
_MAX_LISTS = 4
_DEEPEST = 40
"""Maximum depth at which a virtual machine inside of another object is found."""

MACHINE_GROUPS = ("kubevirt.io", "pool.kubevirt.io")
_OWN_GROUPS = ("kubevirt.io", "k8s.cni.cncf.io")
"""Endings of KubeVirt's API groups: their objects contain no others."""
_IN_TEXT = (
    "also holds a KubeVirt manifest inside a string: not judged, save it as a file of its own"
)

VMI_SPEC: dict[str, tuple[str, ...]] = {
    "VirtualMachine": ("spec", "template"),
    "VirtualMachineInstance": (),
    "VirtualMachineInstanceReplicaSet": ("spec", "template"),
    "VirtualMachinePool": ("spec", "virtualMachineTemplate", "spec", "template"),
}
"""Kind -> path to the ``metadata`` and ``spec`` of a VirtualMachineInstance."""
VM_SPEC: dict[str, tuple[str, ...]] = {
    "VirtualMachine": ("spec",),
    "VirtualMachinePool": ("spec", "virtualMachineTemplate", "spec"),
}
"""Kind -> path to the part that may name an instance type and a preference."""


class Object(NamedTuple):
    """One Kubernetes object. ``group`` is the part before the slash of its apiVersion."""

    kind: str
    group: str
    place: YamlPlace

    @property
    def name(self) -> str | None:
        """``metadata.name``; None if a template decides it."""
        return text_at(self.place, "metadata", "name")

    @property
    def namespace(self) -> str | None:
        """``metadata.namespace``."""
        return text_at(self.place, "metadata", "namespace")

    @property
    def space(self) -> str:
        """``metadata.namespace`` as written, including a template's expression; empty: none."""
        found = self.place.at("metadata", "namespace")
        return "" if found is None else _as_written(found)

    @property
    def display_name(self) -> str:
        """The object's name as written, after its namespace if any; its kind where unnamed."""
        found = self.place.at("metadata", "name") or self.place.at("metadata", "generateName")
        if found is None:
            return f"{self.kind} without a name"
        name = _as_written(found)
        return f"{self.namespace}/{name}" if self.namespace else name


def _as_written(place: YamlPlace) -> str:
    """A scalar's text; if a template makes it, as written in the file, without quotes."""
    if place.text:
        return place.text
    written = place.document.source.written(place.node)
    quoted = len(written) > 1 and written[0] == written[-1] and written[0] in "'\""
    return written[1:-1] if quoted else written


def documents_of(
    items: list[JsonItem], file: str, wanted: Callable[[str], bool] = is_wanted_item
) -> Iterator[YamlDocument | TargetError]:
    """The objects of a JSON file for which ``wanted`` is true, as documents; for one that cannot be
    read, the error. Each is built when its turn comes."""
    for item in items:
        if wanted(item.text):
            try:
                yield item.document(file)
            except TargetError as error:
                yield error


def objects_of(data: bytes, file: str) -> Iterator[Object | TargetError | NotJudged]:
    """The objects of a file in order, and errors for parts that could not be read. Raises
    TargetError if nothing could be read."""
    items = json_items(data)
    found = documents(data, file, is_wanted) if items is None else documents_of(items, file)
    return objects_among(found, file)


def objects_among(
    found: Iterable[YamlDocument | TargetError], file: str
) -> Iterator[Object | TargetError | NotJudged]:
    """The objects of documents in order, and errors for parts that could not be read."""
    for document in found:
        if isinstance(document, TargetError):
            yield document
            continue
        for count, each in enumerate(_objects(document.top, 0)):
            if count >= MAX_OBJECTS:
                yield TargetError(
                    f"more than {MAX_OBJECTS} objects: the rest is not read", file=file
                )
                return
            yield each


def _objects(place: YamlPlace, depth: int) -> Iterator[Object | TargetError | NotJudged]:
    kind = text_at(place, "kind") or ""
    held = "objects" if kind == "Template" else "items" if kind.endswith("List") else ""
    if held:
        items = place.child(held)
        if items is not None and depth < _MAX_LISTS:
            for item in items.items():
                yield from _objects(item, depth + 1)
        return
    group = _group(place)
    yield Object(kind, group, place)
    if not group.endswith(_OWN_GROUPS):
        yield from _objects_in(place)


def _objects_in(top: YamlPlace) -> Iterator[Object | TargetError | NotJudged]:
    """The virtual machines inside of other objects: a play's task, a policy, a manifest work. One
    that is written as a string is reported, but not read."""
    seen: set[int] = set()
    pending = [(top, 0)]
    while pending:
        place, depth = pending.pop()
        node = place.node
        if id(node) in seen or depth > _DEEPEST:
            continue
        seen.add(id(node))
        if isinstance(node, Scalar):
            text = node.text
            if "kubevirt.io/" in text and is_wanted(text) and is_machine(text):
                line, _column = place.document.source.line_column(node.start)
                yield NotJudged(_IN_TEXT, place.document.source.file, line + 1)
        elif depth and _is_machine(place):
            yield Object(text_at(place, "kind") or "", _group(place), place)
        else:
            names = (name for name in place.names() if name != "metadata")
            inner = [found for name in names if (found := place.child(name)) is not None]
            pending += [(found, depth + 1) for found in reversed(inner or place.items())]


def decoded_object(value: object, target: str) -> Object:
    """An object that an API answered, already decoded. Its name leads its pointers: all objects of
    a cluster have one target."""
    place = decoded_place(value, target)
    found = Object(text_at(place, "kind") or "", _group(place), place)
    return found._replace(place=place.copy(pointer=f"[{found.display_name}]"))


def _is_machine(place: YamlPlace) -> bool:
    """True if a mapping defines a virtual machine, rather than just referring to one."""
    return (
        isinstance(place.node, Mapping)
        and text_at(place, "kind") in VMI_SPEC
        and _group(place) in MACHINE_GROUPS
        and place.child("spec") is not None
    )


def _group(place: YamlPlace) -> str:
    return (text_at(place, "apiVersion") or "").partition("/")[0]


def place_at(place: YamlPlace | None, *keys: str) -> YamlPlace | None:
    """The place at the end of a path; None if there is none."""
    return None if place is None else place.at(*keys)


def text_at(place: YamlPlace | None, *keys: str) -> str | None:
    """The certain text at the end of a path; None if there is none."""
    found = place_at(place, *keys)
    return None if found is None else found.text


def integer_at(place: YamlPlace | None, *keys: str) -> int | None:
    """The certain number at the end of a path; None if there is none."""
    found = place_at(place, *keys)
    return None if found is None else found.integer


def boolean_at(place: YamlPlace | None, *keys: str) -> bool | None:
    """The certain boolean at the end of a path; None if there is none."""
    found = place_at(place, *keys)
    return None if found is None else found.boolean


def names_at(place: YamlPlace | None, *keys: str) -> list[str]:
    """The keys of the mapping at the end of a path; none if there is no mapping."""
    found = place_at(place, *keys)
    return [] if found is None else found.names()


def items_at(place: YamlPlace | None, *keys: str) -> list[YamlPlace]:
    """The items of the list at the end of a path; none if there is no list."""
    found = place_at(place, *keys)
    return [] if found is None else found.items()


def location_of(place: YamlPlace, target: str) -> Location:
    """The location of a place; of one in a decoded value, its pointer."""
    line, column = place.line_column
    if line == 0:
        return Location(target, xpath=place.pointer)
    return Location(target, place.document.source.file, line, place.pointer, column)


# Facts of the guest in a manifest: its operating system and its vCPUs.


_KEYS = (
    "vm.kubevirt.io/os",
    "kubevirt.io/os",
    "instancetype.kubevirt.io/os-type",
    "kubevirt.io/domain-os",
)
_OF_TEMPLATE = "os.template.kubevirt.io/"
"""Prefix of a label of the common templates, whose key names the system; its value is ``true``."""

_LINUX = re.compile(
    r"(linux|fedora|rhel|redhat|centos|ubuntu|debian|alpine|opensuse|sles|suse|rocky|alma|oracle"
    r"|cirros|flatcar|archlinux|amazonlinux|coreos|rhcos|silverblue)",
)
_OLD = re.compile(r"(rhel|centos|redhat|oracle)[-.]?[2-5](\D|$)")
"""Releases some of which are older than the driver."""
_RELEASE = re.compile(r"([a-z]+)[-._: ]?(\d{1,4}(?:\.\d{1,4}){0,2})")
_ALSO_CALLED = {"redhat": "rhel", "oracle": "ol", "oraclelinux": "ol", "suse": "sles"}
"""Name in manifests -> osinfo-db's."""
_WINDOWS = re.compile(r"win(dows)?([-.]?(\d|xp|vista|server)|dows)")
_FOR_WINDOWS = re.compile(rf"(?<![a-z])({_WINDOWS.pattern}|virtio-win|virtio-container-disk)")
"""Parts of names that people choose; the last two are disks with drivers for Windows."""
_NAMED = (
    ("containerDisk", "image"), ("dataVolume", "name"), ("persistentVolumeClaim", "claimName"),
)  # fmt: skip
"""Fields of a volume that name its content."""
_MOST_VCPUS = 65_536
"""A larger number of vCPUs is a mistake in the manifest."""
_QUANTITY = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?(m?)")


def readiness_of_words(*words: str | None) -> Readiness:
    """The virtio readiness of a guest by names of its system: by the first that names Windows or a
    release that osinfo-db lists, else by any of Linux; ``unknown`` if there is none. ``rhel6`` is
    ``ready-transitional``: see :func:`with_devices`."""
    found: Readiness = "unknown"
    for word in words:
        name = (word or "").lower()
        if _WINDOWS.match(name):
            return "needs-driver"
        if not _LINUX.match(name):
            continue
        release = _RELEASE.match(name)
        if release is not None:
            system = _ALSO_CALLED.get(release[1], release[1])
            if listed := readiness_of_release(system, release[2]):
                return listed
        if not _OLD.match(name):
            found = "ready"
    return found


def with_devices(readiness: Readiness, *, transitional: bool) -> Readiness:
    """The readiness for the virtio devices that KubeVirt makes: virtio 1.0 only, unless
    ``useVirtioTransitional`` is on (``Devices`` in KubeVirt's api/core/v1/schema.go: for CentOS 6
    and RHEL 6, say)."""
    return "ready" if transitional and readiness == "ready-transitional" else readiness


def named_systems(*holders: YamlPlace | None) -> list[str]:
    """The operating systems named by labels and annotations of ``metadata``."""
    found = []
    for holder in holders:
        for kind in ("annotations", "labels"):
            place = place_at(holder, kind)
            if place is None:
                continue
            found += [text for key in _KEYS if (text := text_at(place, key)) is not None]
            found += [
                key.removeprefix(_OF_TEMPLATE)
                for key in place.names()
                if key.startswith(_OF_TEMPLATE)
            ]
    return found


def readiness_of_devices(
    domain: YamlPlace, volumes: YamlPlace | None, name: str
) -> tuple[Readiness, bool]:
    """The guest's virtio readiness by its devices and its name, and True if only the name of its
    container disk shows it. A virtio disk is no proof for Windows, where NetKVM is a separate
    driver: if the system is unknown, the guest is only ``likely-ready``."""
    found = items_at(volumes)
    if _for_windows(domain, found, name):
        return "needs-driver", False
    by_image = readiness_of_words(*(image for volume in found if (image := _image(volume))))
    if _has_virtio_disk(domain, volumes):
        return ("ready" if by_image == "ready" else "likely-ready"), False
    return by_image, by_image == "ready"


def _for_windows(domain: YamlPlace, volumes: list[YamlPlace], name: str) -> bool:
    """True if Hyper-V enlightenments, a disk of Sysprep, or names show Windows."""
    features = (domain.at("features", part) for part in ("hyperv", "hypervPassthrough"))
    if any(part is not None for part in features):
        return True
    if any("sysprep" in volume.names() for volume in volumes):
        return True
    names = [text_at(volume, *way) for volume in volumes for way in _NAMED]
    return any(_FOR_WINDOWS.search((text or "").lower()) for text in (name, *names))


def vcpus_of(domain: YamlPlace) -> int | None:
    """``sockets x cores x threads``, or the CPU limit or request rounded up; 0 if the manifest sets
    none of them, None if a template does.

    Source: KubeVirt ``vcpu.GetCPUTopology`` and ``SetDefaultGuestCPUTopology``.
    """
    cpu = domain.child("cpu")
    product, given = 1, False
    if cpu is not None and not cpu.complete:
        return None
    for part in ("sockets", "cores", "threads"):
        place = None if cpu is None else cpu.child(part)
        if place is None:
            continue
        count = place.integer
        if count is None or count < 0:
            return None
        given = given or count > 0
        product *= count or 1
    if product > _MOST_VCPUS:
        return None
    if given:
        return product
    for bound in ("limits", "requests"):
        place = domain.at("resources", bound, "cpu")
        if place is not None:
            return _quantity(place.text)
    return 0


def _quantity(text: str | None) -> int | None:
    """A quantity of CPUs rounded up, as ``resource.Quantity.Value()`` does: ``1500m`` -> 2."""
    match = _QUANTITY.fullmatch(text or "")
    if match is None:
        return None
    whole, rest = int(match.group(1)), int(match.group(2) or 0)
    if match.group(3):
        return -(-whole // 1000)
    return whole + (1 if rest else 0)


def _has_virtio_disk(domain: YamlPlace, volumes: YamlPlace | None) -> bool:
    """True for a virtio disk that is not only for cloud-init."""
    seeds = {
        text_at(volume, "name")
        for volume in items_at(volumes)
        if any(key.startswith("cloudInit") for key in volume.names())
    }
    return any(
        text_at(disk, "disk", "bus") == "virtio" and text_at(disk, "name") not in seeds
        for disk in items_at(domain, "devices", "disks")
    )


def _image(volume: YamlPlace) -> str:
    """``quay.io/containerdisks/fedora:40`` -> ``fedora:40``."""
    text = text_at(volume, "containerDisk", "image") or ""
    name = text.rsplit("/", 1)[-1].lower()
    match = _LINUX.search(name.split("@")[0].split(":")[0])
    return name[match.start() :] if match else name


# Read a VirtualMachine(Cluster)Preference into :class:`~vnicaudit.model.kubevirt.Preference`.


KINDS = ("VirtualMachineClusterPreference", "VirtualMachinePreference")
GROUP = "instancetype.kubevirt.io"


def preference_of(found: Object, target: str) -> Preference:
    """The NIC preferences of one object of ``KINDS``."""
    metadata, spec = found.place.child("metadata"), found.place.child("spec")
    devices = found.place.at("spec", "devices")
    model = place_at(devices, "preferredInterfaceModel")
    multiqueue = place_at(devices, "preferredNetworkInterfaceMultiQueue")
    whole = location_of(found.place.at("metadata", "name") or found.place, target)
    return Preference(
        target,
        found.display_name,
        whole,
        interface_model=text_at(model),
        multiqueue=boolean_at(multiqueue),
        transitional=boolean_at(devices, "preferredUseVirtioTransitional"),
        pod_interface=boolean_at(devices, "preferredAutoattachPodInterface"),
        kind=found.kind,
        unseen=_unseen(devices, model, multiqueue),
        readiness=readiness_of_words(*named_systems(metadata, spec), found.name),
        places=tuple(
            (field, location_of(place, target))
            for field, place in (("model", model), ("multiqueue", multiqueue))
            if place is not None
        ),
    )


def _unseen(
    devices: YamlPlace | None, model: YamlPlace | None, multiqueue: YamlPlace | None
) -> tuple[str, ...]:
    if devices is not None and not devices.complete:
        return ("model", "multiqueue")
    unseen = []
    if model is not None and model.text is None:
        unseen.append("model")
    if multiqueue is not None and multiqueue.boolean is None:
        unseen.append("multiqueue")
    return tuple(unseen)
