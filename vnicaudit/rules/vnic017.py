"""The MAC address is a multicast address.

## What is wrong

The lowest bit of the first byte is set (`01:00:5e:…`, `33:33:…`, `ff:ff:…`, any odd first byte),
which makes it a multicast address. No frame may have such an address as its source.

## Why it matters

QEMU starts with such an address on `-device`, but refuses it on `-nic` and `-net`: `NIC cannot have
multicast MAC address` (both measured with QEMU 7.2). A Linux bridge then drops every frame that the
guest sends: `br_handle_frame` (net/bridge/br_input.c) accepts only unicast source addresses.

libvirt refuses the definition: `expected unicast mac address, found multicast` (measured with 9.0).
So a virtual machine that KubeVirt creates from such a manifest, or a server that Nova creates with
such a port, does not start.

## Bad

```console
qemu-system-x86_64 -netdev tap,id=n0 -device virtio-net-pci,netdev=n0,mac=53:54:00:00:00:01
```

## Good

```console
qemu-system-x86_64 -netdev tap,id=n0 -device virtio-net-pci,netdev=n0,mac=52:54:00:00:00:01
```

## Fix

Use an address with an even first byte. `52:54:00:…` is QEMU's prefix; `02:…` is free for anyone to
use.

## Fix safety

No change is proposed: DHCP, firewalls and the guest's own configuration may refer to the address.

## When it does not fire

* On `<interface>` in libvirt XML and in Terraform: see VNIC015.
* On text that is not a MAC address.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_FIX = (
    "Use an address with an even first byte: 52:54:00:… is QEMU's prefix, 02:… is free for anyone "
    "to use."
)
_ENDS = {
    "manifest": "the virtual machine does not start",
    "server": "the server does not start",
}


def applies(subject: Subject) -> bool:
    """A NIC with a multicast address."""
    return subject.nic.multicast


def check(subject: Subject) -> Iterator[Problem]:
    """One problem: it does not start, or sends nothing."""
    ending = _ENDS.get(subject.domain.kind)
    if ending is not None:
        yield Problem(
            f"its MAC address is a multicast one, which libvirt refuses: {ending}",
            field="mac",
            fix=_FIX,
        )
    else:
        yield Problem(
            "its MAC address is a multicast one: a bridge drops every frame that it sends",
            field="mac",
            severity="high",
            fix=_FIX,
        )


RULE = Rule(
    name="multicast-mac",
    severity="error",
    groups=("addresses", "refused"),
    forms=("definition", "manifest", "server"),
    judges=(Judge("nic", applies=applies, check=check),),
)
