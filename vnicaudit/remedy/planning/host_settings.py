"""The settings of hosts, as targets of a plan: one step for each device, and one for the host."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.audit.judging.hosts import SeenHost
from vnicaudit.audit.reading.targets import Target
from vnicaudit.errors import RefusedError
from vnicaudit.knowledge.fixes.host_owners import owners_way
from vnicaudit.knowledge.host_links import may_manage
from vnicaudit.knowledge.host_setting_values import value_of, values_of, wanted_in
from vnicaudit.knowledge.host_settings import (
    COST,
    FILES,
    HostSetting,
    attribute_of,
    field_of,
    is_apart,
    is_file,
    is_of_host,
    may_cut,
    path_of,
    setting_of,
    stays,
)
from vnicaudit.knowledge.network_words import words_in
from vnicaudit.knowledge.persistent_forms import OwnFile, own_files
from vnicaudit.model.finding import HOST, Change, Finding, Ref
from vnicaudit.model.fleet import LiveDefinition, LiveDomain
from vnicaudit.model.host_facts import HostFacts, HostLink, SettingOwner
from vnicaudit.model.plan import (
    MODES,
    Blocked,
    FindingKey,
    ModeOption,
    OwnerFile,
    SettingUnit,
    UnitStep,
)
from vnicaudit.model.report import ReadError
from vnicaudit.model.rule import VisitedHost
from vnicaudit.remedy.planning.run import LivePlanner
from vnicaudit.remedy.planning.subject import findings_in, reason_of, safety, unsafe
from vnicaudit.remedy.replacing import kept_digest

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import PlannedItem

_AT_ONCE = "it takes effect at once, whatever the mode"
_ANY_MODE = tuple(ModeOption(mode, possible=True, reason=_AT_ONCE) for mode in MODES)
_AT_BOOT = "it takes effect with the next boot, whatever the mode"
_BOOT_MODES = tuple(ModeOption(mode, possible=True, reason=_AT_BOOT) for mode in MODES)
_KEPT = "It lasts until the next boot; the next step keeps it."
_UNTIL_BOOT = "It lasts until the next boot: {}."
_MAY_CUT = (
    "It may interrupt traffic. Where the way to the host leads over it, a timer there sets it back "
    "unless a new connection confirms it in time."
)
_LEAVES_ITS_PORTS = (
    "{} has followed the smallest MTU of its ports, or was set before: from now on its MTU is its "
    "own, and a rollback sets the old value, but does not have it follow its ports again."
)
_TAKEN_OFFLINE = (
    "{} has to be taken offline for it, and the way to this host may lead over it: change it from "
    "the console of the machine (HMC), or by another way"
)
_KEEPS = (
    "It keeps the values of the step before it: rules of udev set them when the device is added, "
    "at boot; files of sysctl.d, tmpfiles.d and modules-load.d at boot."
)
_STAYS = "Open vSwitch keeps its keys in its database, also beyond the next boot, until a rollback."
_MAY_SET = "{} ({}) configures links there, and may set it again; in its words: {}."
OWNED = "{} ({}) sets it on this host: change it there"
_OVER = "{} ({}) sets it on this host, and may set it again: change it there as well."
_IN_NAMESPACE = "a network namespace is gone by then"
CONTAINER = "it is a container's view of a host ({}): change the host itself"
NOT_OF_NETNS = "it is the whole host's, not the network namespace's: plan the host itself"
_MEMBERS = "the features of {} and of its members go together: change all of them by hand"
_GUESTS = (
    "{}: only settings of the host are planned; to plan the NICs of its guests, name its libvirt, "
    "for example qemu+ssh://HOST/system"
)
_OWN_CONFIGURATION = "links"
"""What a :class:`SettingOwner` sets if it is the host's own configuration of its network."""
_OF_OWNER = {
    "feature": "features", "ring": "ring", "channels": "channels", "rps": "rps",
    "governor": "governor", "scheduler": COST, "mtu": "mtu", "queue-length": "txqueuelen",
}  # fmt: skip
"""Kind of a setting -> the name that its owners have for it."""
_FOLLOWERS = frozenset({"bridge", "bond", "team", "vlan", "ipvlan", "ipvtap", "openvswitch"})
"""Kinds of links whose MAC address may follow that of another link (br_stp_recalculate_bridge_id,
bond_set_dev_addr, vlan_sync_address, ipvlan_device_event of Linux; pick_local_hw_addr of OVS)."""


