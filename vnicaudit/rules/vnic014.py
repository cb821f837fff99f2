"""QEMU rejects these arguments, or creates no NIC from them.

## What is wrong

A QEMU command line asks for a NIC that QEMU cannot create:

* a device that this binary lacks (`sungem` on x86);
* a device whose bus the machine lacks (`rtl8139` on `microvm`, `virtio-net-device` on `pc`,
  `usb-net` without a USB controller);
* a property that the device does not have (`rx-queue-size` instead of `rx_queue_size`, `mq` on an
  e1000, `vectors` on `virtio-net-ccw`), or no longer (`mitigation` of an e1000, from QEMU 10.0 on);
* a value that the device does not accept (`iommu_platform=on` on a transitional device, `"mq":
  "on"` in JSON instead of `true`);
* a netdev or an id that another device already uses;
* a backend that QEMU lacks, or one without what it needs (`-netdev socket` without an address).

The same goes for properties of a libvirt NIC that are set by `<qemu:override>`, or by `-set` or
`-global` in `<qemu:commandline>`. `-set` finds only devices in QEMU's plain syntax, but libvirt
passes devices as JSON from QEMU 6.2 on: `there is no device "net0" defined` (measured with libvirt
9.0 and QEMU 7.2).

`-nic` and `-net nic` use other names than `-device`: `model=virtio` is right, `model=virtio-net` is
wrong. If the machine cannot create the NIC they ask for, QEMU before 9.0 does not start; later QEMU
warns `requested NIC … was not created` and starts the guest without it. `microvm`, `none` and the
`virt` machine of riscv64 never create one.

## Why it matters

At its next start the guest does not come up, or it comes up without its network. The warning goes
to a log that nobody reads. Each of these cases was run with QEMU 7.2, 10.0 and 11.1, whose
properties are compared.

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

Correct the argument that the message names. Use `<qemu:override>` instead of `-set`. If Nova,
KubeVirt or oVirt owns the guest, fix it there: they rewrite the definition.

## Fix safety

There is no such NIC now, so there is nothing to lose.

## When it does not fire

* On running processes, in `/proc` and in `ps` output: QEMU accepted their arguments.
* On NICs that `<qemu:commandline>` adds: libvirt creates the machine around them.
* On ring sizes set by `<qemu:override>`, `-set` or `-global`: see VNIC035.
* On `-set` with QEMU before 6.2, known or assumed. If the version of libvirt or QEMU is unknown, it
  is *high* with medium confidence.
* A device, a property or a backend that none of these QEMU has is reported with medium confidence,
  because a later or patched QEMU may have it.
* On a bus that is missing in libvirt's log or on libvirt's command line: libvirt adds the bus, so
  its `-device` was left out of what was published. Nothing is refused in a log that shows that the
  guest ran.
* On other architectures than x86 and s390x, the bus of a device is not judged.
* When the answer depends on an unknown version (igb before 8.0, e1000e on s390x, a property that
  came or went): use `--assume-qemu`.
* On backends: only the host knows whether a tap or socket can be opened.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.backends import may_be_refused, refused_behind
from vnicaudit.model.fix import RemoveBehind
from vnicaudit.model.nic import WORDS
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_FIX = "Correct the argument on QEMU's command line, then restart it."
_FIX_BEHIND = RemoveBehind()


def applies(subject: Subject) -> bool:
    """A NIC of a command line that is not known to run, or a NIC of libvirt with properties set
    behind its settings."""
    if subject.running is not None:
        return subject.running.refusal is not None
    return bool(subject.nic.behind or subject.nic.behind_faults) and not _runs(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem if this QEMU, or every QEMU that it may be, refuses the NIC or leaves it out."""
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
    judges=(Judge("nic", applies=applies, check=check),),
)
