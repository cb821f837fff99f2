"""The queue of a tap that drops packets is shorter than usual.

## What is wrong

The tap dropped packets for its guest (VNIC116), and its transmit queue holds fewer than 1,000.

## Why it matters

A burst that does not fit into the tap's queue is lost even if the guest would take it a moment
later. Linux gives a tap 1,000 packets today, and gave it 500 before (drivers/net/tun.c,
`TUN_READQ_SIZE`); tools and old profiles set less.

## Bad

```console
$ cat /sys/class/net/tap0/tx_queue_len
500
```

## Good

```console
$ cat /sys/class/net/tap0/tx_queue_len
1000
```

## Fix

Set the queue with `ip link`, and where the tap is configured: taps are created at each start of
their guest.

## Fix safety

It takes effect at once. A longer queue delays packets instead of dropping them.

## When it does not fire

* On taps that drop few packets (see VNIC116), and on queues of 1,000 and more.
* Skipped where the host's counters were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK, HostSetting
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_USUAL = 1000


def applies(subject: LinkSubject) -> bool:
    """A tap with a short queue."""
    length = subject.link.queue_length
    return host_needs.is_tap_of_running_guest(subject) and length is not None and length < _USUAL


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if it drops packets."""
    link = subject.link
    if host_needs.tap_drops(link) is not None:
        setting = HostSetting("queue-length", link.name)
        yield Problem(
            f"{link.name} drops packets, and its queue holds {link.queue_length} of them",
            change=change_of(subject.facts, setting, str(_USUAL), CAN_BE_SET_BACK),
        )


RULE = Rule(
    name="tap-queue-short",
    severity="info",
    groups=("host", "rings"),
    judges=(Judge("link", needs=(host_needs.LINK_COUNTERS,), applies=applies, check=check),),
)
