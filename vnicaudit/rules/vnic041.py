"""vhost-user without shared guest memory.

## What is wrong

Another process handles the NIC's packets (Open vSwitch with DPDK, passt, …) and must see the
guest's memory. But the domain's memory is private to QEMU.

## Why it matters

The backend cannot reach the rings, so no packet passes. libvirt 11.2 and later refuse such a domain
(``'interface' requires shared memory``); earlier versions log a warning and start it (measured:
libvirt 9.0 accepts the definition). A VDUSE device has the same need: measured with kernel 6.12,
the guest boots, binds its driver, and loses every packet.

## Bad

```xml
<interface type='vhostuser'>
  <source type='unix' path='/run/openvswitch/vhu0a1b2c3d-4e' mode='server'/>
  <model type='virtio'/>
</interface>
```

## Good

```xml
<domain type='kvm'>
  <name>guest</name>
  <memoryBacking>
    <source type='memfd'/>
    <access mode='shared'/>
  </memoryBacking>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='vhostuser'>
      <source type='unix' path='/run/openvswitch/vhu0a1b2c3d-4e' mode='server'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
```

## Fix

Share the guest's memory: ``<memoryBacking>`` with ``<source type='memfd'/>`` (or huge pages) and
``<access mode='shared'/>``. With guest NUMA nodes, ``memAccess='shared'`` on every cell does the
same. In Nova, use a flavor with ``hw:mem_page_size``, or set ``[libvirt] file_backed_memory``.

## Fix safety

The guest sees the same memory. It must be powered off and on.

## When it does not fire

* When memory is shared in any of these forms, including on every NUMA cell instead of the domain.
* passt as the backend needs shared memory too, so it is judged in the same way.
* Skipped when the memory backing is unknown (a command line that does not show it).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.host import Version
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_ENFORCED = Version(11, 2)
"""libvirt NEWS 11.2.0: "Use common check for shared memory use"."""


def applies(subject: Subject) -> bool:
    """Any vhost-user NIC."""
    return subject.backend == "vhostuser"


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC whose domain does not share its memory."""
    if subject.domain.shared_memory is False:
        yield Problem(
            f"vhost-user without shared guest memory: {_effect(subject)}",
            field="type",
            fix=OwnerAdvice("share-memory"),
        )


def _effect(subject: Subject) -> str:
    version = subject.host.libvirt_version
    if version is None:
        return "no packet passes, and libvirt 11.2 and later do not start it"
    if version >= _ENFORCED:
        return f"libvirt {version} does not start it"
    if subject.nic.refused or subject.nic.model is None:
        return "no packet passes"
    return f"libvirt {version} starts it, and no packet passes"


RULE = Rule(
    name="vhostuser-without-shared-memory",
    severity="error",
    groups=("backends", "refused"),
    judges=(Judge("nic", needs=(facts.SHARED_MEMORY,), applies=applies, check=check),),
)
