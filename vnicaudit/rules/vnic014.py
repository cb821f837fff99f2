"""QEMU does not take these arguments, or makes no NIC of them.

## What is wrong

A QEMU command line asks for a NIC that QEMU cannot make: a device that this binary does not have
(`sungem` on x86), one whose bus the machine lacks (`rtl8139` on `microvm`, `virtio-net-device` on
`pc`, `usb-net` without a USB controller), a property that the device has not (`rx-queue-size`
where it is spelt `rx_queue_size`, `mq` on an e1000), a value that it does not take
(`iommu_platform=on` on a transitional device, `"mq": "on"` in JSON, which wants `true`), a netdev
or an id that another device has already.

The same of what is set behind libvirt's settings on one of its NICs: by `<qemu:override>`, or by
`-set` or `-global` in `<qemu:commandline>`. `-set` finds devices in QEMU's plain syntax alone, and
libvirt hands them over as JSON to a QEMU from 6.2 on: `there is no device "net0" defined` (measured
with libvirt 9.0 and QEMU 7.2).

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

Correct the argument; the message names it. What `-set` should reach, `<qemu:override>` does.
Where Nova, KubeVirt or oVirt writes the definition anew, it is undone there.

## Fix safety

As it is there is no such NIC, so there is nothing to lose.

## When it does not fire

* On processes that run, in `/proc` and in `ps` output: QEMU took their arguments.
* On NICs that `<qemu:commandline>` adds: the machine around them is libvirt's.
* On rings that are set behind libvirt's settings: VNIC035.
* On `-set` with a QEMU before 6.2, known or assumed. Where one of the versions of libvirt and QEMU
  is not known, it is *high* of medium confidence.
* On properties that are not known here: a later QEMU may have them. A device in no list of QEMU's
  is reported with medium confidence.
* On architectures other than x86 and s390x the bus of a device is not judged.
* Where it depends on the version (igb before 8.0, e1000e on s390x) and that is not known:
  `--assume-qemu` tells.
* On backends: whether a tap or a socket can be opened, only the host knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.behind_libvirt import may_be_refused, refused_behind
from vnicaudit.model.fix import RemoveBehind
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.start_refusal import WORDS
from vnicaudit.model.subject import Subject

_FIX = "Correct the argument on QEMU's command line, then start it anew."
_FIX_BEHIND = RemoveBehind()


def applies(subject: Subject) -> bool:
    """A NIC of a command line that nobody has seen run, or one of libvirt's of which something is
    set behind its settings."""
    if subject.running is not None:
        return subject.running.refusal is not None
    return bool(subject.nic.behind or subject.nic.behind_faults) and not _runs(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem where this QEMU, or each that it may be, refuses the NIC or leaves it out."""
    if subject.running is None:
        yield from _override_problems(subject)
        return
    refusal = subject.running.refusal
    outcome = None if refusal is None else refusal.outcome(subject.host.qemu_version)
    if refusal is not None and outcome is not None:
        yield Problem(
            f"{WORDS[outcome]}: {refusal.reason}",
            field="model",
            confidence="high" if refusal.certain else "medium",
            fix=_FIX,
        )


def _override_problems(subject: Subject) -> Iterator[Problem]:
    known = refused_behind(subject.nic, subject.host)
    maybe = may_be_refused(subject.nic, subject.host)
    if known is not None:
        yield Problem(f"QEMU does not start: {known}", field="model", fix=_FIX_BEHIND)
    elif maybe is not None:
        yield Problem(
            f"QEMU from 6.2 on does not start: {maybe}",
            field="model",
            severity="high",
            confidence="medium",
            fix=_FIX_BEHIND,
        )


def _runs(subject: Subject) -> bool:
    return subject.state is not None and subject.state.active is True


RULE = Rule(
    name="refused-by-qemu",
    severity="error",
    groups=("refused",),
    judges=(NicJudge(applies=applies, check=check),),
)
