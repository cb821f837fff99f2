"""Host without vhost-net.

## What is wrong

The host runs KVM guests with virtio NICs on taps, but has neither ``/dev/vhost-net`` nor the module
that provides it. libvirt still starts these guests, without vhost. Only guests with ``<driver
name='vhost'/>`` fail to start (VNIC024).

## Why it matters

QEMU copies every packet of every such guest itself; with vhost a kernel thread does. The only sign
is the warning ``Unable to open vhost-net`` in libvirt's log (measured with libvirt 9.0).

## Bad

```sh
ls /dev/vhost-net                                       # No such file or directory
grep vhost_net "/lib/modules/$(uname -r)/modules.dep"   # nothing
```

## Good

```sh
ls /dev/vhost-net                                       # /dev/vhost-net
```

## Fix

Run a kernel with vhost-net (``CONFIG_VHOST_NET=m`` or ``=y``), or install the package with its
modules if the distribution ships them separately. Then power the guests off and on.

## Fix safety

Guests keep running without vhost until they are powered off and on.

## When it does not fire

* When the module is installed but not loaded: it loads when the device is opened.
* On a host where no KVM guest has a virtio NIC on a tap; vhost-user and vDPA do not need vhost-net.
* On a host where every such NIC has ``<driver name='qemu'/>`` or another ``<backend vhost=>``.
* Skipped inside a container, from which the host's modules cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.rule import HostSubject, Judge, Problem, Rule


def applies(subject: HostSubject) -> bool:
    """A host with a KVM guest that would use vhost-net."""
    return "kvm-tap" in subject.uses


def check(subject: HostSubject) -> Iterator[Problem]:
    """One problem per host that has neither the device nor the module."""
    if subject.host.vhost_net is False:
        yield Problem(
            "no /dev/vhost-net and no vhost_net module: QEMU copies every packet of the host's "
            "virtio NICs itself",
            fix="Run a kernel with vhost-net (CONFIG_VHOST_NET), or install the package with its "
            "modules; then power the guests off and on.",
        )


RULE = Rule(
    name="host-without-vhost-net",
    severity="high",
    groups=("vhost", "host"),
    judges=(Judge("host", needs=(facts.HOST_VHOST_NET,), applies=applies, check=check),),
)
