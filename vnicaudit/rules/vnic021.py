"""vhost is switched off by <driver name='qemu'/>.

## What is wrong

``<driver name='qemu'/>`` tells libvirt not to open vhost-net for this virtio NIC, although the
guest runs under KVM and could use it.

## Why it matters

QEMU copies every packet itself; with vhost a kernel thread does. IBM's driver reference:
"Specifying qemu can result in poor performance". Measured with libvirt 11.3: such a NIC has no
descriptor on ``/dev/vhost-net``; without the attribute the same guest has one, and a vhost thread.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='qemu' queues='2'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver queues='2'/>
</interface>
```

## Fix

Remove the attribute. ``name='vhost'`` would make vhost-net mandatory: the guest would not start on
a host without ``/dev/vhost-net``.

## Fix safety

Safe: without the attribute libvirt uses vhost-net if it can open it, and QEMU's own packet path
otherwise. The change takes effect when the guest is powered off and on.

## When it does not fire

* In domains of type ``qemu`` and on NICs without a tap: the attribute has no effect there. Nova
  with ``virt_type = qemu`` writes it, for example.
* On a NIC without a declared virtio model: libvirt ignores its ``<driver>``.
* With ``rss`` or ``rss_hash_report`` on: with vhost, QEMU turns RSS off unless its eBPF program
  loads, so the attribute may be there on purpose.
* If it is there for debugging, suppress the finding and give that reason.
* Reported as *low* when the NIC's link is down: it carries no traffic.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import may_have_vhost
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_SAFE = (
    "libvirt then uses vhost-net if it can open it, and QEMU's own path otherwise; the guest keeps "
    "its device"
)


def applies(subject: Subject) -> bool:
    """A virtio NIC that says name='qemu' where vhost would be possible."""
    nic = subject.nic
    if not subject.tuned or nic.driver_name != "qemu" or "on" in (nic.rss, nic.rss_hash_report):
        return False
    return may_have_vhost(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC."""
    yield Problem(
        "vhost-net is switched off by <driver name='qemu'/>: QEMU copies every packet itself",
        field="driver_name",
        severity="low" if subject.nic.link_state == "down" else None,
        change=Change("driver_name", "qemu", None, safe=True, reason=_SAFE),
    )


RULE = Rule(
    name="vhost-switched-off",
    severity="medium",
    groups=("vhost",),
    judges=(Judge("nic", needs=(facts.ACTUAL_TYPE,), applies=applies, check=check),),
)
