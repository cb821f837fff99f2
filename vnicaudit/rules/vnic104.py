"""Offloads of an OSA adapter are off.

## What is wrong

Receive checksums, transmit checksums or TSO are off on an OSA adapter that carries guests, and its
driver would let them be on.

## Why it matters

The adapter computes checksums and cuts segments, if it is told to. IBM's measurements of network
adapters for Linux on Z were made with `rx on tx on tso on`, which is not the default everywhere
(N. Hoppmann, *Exploring the performance of network adapters for Linux on IBM Z*).

## Bad

```console
$ ethtool -k enc500 | grep tcp-segmentation
tcp-segmentation-offload: off
```

## Good

```console
$ ethtool -k enc500 | grep tcp-segmentation
tcp-segmentation-offload: on
```

## Fix

Switch them on with `ethtool -K`, and in the configuration of the host's network.

## Fix safety

It takes effect at once, and can be switched off again.

## When it does not fire

* On HiperSockets and networks of z/VM, and on devices that carry no guest.
* When the driver does not let it be changed (`[fixed]`), or has it on as soon as another one is
  (`[requested on]`). VNIC051 judges other adapters.
* Skipped where the offloads are not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_OFFLOADS = ("rx-checksumming", "tx-checksumming", "tcp-segmentation-offload")


def applies(subject: LinkSubject) -> bool:
    """An OSA adapter that carries guests."""
    qeth = subject.link.qeth
    return bool(subject.carries) and qeth is not None and qeth.is_osa


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem for each that is off."""
    link = f"the OSA adapter {subject.link.name}"
    return host_needs.offloads_off(subject, _OFFLOADS, link, "it can be switched off again")


RULE = Rule(
    name="qeth-offload-off",
    severity="low",
    groups=("host", "offloads", "z"),
    judges=(Judge("link", needs=(host_needs.LINK_FEATURES,), applies=applies, check=check),),
)
