"""Move a NIC to vhost-vDPA or vhost-user: the changes, the functions that are lost, and the
prerequisites.

Lost functions: libvirt's qemuDomainValidateActualNetDef, qemuDomainNetSupportsMTU and
netdev_bandwidth_conf.c refuse or ignore them if the data path leaves the host's network stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from vnicaudit.base.wording import count
from vnicaudit.knowledge.backends import OWN_PATH
from vnicaudit.knowledge.to_virtio import not_of_virtio
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.finding import VIRTIO, Change, rewritten_by
from vnicaudit.model.host import HostConfig, VdpaDevice, Version, needed_memlock_kib
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import MODES, Blocked, Goal, Loss, Mode, ModeCode, ModeOption, Step
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.planning.subject import ProposedChanges

# Obstacles to changing a domain, and the ways in which a change can take effect.


CANNOT_DRIVE_VIRTIO = "the guest is known not to support virtio"
"""Why a NIC stays as it is, and why a virtio backend is not possible for it."""
_WINDOWS = "mswindows"


_OFF = "the guest is off: the change takes effect when it is started"
_TO_VIRTIO_ALONE = "only a change to virtio is possible while the guest runs"
_MULTIFUNCTION = (
    "another device shares its PCI slot (as another function): libvirt cannot unplug either"
)
_ROOT_BUS = (
    "its slot is on the root bus of q35 (pcie.0), where nothing can be unplugged or plugged in"
)
"""Measured with QEMU 7.2 and libvirt 9.0: ``Bus 'pcie.0' does not support hotplugging``."""
_IN_FILE = "libvirt reads a file only when it is defined (virsh define)"
_WAITS = "QEMU would wait for the other end of the socket while it starts: start it by hand"
_ADDRESSES_STAY = (
    "Windows treats the new device as a new adapter: its IP address would stay with the old one"
)
_NO_AGENT = "no guest agent is connected to restore the IP addresses"
_BEHIND = (
    "{} set behind libvirt's back (<qemu:override>, -set) for a device that is not virtio: with "
    "it, the guest would not start, or not boot; {how}"
)


def owner_blocks(domain: Domain) -> tuple[Blocked, ...]:
    """The reasons why the owner's definition is not changed here."""
    owner = rewritten_by(domain.declared.owner)
    if not owner:
        return ()
    if domain.declared.manifest is not None:
        text = f"a manifest belongs to {owner}: change it as the procedure describes"
    else:
        text = f"the definition belongs to {owner}, which rewrites it: change it there, not here"
    return (Blocked("owner-changes-it", text),)


def no_change(domain: Domain, nic: Nic | None = None) -> str:
    """Why a NIC that is not virtio stays as it is, if no rule proposes a change."""
    if nic is not None and (behind := not_of_virtio(nic.declared)):
        names = ", ".join(one.name for one in behind)
        return _BEHIND.format(names, how=removal_first(domain))
    if nic is not None and nic.declared.virtio_faults:
        return f"as virtio it would not start: {nic.declared.virtio_faults[0]}"
    if domain.declared.readiness == "not-supported":
        return CANNOT_DRIVE_VIRTIO
    return "no rule proposes a change; `vnicaudit audit` shows what to do"


def removal_first(domain: Domain) -> str:
    """The first step for a setting made behind libvirt's back (``<qemu:override>``, ``-set``)."""
    if owner := rewritten_by(domain.declared.owner):
        return f"first make {owner} write the definition without it"
    return "remove it first (virsh edit)"


def state_blocks(state: DomainState | None) -> Iterator[Blocked]:
    """Reasons in the domain's state because of which it cannot be changed now."""
    if state is None:
        return
    if state.persistent is False:
        yield Blocked("no-definition", "it is transient: it has no persistent definition to change")
    if state.managed_save:
        yield Blocked(
            "managed-save",
            "its managed save image would bring the old NIC back: start it and shut it down once",
        )
    if state.memory_snapshots:
        one = state.memory_snapshots == 1
        what = "a snapshot of it holds" if one else f"{state.memory_snapshots} snapshots of it hold"
        yield Blocked(
            "memory-snapshot",
            f"{what} memory and would bring the old NIC back: delete {'it' if one else 'them'}",
        )


def identity_blocks(domain: Domain, nic: Nic) -> Iterator[Blocked]:
    """Reasons why a NIC of a live host could not be identified later: it is known by its MAC
    address."""
    if nic.mac is None:
        yield Blocked("mac-missing", "its definition has no MAC address to identify it by")
    elif sum(other.mac == nic.mac for other in domain.nics) > 1:
        yield Blocked(
            "mac-not-unique",
            "another NIC of the domain has the same MAC address: they cannot be told apart",
        )


