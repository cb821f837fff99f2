"""Host without vhost-net.

## What is wrong

The host runs KVM guests with virtio NICs on taps, but has no ``/dev/vhost-net``: its kernel lacks
the module, or the module is not loaded. libvirt still starts these guests, without vhost. Only
guests with ``<driver name='vhost'/>`` fail to start (VNIC024).

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

Load the module: ``modprobe vhost_net``. ``vnicaudit plan ssh://HOST`` proposes it, with a file that
loads it at boot. If the kernel has none, run one with ``CONFIG_VHOST_NET=m`` or ``=y``, or install
the package with its modules if the distribution ships them separately. Then power the guests off
and on.

## Fix safety

Loading the module does not affect running guests. They run without vhost until they are powered off
and on.

## When it does not fire

* When the device exists and the module is not loaded yet: it loads when the device is opened.
* On a host where no KVM guest has a virtio NIC on a tap; vhost-user and vDPA do not need vhost-net.
* On a host where every such NIC has ``<driver name='qemu'/>`` or another ``<backend vhost=>``.
* Skipped inside a container, from which the host's modules cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.host_scripts import LOADED, NOT_LOADED
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.rule import Fact, HostSubject, Judge, Problem, Rule, VisitedHost

_HARMLESS = "running guests are not affected"
_MODULE = HostSetting("module", name="vhost_net")


def applies(subject: HostSubject) -> bool:
    """A host with a KVM guest that would use vhost-net."""
    return "kvm-tap" in subject.uses


def check(subject: HostSubject) -> Iterator[Problem]:
    """One problem per host that has neither the device nor the module."""
    if isinstance(subject, VisitedHost) and _is_not_loaded(subject):
        yield Problem(
            "no /dev/vhost-net, as the module vhost_net is not loaded: QEMU copies every packet of "
            "the host's virtio NICs itself",
            field=_MODULE.name,
            change=change_of(subject.facts, _MODULE, LOADED, _HARMLESS),
            fix="(then power the guests off and on)",
        )
    elif subject.host.vhost_net is False:
        yield Problem(
            "no /dev/vhost-net and no vhost_net module: QEMU copies every packet of the host's "
            "virtio NICs itself",
            fix="Run a kernel with vhost-net (CONFIG_VHOST_NET), or install the package with its "
            "modules; then power the guests off and on.",
        )


def _is_not_loaded(subject: HostSubject) -> bool:
    """True if the kernel has the module, and its device is missing because nothing loaded it. In a
    container the device may be missing for another reason."""
    if not isinstance(subject, VisitedHost) or subject.facts.container:
        return False
    state = (subject.facts.modules or {}).get(_MODULE.name)
    return subject.host.vhost_net is None and state == NOT_LOADED


_VHOST_NET = Fact[HostSubject](
    lambda subject: facts.HOST_VHOST_NET.known(subject) or _is_not_loaded(subject),
    facts.HOST_VHOST_NET.tell,
    live=True,
)
RULE = Rule(
    name="host-without-vhost-net",
    severity="high",
    groups=("vhost", "host"),
    judges=(Judge("host", needs=(_VHOST_NET,), applies=applies, check=check),),
)