class HostTargetPlanner(LivePlanner):
    """Plans the settings of hosts that are visited."""

    def takes(self, target: Target) -> bool:
        """True for a host, a network namespace, this machine."""
        return target.kind == HOST

    def plan_items(self, target: Target, items: Iterator[PlannedItem]) -> bool:
        """Plan what the findings on a host propose. True if anything could be read."""
        seen = self._visited(target, items)
        subject, options = seen.subject(), self._request.options
        if not isinstance(subject, VisitedHost):
            return False
        facts = subject.facts
        if subject.guests:
            self._run.notes.append(_GUESTS.format(target.name))
        if options.to != "virtio" or options.macs:
            return True
        try:
            findings = findings_in(self._request.work.host(seen.name, subject, target.name))
        except RefusedError as error:
            self.leave_out(target.name, Ref("host", seen.name), (), reason_of(error))
            return True
        self.note_by_hand(target.name, sum(not _fields_of(one, facts) for one in findings))
        over, may = options.over_owner, self._request.may
        for one in findings:
            if one.change is not None and not may(one.change) and _fields_of(one, facts):
                self.leave_out(target.name, one.about, (one.rule,), unsafe(one.change))
        findings = tuple(one for one in findings if may(one.change))
        for step in steps_of(findings, facts, target.name, seen.name, over_owner=over):
            if self._run.requested.add(step.about.name or "", None):
                self._run.planned[target.name].append(step)
        return True

    def _visited(self, target: Target, items: Iterator[PlannedItem]) -> SeenHost:
        seen = SeenHost()
        for item in items:
            if isinstance(item, LiveDefinition):
                continue
            left = seen.take(item)
            if isinstance(left, ReadError):
                self._run.add_unread(target, left)
            elif isinstance(left, LiveDomain):
                seen.runs(left.domain, left.host)
        return seen


def steps_of(
    findings: Iterable[Finding], facts: HostFacts, target: str, host: str, *, over_owner: bool
) -> Iterator[UnitStep[SettingUnit]]:
    """The steps that the findings propose on a host of that name, with these facts: for each
    device, and for the host, one that sets its settings and one that keeps them beyond the next
    boot. The first change of a setting counts. ``over_owner``: also what another program sets."""
    by_device: dict[str, list[Finding]] = {}
    taken: set[str] = set()
    for finding in findings:
        fields = _fields_of(finding, facts)
        if fields and not taken.intersection(fields):
            taken.update(fields)
            by_device.setdefault(fields[0].split(":")[1], []).append(finding)
    for device, found in by_device.items():
        yield from _steps(device, found, facts, target, host, over_owner=over_owner)


def _fields_of(finding: Finding, facts: HostFacts) -> tuple[str, ...]:
    """The settings that a finding proposes to change; none if it proposes nothing that can be set
    back, because it is unknown what it is now."""
    change = finding.change
    return () if change is None or change.new is None else tuple(wanted_in(facts, change))


