"""A 25 GbE OSA adapter receives less than its line rate at an MTU of 1500.

## What is wrong

Guests' frames leave by an OSA adapter for 25 Gb/s whose MTU is 1500.

## Why it matters

At that MTU an OSA-Express7S receives 13.4 Gb/s and sends 20.5 Gb/s at most, of 23.5 Gb/s that fit
on the wire: it has one receive queue, and handles each frame by itself (N. Hoppmann, *Exploring the
performance of network adapters for Linux on IBM Z*). At an MTU of 9000 it reaches the line rate.

## Bad

```console
$ cat /sys/class/net/enc500/mtu
1500
```

## Good

```console
$ cat /sys/class/net/enc500/mtu
9000
```

## Fix

If everything on that network can have it, raise the MTU of the switch, the adapter, the bridge and
the guests, from the outside to the inside. Compare with `vnicaudit bench line-rate`.

## Fix safety

An MTU that only a part of a network has loses large frames: check the way with `tracepath`.

## When it does not fire

* With an MTU above 1500, on other adapters, and on those that carry no guest.
* It is a question, unless the workload is known (`--workload`): with *streaming* it is a statement,
  with any other it is not reported.
* Skipped where the MTU is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_settings import HostSetting, command_for
from vnicaudit.model.rule import Fact, Judge, LinkSubject, Problem, Rule

_CARD = "OSD_25GIG"
_USUAL = 1500
_LARGE = 9000
_MTU: Fact[LinkSubject] = Fact(
    lambda subject: subject.link.mtu is not None, "the adapter's MTU (ip link)", live=True
)


def applies(subject: LinkSubject) -> bool:
    """An OSA adapter for 25 Gb/s that carries guests, whose traffic may be streams."""
    qeth = subject.link.qeth
    may_stream = subject.host.workload in (None, "streaming")
    return may_stream and bool(subject.carries) and qeth is not None and qeth.card_type == _CARD


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem at a small MTU."""
    link = subject.link
    if link.mtu is None or link.mtu > _USUAL:
        return
    asks = subject.host.workload is None
    guests = host_needs.guests_named(subject.carries)
    limit = f"{link.name} receives at most 13.4 of 25 Gb/s at an MTU of {link.mtu}"
    yield Problem(
        f"{limit}: does {guests} stream more?" if asks else f"{limit}, for streams of {guests}",
        fix="Raise the MTU of the whole network, the adapter's with "
        + command_for(HostSetting("mtu", link.name), str(_LARGE)),
    )


RULE = Rule(
    name="osa-receive-limit",
    severity="info",
    groups=("host", "mtu", "z"),
    judges=(Judge("link", needs=(_MTU,), applies=applies, check=check),),
)
