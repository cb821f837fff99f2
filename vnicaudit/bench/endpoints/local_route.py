"""Refuse paths on which nothing would leave the peer, before anything is measured."""

from __future__ import annotations

from ipaddress import ip_address

from vnicaudit.bench.contract import Endpoint
from vnicaudit.errors import EndpointError, UsageError

_NAMESPACE = ("readlink", "/proc/self/ns/net")


def refuse_local_route(target: Endpoint, peer: Endpoint, address: str, *, one_kernel: bool) -> None:
    """Raises UsageError if the peer would reach the address without any NIC: both ends are in one
    network namespace, or the address is the peer's own. A loopback address (``127.0.0.1``, ``::1``)
    is accepted: it can only be meant on purpose. ``one_kernel``: both ends run on the same
    kernel."""
    if ip_address(address).is_loopback:
        return
    if one_kernel and _printed(target, *_NAMESPACE) == _printed(peer, *_NAMESPACE) != "":
        raise UsageError(
            f"{target.url} and {peer.url} are in the same network namespace: traffic between them "
            "uses loopback, not a NIC. Send the load from another machine or namespace, or "
            "append ?address=127.0.0.1 to the target's URL to measure loopback"
        )
    if _printed(peer, "ip", "-o", "route", "get", address).startswith("local "):
        raise UsageError(
            f"{peer.url}: {address} is an address of this end itself (its route is local), so the "
            f"load would never leave it: append the address of {target.url} to its URL: "
            "?address=IP"
        )


def _printed(endpoint: Endpoint, *argv: str) -> str:
    """The output of a program at the endpoint; empty if the program is missing."""
    try:
        ran = endpoint.run(argv)
    except EndpointError:
        return ""
    return ran.stdout.strip() if ran.code == 0 else ""
