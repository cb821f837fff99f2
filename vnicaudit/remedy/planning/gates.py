"""What may be planned, and what stands in the way of it."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.domain import REWRITTEN_BY, Domain, DomainState
from vnicaudit.model.nic import Nic
from vnicaudit.model.of_old_device import not_of_virtio
from vnicaudit.model.plan import Goal, ModeOption

_WINDOWS = "mswindows"
OFF = "the guest is off: it takes effect when it is started"
_TO_VIRTIO_ALONE = "only a change to virtio can be made under a running guest"
_MULTIFUNCTION = (
    "another device is on its PCI slot, as another function of it: libvirt unplugs neither"
)
_BEHIND = (
    "{} set behind libvirt's settings (<qemu:override>, -set) for a device that is not virtio: "
    "QEMU would not start with it, or not boot; remove it first (virsh edit)"
)


def owner_blocks(domain: Domain) -> tuple[str, ...]:
    """Why somebody else's definition is not changed here."""
    owner = REWRITTEN_BY.get(domain.declared.owner)
    if owner is None:
        return ()
    if domain.declared.manifest is not None:
        return (f"a manifest is {owner}'s to carry out: it is changed as the route says",)
    return (f"the definition is {owner}'s, which writes it anew: it is changed there, never here",)


def no_change(domain: Domain, nic: Nic | None = None) -> str:
    """Why a NIC that is no virtio stays as it is, where no rule proposes anything."""
    if nic is not None and (behind := not_of_virtio(nic.declared)):
        return _BEHIND.format(", ".join(behind))
    if nic is not None and nic.declared.virtio_faults:
        return f"as virtio it would not start: {nic.declared.virtio_faults[0]}"
    if domain.declared.readiness == "not-supported":
        return "the guest is known not to support virtio"
    return "no rule proposes a change of it; `vnicaudit audit` says what to do"


def state_blocks(state: DomainState | None) -> Iterator[str]:
    """What of the domain's state has to be settled before anything can be changed."""
    if state is None:
        return
    if state.persistent is False:
        yield "it is transient: there is no persistent definition to change"
    if state.managed_save:
        yield "its managed save image would bring the old NIC back: start it and shut it down once"
    if state.memory_snapshots:
        one = state.memory_snapshots == 1
        what = "a snapshot of it holds" if one else f"{state.memory_snapshots} snapshots of it hold"
        yield f"{what} memory, which would bring the old NIC back: delete {'it' if one else 'them'}"


def identity_blocks(domain: Domain, nic: Nic) -> Iterator[str]:
    """Why a NIC of a live host could not be found again: it is known by its MAC address."""
    if nic.mac is None:
        yield "its definition has no MAC address, by which it would be found again"
    elif sum(other.mac == nic.mac for other in domain.nics) > 1:
        yield "another NIC of the domain has the same MAC address: they cannot be told apart"


def state_notes(state: DomainState | None) -> Iterator[str]:
    """What else could bring the old NIC back; what could not be asked, and is asked again when
    the plan is applied."""
    if state is None:
        return
    memory = state.memory_snapshots
    others = 0 if memory is None else (state.snapshots or 0) - memory
    if others > 0:
        yield (
            f"{others} snapshot{'s' * (others > 1)} without memory: going back to "
            f"{'one of them' if others > 1 else 'it'} brings the old NIC back"
        )
    if state.managed_save is None:
        yield "whether it has a managed save image could not be asked"
    if memory is None:
        yield "whether it has snapshots with memory could not be asked"


def modes(
    domain: Domain, to: Goal, *, server_socket: bool, live: bool, shares_slot: bool = False
) -> tuple[ModeOption, ...]:
    """How a step can take effect. ``live``: it is a domain of a live host; ``server_socket``: QEMU
    is to listen on a vhost-user socket; ``shares_slot``: another device is on the NIC's slot."""
    if not live:
        reason = "a file is only read when it is defined (virsh define)"
        return (
            ModeOption("next-boot", possible=True),
            ModeOption("restart", possible=False, reason=reason),
            ModeOption("hotswap", possible=False, reason=reason),
        )
    state = domain.state or DomainState()
    if not state.active:
        never = "" if to == "virtio" else _TO_VIRTIO_ALONE
        return (
            ModeOption("next-boot", possible=True, reason=OFF),
            ModeOption("restart", possible=True, reason=OFF),
            ModeOption("hotswap", possible=not never, reason=never or OFF),
        )
    waits = "" if not server_socket else (
        "QEMU waits for the other end of the socket while it starts: start it by hand"
    )  # fmt: skip
    swap = _no_hotswap(domain, state, to) or (_MULTIFUNCTION if shares_slot else "")
    return (
        ModeOption("next-boot", possible=True),
        ModeOption("restart", possible=not waits, reason=waits),
        ModeOption("hotswap", possible=not swap, reason=swap),
    )


def _no_hotswap(domain: Domain, state: DomainState, to: Goal) -> str:
    """Why the device cannot be exchanged under the running guest; empty: it can."""
    if to != "virtio":
        return _TO_VIRTIO_ALONE
    if (state.guest_os or "").startswith(_WINDOWS) or _is_windows(domain):
        return "Windows takes the new device for another adapter: its address would stay behind"
    if state.agent is False:
        return "no guest agent is connected, which would have to put the addresses back"
    return ""


def _is_windows(domain: Domain) -> bool:
    return (domain.declared.os_id or "").startswith("http://microsoft.com/")
