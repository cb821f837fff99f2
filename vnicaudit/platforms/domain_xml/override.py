"""Properties of devices that are changed behind libvirt's own settings: ``<qemu:override>``, and
``-set`` and ``-global`` in ``<qemu:commandline>``.

libvirt since 8.2 reads every ``./qemu:override/qemu:device`` and writes its properties over those
of the ``-device`` with that alias (``qemuBuildDeviceCommandlineHandleOverrides`` in
src/qemu/qemu_command.c, 11.3). Measured with 9.0: the last of several equal ones counts; a NIC
without a user-defined alias (``ua-…``) gets ``netN``, counted over such NICs only, whatever other
alias is written. ``-global`` sets the default of a device class: what libvirt sets on the device
wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from lxml import etree
from msgspec.structs import replace

from vnicaudit.knowledge.backends import RING_SIZES, as_ring
from vnicaudit.knowledge.models import device_of
from vnicaudit.model.finding import MAYBE, S390, VIRTIO, Location
from vnicaudit.model.nic import GLOBAL, OVERRIDE, SET, Behind, Nic, NicConfig
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.facts import NAMESPACE, DomainFacts
from vnicaudit.platforms.qemu.arguments import device_defaults, global_properties, parse
from vnicaudit.platforms.qemu.build import read_added
from vnicaudit.platforms.qemu.proc import anonymous, config_of
from vnicaudit.platforms.qemu.properties import device_faults, is_device

# ``<qemu:commandline>``: NICs that are added behind libvirt's back.
#
# libvirt 11.3 takes the ``value=`` of every ``./qemu:commandline/qemu:arg``
# (``qemuDomainDefNamespaceParseCommandlineArgs`` in src/qemu/qemu_domain.c), however many of these
# elements there are, and passes them to QEMU unchanged, after its own arguments.


_ARG = f"{{{NAMESPACE}}}arg"
_MAX_ARGS = 10_000
_MAX_UNREAD = 100
"""Maximum number reported for one domain; further ones are only counted."""


class _Arg(NamedTuple):
    value: str | None
    location: Location


def read_commandlines(
    facts: DomainFacts, first: int, place: Location, base: int
) -> tuple[tuple[Nic, ...], tuple[ReadError, ...]]:
    """The NICs among the arguments, of which the first gets index ``first``, and the arguments that
    cannot be read. ``place`` is the domain's, ``base`` the number of lines before its document.

    References of an argument to the rest of the definition are not resolved.
    """
    args = list(islice(_args(facts.commandlines, place, base), _MAX_ARGS + 1))
    words = [arg.value or "" for arg in args[:_MAX_ARGS]]
    added = read_added(words, arch=facts.arch, machine=facts.machine)
    nics = tuple(
        Nic(
            index=first + offset,
            declared=config_of(running, origin="commandline"),
            location=args[index].location,
            mac=running.mac,
            alias=running.id,
            running=anonymous(running),
        )
        for offset, (index, running) in enumerate(added.nics)
    )
    return nics, tuple(_unread(args, added.problems))


def _set_behind(elements: Sequence[etree._Element]) -> dict[str, Properties]:
    """Alias -> properties that ``-set device.ALIAS.PROPERTY=TEXT`` sets (qemu(1)); it does not
    affect devices that libvirt passes as JSON."""
    found: dict[str, Properties] = {}
    words = [arg.get("value", "") for one in elements for arg in islice(one.iter(_ARG), _MAX_ARGS)]
    for option, text in pairwise(words):
        where, equals, value = text.partition("=")
        parts = where.split(".")
        if option in ("-set", "--set") and equals and len(parts) == 3 and parts[0] == "device":
            found.setdefault(parts[1], {})[parts[2]] = Behind(parts[2], value, SET)
    return found


def _args(elements: Sequence[etree._Element], place: Location, base: int) -> Iterator[_Arg]:
    for number, element in enumerate(elements, 1):
        which = f"[{number}]" if len(elements) > 1 else ""
        xpath = f"{place.xpath or '/domain'}/*[local-name()='commandline']{which}"
        for position, arg in enumerate(element.iterchildren(_ARG), 1):
            line = base + (arg.sourceline or 0) if place.file else None
            where = f"{xpath}/*[local-name()='arg'][{position}]"
            yield _Arg(arg.get("value"), Location(place.target, place.file, line, where))


def _unread(args: list[_Arg], problems: Sequence[tuple[int, str]]) -> Iterator[ReadError]:
    found = sorted(_reasons(args, problems))
    for index, reason in found[:_MAX_UNREAD]:
        where = args[index].location
        yield ReadError(f"<qemu:arg> not understood: {reason}", where.file, where.line)
    if len(found) > _MAX_UNREAD:
        where = args[found[_MAX_UNREAD][0]].location
        more = f"{len(found) - _MAX_UNREAD} more <qemu:arg> not understood"
        yield ReadError(more, where.file, where.line)


def _reasons(args: list[_Arg], problems: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    cut = len(args) > _MAX_ARGS
    for index, problem in problems:
        own_value = cut and index == _MAX_ARGS - 1 and (args[index].value or "").startswith("-")
        if not own_value:  # otherwise its value is there, but beyond the limit
            yield index, problem
    for index, arg in enumerate(args[:_MAX_ARGS]):
        if arg.value is None:
            yield index, "it has no value=: libvirt refuses the definition"
    if cut:
        yield _MAX_ARGS, f"more than {_MAX_ARGS:,} arguments: this one and the rest are not read"


_DEVICE = f"{{{NAMESPACE}}}device"
_PROPERTIES = f"{{{NAMESPACE}}}frontend/{{{NAMESPACE}}}property"

_RINGS = ("rx_queue_size", "tx_queue_size")
_TRANSITIONAL = ("virtio-transitional", "virtio-non-transitional")
_FIELDS = {
    "driver": "model",
    "rx_queue_size": "rx_queue_size",
    "tx_queue_size": "tx_queue_size",
    "packed": "packed",
    "ats": "ats",
    "iommu_platform": "iommu",
    "page-per-vq": "page_per_vq",
    "host_mtu": "mtu",
    "tx": "txmode",
    "ioeventfd": "ioeventfd",
    "event_idx": "event_idx",
    "rss": "rss",
    "hash": "rss_hash_report",
}
"""QEMU's property -> the field whose declared value it overrides. ``mq`` does not undo ``queues=``:
the tap keeps them."""
_OFFLOADS = ("csum", "gso", "tso4", "tso6", "ecn", "ufo", "mrg_rxbuf")

Properties = dict[str, Behind]
"""Properties of one device, by name."""


def overridden(
    nics: Sequence[Nic],
    elements: Sequence[etree._Element],
    commandlines: Sequence[etree._Element],
    *,
    arch: str | None,
    live: bool,
) -> tuple[Nic, ...]:
    """The NICs with the changes by ``<qemu:override>`` elements, and by ``-set`` and ``-global``
    among the arguments of ``<qemu:commandline>``. ``live``: the aliases are those of the running
    guest."""
    wanted = _properties_by_alias(elements)
    for alias, properties in _set_behind(commandlines).items():
        wanted.setdefault(alias, {}).update(properties)
    changed = _declared(nics, wanted)
    if live:
        changed = (_with_properties(nic, wanted.get(nic.alias or "", {})) for nic in nics)
    return tuple(_with_defaults(nic, commandlines, arch) for nic in changed)


def _declared(nics: Sequence[Nic], wanted: dict[str, Properties]) -> Iterator[Nic]:
    for nic, aliases in zip(nics, _aliases(nics), strict=True):
        given = [wanted[alias] for alias in aliases if alias in wanted]
        if len(aliases) == 1 and given:
            yield _with_properties(nic, given[0])
        else:
            maybe = [replace(one, text=MAYBE) for names in given for one in names.values()]
            yield _with_properties(nic, {one.name: one for one in maybe})


def _properties_by_alias(elements: Sequence[etree._Element]) -> dict[str, Properties]:
    found: dict[str, Properties] = {}
    for element in elements:
        for device in element.iterchildren(_DEVICE):
            given = found.setdefault(device.get("alias", ""), {})
            for entry in device.iterfind(_PROPERTIES):
                name, removed = entry.get("name", ""), entry.get("type") == "remove"
                given[name] = Behind(name, "" if removed else entry.get("value", ""), OVERRIDE)
    return found


def _aliases(nics: Sequence[Nic]) -> Iterator[list[str]]:
    """The aliases that each NIC may get at start: exactly one, unless an earlier network may turn
    into a host device, which is numbered separately."""
    first = last = 0
    for nic in nics:
        alias = nic.alias or ""
        if nic.declared.origin != "interface" or nic.declared.actual_type == "hostdev":
            yield []
        elif alias.startswith("ua-"):
            yield [alias]
        else:
            yield [f"net{number}" for number in range(first, last + 1)]
            first, last = first + (nic.declared.actual_type is not None), last + 1


def _with_properties(nic: Nic, given: Properties) -> Nic:
    return replace(nic, declared=_config(nic.declared, given)) if given else nic


def _config(config: NicConfig, given: Properties) -> NicConfig:
    cleared: dict[str, object] = {
        _FIELDS[name]: None
        for name in given
        if name in _FIELDS and not (name in _RINGS and _is_refused(getattr(config, name)))
    }
    if any(name.endswith(_OFFLOADS) for name in given):
        cleared |= {"host_off": (), "guest_off": ()}
    behind = tuple(given[name] for name in sorted(given))
    return replace(config, behind=behind, **cleared)


def _is_refused(size: int | None) -> bool:
    """True for a ring size that libvirt refuses in the definition, whatever overrides it."""
    return bool(size) and as_ring(str(size)) & (as_ring(str(size)) - 1) != 0


def _with_defaults(nic: Nic, commandlines: Sequence[etree._Element], arch: str | None) -> Nic:
    """The NIC with the properties set by ``-global``, and the reasons why QEMU refuses any of its
    properties."""
    config = nic.declared
    if config.origin != "interface" or "hostdev" in (config.type, config.actual_type):
        return nic
    as_virtio = _virtio_device(config, arch)
    is_virtio = config.model in VIRTIO or (config.model is None and arch in S390)
    device = as_virtio if is_virtio else device_of(config.model or "", arch)
    mine = _defaults(commandlines, device)
    virtio = mine if device == as_virtio else _defaults(commandlines, as_virtio)
    changed = replace(
        config,
        defaults=virtio,
        behind_faults=_faults(device, config.behind, mine),
        virtio_faults=() if device == as_virtio else _virtio_faults(as_virtio, virtio),
    )
    return replace(nic, declared=changed) if changed != config else nic


def _virtio_device(config: NicConfig, arch: str | None) -> str:
    """The device of the NIC if it is, or becomes, virtio."""
    if config.model in _TRANSITIONAL:
        return f"virtio-net-pci-{(config.model or '').partition('-')[2]}"
    if config.address_type == "virtio-mmio":
        return "virtio-net-device"
    on_ccw = config.address_type == "ccw" or (config.address_type is None and arch in S390)
    return "virtio-net-ccw" if on_ccw else "virtio-net-pci"


def _defaults(commandlines: Sequence[etree._Element], device: str) -> tuple[Behind, ...]:
    """The properties that ``-global`` among the arguments gives a device of this name, unless
    libvirt sets them itself. They also apply to devices passed as JSON (measured with QEMU
    7.2)."""
    found: dict[str, str] = {}
    for one in commandlines:
        words = [arg.get("value", "") for arg in islice(one.iter(_ARG), _MAX_ARGS)]
        found.update(device_defaults(device, global_properties(parse(words))))
    return tuple(Behind(name, found[name], GLOBAL) for name in sorted(found))


def _faults(device: str, *groups: Sequence[Behind]) -> tuple[str, ...]:
    """Reasons why QEMU refuses the properties of a NIC, each with the place where it is set; empty
    if a ``driver`` among them makes the NIC a different device."""
    given = [one for group in groups for one in group if one.text not in ("", MAYBE)]
    if any(one.name == "driver" for one in given) or not is_device(device):
        return ()
    rings = _RINGS if device.startswith("virtio-net") else ()
    found: list[str] = []
    for by in (OVERRIDE, SET, GLOBAL):
        own = {one.name: one.text for one in given if one.by == by and one.name not in rings}
        # libvirt chooses the bus
        found += (f"{by}: {fault}" for fault in device_faults(device, {"bus": "", **own}))
    return tuple(found)


def _virtio_faults(device: str, given: Sequence[Behind]) -> tuple[str, ...]:
    rings = tuple(
        f"{one.by}: {one.name}={one.text[:20]!r} is not a ring size that QEMU accepts"
        for one in given
        if one.name in _RINGS and as_ring(one.text) not in RING_SIZES
    )
    return rings + _faults(device, given)
