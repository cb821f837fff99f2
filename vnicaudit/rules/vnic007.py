"""QEMU has no such NIC model: the domain does not start.

## What is wrong

libvirt accepts any text as a model and passes it to QEMU unchanged. Only at start does QEMU reject
a model of another hypervisor (`vmxnet`, `82545EM`, `netfront`), a misspelt one, or one that this
architecture lacks: `'notarealnic' is not a valid device model name`.

A model on the wrong bus fails too. `virtio-transitional` and `virtio-non-transitional` are PCI
devices: on s390x channels and on `virtio-mmio`, libvirt asks QEMU for a device such as
`virtio-net-ccw-transitional`, which does not exist. libvirt puts every model that it does not know
on PCI: `virtio-net-ccw`, `virtio-net-device` and `ne2k_isa` fail with `Device 'virtio-net-device'
can't go on PCI bus`.

ARM's `virt` gets what is neither on PCI nor on virtio-mmio (usb-net, spapr-vlan) by `-nic`. QEMU
before 9.0 does not start with it, and a later one warns that the NIC "was not created" and starts:
*high* instead of *error*.

`type='vdpa'` and `type='vhostuser'` allow virtio only. libvirt refuses any other model when the
domain is defined: `invalid model for interface of type 'vdpa'`; libvirt 9.0 refuses there also
`virtio-transitional` and `virtio-non-transitional`. Nova writes the model that it keeps
for a server (`hw_vif_model`) on vhost-user ports as well (`get_base_config` in
nova/virt/libvirt/vif.py).

## Why it matters

A domain that was edited while running keeps running until it is powered off, and then does not come
back. Measured with libvirt 9.0 and QEMU 7.2 for every model on every machine type and address:
defined without an error, refused at start.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='vmxnet'/>
</interface>
```

On s390x:

```xml domain.arch=s390x
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio-transitional'/>
</interface>
```

With QEMU before 8.0:

```xml host.qemu_version=7.2.22
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='igb'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Correct the model. Use virtio if the guest has the driver.

## Fix safety

As for VNIC001. The domain does not start as it is, so there is no working NIC to lose. Changing one
name of virtio to another is safe: the guest's driver is the same.

## When it does not fire

* When a running QEMU proves the model, unless another version is assumed.
* On a server's vDPA and assigned ports: Nova writes no model there.
* On assigned devices, including those from a libvirt network and the transient half of a teaming
  pair: the model is not used.
* In domains of other hypervisors, where these names are right.
* On ARM boards, whose on-board NICs have their own model names.
* On models that QEMU has but a distribution's build may lack: the binary is not queried.
* On igb, unless the version is known: QEMU before 8.0 is an *error*; libvirt before 9.3, which
  passes igb on without knowing that it needs PCI Express, is *medium*.
* On s390x, for models that exist on other architectures: see VNIC008.
* On a name with characters that libvirt never accepts (`' virtio '`): libvirt refuses the
  definition, see VNIC015.
* On ISA devices of the machine type `isapc`, which has no PCI.
* On usb-net, unless libvirt is known to be before 10.3, which cannot place it.
* With medium confidence when no list of QEMU models has the name: a later or patched QEMU may have
  it.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.backends import OWN_PATH
from vnicaudit.knowledge.models import (
    IGB,
    LIBVIRT_MODELS,
    QEMU_MODELS,
    absent_on,
    misplaced,
    model_of_driver,
    not_created,
    shown_model,
)
from vnicaudit.knowledge.nova_releases import lacks_vif_model
from vnicaudit.knowledge.refused_nics import takes_only_virtio
from vnicaudit.knowledge.systems import is_board
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.finding import S390, VIRTIO, Change
from vnicaudit.model.host import Version
from vnicaudit.model.nic import NONE, WORDS, StartRefusal, is_misspelt
from vnicaudit.model.openstack import FOREIGN_VIF_MODELS
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_IGB_LIBVIRT = Version(9, 3)


def applies(subject: Subject) -> bool:
    """A declared model that is not proven by a running NIC."""
    nic = subject.nic
    if nic.model is None or nic.origin != "interface" or is_misspelt(nic.refused):
        return False
    if subject.domain.is_server:
        return not is_board(subject.domain)
    assigned = subject.effective.model.state == NONE and nic.type not in OWN_PATH
    if assigned and (
        nic.type == "network" or not_created(nic, subject.domain, subject.host) is None
    ):
        return False
    return not subject.proven and not is_board(subject.domain)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem at most: no such device, not on this architecture, or not in this version."""
    model = subject.nic.model or ""
    if takes_only_virtio(_kind(subject), model, subject.host):
        yield _only_virtio(subject, model)
    elif subject.domain.is_server and _refused_by_nova(subject, model):
        yield _refusal_problem(subject, f"Nova refuses {model} with KVM")
    elif model in LIBVIRT_MODELS and model not in QEMU_MODELS:
        yield _refusal_problem(subject, f"{model} is a model of another hypervisor, not of QEMU")
    elif model not in QEMU_MODELS:
        what = f"{shown_model(model)} is not a QEMU NIC model"
        yield _refusal_problem(subject, what, proven=False)
    elif (never := not_created(subject.nic, subject.domain, subject.host)) is not None:
        yield from _not_created(subject, never)
    elif subject.arch not in S390 and absent_on(model, subject.arch):  # VNIC008 reports it there
        yield _refusal_problem(subject, f"{model} does not exist on {subject.arch}")
    elif (reason := misplaced(subject.nic, subject.domain, subject.host)) is not None:
        yield _misplacement_problem(subject, model, reason)
    elif model == "igb":
        yield from _igb(subject)