def state_notes(state: DomainState | None) -> Iterator[str]:
    """Notes on facts that could bring the old NIC back, and on facts that could not be read and are
    read again when the plan is applied."""
    if state is None:
        return
    memory = state.memory_snapshots
    others = 0 if memory is None else (state.snapshots or 0) - memory
    if others > 0:
        yield (
            f"{count(others, 'snapshot')} without memory: reverting to "
            f"{'one of them' if others > 1 else 'it'} brings the old NIC back"
        )
    if state.managed_save is None:
        yield "it is unknown whether it has a managed save image"
    if memory is None:
        yield "it is unknown whether it has snapshots with memory"


def modes(
    domain: Domain,
    to: Goal,
    *,
    server_socket: bool,
    live: bool,
    shares_slot: bool = False,
    root_bus: bool = False,
) -> tuple[ModeOption, ...]:
    """The ways in which a step can take effect. ``live``: it is a domain of a live host;
    ``server_socket``: QEMU is to listen on a vhost-user socket; ``shares_slot``: another device is
    on the NIC's slot; ``root_bus``: the slot is one of the root bus of q35."""
    if not live:
        others: tuple[Mode, ...] = ("restart", "hotswap")
        return (
            ModeOption("next-boot", possible=True),
            *(_impossible(mode, "in-a-file", _IN_FILE) for mode in others),
        )
    state = domain.state or DomainState()
    if not state.active:
        at_start = tuple(ModeOption(mode, True, _OFF, "off") for mode in MODES)
        if to == "virtio":
            return at_start
        return (*at_start[:2], _impossible("hotswap", "virtio-only", _TO_VIRTIO_ALONE))
    restart = ModeOption("restart", possible=True)
    if server_socket:
        restart = _impossible("restart", "waits-for-socket", _WAITS)
    return (
        ModeOption("next-boot", possible=True),
        restart,
        _hotswap(domain, state, to, shares_slot=shares_slot, root_bus=root_bus),
    )


def _impossible(mode: Mode, code: ModeCode, reason: str) -> ModeOption:
    return ModeOption(mode, possible=False, reason=reason, code=code)


def _hotswap(
    domain: Domain, state: DomainState, to: Goal, *, shares_slot: bool, root_bus: bool
) -> ModeOption:
    """The hot swap of the running guest's device, possible or not."""
    if to != "virtio":
        return _impossible("hotswap", "virtio-only", _TO_VIRTIO_ALONE)
    if (state.guest_os or "").startswith(_WINDOWS) or (domain.declared.os_id or "").startswith(
        "http://microsoft.com/"
    ):
        return _impossible("hotswap", "windows", _ADDRESSES_STAY)
    if state.agent is False:
        return _impossible("hotswap", "no-agent", _NO_AGENT)
    if shares_slot:
        return _impossible("hotswap", "shares-slot", _MULTIFUNCTION)
    if root_bus:
        return _impossible("hotswap", "root-bus", _ROOT_BUS)
    return ModeOption("hotswap", possible=True)


_LOST = {
    "filterref": ("filterref", "the network filter {text} no longer applies"),
    "port": ("isolation", "the port is no longer isolated from others"),
    "bandwidth": ("bandwidth", "bandwidth is no longer limited"),
    "coalesce": ("coalesce", "interrupt coalescing is no longer set"),
    "vlan": ("vlan", "libvirt no longer applies the VLAN tag"),
    "virtualport": ("virtualport", "the port profile, with its interface id, is no longer used"),
    "tune": ("tune", "the send buffer is no longer limited"),
}
"""Child of ``<interface>`` -> name of the function, and the words for its loss."""
_LOST_ON_VDPA = {"mtu": ("mtu", "libvirt no longer sets the MTU: set it on the device")}
_OF_THE_TAP = ("backend", "target", "script", "downscript")
"""Children that configure a tap, which is gone."""
_TAP_TYPES = ("network", "bridge", "ethernet", "direct")

REQUESTED = "requested with --to"
"""The reason why a step to another backend is safe."""
_DRIVER = "the guest may have no driver for it (readiness: {}); without one it loses its network"
_ENCRYPTED = "the guest's memory is encrypted: a virtio device may need iommu='on' to reach it"
_SHARED = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"


def functions_lost(goal: Goal) -> tuple[str, ...]:
    """Names of all functions that a NIC may have and that this backend lacks."""
    return tuple(name for name, _text in _functions_lost_on(goal).values())


