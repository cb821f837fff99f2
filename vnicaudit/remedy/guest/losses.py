"""Settings of a guest's interface that are not restored: refused, or reported."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.errors import GuestError, RefusedError
from vnicaudit.remedy.guest.answers import Guest, ask
from vnicaudit.remedy.guest.words import excerpt, name

_BY_ITSELF = "0:"
"""The handle of a queueing discipline that the kernel chose; one that a user set has another,
whether the user gave a handle or not (net/sched/sch_api.c, qdisc_create)."""


class _Discipline(msgspec.Struct, frozen=True):
    kind: str = ""
    handle: str = _BY_ITSELF


class _InterfaceSettings(msgspec.Struct, frozen=True):
    family: str = ""
    interface: str = ""
    forwarding: bool | None = None
    rp_filter: str | None = None
    proxy_neigh: bool | None = None
    ignore_routes_with_linkdown: bool | None = None

    def differing(self, default: _InterfaceSettings) -> Iterator[str]:
        """The names of the settings that a new interface would not have."""
        for field in ("forwarding", "rp_filter", "proxy_neigh", "ignore_routes_with_linkdown"):
            if getattr(self, field) != getattr(default, field):
                yield f"{field} ({'IPv6' if self.family == 'inet6' else 'IPv4'})"


def check_disciplines(guest: Guest, device: str) -> Iterator[str]:
    """Raises RefusedError if traffic control (``tc``) was set on the interface; returns a note if
    the guest cannot report it."""
    try:
        found = ask(guest, ("tc", "-j", "qdisc", "show", "dev", name(device)), _Discipline)
    except (GuestError, RefusedError):
        yield f"The guest has no tc, so it is unknown whether traffic control is set on {device}."
        return
    for one in found:
        if one.handle != _BY_ITSELF:
            raise RefusedError(
                f"traffic control ({excerpt(one.kind)}) was set on {excerpt(device)} in the guest "
                "with tc, and would be lost"
            )


def kernel_settings(guest: Guest, device: str) -> Iterator[str]:
    """The settings below /proc/sys/net that differ from those of a new interface, as far as ``ip
    netconf`` shows them."""
    try:
        found = ask(guest, ("ip", "-j", "netconf"), _InterfaceSettings)
    except RefusedError:
        return
    defaults = {one.family: one for one in found if one.interface == "default"}
    own = [one for one in found if one.interface == device and one.family in defaults]
    differing = [word for one in own for word in one.differing(defaults[one.family])]
    if differing:
        yield f"Set on {device} with sysctl, and not restored: {', '.join(differing)}."


def routers_routes_stay(guest: Guest, device: str) -> bool:
    """True if a program of the guest, and not the kernel, makes the routes that routers advertise.
    The kernel leaves a program's routes alone; a restored copy of one of the kernel's own would
    keep it from reading the next advertisement to its end (net/ipv6/ndisc.c,
    ndisc_router_discovery)."""
    path = f"/proc/sys/net/ipv6/conf/{name(device)}/accept_ra"
    ran = guest.execute(("cat", path))
    return ran.code == 0 and ran.stdout.strip() == b"0"
