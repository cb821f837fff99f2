"""Packets for a guest that its tap dropped because the guest did not take them fast enough.

Source: drivers/net/tun.c of Linux: ``tun_net_xmit`` counts a packet towards the guest as
``tx_dropped`` if the tap's ring, of ``txqueuelen`` packets, is full. Packets are also dropped while
nobody has the tap open, so that only its share of all packets tells something.
"""

from __future__ import annotations

from vnicaudit.model.host_facts import HostLink

PERCENT = 0.1
LEAST = 100
"""Our own thresholds."""


def tap_drops(link: HostLink, percent: float = PERCENT, least: int = LEAST) -> str | None:
    """The packets that a tap dropped, in words; None if they are few, and no more come."""
    counters, growth = link.counters or {}, link.growth or {}
    dropped, passed = counters.get("tx_dropped", 0), counters.get("tx_packets", 0)
    if growth.get("tx_dropped"):
        if not growth.get("tx_packets"):
            return None  # it takes nothing at all: it is paused, or has not booted
        return f"{growth['tx_dropped']} packets within the window ({dropped} in all)"
    share = 100 * dropped / (dropped + passed) if dropped else 0.0
    if dropped >= least and share >= percent:
        return f"{dropped} packets ({share:.1f} % of those for its guest)"
    return None