def _not_created(subject: Subject, refusal: StartRefusal) -> Iterator[Problem]:
    outcome = refusal.outcome(subject.host.qemu_version)
    if outcome is not None:
        found = to_virtio(subject, RULE.severity)
        yield Problem(
            f"{refusal.reason}: {WORDS[outcome]}",
            field="model",
            severity="high" if outcome == "missing" else None,
            change=found.change,
            fix=found.fix,
        )


def _refused_by_nova(subject: Subject, model: str) -> bool:
    """True for a model known to Nova that its libvirt driver does not support
    (SUPPORTED_VIF_MODELS), or not yet."""
    if subject.effective.model.state != NONE:
        return False
    server = subject.domain.server
    newest = None if server is None or server.nova is None else server.nova.newest
    return model in FOREIGN_VIF_MODELS or lacks_vif_model(model, newest)


def _kind(subject: Subject) -> str | None:
    """The declared interface type; for a server, the type that Nova will write."""
    return subject.backend if subject.domain.is_server else subject.nic.type


def _refusal_problem(subject: Subject, what: str, *, proven: bool = True) -> Problem:
    found = to_virtio(subject, RULE.severity)
    server = subject.domain.is_server
    return Problem(
        f"{what}: the {'server' if server else 'domain'} does not start",
        field="model",
        confidence=found.confidence if proven else "medium",
        change=found.change,
        fix=found.fix,
    )


def _misplacement_problem(subject: Subject, model: str, reason: str) -> Problem:
    found = to_virtio(subject, RULE.severity)
    change, fix = found.change, found.fix
    if model_of_driver(model) in VIRTIO:
        why = "the domain does not start as it is; the guest's driver stays the same"
        change, fix = Change("model", subject.nic.model, "virtio", safe=True, reason=why), ""
    usb = model == "usb-net" and subject.nic.address_type is None
    ending = "it refuses the definition" if usb else "the domain does not start"
    return Problem(f"{reason}: {ending}", field="model", change=change, fix=fix)


def _only_virtio(subject: Subject, model: str) -> Problem:
    found = to_virtio(subject, RULE.severity)
    return Problem(
        f"type='{_kind(subject)}' accepts only virtio: libvirt refuses the definition with "
        f"{shown_model(model)}",
        field="model",
        confidence=found.confidence,
        change=found.change,
        fix=found.fix,
    )


def _igb(subject: Subject) -> Iterator[Problem]:
    qemu, libvirt = subject.host.qemu_version, subject.host.libvirt_version
    assumed = " (assumed)" if subject.host.assumed else ""
    if qemu is not None and qemu < IGB:
        yield _refusal_problem(subject, f"QEMU {qemu}{assumed} has no igb, which came with 8.0")
    elif libvirt is not None and libvirt < _IGB_LIBVIRT:
        found = to_virtio(subject, "medium")
        yield Problem(
            f"libvirt {libvirt}{assumed} does not know igb (9.3 does): it gets no PCI Express slot",
            field="model",
            severity="medium",
            confidence="medium",
            change=found.change,
            fix=found.fix,
        )


RULE = Rule(
    name="model-unknown-to-qemu",
    severity="error",
    groups=("models", "refused"),
    forms=("definition", "server"),
    judges=(Judge("nic", applies=applies, check=check),),
)
