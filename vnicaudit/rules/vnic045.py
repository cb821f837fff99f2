"""Some of a guest's macvtap NICs ignore MAC addresses that the guest sets.

## What is wrong

Some of the guest's macvtap NICs have ``trustGuestRxFilters='yes'`` and others do not. On the
others, the host ignores the MAC addresses, multicast filters and VLAN filters that the guest sets.

## Why it matters

libvirt's documentation says that without the attribute "an attempted change to the mac address
originating from the guest side will result in a non-working network connection". Bonding, VRRP with
a virtual MAC, and bridges in the guest make such changes.

## Bad

```xml
<interface type='direct' trustGuestRxFilters='yes'>
  <source dev='eth0' mode='bridge'/>
  <model type='virtio'/>
</interface>
<interface type='direct'>
  <source dev='eth1' mode='bridge'/>
  <model type='virtio'/>
</interface>
```

## Good

```xml
<interface type='direct' trustGuestRxFilters='yes'>
  <source dev='eth0' mode='bridge'/>
  <model type='virtio'/>
</interface>
<interface type='direct' trustGuestRxFilters='yes'>
  <source dev='eth1' mode='bridge'/>
  <model type='virtio'/>
</interface>
```

## Fix

If the guest changes MAC addresses on that NIC too, set ``trustGuestRxFilters='yes'`` on it.

## Fix safety

Not automatic: it lets the guest choose its addresses, which is why it is off by default.

## When it does not fire

* When no NIC of the guest trusts its filters. The definition does not show whether a guest changes
  its addresses, and a note on every macvtap would be noise. That a guest on macvtap cannot reach
  its own host is by design, not a fault.
* On NICs where the attribute is set, even to ``no``, and on models other than virtio, which do not
  support it.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.rule import DomainSubject, Judge, Problem, Rule, Subject


def applies(subject: DomainSubject) -> bool:
    """A guest that is trusted on one of its macvtap NICs."""
    return any(nic.nic.trust_guest_rx_filters == "yes" for nic in _macvtaps(subject))


def check(subject: DomainSubject) -> Iterator[Problem]:
    """One problem per domain, for all its NICs without the attribute."""
    silent = [nic for nic in _macvtaps(subject) if nic.nic.trust_guest_rx_filters is None]
    if silent:
        yield Problem(
            f"{len(silent)} macvtap NIC{'s' * (len(silent) > 1)} without trustGuestRxFilters "
            "beside one that has it: the host ignores MAC addresses that the guest sets there",
            confidence="low",
            fix="If the guest changes MAC addresses on all of them, set trustGuestRxFilters='yes' "
            "on all, through the owner of the definition.",
        )


def _macvtaps(subject: DomainSubject) -> list[Subject]:
    return [nic for nic in subject.nics if nic.backend == "direct" and nic.model in VIRTIO]


RULE = Rule(
    name="macvtap-filters-not-trusted",
    severity="info",
    groups=("backends",),
    judges=(Judge("domain", applies=applies, check=check),),
)
