"""The MAC address is one of a group of stations, not of one.

## What is wrong

The lowest bit of the first byte is set (`01:00:5e:…`, `33:33:…`, `ff:ff:…`, any odd first byte):
that is a multicast address. No frame may have it as its source.

## Why it matters

QEMU starts with one on `-device` (with `-nic` and `-net` it says `NIC cannot have multicast MAC
address`; both measured with QEMU 7.2). A Linux bridge then drops every frame that the guest sends:
`br_handle_frame` (net/bridge/br_input.c) takes none whose source is no address of one station.
libvirt refuses the definition, `expected unicast mac address, found multicast` (measured with 9.0),
and so the virtual machine that KubeVirt makes of a manifest and the server that Nova makes of a
port do not start.

## Bad

```console
qemu-system-x86_64 -netdev tap,id=n0 -device virtio-net-pci,netdev=n0,mac=53:54:00:00:00:01
```

## Good

```console
qemu-system-x86_64 -netdev tap,id=n0 -device virtio-net-pci,netdev=n0,mac=52:54:00:00:00:01
```

## Fix

Use an address whose first byte is even: `52:54:00:…` is QEMU's, `02:…` is free for anybody.

## Fix safety

No change is proposed: DHCP, firewalls and the guest's own configuration may know the address.

## When it does not fire

* On `<interface>` in libvirt's XML and in Terraform: VNIC015 says that libvirt refuses it.
* On text that is no address at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject

_FIX = "Use an address whose first byte is even: 52:54:00:… is QEMU's, 02:… is free for anybody."
_ENDS = {
    "manifest": "the virtual machine does not start",
    "server": "the server does not start",
}


def applies(subject: Subject) -> bool:
    """A NIC with such an address."""
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
    judges=(NicJudge(applies=applies, check=check),),
)
