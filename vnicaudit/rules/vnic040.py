"""User-mode networking (slirp) under a system libvirt.

## What is wrong

``<interface type='user'>`` without a backend connects the guest through slirp, the TCP/IP stack
inside QEMU. It does address translation for a single guest and is meant for use without privileges.

## Why it matters

Every connection ends in QEMU, which opens it again. There is no vhost-net, no multiqueue (libvirt
refuses to start with ``queues=``), no MTU setting, no bandwidth limit, and no access from outside
without port forwarding. A system libvirt can give the guest a tap device instead.

## Bad

The guest is running:

```xml state.active=true
<interface type='user'>
  <model type='virtio'/>
</interface>
```

## Good

```xml
<interface type='network'>
  <source network='default'/>
  <model type='virtio'/>
</interface>
```

## Fix

Connect the NIC to a libvirt network or a bridge. If only user-mode networking is possible, passt is
the better choice: ``<backend type='passt'/>`` since libvirt 9.0, or passt with ``type='vhostuser'``
since 11.1, which needs shared memory.

## Fix safety

Not automatic: the guest gets a different address, and services behind port forwarding must be
reached in a different way.

## When it does not fire

* Under a session libvirt (``qemu:///session``, or a file below ``.config/libvirt/qemu``), which
  cannot create tap devices.
* Skipped for a file if it is unknown which libvirt owns it. It is known for a path below
  ``/etc/libvirt/qemu``, ``/run/libvirt/qemu`` or ``/var/lib/libvirt/qemu``, on the host or in a
  copy of it; for an owner that uses only the system libvirt (Nova, oVirt); and for a live libvirt.
* On passt.
* In domains of type ``qemu``: CI and laptops run emulated guests, and there the CPU is the
  bottleneck.
* On KubeVirt guests: their libvirt runs without privileges in a pod.
* On libvirt's command line, in its log or among processes, unless the system libvirt is known to
  have started the guest: its secret or monitor is below ``/var/lib/libvirt/qemu``, or its owner is
  Nova or oVirt.
* Reported with low confidence (a hint, which fails no run) on a virtio NIC of a QEMU that was
  started without libvirt: whoever starts it may have no privileges. On other models VNIC001 to
  VNIC005 come first.
* On a backend in ``<qemu:commandline>``: it is there because libvirt has no setting for it.
* Reported as *low* when the NIC's link is down: it carries no traffic.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.systems import KVM_DOMAINS
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """A slirp NIC of a KVM guest that a system libvirt may keep; if only its command line is known,
    a system libvirt must certainly keep it."""
    nic, domain = subject.nic, subject.domain
    if domain.session or domain.owner == "kubevirt" or domain.type not in KVM_DOMAINS:
        return False
    kept = nic.origin == "interface" or (domain.is_command_line and _of_system(domain))
    kept = kept or _by_hand(subject)
    return kept and nic.type == "user" and nic.backend_type != "passt"


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC."""
    yield Problem(
        "type='user' is slirp: QEMU's own TCP/IP stack with address translation, and no vhost",
        field="type",
        severity="low" if subject.nic.link_state == "down" else None,
        confidence="low" if _by_hand(subject) else "high",
        fix=OwnerAdvice("connect-network"),
    )


def _by_hand(subject: Subject) -> bool:
    """True for a virtio NIC of a QEMU that was started without libvirt."""
    return subject.domain.owner == "qemu" and subject.model in VIRTIO


def _of_system(domain: DomainConfig) -> bool:
    """True if a system libvirt is known to have started it; Nova and oVirt use no other."""
    return domain.owner in ("nova", "ovirt") or (
        domain.owner == "libvirt" and domain.session is False
    )


RULE = Rule(
    name="user-mode-network",
    severity="medium",
    groups=("backends",),
    judges=(Judge("nic", needs=(facts.SESSION,), applies=applies, check=check),),
)