def _steps(
    device: str,
    findings: Sequence[Finding],
    facts: HostFacts,
    target: str,
    host: str,
    *,
    over_owner: bool,
) -> Iterator[UnitStep[SettingUnit]]:
    changes = tuple(one.change for one in findings if one.change is not None)
    values = {field: new for one in changes for field, new in wanted_in(facts, one).items()}
    settings = {one: values[field] for field in values if (one := setting_of(field)) is not None}
    present = values_of(facts, device)
    old = {
        field: (value_of(facts, one) if is_apart(one) else present.get(field)) or ""
        for field, one in zip(values, settings, strict=True)
    }
    owners = owners_of(settings, facts)
    over, stops = (owners, []) if over_owner else ([], owners)
    safe, reason = safety(changes)
    names = tuple(owner.name for owner in over)
    mac, machine = identifying_mac(facts.link(device)), facts.machine or ""
    unit = SettingUnit(device, mac, values, old, machine, names)
    blocked = tuple(_blocked(settings, stops, facts, target))
    files, why_none = _files_for(settings, owners, facts, target)
    ways = [way for owner in stops for way in owners_way(owner, settings, facts)]
    kept = [*([_KEPT] if files else []), *([_STAYS] if any(map(stays, settings)) else [])]
    kept += [_MAY_CUT] if any(map(may_cut, settings)) and not blocked else []
    kept += [_LEAVES_ITS_PORTS.format(device)] if _is_mtu_of_bridge(settings, facts) else []
    step = UnitStep(
        id="",
        target=target,
        about=Ref("link", device) if device else Ref("host", host),
        owner="host",
        to="virtio",
        rules=tuple(dict.fromkeys(one.rule for one in findings)),
        changes=changes,
        readiness="unknown",
        safe=safe,
        reason=reason,
        running=False,
        modes=_ANY_MODE,
        digest=setting_digest(target, unit),
        diff=setting_diff(device, old, values),
        unit=unit,
        blocked=blocked,
        procedure=tuple(one for one in ways if isinstance(one, str)),
        files=tuple(one for one in ways if isinstance(one, OwnerFile)),
        notes=(*kept, *map(_UNTIL_BOOT.format, why_none), *_may_set(over, settings, facts)),
        findings=tuple(FindingKey(one.rule, one.fingerprint) for one in findings),
    )
    yield step
    if files and not blocked:
        yield _keeping(step, files, reason)


def _keeping(
    step: UnitStep[SettingUnit], files: Iterable[OwnFile], reason: str
) -> UnitStep[SettingUnit]:
    """The step that keeps what ``step`` sets."""
    device = step.unit.device
    values = {field_of(HostSetting("file", device, file.path)): file.text for file in files}
    unit = replace(step.unit, values=values, old=dict.fromkeys(values, ""))
    return replace(
        step,
        changes=tuple(
            Change(file.path, "absent", "written", safe=step.safe, reason=reason) for file in files
        ),
        modes=_BOOT_MODES,
        digest=setting_digest(step.target, unit),
        diff=setting_diff(device, unit.old, values),
        unit=unit,
        notes=(_KEEPS,),
    )


def _is_mtu_of_bridge(settings: Iterable[HostSetting], facts: HostFacts) -> bool:
    """True for the MTU of a bridge of Linux: it follows its ports until it is set
    (br_mtu_auto_adjust in net/bridge/br_if.c)."""
    links = (facts.link(one.device) for one in settings if one.kind == "mtu")
    return any(link is not None and link.kind == "bridge" for link in links)


def _files_for(
    settings: Mapping[HostSetting, str],
    owners: Sequence[SettingOwner],
    facts: HostFacts,
    target: str,
) -> tuple[list[OwnFile], list[str]]:
    """The files that keep these settings, and the reasons why some are not kept."""
    if owners:
        return [], []  # they keep it, or set it again
    if target.startswith("netns://"):
        return [], [_IN_NAMESPACE]
    made = own_files({one: new for one, new in settings.items() if not stays(one)}, facts)
    files = [one for one in made if isinstance(one, OwnFile)]
    return files, [one for one in dict.fromkeys(made) if isinstance(one, str)]


def identifying_mac(link: HostLink | None) -> str:
    """The MAC address that tells the link from another one of its name; empty: it has none, or one
    that follows other links."""
    return "" if link is None or link.kind in _FOLLOWERS else link.mac or ""


def setting_digest(target: str, unit: SettingUnit) -> str:
    """The digest of a step on settings: of the device on its host, and the values it had."""
    which = f"{target}\n{unit.machine}\n{unit.device}\n{unit.mac}"
    return kept_digest(unit.kind, which, unit.old)


