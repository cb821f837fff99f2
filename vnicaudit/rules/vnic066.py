"""A compute node's settings prevent multiqueue, or flavor and image contradict each other.

## What is wrong

nova.conf has one of these:

* `[libvirt] max_queues = 1`: Nova gives every NIC a single queue pair, whatever the image
  (`hw_vif_multiqueue_enabled`) or the flavor (`hw:vif_multiqueue_enabled`) says.
* `[libvirt] virt_type = qemu`: for emulated guests Nova never writes queues and does not request
  vhost, so `max_queues` has no effect.

Or a flavor has one of these problems:

* `hw:vif_multiqueue_enabled` with one vCPU: Nova ignores the flag then.
* A server in the same file, or of the same cloud, boots an image whose `hw_vif_multiqueue_enabled`
  says the opposite: Nova refuses the server (`FlavorImageConflict`). The same holds for
  `hw:virtio_packed_ring` and `hw_virtio_packed_ring`, whatever the number of vCPUs.

Or a server in a live cloud has one of these problems:

* Its flavor and the image properties that Nova keeps for it contradict each other, about multiqueue
  or the packed ring. `nova-manage image_property set` does not check the flavor.
* It requests multiqueue, but nova.conf of its compute node, read in the same run, prevents it.

## Why it matters

There is no error: the server is created, its image says multiqueue, and it has one queue, served by
one guest vCPU and one vhost thread of the host. `virt_type = qemu` also means that guests run
without KVM.

An existing server with a contradiction keeps running until Nova rebuilds its definition. A start
after a stop, a hard reboot or a migration then fails (`get_vif_multiqueue_constraint` in
nova/virt/hardware.py, called by `get_base_config`). By then the old definition is gone
(`_hard_reboot` in nova/virt/libvirt/driver.py).

Measured with Nova 34: a start leaves the server SHUTOFF without a fault that explains it. A hard
reboot leaves it in ERROR. For multiqueue the fault is `NotImplementedError: Cannot load 'name' in
the base class`, because building the message of the conflict fails in turn.

## Bad

```ini
[libvirt]
max_queues = 1
```

## Good

```ini
[libvirt]
max_queues = 8
```

## Fix

Raise `max_queues`, or remove it: with kernels from 5.0 on there is no limit then. Restart
nova-compute. Set `virt_type = kvm` if the host has KVM. Servers get their queues at the next hard
reboot.

## Fix safety

Unsafe: guests whose image requests multiqueue get more queues at their next hard reboot, which
takes more memory on the host. `virt_type = kvm` needs a host with KVM.

## When it does not fire

* When a later file overrides the value, and when `compute_driver` names another driver than
  libvirt.
* `virt_type = qemu` alone is reported as *info*: a host without KVM needs it (a nested host, a test
  cloud). Together with `max_queues` above 1, one of the two is a mistake, and it is *low*.
* On a flavor when no server in the same file uses both, when the flag is off, or when it has two
  vCPUs or more. Skipped when the file does not give the number of vCPUs.
* On a server whose kept properties are unknown, or whose flavor's extra specs are hidden, only
  certain contradictions are reported. Below two vCPUs Nova ignores multiqueue.
* Skipped in a template if a condition decides or the value is filled in.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.fix import Advice, OpenStack, SetProperty
from vnicaudit.model.nova import NovaConfig, NovaOption, as_number
from vnicaudit.model.openstack import (
    FLAVOR_WORDS,
    MULTIQUEUE,
    MULTIQUEUE_VCPUS,
    PACKED,
    Flavor,
    Image,
    NodeFacts,
    ServerConfig,
    as_flag,
)
from vnicaudit.model.rule import DomainSubject, Judge, Problem, Rule

_FLAG = FLAVOR_WORDS[MULTIQUEUE]
_NO_QUEUES = frozenset({"hostdev", "vdpa"})
"""Backends for which Nova writes no queues."""


def applies(nova: NovaConfig) -> bool:
    """One of the options has, or may have, a value here that disables multiqueue."""
    if nova.libvirt is False:
        return False
    queues, kind = _settings(nova)
    return any(
        option is not None and (not option.certain or is_off)
        for option, is_off in ((queues, _is_one(queues)), (kind, _is_qemu(kind)))
    )


def check(nova: NovaConfig) -> Iterator[Problem]:
    """At most one problem per option."""
    queues, kind = _settings(nova)
    if queues is not None and _is_one(queues) and not _is_qemu(nova.winner("libvirt", "virt_type")):
        yield _one_queue(nova, queues)
    if kind is not None and _is_qemu(kind):
        yield _emulated_model_problem(nova)


def applies_flavor(flavor: Flavor) -> bool:
    """A flag is set, and is on or may clash with an image's."""
    flag = flavor.property(_FLAG)
    if flag is not None and (not flag.certain or as_flag(flag.value)):
        return True
    packed = flavor.property(FLAVOR_WORDS[PACKED])
    return (packed is not None and not packed.certain) or any(
        flavor.contradicted(name) for name in FLAVOR_WORDS
    )


def check_flavor(flavor: Flavor) -> Iterator[Problem]:
    """One problem of the flavor alone, or one for each image it clashes with."""
    ignored = (flavor.vcpus or 0) < MULTIQUEUE_VCPUS
    if ignored and as_flag(flavor.certain_value(_FLAG) or ""):
        yield Problem(
            f"{_FLAG} with {flavor.vcpus} vCPU: Nova ignores it below two vCPUs",
            field=_FLAG,
            severity="low",
            fix="Remove the extra spec, or give the flavor more vCPUs.",
        )
    for name in FLAVOR_WORDS:
        if name != MULTIQUEUE or not ignored:
            for image in flavor.contradicted(name):
                yield _conflict(flavor, image, name)


