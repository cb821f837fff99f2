"""An adapter drops received frames, and its receive ring could be larger.

## What is wrong

Within the window the adapter dropped frames because no receive buffer was free (`rx_missed`,
`rx_fifo`, or the driver's own `rx_no_buffer_count` and `rx_out_of_buffer`), and its ring is smaller
than its maximum.

## Why it matters

The frames never reach a guest, and no guest sees a counter for them. A burst that is longer than
the ring, or a CPU that is late, costs packets on all guests behind this adapter.

## Bad

```console
$ ethtool -g eth0 | grep RX:
RX:             4096
RX:             512
```

## Good

```console
$ ethtool -g eth0 | grep RX:
RX:             4096
RX:             4096
```

## Fix

Enlarge the ring with `ethtool -G`, and in the configuration of the host's network. If frames are
still dropped, the CPUs that serve the adapter are the limit (VNIC111, VNIC114).

## Fix safety

Most drivers stop the adapter for a moment; the link may go down.

## When it does not fire

* When the ring is at its maximum, when the counters do not grow, and on links without guests.
* Skipped without a window, as totals since boot prove nothing about now; and where the ring is not
  known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_RESET = "adapters take their link down for a moment"
_DROPS = ("rx_missed", "rx_fifo", "rx_no_buffer")


def applies(subject: LinkSubject) -> bool:
    """An adapter that carries guests."""
    return subject.link.physical is True and bool(subject.carries)


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if it drops frames, and the ring could be larger."""
    link = subject.link
    setting = HostSetting("ring", link.name, "rx")
    ring, growth = (link.rings or {}).get("rx"), link.growth or {}
    # the same drop may be counted by several of them
    name, count = max(((name, growth.get(name, 0)) for name in _DROPS), key=lambda each: each[1])
    if count and ring is not None and ring.most is not None and ring.now < ring.most:
        yield Problem(
            f"{link.name} dropped {count} frames within the window ({name}), and its receive ring "
            f"has {ring.now} of at most {ring.most} buffers",
            change=change_of(subject.facts, setting, str(ring.most), _RESET, safe=False),
        )


RULE = Rule(
    name="nic-ring-drops",
    severity="medium",
    groups=("host", "rings"),
    judges=(
        Judge(
            "link",
            needs=(host_needs.LINK_WINDOW, host_needs.LINK_RING),
            applies=applies,
            check=check,
        ),
    ),
)