def _blocked(
    settings: Iterable[HostSetting],
    owners: Iterable[SettingOwner],
    facts: HostFacts,
    target: str,
) -> Iterator[Blocked]:
    """Why these settings are not changed here: they are a container's view of its host's, or
    another program sets them. A network namespace that the user names has links of its own,
    wherever it is."""
    if facts.container not in ("", "netns") and not target.startswith("netns://"):
        yield Blocked("operator-only", CONTAINER.format(facts.container))
    if target.startswith("netns://") and any(map(is_of_host, settings)):
        yield Blocked("operator-only", NOT_OF_NETNS)
    for device in dict.fromkeys(one.device for one in settings if one.kind == "qeth"):
        if may_manage(facts, device):
            yield Blocked("operator-only", _TAKEN_OFFLINE.format(device))
    for members in members_of(settings, facts):
        yield Blocked("teamed", members)
    for owner in owners:
        yield Blocked("owner-changes-it", OWNED.format(owner.name, owner.evidence))


def members_of(settings: Iterable[HostSetting], facts: HostFacts) -> Iterator[str]:
    """Why features of a device with members, or of a member, are left to people."""
    devices = dict.fromkeys(one.device for one in settings if one.kind == "feature")
    for group in filter(None, (_group_of(device, facts) for device in devices)):
        yield _MEMBERS.format(group)


def _group_of(device: str, facts: HostFacts) -> str:
    """The bond, or other device with members, whose features go with those of this device; empty:
    none. Those of a bridge follow its ports, and come back with them."""
    link = facts.link(device)
    if link is None:
        return ""
    above = facts.link(link.master)
    if above is not None and above.kind in ("bond", "team"):
        return above.name
    has_members = any(device == other.master for other in facts.links or ())
    is_above = bool(link.lower) and link.kind != "veth"  # its peer has features of its own
    return device if has_members or is_above else ""


def owners_of(settings: Iterable[HostSetting], facts: HostFacts) -> list[SettingOwner]:
    """The programs that set one of these on the host, or may set anything."""
    named = [(one, set(_names_for_owners(one, facts))) for one in settings]
    return [each for each in facts.owners if any(_sets(each, *one) for one in named)]


def _names_for_owners(setting: HostSetting, facts: HostFacts) -> Iterator[str]:
    """Names that owners have for a setting: one of their own, a file of sysfs, or, as zdev, an
    attribute of a device."""
    yield _OF_OWNER.get(setting.kind, setting.name)
    if setting.kind in FILES:
        yield path_of(setting)
    link = facts.link(setting.device)
    if link is not None and link.qeth is not None:
        yield f"{link.qeth.device}:{attribute_of(setting)}"


_NO_SYSCTLS = frozenset({"nmstate", "os-net-config"})
"""Owners that may set anything else: nmstate sets no sysctl, os-net-config only ``disable_ipv6`` of
devices of DPDK (of the versions in :mod:`vnicaudit.platforms.host.facts.owners`)."""


def _sets(owner: SettingOwner, setting: HostSetting, names: Collection[str]) -> bool:
    """True for an owner of a setting, which has these names; it may have shell patterns of them."""
    if not owner.sets:
        is_sysctl = setting.kind == "sysctl" or setting.name.startswith("/etc/sysctl.d/")
        return not (is_sysctl and owner.name in _NO_SYSCTLS)
    return any(name and fnmatchcase(name, one) for one in owner.sets for name in names)


def _may_set(
    owners: Iterable[SettingOwner], settings: Mapping[HostSetting, str], facts: HostFacts
) -> Iterator[str]:
    for owner in owners:
        yield _OVER.format(owner.name, owner.evidence)
    for owner in facts.owners:
        words = "; ".join(words_in(owner.name, settings))
        if _OWN_CONFIGURATION in owner.sets and words:
            yield _MAY_SET.format(owner.name, owner.evidence, words)


def setting_diff(device: str, old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Changed settings, one line for each old and new value; of files, their lines."""
    title, lines = device or "host", []
    for field in new:
        setting = setting_of(field)
        if setting is not None and is_file(setting):
            text = new[field].split("\n")
            lines += ["--- /dev/null", f"+++ {setting.name}", f"@@ -0,0 +1,{len(text)} @@"]
            lines += [f"+{line}" for line in text]
            continue
        if not lines:
            lines = [f"--- {title}", f"+++ {title}", "@@ settings @@"]
        lines += [f"-{field}={old.get(field)}", f"+{field}={new[field]}"]
    return "".join(f"{line}\n" for line in lines)