def _functions_lost_on(goal: Goal) -> dict[str, tuple[str, str]]:
    return _LOST | (_LOST_ON_VDPA if goal == "vdpa" else {})


def to_backend(
    options: PlanOptions, nic: Nic, domain: Domain, host: HostConfig, children: Mapping[str, str],
    devices: tuple[VdpaDevice, ...] | None, memory_kib: int | None,
) -> ProposedChanges:  # fmt: skip
    """The conversion of the NIC to the vhost-vDPA device, or the socket, that the options name for
    it. ``devices``: the vDPA devices of the host; None if they cannot be read."""
    to, device = options.to, options.device(nic.mac)
    lost = _functions_lost_on(to)
    losses = tuple(
        Loss(name, text.format(text=children[child]), name in options.accepted)
        for child, (name, text) in lost.items()
        if child in children
    )
    blocked = [*_wrong_nic(nic, domain), *_used_here(nic, domain, device)]
    if to == "vdpa":
        blocked += _vdpa_needs(domain, host, device, devices)
        notes = tuple(_vdpa_notes(nic, domain, memory_kib))
    else:
        blocked += _vhostuser_needs(domain)
        notes = tuple(_vhostuser_notes(options.socket_mode, device))
    if "source" in children:
        notes = (_leaves(nic, device), *notes)
    changes = tuple(_changes(options, nic, domain, children))
    return ProposedChanges(changes, (), tuple(blocked), losses, notes)


def still_against(
    step: Step, nic: Nic, domain: Domain, children: Mapping[str, str],
    devices: tuple[VdpaDevice, ...] | None,
) -> tuple[str, ...]:  # fmt: skip
    """Objections to a step to a backend other than virtio when it is about to be applied: a plan is
    a file that people edit, and a device may be gone by then."""
    accepted = {loss.function for loss in step.losses if loss.accepted}
    found = [
        f"{name} would be lost, which the plan does not accept"
        for child, (name, _text) in _functions_lost_on(step.to).items()
        if child in children and name not in accepted
    ]
    place = "device" if step.to == "vdpa" else "source_path"
    device = next((change.new or "" for change in step.changes if change.field == place), "")
    against = [*_wrong_nic(nic, domain), *_used_here(nic, domain, device)]
    against += _there(domain, device, devices) if step.to == "vdpa" else _vhostuser_needs(domain)
    return (*found, *(one.text for one in against))


def _changes(
    options: PlanOptions, nic: Nic, domain: Domain, children: Mapping[str, str]
) -> Iterator[Change]:
    to, device = options.to, options.device(nic.mac)
    if nic.declared.model not in (("virtio",) if to == "vdpa" else VIRTIO):
        yield _to_virtio(nic, domain)
    for child in (*_functions_lost_on(to), *_OF_THE_TAP):
        if child in children:
            yield _change(child, children[child], None)
    yield _change("type", nic.declared.type, to)
    if "source" in children:
        yield _change("source", children["source"], None)
    if to == "vdpa":
        yield _change("device", None, device)
    else:
        yield _change("source_type", None, "unix")
        yield _change("source_path", None, device)
        yield _change("source_mode", None, options.socket_mode)


def _to_virtio(nic: Nic, domain: Domain) -> Change:
    """The change of the model to ``virtio``. For type vdpa, libvirt 9.0 rejects other
    names of virtio models: "invalid model for interface of type 'vdpa': 'virtio-transitional'"."""
    change = _change("model", nic.declared.model, "virtio")
    if domain.declared.readiness != "ready":
        reason = _DRIVER.format(domain.declared.readiness)
    elif domain.declared.encrypted and nic.declared.iommu != "on":
        reason = _ENCRYPTED
    else:
        return change
    return replace(change, safe=False, reason=reason)


def _change(field: str, old: str | None, new: str | None) -> Change:
    return Change(field, old, new, safe=True, reason=REQUESTED)


def _wrong_nic(nic: Nic, domain: Domain) -> Iterator[Blocked]:
    if domain.declared.readiness == "not-supported" and nic.declared.model not in VIRTIO:
        yield Blocked("not-supported", CANNOT_DRIVE_VIRTIO)
    if nic.declared.type not in _TAP_TYPES or nic.declared.actual_type == "hostdev":
        yield Blocked(
            "nic-type", f"its type is {nic.declared.type}: only a NIC on a tap is converted"
        )
    if behind := not_of_virtio(nic.declared):
        yield Blocked(
            "behind-libvirt",
            f"{', '.join(one.name for one in behind)} set behind libvirt's back "
            f"(<qemu:override>, -set), which no virtio NIC has; {removal_first(domain)}",
        )
    if nic.declared.virtio_faults:
        yield Blocked(
            "does-not-start", f"as virtio it would not start: {nic.declared.virtio_faults[0]}"
        )
    if nic.declared.teaming is not None:
        yield Blocked("teamed", "it is part of a teamed pair: change the pair by hand")


