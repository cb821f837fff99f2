"""An offload is switched off on an uplink that carries guests.

## What is wrong

Segmentation (TSO, GSO), receive aggregation (GRO) or transmit checksums are off on a link by which
the frames of guests leave the host, and its driver would let them be on.

## Why it matters

Guests with virtio hand their host segments of up to 64 KiB. Without TSO on the way out the host
cuts each of them into frames itself; without GRO each received frame passes the bridge alone. Both
cost CPU time for every packet (Documentation/networking/segmentation-offloads.rst of Linux).

## Bad

```console
$ ethtool -k eth0 | grep segmentation
tcp-segmentation-offload: off
generic-segmentation-offload: on
```

## Good

```console
$ ethtool -k eth0 | grep segmentation
tcp-segmentation-offload: on
generic-segmentation-offload: on
```

## Fix

Switch it on with `ethtool -K`, and in the configuration of the host's network, so that it is still
on after the next boot. If somebody switched it off because of a fault of the adapter or its driver,
accept the finding with that reason.

## Fix safety

It takes effect at once, and can be switched off again. Some adapters reset their link.

## When it does not fire

* When the driver does not have the offload, or does not let it be changed (`[fixed]`), or has it
  on as soon as another one is (`[requested on]`).
* When the active profile of tuned sets features: that is somebody's decision.
* On links that carry no guest, on OSA adapters and HiperSockets (VNIC104), and for LRO (VNIC102).
* Skipped where the host itself is not visited.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_links import leads_out
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_OFFLOADS = (
    "tx-checksumming",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
)
_SAFE = "it can be switched off again; some adapters reset their link"


def applies(subject: LinkSubject) -> bool:
    """A link by which guests' frames leave the host; OSA adapters have settings of their own."""
    by_profile = any(
        owner.name == "tuned" and "features" in owner.sets for owner in subject.facts.owners
    )
    link = subject.link
    return bool(subject.carries) and leads_out(link) and link.qeth is None and not by_profile


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem for each offload that is off."""
    return host_needs.offloads_off(subject, _OFFLOADS, subject.link.name, _SAFE)


RULE = Rule(
    name="uplink-offload-off",
    severity="medium",
    groups=("host", "offloads"),
    judges=(Judge("link", needs=(host_needs.LINK_FEATURES,), applies=applies, check=check),),
)
