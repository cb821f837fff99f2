"""A configuration -> the part of it that is compared with the other compute nodes of its site."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.nova_conf.options import knowledge
from vnicaudit.model.nova import NovaConfig, NovaOption, PciEntry
from vnicaudit.model.site import IDENTITY, SITE_OPTIONS, NodeValue, SiteNode

COMPARED = ("use_virtio_for_bridges", "rx_queue_size", "tx_queue_size", "max_queues", "virt_type")
"""Options of [libvirt] that decide which NIC a server gets, whatever the node's hardware."""

_DEVICES = ("device_spec", "passthrough_whitelist")
"""Names of the list of PCI devices: since Zed (26.0), and before."""
_LONGEST = 16 * 1024
"""Maximum number of characters of such a list that are kept for a node."""


def node_of(config: NovaConfig) -> SiteNode | None:
    """The comparable part of a configuration; None unless it is certain to belong to a libvirt
    compute node of a known site."""
    if config.form != "ini" or not (config.complete and config.compute and config.libvirt):
        return None
    site = tuple(config.winner(*name) for name in SITE_OPTIONS)
    if not all(option is None or option.certain for option in site):
        return None
    return SiteNode(
        config.target,
        config.files,
        tuple("" if option is None else option.value for option in site),
        _host(config),
        tuple(_values(config)),
        _devices(config),
        config.comments,
    )


def _host(config: NovaConfig) -> str:
    for section, name in IDENTITY:
        option = config.winner(section, name)
        if option is not None and option.certain and "$" not in option.value:
            return option.value
    return ""


def _values(config: NovaConfig) -> Iterator[NodeValue]:
    release = None if config.release is None else config.release.number
    known = knowledge(release).options
    for name in COMPARED:
        option = config.winner("libvirt", name)
        form = known["libvirt", name].form
        if form is None or (option is not None and not _is_clear(option)):
            continue
        text = form.default if option is None else option.value
        place = config.place(None) if option is None else config.at(option)
        yield NodeValue(name, form.plain(text or ""), place)


def _devices(config: NovaConfig) -> tuple[PciEntry, ...] | None:
    """The values of all files, under any name: oslo.config concatenates those of a ``MultiOpt``,
    and within each file puts those under an older name before the others
    (``_Namespace._get_file_value``, executed). The order matters: a device belongs to the first
    entry that it matches."""
    found = [
        option
        for name in _DEVICES
        for option in config.values("pci", name)
        if option.known is not None and option.known.is_read
    ]
    if not all(option.certain for option in found):
        return None
    if sum(len(option.value) for option in found) > _LONGEST:
        return None
    files = {file: place for place, file in enumerate(dict.fromkeys(one.file for one in found))}
    found.sort(key=lambda option: (files[option.file], _age(option)))
    return tuple(PciEntry(option.value, f"{option.file}:{option.line}") for option in found)


def _age(option: NovaOption) -> int:
    """Sort key: 0 for the oldest name, which is in ``[DEFAULT]``; 2 for the current one."""
    return 2 if not option.alias else 0 if option.alias.startswith("DEFAULT/") else 1


def _is_clear(option: NovaOption) -> bool:
    """True for a certain value that Nova accepts."""
    form = None if option.known is None else option.known.form
    return option.certain and form is not None and form.accepts(option.value)