def check_server(subject: DomainSubject, server: ServerConfig) -> Iterator[Problem]:
    """One problem for each flag that clashes, or one for the setting of its compute node that
    disables multiqueue; unknown flags do not clash."""
    if server.flavor is None:
        return
    clashes = [name for name in FLAVOR_WORDS if server.clash(name, subject.domain.vcpus)]
    for name in clashes:
        yield Problem(
            f"its flavor says {FLAVOR_WORDS[name]} = {_flag_text(server.flavor_flag(name))}, and "
            f"Nova keeps {name} = {_flag_text(server.flag(name))} for it: "
            "Nova can no longer start it",
            severity="error",
            confidence="high" if server.properties_source == "api" else "medium",
            fix=_as_the_flavor(name, _flag_text(server.flavor_flag(name))),
        )
    if not clashes and server.node is not None and _asks(subject, server):
        yield from _taken_away(server.node)


def _as_the_flavor(name: str, value: str) -> Advice:
    return Advice(
        (
            f"Set {name} as the flavor has it: stop the server, ",
            SetProperty(name, value, "server"),
            ", start it. If it is in ERROR, first run ",
            OpenStack("server set --state active"),
            ", then stop it.",
        )
    )


def _flag_text(flag: bool | None) -> str:
    return "true" if flag else "false"


def _asks(subject: DomainSubject, server: ServerConfig) -> bool:
    """True if a server requests multiqueue, and has a NIC that could have it."""
    if (subject.domain.vcpus or 0) < MULTIQUEUE_VCPUS or not server.asks_for(MULTIQUEUE):
        return False
    return any(nic.model in VIRTIO and nic.backend not in _NO_QUEUES for nic in subject.nics)


def _taken_away(node: NodeFacts) -> Iterator[Problem]:
    """The problem of nova.conf on the compute node disabling multiqueue: queues are set only with
    KVM (``get_base_config`` in virt/libvirt/vif.py of Nova 34.0.0), and at most ``max_queues``."""
    one = "max_queues = 1" if as_number(node.value("max_queues") or "") == 1 else ""
    why = "virt_type = qemu" if node.value("virt_type") == "qemu" else one
    if not why:
        return
    yield Problem(
        f"multiqueue is requested, but nova.conf of its compute node prevents it: {why} in "
        f"{node.file}",
        severity="low",
        fix="Change nova.conf there and hard-reboot the server, or do without multiqueue.",
    )


def _conflict(flavor: Flavor, image: Image, name: str) -> Problem:
    said, flag = image.property(name), FLAVOR_WORDS[name]
    return Problem(
        f"{flag} = {flavor.certain_value(flag)}, and the image {image.name} says "
        f"{image.certain_value(name)}: Nova refuses a server with both (FlavorImageConflict)",
        field=flag,
        severity="error",
        fix="Set the flag in one place only, or to the same value.",
        related=() if said is None else (said.location,),
    )


def _one_queue(nova: NovaConfig, option: NovaOption) -> Problem:
    return Problem(
        "max_queues = 1: every NIC gets one queue pair, even if the image or the flavor requests "
        "multiqueue",
        field="libvirt/max_queues",
        change=Change(
            "max_queues",
            option.value,
            None,
            safe=False,
            reason="guests whose image requests multiqueue get it at their next hard reboot",
        ),
        fix="Remove [libvirt] max_queues, or raise it, and restart nova-compute, unless you want "
        "one queue here.",
        related=nova.overridden(option),
    )


def _emulated_model_problem(nova: NovaConfig) -> Problem:
    queues = nova.winner("libvirt", "max_queues")
    number = None if queues is None else as_number(queues.value)
    beside = queues is not None and number is not None and number > 1
    effect = f", so max_queues = {number} has no effect" if beside else ""
    return Problem(
        "virt_type = qemu: guests are emulated without KVM, and Nova gives each of their NICs only "
        f"one queue{effect}",
        field="libvirt/virt_type",
        severity="low" if beside else "info",
        fix="If this host has KVM, set [libvirt] virt_type = kvm and restart nova-compute; "
        "otherwise there is nothing to do" + (" but to remove max_queues." if beside else "."),
        related=() if queues is None or not beside else (nova.at(queues),),
    )


def _settings(nova: NovaConfig) -> tuple[NovaOption | None, NovaOption | None]:
    return nova.setting("libvirt", "max_queues"), nova.setting("libvirt", "virt_type")


def _is_one(option: NovaOption | None) -> bool:
    return option is not None and as_number(option.value) == 1


def _is_qemu(option: NovaOption | None) -> bool:
    return option is not None and option.value == "qemu"


RULE = Rule(
    name="nova-multiqueue-off",
    severity="medium",
    groups=("nova", "queues"),
    forms=("definition", "server"),
    judges=(
        Judge(
            "config",
            needs=(
                facts.NOVA_DRIVER,
                facts.NOVA_VIRT_TYPE,
                facts.NOVA_MAX_QUEUES,
            ),
            applies=applies,
            check=check,
        ),
        facts.of_server("domain", check_server),
        Judge(
            "flavor",
            needs=(
                facts.FLAVOR_MULTIQUEUE,
                facts.FLAVOR_PACKED_RING,
                facts.FLAVOR_VCPUS,
            ),
            applies=applies_flavor,
            check=check_flavor,
        ),
    ),
)
