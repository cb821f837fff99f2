"""QEMU does not take these arguments, or makes no NIC of them.

## What is wrong

A QEMU command line asks for a NIC that QEMU cannot make: a device that this binary does not have
(`sungem` on x86), one whose bus the machine lacks (`rtl8139` on `microvm`, `virtio-net-device` on
`pc`, `usb-net` without a USB controller), a property that the device has not (`rx-queue-size`
where it is spelt `rx_queue_size`, `mq` on an e1000), a value that it does not take
(`iommu_platform=on` on a transitional device, `"mq": "on"` in JSON, which wants `true`), a netdev
or an id that another device has already.

`-nic` and `-net nic` take other names than `-device`: `model=virtio` is right, `model=virtio-net`
is not. What they name and the machine cannot create ended the start before QEMU 9.0; since, QEMU
warns `requested NIC … was not created` and starts the guest without it. `microvm` and `none` never
create one.

## Why it matters

The guest does not come up, at its next start, or it comes up without its network. The warning that
says so goes to a log that nobody reads. Each of these was started with QEMU 7.2 and 10.0.

## Bad

```sh
qemu-system-x86_64 -M pc -netdev tap,id=n0 -device virtio-net-pci,netdev=n0,rx-queue-size=1024
```

```sh
qemu-system-x86_64 -M microvm -nic tap,model=virtio-net-pci
```

## Good

```sh
qemu-system-x86_64 -M pc -netdev tap,id=n0 -device virtio-net-pci,netdev=n0,rx_queue_size=1024
```

```sh
qemu-system-x86_64 -M microvm -netdev tap,id=n0 -device virtio-net-device,netdev=n0
```

## Fix

Correct the argument; the message names it.

## Fix safety

As it is there is no such NIC, so there is nothing to lose.

## When it does not fire

* On processes that run, in `/proc` and in `ps` output: QEMU took their arguments.
* On arguments in `<qemu:commandline>`: the machine around them is libvirt's.
* On properties that are not known here: a later QEMU may have them. A device in no list of QEMU's
  is reported with medium confidence.
* On architectures other than x86 and s390x the bus of a device is not judged.
* Where it depends on the version (igb before 8.0, e1000e on s390x) and that is not known:
  `--assume-qemu` tells.
* On backends: whether a tap or a socket can be opened, only the host knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Severity
from vnicaudit.model.rule import Problem, Scope, Subject
from vnicaudit.model.start_refusal import WORDS

NAME = "refused-by-qemu"
SEVERITY: Severity = "error"
SCOPE: Scope = "nic"
NEEDS: tuple[str, ...] = ()

_FIX = "Correct the argument on QEMU's command line, then start it anew."


def applies(subject: Subject) -> bool:
    """A NIC of a command line that nobody has seen run."""
    return subject.running is not None and subject.running.refusal is not None


def check(subject: Subject) -> Iterator[Problem]:
    """One problem where this QEMU, or each that it may be, refuses the NIC or leaves it out."""
    refusal = None if subject.running is None else subject.running.refusal
    outcome = None if refusal is None else refusal.outcome(subject.host.qemu_version)
    if refusal is not None and outcome is not None:
        yield Problem(
            f"{WORDS[outcome]}: {refusal.reason}",
            field="model",
            confidence="high" if refusal.certain else "medium",
            fix=_FIX,
        )
