"""An uplink of guests has a single receive queue.

## What is wrong

The adapter has one receive queue, so that one CPU at a time serves all frames for all guests
behind it, on a host with four or more CPUs.

## Why it matters

One CPU handles a few million small packets a second at best. When it is full, packets wait or are
dropped, while other CPUs idle. Adapters of 10 Gb/s and more have many queues; a virtio adapter has
as many as its own hypervisor gives it.

## Bad

```console
$ ls /sys/class/net/eth0/queues
rx-0 tx-0
```

## Good

```console
$ ls /sys/class/net/eth0/queues
rx-0 rx-1 rx-2 rx-3 tx-0 tx-1 tx-2 tx-3
```

## Fix

If the adapter has more (`ethtool -l`), switch them on with `ethtool -L`. On a virtio adapter, give
the host more queues where it is defined as a guest (VNIC030). Otherwise steer packets by software
(RPS, see VNIC108).

## Fix safety

`ethtool -L` interrupts the link for a moment and resets the masks of RPS and XPS.

## When it does not fire

* Below 10 Gb/s, unless it is virtio; below four CPUs; on links that carry no guest.
* On an OSA adapter of IBM Z, which has one receive queue by design: see VNIC108.
* Skipped where the number of queues, the speed or the CPUs are not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_RESET = "adapters take their link down for a moment, and new queues have no masks"
_FAST = 10_000
_CPUS = 4


def applies(subject: LinkSubject) -> bool:
    """A fast adapter that carries guests, on a host that has CPUs for more queues."""
    link, online = subject.link, subject.facts.cpus.online
    slow = link.speed is not None and link.speed < _FAST and link.driver != "virtio_net"
    few = online is not None and len(online) < _CPUS
    return bool(subject.carries and link.physical) and link.qeth is None and not slow and not few


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if there is one queue."""
    link, cpus = subject.link, len(subject.facts.cpus.online or ())
    if link.rx_queues != 1:
        return
    change, fix = None, ""
    combined = (link.channels or {}).get("combined")
    if combined is not None and (combined.most or 1) > 1:
        wanted = min(combined.most or 1, cpus)
        setting = HostSetting("channels", link.name, "combined")
        change = change_of(subject.facts, setting, str(wanted), _RESET, safe=False)
    elif link.driver == "virtio_net":
        fix = "Give it more queues where this host is defined as a guest."
    else:
        fix = "Look for a newer driver or firmware; until then, steer packets by software (RPS)."
    yield Problem(
        f"{link.name} has one receive queue for {host_needs.guests_named(subject.carries)}, on a "
        f"host with {cpus} CPUs",
        change=change,
        fix=fix,
    )


RULE = Rule(
    name="single-hardware-queue",
    severity="info",
    groups=("host", "queues"),
    judges=(
        Judge(
            "link",
            needs=(host_needs.LINK_QUEUES, host_needs.LINK_SPEED, host_needs.ONLINE),
            applies=applies,
            check=check,
        ),
    ),
)
