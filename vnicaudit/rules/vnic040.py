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

from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import Severity
from vnicaudit.model.hypervisors import KVM_DOMAINS
from vnicaudit.model.rule import Problem, Scope, Subject

NAME = "user-mode-network"
SEVERITY: Severity = "medium"
SCOPE: Scope = "nic"
NEEDS: tuple[str, ...] = ("session",)

_FIX = (
    "Connect it to a libvirt network or a bridge; where only user-mode networking is possible, "
    "use <backend type='passt'/> (libvirt 9.0)."
)
_FIXES = {
    "nova": "Connect the server through a Neutron port: no port of Neutron's is of this type, so "
    "it was put there behind Nova's back. The next hard reboot (openstack server reboot --hard) "
    "writes the definition anew.",
    "ovirt": "The definition is oVirt's: give the NIC a vNIC profile of a network in the engine, "
    "with the VM down.",
}


def applies(subject: Subject) -> bool:
    """A slirp NIC of a KVM guest that a privileged libvirt may keep; of one that is known by its
    command line alone, that such a libvirt does keep."""
    nic, domain = subject.nic, subject.domain
    if domain.session or domain.owner == "kubevirt" or domain.type not in KVM_DOMAINS:
        return False
    kept = nic.origin == "interface" or (domain.form == "qemu" and _of_system(domain))
    return kept and nic.type == "user" and nic.backend_type != "passt"


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC."""
    yield Problem(
        "type='user' is slirp: QEMU's own TCP/IP stack behind address translation, no vhost",
        field="type",
        severity="low" if subject.nic.link_state == "down" else None,
        fix=_FIX,
        fixes=_FIXES,
    )


def _of_system(domain: DomainConfig) -> bool:
    """Whether a system libvirt is known to have started it; Nova and oVirt have no other."""
    return domain.owner in ("nova", "ovirt") or (
        domain.owner == "libvirt" and domain.session is False
    )
