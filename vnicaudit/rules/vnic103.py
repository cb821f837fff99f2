"""A virtio guest has negotiated no offloads with its tap.

## What is wrong

A running guest with a virtio NIC has sent packets, but checksums and segmentation (TSO) are off on
its tap: its driver did not negotiate them.

## Why it matters

QEMU sets the offloads of a tap to what the guest's driver takes (`tap_set_offload` in net/tap.c of
QEMU). Without them the host must hand each received frame to the guest by itself, with its checksum
filled in, which costs CPU time for every packet on both sides.

## Bad

```console
$ ethtool -k tap0 | grep -e tx-checksumming -e tcp-segmentation-offload
tx-checksumming: off
tcp-segmentation-offload: off
```

## Good

```console
$ ethtool -k tap0 | grep -e tx-checksumming -e tcp-segmentation-offload
tx-checksumming: on
tcp-segmentation-offload: on
```

## Fix

In the guest: `ethtool -K eth0 tx on rx on tso on gro on`, or a newer driver. In its definition:
remove `<guest csum='off' …/>` (VNIC037). Setting the tap on the host is no fix: QEMU sets it again.

## Fix safety

Nothing is changed. Offloads that somebody switched off because of a fault should stay off.

## When it does not fire

* On emulated models (VNIC001 to VNIC005), which have no such offloads.
* On a tap from which the guest has sent fewer than 1,000 packets (our own threshold): it may be
  booting, or in its boot ROM.
* It is a question, as a DPDK application in the guest negotiates no offloads on purpose.
* Skipped where the host itself is not visited.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_NEGOTIATED = ("tx-checksumming", "tcp-segmentation-offload")
_BOOTED = 1000


def applies(subject: LinkSubject) -> bool:
    """The tap of a running virtio NIC whose guest has sent packets."""
    sent = (subject.link.counters or {}).get("rx_packets", 0)
    return subject.link.kind == "tun" and sent >= _BOOTED and _guest(subject) is not None


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if both are off."""
    features = [subject.link.feature(name) for name in _NEGOTIATED]
    if any(feature is None or feature.on or feature.fixed for feature in features):
        return
    yield Problem(
        f"checksums and TSO are off on {subject.link.name}: is {_guest(subject)} meant to have no "
        "offloads, as with DPDK?",
        fix="In the guest: ethtool -K eth0 tx on rx on tso on gro on. On the host there is nothing "
        "to set.",
    )


def _guest(subject: LinkSubject) -> str | None:
    for guest in subject.host.guests:
        for nic in guest.nics:
            if nic.device == subject.link.name and guest.running and "virtio" in nic.model:
                return guest.name
    return None


RULE = Rule(
    name="tap-without-offload",
    severity="info",
    groups=("host", "offloads"),
    judges=(Judge("link", needs=(host_needs.LINK_FEATURES,), applies=applies, check=check),),
)
