"""An OSA adapter has fewer than 128 receive buffers.

## What is wrong

The qeth device by which guests' frames leave has a `buffer_count` below 128, its maximum. The
default is 64 for OSA.

## Why it matters

The buffers are the adapter's receive ring: a burst that is longer is dropped by the adapter. IBM
measured network adapters for Linux on Z with 128 buffers (N. Hoppmann, *Exploring the performance
of network adapters for Linux on IBM Z*), and HiperSockets have 128 by default.

## Bad

```console
$ cat /sys/bus/ccwgroup/drivers/qeth/0.0.f500/buffer_count
64
```

## Good

```console
$ cat /sys/bus/ccwgroup/drivers/qeth/0.0.f500/buffer_count
128
```

## Fix

Set 128 buffers while the device is offline; `chzdev` keeps it for the next boot.

## Fix safety

The device is offline for a moment, and its addresses and its place in a bridge are lost, unless
`vnicaudit apply` does it, which restores them: do it while no guest needs it, and not over a
connection that uses it. Each buffer takes 64 KiB of memory.

## When it does not fire

* On HiperSockets, and on devices that carry no guest.
* When memory is short: the new buffers would take more than a hundredth of what is available (our
  own threshold). Skipped where the number of buffers or the memory is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.knowledge.qeth import set_offline
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_MOST = 128
_BUFFER = 65536
_SHARE = 100
_OFFLINE = (
    "the adapter is offline for a moment, and its guests with it; apply restores its addresses and "
    "routes, and its place in a bridge"
)
_BUFFERS = host_needs.link_fact(
    lambda link: link.qeth is not None and link.qeth.buffers is not None,
    "the number of buffers (/sys/bus/ccwgroup/drivers/qeth/*/buffer_count)",
)
_MEMORY = host_needs.host_fact(
    lambda facts: facts.memory_available is not None,
    "the host's available memory (/proc/meminfo)",
)


def applies(subject: LinkSubject) -> bool:
    """A qeth device that carries guests, and is no HiperSockets."""
    qeth = subject.link.qeth
    return bool(subject.carries) and qeth is not None and qeth.is_hipersockets is not True


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if there are few buffers, and memory for more."""
    link, qeth = subject.link, subject.link.qeth
    setting = HostSetting("qeth", link.name, "buffer_count")
    if qeth is None or qeth.buffers is None or qeth.buffers >= _MOST:
        return
    needed = (_MOST - qeth.buffers) * (qeth.buffer_bytes or _BUFFER)
    if needed * _SHARE <= (subject.facts.memory_available or 0) * 1024:
        yield Problem(
            f"{link.name} has {qeth.buffers} receive buffers of at most {_MOST} for "
            f"{host_needs.guests_named(subject.carries)}",
            change=change_of(subject.facts, setting, str(_MOST), _OFFLINE, safe=False),
            fix="Set the most (by hand, its addresses and its place in a bridge are lost): "
            + set_offline(qeth.device, "buffer_count", _MOST),
        )


RULE = Rule(
    name="qeth-buffers",
    severity="low",
    groups=("host", "rings", "z"),
    judges=(Judge("link", needs=(_BUFFERS, _MEMORY), applies=applies, check=check),),
)
