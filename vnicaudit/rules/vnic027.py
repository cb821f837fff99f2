"""libvirt could not open vhost-net when the guest started.

## What is wrong

libvirt's log of the guest's last start has the warning ``Unable to open vhost-net. Opened so far 0,
requested 1``. libvirt tried, failed, and started the guest without vhost.

## Why it matters

This is the cause of VNIC020. Measured with libvirt 9.0 on a host without ``/dev/vhost-net``; a
process that runs out of file descriptors gets the same warning.

## Bad

libvirt's log of the last start warns that it was `Unable to open vhost-net`:

```xml running.driver=virtio-net-pci running.model=virtio running.log_warning=Unable
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Good

The log has no such warning:

```xml running.driver=virtio-net-pci running.model=virtio running.log_warning=''
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Make ``/dev/vhost-net`` usable on the hypervisor: load the module, and allow libvirt's daemon enough
file descriptors. Then power the guest off and on through its owner.

## Fix safety

Only the guest's packet path changes.

## When it does not fire

* On warnings from before the guest's last start.
* When QEMU shows that the NIC has vhost.
* On NICs that never use vhost-net, and in domains of type ``qemu``.
* Skipped when QEMU was read but libvirt's log was not.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import may_have_vhost
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """A NIC that could have vhost, of a known QEMU that does not show that it has."""
    running = subject.running
    return running is not None and not running.vhost and may_have_vhost(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC with such a warning."""
    if subject.running is not None and subject.running.log_warning:
        yield Problem(
            "libvirt could not open vhost-net at the last start: QEMU copies every packet itself",
            field="log_warning",
            fix="Make /dev/vhost-net usable on the hypervisor (the vhost_net module, and enough "
            "file descriptors for libvirt's daemon), then power the guest off and on through its "
            "owner.",
        )


RULE = Rule(
    name="vhost-open-failed",
    severity="medium",
    groups=("vhost", "host"),
    judges=(Judge("nic", needs=(facts.RUNNING_LOG_WARNING,), applies=applies, check=check),),
)
