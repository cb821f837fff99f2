"""``<qemu:override>``: properties of devices that are changed behind libvirt's own settings.

libvirt since 8.2 takes every ``./qemu:override/qemu:device`` and writes its properties over those
of the ``-device`` with that alias (``qemuBuildDeviceCommandlineHandleOverrides`` in
src/qemu/qemu_command.c, 11.3). Measured with 9.0: the last of several equal ones counts; a NIC
without an alias of the user's (``ua-…``) gets ``netN``, counted over such NICs alone, whatever
other alias was written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lxml import etree
from msgspec.structs import replace

from vnicaudit.model.nic import MAYBE, Nic, NicConfig
from vnicaudit.platforms.domain_xml.commandline import NAMESPACE, set_behind

TAG = f"{{{NAMESPACE}}}override"

_DEVICE = f"{{{NAMESPACE}}}device"
_PROPERTIES = f"{{{NAMESPACE}}}frontend/{{{NAMESPACE}}}property"

_RESOLVED = ("driver", "mq", "rx_queue_size", "tx_queue_size")
"""Properties that decide effective facts."""
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
"""QEMU's property -> the field whose declared value does not count any more. ``mq`` does not undo
``queues=``: the tap keeps them."""
_OFFLOADS = ("csum", "gso", "tso4", "tso6", "ecn", "ufo", "mrg_rxbuf")

Properties = dict[str, str]
"""Of one device; the text ``""`` where a property is removed."""


def overridden(
    nics: Sequence[Nic],
    elements: Sequence[etree._Element],
    commandlines: Sequence[etree._Element],
    *,
    live: bool,
) -> tuple[Nic, ...]:
    """The NICs with what the ``<qemu:override>`` elements change, and a ``-set`` among the
    arguments of ``<qemu:commandline>``. ``live``: the aliases are those of the running guest."""
    wanted = _wanted(elements)
    for alias, properties in set_behind(commandlines).items():
        wanted.setdefault(alias, {}).update(properties)
    if live:
        return tuple(_changed(nic, wanted.get(nic.alias or "", {})) for nic in nics)
    found = []
    for nic, aliases in zip(nics, _aliases(nics), strict=True):
        given = [wanted[alias] for alias in aliases if alias in wanted]
        if len(aliases) == 1 and given:
            found.append(_changed(nic, given[0]))
        else:
            found.append(_changed(nic, {name: MAYBE for names in given for name in names}))
    return tuple(found)


def _wanted(elements: Sequence[etree._Element]) -> dict[str, Properties]:
    """Alias -> properties."""
    found: dict[str, Properties] = {}
    for element in elements:
        for device in element.iterchildren(_DEVICE):
            given = found.setdefault(device.get("alias", ""), {})
            for entry in device.iterfind(_PROPERTIES):
                removed = entry.get("type") == "remove"
                given[entry.get("name", "")] = "" if removed else entry.get("value", "")
    return found


def _aliases(nics: Sequence[Nic]) -> Iterator[list[str]]:
    """The aliases each NIC may get at start: one, unless a network before it may hand out host
    devices, which are numbered by themselves."""
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


def _changed(nic: Nic, given: Properties) -> Nic:
    return replace(nic, declared=_config(nic.declared, given)) if given else nic


def _config(config: NicConfig, given: Properties) -> NicConfig:
    cleared: dict[str, object] = {_FIELDS[name]: None for name in given if name in _FIELDS}
    if any(name.endswith(_OFFLOADS) for name in given):
        cleared |= {"host_off": (), "guest_off": ()}
    kept = tuple((name, given[name]) for name in _RESOLVED if name in given)
    return replace(config, overridden=kept, behind=tuple(sorted(given.items())), **cleared)
