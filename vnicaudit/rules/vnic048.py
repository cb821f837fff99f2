"""The guest is told a larger MTU than its path on the host carries.

## What is wrong

The NIC has an MTU (`<mtu size=…>` in libvirt, `host_mtu=` on QEMU's command line), which the
guest's virtio driver takes for its interface. Its tap, or an uplink of the bridge that the tap is a
port of, has a smaller one.

## Why it matters

A Linux bridge drops a frame that is larger than the MTU of the port it is to leave by, and tells
nobody: `br_dev_queue_push_xmit` (net/bridge/br_forward.c) asks `is_skb_forwardable`
(include/linux/netdevice.h), which lets only segmentation offload through. Short packets pass, so
ping and a login work; large ones, as of a file copy, storage or a TLS certificate, hang.

## Bad

```xml path.tap=9000 path.uplink=1500
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <mtu size='9000'/>
</interface>
```

## Good

```xml path.tap=9000 path.uplink=9000
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <mtu size='9000'/>
</interface>
```

## Fix

Raise the MTU of the uplink (and of what it is plugged into), or set the guest's to what the path
carries. libvirt changes it when the guest is next powered off and on.

## Fix safety

No change is proposed: whether the network behind the uplink carries large frames is not known here.

## When it does not fire

* Where no MTU is set for the NIC: what its guest uses is not known.
* Where the path is larger than the guest's MTU, as where guests leave room for a tunnel.
* On bridges without an adapter, bond or VLAN among their ports, but for the tap itself; on Open
  vSwitch, whose ports are none of a bridge of Linux; on macvtap, vhost-user, vDPA.
* But on this very machine, in its running guests (`qemu:///system`): elsewhere nothing is seen of
  the host's interfaces.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject


def applies(subject: Subject) -> bool:
    """A NIC with an MTU, whose path was looked at."""
    return subject.path is not None and _guests(subject) is not None


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming what is narrowest."""
    mtu, path = _guests(subject), subject.path
    if mtu is None or path is None:
        return
    narrow = [
        (size, name)
        for size, name in ((path.tap, "its tap"), (path.uplink, "an uplink of its bridge"))
        if size is not None and size < mtu
    ]
    if narrow:
        size, name = min(narrow)
        yield Problem(
            f"the guest is told an MTU of {mtu}, and {name} has {size}: larger frames are dropped",
            field="mtu",
            fix=f"Raise the MTU of the path to {mtu}, or set the guest's to {size}.",
        )


def _guests(subject: Subject) -> int | None:
    """The MTU that the guest is told: by QEMU where that is seen, else as it is set."""
    running = subject.running
    if running is not None and running.mtu is not None:
        return running.mtu
    return subject.nic.mtu or None


RULE = Rule(
    name="mtu-mismatch",
    severity="medium",
    groups=("mtu",),
    judges=(NicJudge(applies=applies, check=check),),
)
