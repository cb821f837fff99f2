"""Differences in a NIC's link and offloads between two checks of one end, apart from the change
that is measured.

If the target's NIC got another driver, that is the change: its offloads, queues, rings and speed
are then the new driver's, and only its MTU is reported. The NICs of the peer and the hypervisor are
not meant to change at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.measurement import Setup

_LINK = ("nic", "nic.mtu", "nic.speed", "nic.duplex")
_SETTINGS = (
    "nic.driver", "nic.driver_version", "nic.firmware", "nic.offload.", "nic.channels.",
    "nic.rings.", "nic.coalescing.",
)  # fmt: skip
_WITH_ANOTHER_DRIVER = ("nic.mtu",)


def link_changes(first: Setup, later: Setup, *, changed_here: bool) -> tuple[str, ...]:
    """``nic.mtu changed from 1500 to 9000``: one for each difference in facts known at both checks.
    ``changed_here``: it is the target, whose NIC may be the subject of the change."""
    return tuple(_differences(first, later, changed_here=changed_here))


def _differences(first: Setup, later: Setup, *, changed_here: bool) -> Iterator[str]:
    driver = "nic.driver"
    another = first.facts.get(driver) != later.facts.get(driver)
    for name in sorted(first.facts.keys() & later.facts.keys()):
        told = name in _WITH_ANOTHER_DRIVER if changed_here and another else _is_of_link(name)
        if told and first.facts[name] != later.facts[name]:
            yield f"{name} changed from {first.facts[name]} to {later.facts[name]}"


def _is_of_link(name: str) -> bool:
    return name in _LINK or any(name.startswith(each) for each in _SETTINGS)
