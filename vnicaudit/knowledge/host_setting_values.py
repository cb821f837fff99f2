"""The values that settings of a host have in its facts, and changes of them.

net/core/net-sysfs.c and net/core/sysctl_net_core.c of Linux 6.18: rps_flow_cnt and
rps_sock_flow_entries are rounded up to a power of two, and CPUs that are offline are dropped from
masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vnicaudit.knowledge.cpu_lists import as_list, as_mask, from_mask
from vnicaudit.knowledge.host_links import GUEST_KINDS
from vnicaudit.knowledge.host_settings import (
    COST,
    EACH,
    OVS_VALUES,
    RUN_ID,
    HostSetting,
    SettingKind,
    each_of,
    field_of,
    is_file,
    setting_of,
    takes,
)
from vnicaudit.model.finding import Change
from vnicaudit.model.host_facts import Feature, HostFacts, HostLink, OvsPort, Queue


def cuts_queues(facts: HostFacts, setting: HostSetting, new: str) -> bool:
    """True if a change takes queues away on a host with guests, which may use them."""
    if setting.kind != "channels" and setting.name != "options:n_rxq":
        return False
    of_guests = any(link.kind in GUEST_KINDS for link in facts.links or ())
    of_guests |= any(port.type.startswith("dpdkvhostuser") for port in facts.ovs_ports.values())
    return of_guests and int(new or 1) < int(value_of(facts, setting) or 1)


def change_of(
    facts: HostFacts, setting: HostSetting, new: str, reason: str, *, safe: bool = True
) -> Change:
    """The change of a setting to ``new``, which is safe, or is not, for that ``reason``."""
    return Change(field_of(setting), value_of(facts, setting), new, safe=safe, reason=reason)


def change_of_mtu(facts: HostFacts, device: str, new: int) -> Change | None:
    """The change of a device's MTU, where Open vSwitch sets it there (ovs-vswitchd.conf.db(5));
    None: its driver does not let it be so large."""
    link, port = facts.link(device), facts.ovs_ports.get(device)
    if link is not None and link.max_mtu is not None and 0 < link.max_mtu < new:
        return None
    is_set_by_ovs = port is not None and (port.type == "internal" or port.mtu_request is not None)
    setting = (
        HostSetting("ovs-interface", device, "mtu_request")
        if is_set_by_ovs
        else HostSetting("mtu", device)
    )
    return change_of(facts, setting, str(new), _WHOLE_WAY, safe=False)


_WHOLE_WAY = "the whole network must pass frames of that size, and some adapters reset their link"


def change_of_governor(facts: HostFacts, new: str, reason: str) -> Change:
    """The change of the frequency governor of each CPU."""
    old = ", ".join(facts.cpus.governors or ())
    return Change(f"governor::cpu{EACH}", old, new, safe=True, reason=reason)


def change_on_each(
    facts: HostFacts, link: HostLink, queues: Sequence[Queue], new: str, reason: str
) -> Change | None:
    """The change of the masks of these receive (RPS) or transmit queues (XPS): of one of them, or
    of every one of its device, if all have one mask. None: they have several, or are only some."""
    name = queues[0].name
    kind: SettingKind = "rps" if name.startswith("rx-") else "xps"
    if len(queues) > 1:
        beside = [each for each in link.queues or () if each.name.startswith(name[:3])]
        if len(queues) < len(beside) or len({each.cpus for each in beside}) > 1:
            return None
        return change_on_queues(kind, link, as_mask(queues[0].cpus or ()), new, reason)
    return change_of(facts, HostSetting(kind, link.name, name), new, reason)


def change_on_queues(kind: SettingKind, link: HostLink, old: str, new: str, reason: str) -> Change:
    """The change of one setting of every receive queue, or transmit queue (XPS), of a device."""
    queues = "tx-" if kind == "xps" else "rx-"
    return Change(f"{kind}:{link.name}:{queues}{EACH}", old, new, safe=True, reason=reason)


def change_of_several(
    facts: HostFacts, wanted: Mapping[HostSetting, str], reason: str
) -> Change | None:
    """The change that sets several settings of a device, or of the host, each to a value of its
    own; None: there are none, or the value of one is unknown."""
    old = [value_of(facts, setting) for setting in wanted]
    known = [value for value in old if value is not None]
    if not known or len(known) < len(old):
        return None
    field = " ".join(map(field_of, wanted))
    return Change(field, " ".join(known), " ".join(wanted.values()), safe=True, reason=reason)


def wanted_in(facts: HostFacts, change: Change) -> dict[str, str]:
    """Field -> new value of the settings that a change is of; none if one of them is not changed
    here, or unknown."""
    start, new = change.field.removesuffix(EACH), change.new or ""
    if start != change.field:
        device = start.split(":")[1]
        return {field: new for field in values_of(facts, device) if field.startswith(start)}
    if change.old is None:
        return {}
    found = each_of(change.field, new)
    return found if all(map(setting_of, found)) else {}


def value_of(facts: HostFacts, setting: HostSetting) -> str | None:
    """The value of a setting in the facts of a host; None: it is unknown, or does not exist."""
    if is_file(setting):
        folder, _slash, name = setting.name.rpartition("/")
        files = (facts.own_files or {}).get(folder)
        return None if files is None else files.get(name, "")
    if setting.kind == "module":
        return (facts.modules or {}).get(setting.name)
    if setting.kind == "irq":
        one = facts.interrupts.get(setting.name)
        if one is None or one.link != setting.device or not one.allowed:
            return None
        return as_list(one.allowed)
    value = dict(_values(facts, setting.device)).get(setting)
    return value if value is not None and takes(setting, value) else None


def values_of(facts: HostFacts, device: str) -> dict[str, str]:
    """Field -> value of everything that is changed here and known of a device, or of the host
    (empty), except what is apart."""
    found = ((field_of(setting), setting, value) for setting, value in _values(facts, device))
    return {
        field: value
        for field, setting, value in found
        if setting_of(field) is not None and takes(setting, value)
    }


def beside_of(facts: HostFacts, device: str, changed: Mapping[str, str]) -> dict[str, str]:
    """Field -> value of what may change along with these: everything else of the device, and with
    its channels where its interrupts are served, which its driver chooses anew then
    (virtnet_set_affinity in drivers/net/virtio_net.c of Linux 6.12). Not where irqbalance runs, or
    may run: it chooses too."""
    beside = values_of(facts, device)
    if any(field.startswith("channels:") for field in changed) and facts.cpus.irqbalance is False:
        for number in facts.interrupts:
            one = HostSetting("irq", device, number)
            if (value := value_of(facts, one)) is not None:
                beside[field_of(one)] = value
    return {field: value for field, value in beside.items() if field not in changed}


def is_there(facts: HostFacts, device: str) -> bool:
    """True if the host has the link, or the port of Open vSwitch."""
    return facts.link(device) is not None or device in facts.ovs_ports


def _values(facts: HostFacts, device: str) -> Iterator[tuple[HostSetting, str]]:
    link, port = facts.link(device), facts.ovs_ports.get(device)
    found = (
        *(() if device else _of_host(facts)),
        *(() if link is None else (*_of_adapter(link), *_of_queues(link))),
        *(() if port is None else _of_port(port)),
    )
    for kind, name, value in found:
        yield HostSetting(kind, device, name), value


def _of_host(facts: HostFacts) -> Iterator[tuple[SettingKind, str, str]]:
    for name, value in (facts.sysctls or {}).items():
        yield "sysctl", name, value
    if facts.migration_cost is not None and COST not in (facts.sysctls or {}):
        yield "scheduler", "migration_cost_ns", str(facts.migration_cost)
    for governor, cpus in (facts.cpus.governors or {}).items():
        for cpu in cpus:
            yield "governor", f"cpu{cpu}", governor
    for each in facts.huge_pages or ():
        yield "pages", f"node{each.node}/hugepages/hugepages-{each.size}kB", str(each.total)
    config = facts.ovs.other_config
    for name in OVS_VALUES:
        if config is not None and config.get(name) != "":  # like one that is not set
            yield "ovs", name, config.get(name, "")


def _of_port(port: OvsPort) -> Iterator[tuple[SettingKind, str, str]]:
    yield "ovs-interface", "mtu_request", str(port.mtu_request or "")
    yield "ovs-interface", "options:n_rxq", port.options.get("n_rxq", "")


def _of_adapter(link: HostLink) -> Iterator[tuple[SettingKind, str, str]]:
    if link.qeth is not None and link.qeth.buffers is not None:
        yield "qeth", "buffer_count", str(link.qeth.buffers)
    for name, value in ({} if link.qeth is None else link.qeth.vnicc).items():
        yield "vnicc", name, value
    for name, amount in (link.channels or {}).items():
        yield "channels", name, str(amount.now)
    for name, on in (link.private_flags or {}).items():
        yield "private-flag", name, _word(on)
    for name, amount in (link.rings or {}).items():
        yield "ring", name, str(amount.now)
    if link.mtu is not None:
        yield "mtu", "", str(link.mtu)
    for name, feature in (link.features or {}).items():
        if not feature.fixed:
            yield "feature", name, _feature_text(feature)


def _of_queues(link: HostLink) -> Iterator[tuple[SettingKind, str, str]]:
    for queue in link.queues or ():
        if queue.cpus is not None:
            yield "rps" if queue.name.startswith("rx-") else "xps", queue.name, as_mask(queue.cpus)
        if queue.flows is not None:
            yield "rps-flows", queue.name, str(queue.flows)
    if link.queue_length is not None:
        yield "queue-length", "", str(link.queue_length)


def _feature_text(feature: Feature) -> str:
    """``on``, ``off``, or ``off [requested on]``, as ethtool prints it."""
    now, asked = _word(feature.on), feature.requested
    return now if asked is None or asked is feature.on else f"{now} [requested {_word(asked)}]"


def _word(on: bool) -> str:
    return "on" if on else "off"


def made_of(setting: HostSetting, value: str, facts: HostFacts) -> str:
    """The form that the kernel gives to a value, or the run that wrote it to a file."""
    if is_file(setting):
        present = value_of(facts, setting) or ""
        return present if RUN_ID.sub("", present) == RUN_ID.sub("", value) else value
    if setting.kind in ("rps", "xps"):
        cpus = set(from_mask(value) or ())
        return as_mask(cpus.intersection(cpus if (on := facts.cpus.online) is None else on))
    if setting.kind == "rps-flows" or setting.name == "net.core.rps_sock_flow_entries":
        return str(1 << (int(value) - 1).bit_length()) if int(value) else "0"
    return value
