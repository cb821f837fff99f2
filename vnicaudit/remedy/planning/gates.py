"""What may be planned, and what stands in the way of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.model.domain import REWRITTEN_BY, Domain, DomainState
from vnicaudit.model.finding import Finding
from vnicaudit.model.plan import Goal, ModeOption

_WINDOWS = "mswindows"


def owner_route(domain: Domain, findings: Iterable[Finding]) -> tuple[str, ...]:
    """What to do where the owner keeps the definition: the fixes as they are worded for it, with
    the domain's own UUID; empty where libvirt's definition is the one that counts."""
    if domain.declared.owner not in REWRITTEN_BY:
        return ()
    texts = dict.fromkeys(finding.fix for finding in findings if finding.fix)
    return tuple(text.replace(" UUID", f" {domain.uuid or 'UUID'}") for text in texts)


def owner_blocks(domain: Domain) -> tuple[str, ...]:
    """Why somebody else's definition is not changed here."""
    owner = REWRITTEN_BY.get(domain.declared.owner)
    if owner is None:
        return ()
    return (f"the definition is {owner}'s, which writes it anew: it is changed there, never here",)


def state_blocks(state: DomainState | None) -> Iterator[str]:
    """What of the domain's state has to be settled before anything can be changed."""
    if state is None:
        return
    if state.persistent is False:
        yield "it is transient: there is no persistent definition to change"
    if state.managed_save:
        yield "its managed save image would bring the old NIC back: start it and shut it down once"
    if state.memory_snapshots:
        yield (
            f"{state.memory_snapshots} of its snapshots hold memory and would bring the old NIC "
            "back: delete them first"
        )


def unknown_state(state: DomainState | None) -> Iterator[str]:
    """What could not be asked; it is asked again when the plan is applied."""
    if state is None:
        return
    if state.managed_save is None:
        yield "whether it has a managed save image could not be asked"
    if state.memory_snapshots is None:
        yield "whether it has snapshots with memory could not be asked"


def modes(domain: Domain, to: Goal, *, server_socket: bool, live: bool) -> tuple[ModeOption, ...]:
    """How a step can take effect. ``live``: it is a domain of a live host; ``server_socket``: QEMU
    is to listen on a vhost-user socket."""
    if not live:
        reason = "a file is only read when it is defined (virsh define)"
        return (
            ModeOption("next-boot", possible=True),
            ModeOption("restart", possible=False, reason=reason),
            ModeOption("hotswap", possible=False, reason=reason),
        )
    state = domain.state or DomainState()
    if not state.active:
        off = "the guest is off: it takes effect when it is started"
        return tuple(
            ModeOption(mode, possible=True, reason=off)
            for mode in ("next-boot", "restart", "hotswap")
        )
    waits = "" if not server_socket else (
        "QEMU waits for the other end of the socket while it starts: start it by hand"
    )  # fmt: skip
    swap = _no_hotswap(domain, state, to)
    return (
        ModeOption("next-boot", possible=True),
        ModeOption("restart", possible=not waits, reason=waits),
        ModeOption("hotswap", possible=not swap, reason=swap),
    )


def _no_hotswap(domain: Domain, state: DomainState, to: Goal) -> str:
    """Why the device cannot be exchanged under the running guest; empty: it can."""
    if to != "virtio":
        return "only a change to virtio can be made under a running guest"
    if (state.guest_os or "").startswith(_WINDOWS) or _is_windows(domain):
        return "Windows takes the new device for another adapter: its address would stay behind"
    if state.agent is False:
        return "no guest agent is connected, which would have to put the addresses back"
    return ""


def _is_windows(domain: Domain) -> bool:
    return (domain.declared.os_id or "").startswith("http://microsoft.com/")