def _used_here(nic: Nic, domain: Domain, device: str) -> Iterator[Blocked]:
    used = {
        other.source for other in domain.nics
        if other.index != nic.index and other.declared.type in OWN_PATH
    }  # fmt: skip
    if device in used:
        yield Blocked("device-in-use", f"{device} is used by another NIC of this domain")


def _vdpa_needs(
    domain: Domain, host: HostConfig, device: str, devices: tuple[VdpaDevice, ...] | None
) -> Iterator[Blocked]:
    if not device:
        yield Blocked(
            "device-not-given",
            "no device was named for it (--nic MAC --vdpa-device /dev/vhost-vdpa-N)",
        )
        return
    yield from _versions(host, Version(6, 9), Version(5, 1))
    yield from _there(domain, device, devices)


def _there(
    domain: Domain, device: str, devices: tuple[VdpaDevice, ...] | None
) -> Iterator[Blocked]:
    found = next((one for one in devices or () if one.path == device), None)
    if devices is None:
        yield Blocked(
            "device-not-seen",
            f"{device} cannot be checked from here: run this on the host itself",
        )
    elif found is None:
        yield Blocked(
            "device-missing",
            f"{device} does not exist: create it first (vdpa dev add, driver vhost_vdpa)",
        )
    else:
        yield from _device_needs(found, device, domain)


def _device_needs(found: VdpaDevice, device: str, domain: Domain) -> Iterator[Blocked]:
    if found.driver not in (None, "vhost_vdpa"):
        yield Blocked(
            "device-driver",
            f"{device} is bound to {found.driver or 'no driver'}, not to vhost_vdpa",
        )
    if found.shared_memory is False or domain.declared.shared_memory:
        return
    if found.shared_memory is None:
        yield Blocked(
            "shared-memory",
            f"it is unknown whether {device} needs the guest's memory shared: share it to be "
            f"safe ({_SHARED})",
        )
        return
    what = "served by a program (VDUSE)" if found.vduse else "simulated by the kernel"
    yield Blocked(
        "shared-memory",
        f"{device} is {what}, which needs the guest's memory shared: without {_SHARED} the guest "
        "starts but passes no packets",
    )


def _vdpa_notes(nic: Nic, domain: Domain, memory_kib: int | None) -> Iterator[str]:
    yield "a vDPA NIC cannot be changed while the guest runs, and may keep it from migrating"
    if memory_kib is not None:
        devices = 1 + sum(one.declared.type == "vdpa" for one in domain.nics)
        limit = needed_memlock_kib(memory_kib, devices) // 1024
        yield (
            f"all of the guest's memory is pinned: libvirt raises its limit to {limit} MiB, where "
            "no <hard_limit> sets another"
        )
    if nic.declared.packed == "on":
        yield "packed='on' keeps QEMU from migrating it (no shadow virtqueue for packed rings)"


def _vhostuser_needs(domain: Domain) -> Iterator[Blocked]:
    if not domain.declared.shared_memory:
        yield Blocked("shared-memory", f"vhost-user needs the guest's memory shared: {_SHARED}")


def _leaves(nic: Nic, device: str) -> str:
    where = f"{nic.declared.type} {nic.source}" if nic.source else f"its {nic.declared.type}"
    there = device or "the new device"
    return (
        f"the NIC leaves {where}: connect {there} to the same network, with the same VLAN, before "
        "the guest starts"
    )


def _vhostuser_notes(mode: str, socket: str) -> Iterator[str]:
    folder, _slash, _name = socket.rpartition("/")
    if folder:
        may = "write to it" if mode == "server" else "open the socket there"
        yield f"the folder {folder} must be there, and QEMU's user may {may}"
    if mode == "server":
        yield "QEMU listens on the socket and does not finish starting until the other end connects"
    else:
        yield "QEMU connects to the socket: its listener must be up before the guest starts"


def _versions(host: HostConfig, libvirt: Version, qemu: Version) -> Iterator[Blocked]:
    for name, wanted, found in (
        ("libvirt", libvirt, host.libvirt_version),
        ("QEMU", qemu, host.qemu_version),
    ):
        if found is None:
            yield Blocked(
                "version-not-known", f"the version of {name} is unknown (vDPA needs {wanted})"
            )
        elif found < wanted:
            yield Blocked("version-too-old", f"vDPA needs {name} {wanted}; the host has {found}")
