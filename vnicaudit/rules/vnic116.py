"""A tap dropped packets because its guest did not take them fast enough.

## What is wrong

The tap's `tx_dropped` counts packets for the guest that found the tap's queue full.

## Why it matters

The guest did not empty its receive ring in time: its vCPU waited for a CPU, the vhost thread was
crowded, or a burst was longer than the ring. Each drop is a loss for TCP to repair, and lost data
for everything else.

## Bad

```console
$ ip -s link show dev tap0 | tail -1
 1037964    9123      0     188       0       0
```

## Good

```console
$ ip -s link show dev tap0 | tail -1
 1037964    9123      0       0       0       0
```

## Fix

Give the guest a larger receive ring (`rx_queue_size='1024'`, see VNIC033); or more queues
(VNIC030); or CPUs that it does not share.

## Fix safety

Nothing is changed. A new ring size needs the guest to be powered off and on.

## When it does not fire

* Below 0.1 % of the packets or below 100 in all, unless more come within the window. These are our
  own thresholds, and settings of this rule.
* On taps without a running guest, on those whose link is down, and when the guest takes nothing at
  all within the window, as one that is paused: they drop everything.
* On internal ports of Open vSwitch and other links that are no taps.
* Skipped where the host's counters were not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.model.rule import Judge, LinkSubject, Problem, RuleSettings, adjustable_rule, setting


class DropLimits(RuleSettings, frozen=True):
    """How many dropped packets count."""

    min_percent: Annotated[
        float, setting("Report at least this percentage of a tap's packets.", at_most=100)
    ] = host_needs.DROPS_PERCENT
    min_packets: Annotated[int, setting("Report at least this many packets.", at_least=1)] = (
        host_needs.LEAST_DROPS
    )


def check(subject: LinkSubject, limits: DropLimits) -> Iterator[Problem]:
    """One problem if it dropped enough."""
    dropped = host_needs.tap_drops(subject.link, limits.min_percent, limits.min_packets)
    if dropped is not None:
        yield Problem(
            f"{subject.link.name} dropped {dropped}: {host_needs.guests_named(subject.carries)} "
            "did not take them in time",
            fix="Give the guest a larger receive ring (rx_queue_size='1024') or more queues.",
        )


RULE = adjustable_rule(
    DropLimits,
    lambda limits: Judge(
        "link",
        needs=(host_needs.LINK_COUNTERS,),
        applies=host_needs.is_tap_of_running_guest,
        check=lambda subject: check(subject, limits),
    ),
    name="tap-drops",
    severity="medium",
    groups=("host", "rings"),
)
