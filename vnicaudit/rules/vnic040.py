"""User-mode networking (slirp) under a system libvirt.

## What is wrong

``<interface type='user'>`` without a backend connects the guest through slirp, the TCP/IP stack
inside QEMU: address translation for one guest, made for use without privileges.

## Why it matters

Every connection ends in QEMU and is opened anew by it: no vhost-net, no multiqueue (libvirt
refuses to start with ``queues=``), no MTU, no bandwidth limits, and no way in from outside without
port forwarding. A system libvirt can give the guest a tap device instead.

## Bad

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

Connect it to a libvirt network or a bridge. Where only user-mode networking is possible, passt
is the better one: ``<backend type='passt'/>`` since libvirt 9.0, and ``type='vhostuser'`` with it
since 11.1, which needs shared memory.

## Fix safety

Not automatic: the guest gets another address, and what was forwarded must be reachable otherwise.

## When it does not fire

* Under a session libvirt (``qemu:///session``, or a file below ``.config/libvirt/qemu``), which has
  no tap devices to give.
* In a file that does not tell which libvirt keeps it: skipped. What tells is a place below
  ``/etc/libvirt/qemu``, ``/run/libvirt/qemu`` or ``/var/lib/libvirt/qemu``, on the host or in a
  copy of it, an owner that has none but the system's (Nova, oVirt), and a live libvirt.
* passt.
* Domains of type ``qemu``: emulated guests are what CI and laptops run, and the CPU is what slows
  them down.
* KubeVirt guests: their libvirt runs without privileges in a pod.
* On a QEMU command line, in a log or among processes, it fires only where a system libvirt is known
  to have started the guest: its secret or monitor is below ``/var/lib/libvirt/qemu``, or Nova or
  oVirt keep the guest. Who starts QEMU by hand may have no privileges.
* A backend in ``<qemu:commandline>``: it is there for what libvirt has no words for.
* A NIC whose link is down is reported as *low*: it carries no traffic.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.hypervisors import KVM_DOMAINS
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject


def applies(subject: Subject) -> bool:
    """A slirp NIC of a KVM guest that a privileged libvirt may keep; of one that is known by its
    command line alone, that such a libvirt does keep."""
    nic, domain = subject.nic, subject.domain
    if domain.session or domain.owner == "kubevirt" or domain.type not in KVM_DOMAINS:
        return False
    kept = nic.origin == "interface" or (domain.is_command_line and _of_system(domain))
    return kept and nic.type == "user" and nic.backend_type != "passt"


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC."""
    yield Problem(
        "type='user' is slirp: QEMU's own TCP/IP stack behind address translation, no vhost",
        field="type",
        severity="low" if subject.nic.link_state == "down" else None,
        fix=OwnerAdvice("connect-network"),
    )


def _of_system(domain: DomainConfig) -> bool:
    """True where a system libvirt is known to have started it; Nova and oVirt have no other."""
    return domain.owner in ("nova", "ovirt") or (
        domain.owner == "libvirt" and domain.session is False
    )


RULE = Rule(
    name="user-mode-network",
    severity="medium",
    groups=("backends",),
    judges=(NicJudge(needs=(facts.SESSION,), applies=applies, check=check),),
)
