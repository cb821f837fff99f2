"""Obstacles to changing a domain, and the ways in which a change can take effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.knowledge.device_leftovers import not_of_virtio
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.nic import Nic
from vnicaudit.model.owner import rewritten_by
from vnicaudit.model.plan import Goal, Mode, ModeOption
from vnicaudit.model.reasons import Blocked, ModeCode

CANNOT_DRIVE_VIRTIO = "the guest is known not to support virtio"
"""Why a NIC stays as it is, and why a virtio backend is not possible for it."""
_WINDOWS = "mswindows"


class _Objection(NamedTuple):
    """An objection to a mode; an empty text: none."""

    code: ModeCode | Literal[""] = ""
    text: str = ""


_OFF = _Objection("off", "the guest is off: the change takes effect when it is started")
_TO_VIRTIO_ALONE = _Objection(
    "virtio-only", "only a change to virtio is possible while the guest runs"
)
_MULTIFUNCTION = _Objection(
    "shares-slot",
    "another device shares its PCI slot (as another function): libvirt cannot unplug either",
)
_IN_FILE = _Objection("in-a-file", "libvirt reads a file only when it is defined (virsh define)")
_WAITS = _Objection(
    "waits-for-socket",
    "QEMU would wait for the other end of the socket while it starts: start it by hand",
)
_ADDRESSES_STAY = _Objection(
    "windows",
    ("Windows treats the new device as a new adapter: its IP address would stay with the old one"),
)
_NO_AGENT = _Objection("no-agent", "no guest agent is connected to restore the IP addresses")
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
        text = f"a manifest belongs to {owner}: change it as the route describes"
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
    domain: Domain, to: Goal, *, server_socket: bool, live: bool, shares_slot: bool = False
) -> tuple[ModeOption, ...]:
    """The ways in which a step can take effect. ``live``: it is a domain of a live host;
    ``server_socket``: QEMU is to listen on a vhost-user socket; ``shares_slot``: another device is
    on the NIC's slot."""
    if not live:
        return (
            ModeOption("next-boot", possible=True),
            _unless("restart", _IN_FILE),
            _unless("hotswap", _IN_FILE),
        )
    state = domain.state or DomainState()
    if not state.active:
        swap = _at_start("hotswap") if to == "virtio" else _unless("hotswap", _TO_VIRTIO_ALONE)
        return (_at_start("next-boot"), _at_start("restart"), swap)
    waits = _WAITS if server_socket else _Objection()
    against = _no_hotswap(domain, state, to)
    if not against.text and shares_slot:
        against = _MULTIFUNCTION
    return (
        ModeOption("next-boot", possible=True),
        _unless("restart", waits),
        _unless("hotswap", against),
    )


def _at_start(mode: Mode) -> ModeOption:
    return ModeOption(mode, possible=True, reason=_OFF.text, code=_OFF.code)


def _unless(mode: Mode, against: _Objection) -> ModeOption:
    return ModeOption(mode, not against.text, against.text, against.code)


def _no_hotswap(domain: Domain, state: DomainState, to: Goal) -> _Objection:
    """Why the device of the running guest cannot be exchanged; empty: it can."""
    if to != "virtio":
        return _TO_VIRTIO_ALONE
    if (state.guest_os or "").startswith(_WINDOWS) or _is_windows(domain):
        return _ADDRESSES_STAY
    return _NO_AGENT if state.agent is False else _Objection()


def _is_windows(domain: Domain) -> bool:
    return (domain.declared.os_id or "").startswith("http://microsoft.com/")
