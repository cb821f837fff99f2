"""Guest emulated by QEMU on a host that has KVM.

## What is wrong

The domain is ``<domain type='qemu'>``, although this host could run it with KVM: the architecture
is the same, and ``/dev/kvm`` works. The CPU is emulated, and libvirt never opens vhost-net for the
guest, not even with ``<driver name='vhost'/>``. The guest starts without an error, and its XML
still says ``vhost``.

## Why it matters

Measured with libvirt 9.0 and 11.3 on one host in one boot: ``type='qemu'`` with ``name='vhost'``
gives ``-netdev {"type":"tap","fd":"33"}`` without a vhost descriptor; ``type='kvm'`` gives
``"vhost":true`` and a vhost thread.

## Bad

In a domain of `type='qemu'`, on a host with KVM:

```xml domain.type=qemu host.arch=x86_64 host.kvm=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='vhost'/>
</interface>
```

## Good

In a domain of `type='kvm'`:

```xml domain.type=kvm host.arch=x86_64 host.kvm=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Run it with KVM: ``<domain type='kvm'>`` in libvirt, ``[libvirt] virt_type = kvm`` in Nova, no
``useEmulation`` in KubeVirt.

## Fix safety

Not automatic: the guest sees a different CPU, and some machines run only under emulation. Power it
off and on, and check that it boots.

## When it does not fire

* On a host without usable KVM, such as some nested hosts. The device alone is not enough: the CPU
  must also support hardware virtualization (vmx, svm or sie in ``/proc/cpuinfo``). Skipped on other
  hosts, and for definitions whose host is unknown.
* On guests of another architecture than the host's.
* On guests with passed-through NICs only.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import TAP_TYPES
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.rule import DomainSubject, Judge, Problem, Rule, Subject


def applies(subject: DomainSubject) -> bool:
    """A TCG guest with a NIC that QEMU emulates, not known to be of a foreign architecture."""
    arch, host = subject.domain.arch, subject.host.arch
    foreign = arch is not None and host is not None and arch != host
    emulated = any(nic.nic.type != "hostdev" for nic in subject.nics)
    return subject.domain.type == "qemu" and emulated and not foreign


def check(subject: DomainSubject) -> Iterator[Problem]:
    """One problem per domain, on a host that has KVM."""
    if subject.host.kvm:
        yield Problem(
            "type='qemu' on a host with KVM: the CPU is emulated" + _without_vhost(subject.nics),
            confidence="medium",
            fix=OwnerAdvice("use-kvm"),
        )


def _without_vhost(nics: tuple[Subject, ...]) -> str:
    """The consequence for those NICs that would have vhost; a QEMU started by hand may have it."""
    lost = [
        nic
        for nic in nics
        if nic.model in VIRTIO
        and nic.backend in TAP_TYPES
        and nic.effective.vhost.effective is not True
    ]
    if not lost:
        return ""
    asked = any(nic.tuned and nic.nic.driver_name == "vhost" for nic in lost)
    return ", and vhost-net is off" + (" although name='vhost' asks for it" if asked else "")


RULE = Rule(
    name="emulated-on-kvm-host",
    severity="high",
    groups=("host",),
    judges=(
        Judge(
            "domain",
            needs=(facts.ARCH, facts.HOST_ARCH, facts.HOST_KVM),
            applies=applies,
            check=check,
        ),
    ),
)
