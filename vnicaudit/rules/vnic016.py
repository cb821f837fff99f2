"""Two NICs have the same MAC address.

## What is wrong

Another NIC has this MAC address, in the same guest or in another guest read in the same run.
libvirt does not check for duplicate addresses, neither between domains nor within one. A copied
definition keeps its MAC address, even with a new name and UUID. The same guest may also be on two
live hosts: a migration that left the definition behind, or a copy with its UUID.

## Why it matters

If both NICs are on one network, the bridge keeps relearning the address on another port, and frames
reach either guest at random. Linux logs `received packet on … with own address as source address`,
or forwarding entries that move. DHCP gives both guests the same IP address.

Two NICs with the same MAC in one guest cannot be told apart by tools that name or configure
interfaces by MAC (netplan, cloud-init, udev). libvirt refuses to change either: `Domain has
multiple interfaces matching MAC address` (measured with 9.0).

## Bad

```xml
<interface type='bridge'>
  <mac address='52:54:00:aa:bb:01'/>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
<interface type='bridge'>
  <mac address='52:54:00:aa:bb:01'/>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <mac address='52:54:00:aa:bb:01'/>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
<interface type='bridge'>
  <mac address='52:54:00:aa:bb:02'/>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Remove `<mac>` from the copy: libvirt then generates a new address. Update everything that knows the
guest by its old address, such as DHCP leases and the guest's own network configuration.

## Fix safety

No change is proposed: it is not known which of the two is the copy.

## When it does not fire

* On one guest that was read twice: its file and libvirt, a snapshot, a save image, a backup. Guests
  are matched by UUID, or by name when there is no UUID. One UUID on two live hosts, by the names
  that libvirt gives these hosts, is reported: *low* if it runs on both, *info* if it is only
  defined on both.
* On the two halves of a `<teaming>` pair, and on an assigned device beside a NIC of the same guest:
  they must share a MAC address.
* On `type='user'` in different guests: each has a network of its own.
* Between OpenStack servers or Nova domains: Neutron keeps addresses unique in each network. NICs
  within one server are compared.
* Between VMs of KubeVirt, unless both NICs are on one layer-2 network: their pods have separate
  ones. That is one NetworkAttachmentDefinition, by its namespace and name (`br1` in the namespace
  `lab` is `lab/br1`); where these were read, too, also two of which the configuration has the same
  `name` and type (on bridges also the same bridge and VLAN), and the same primary user-defined
  network. Not in layer-3 topology of OVN-Kubernetes, and not with masquerade or passt, behind which
  a guest's address stays in its pod; nor between a pool or replica set and what it makes. Without
  a namespace, only manifests of one file are compared. NICs within one manifest are always
  compared.
* Severity depends on whether the two NICs can meet: *high* if both run on one host and connect to
  the same network, or belong to one guest; *medium* if both connect to networks of the same name,
  or to one layer-2 network of KubeVirt;
  *low*, with low confidence, if nothing shows that they can meet.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Confidence, Severity
from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.rule import ATTACHMENT, Judge, MacSubject, NicSeen, Problem, Rule

_NAMED = 3
_Grade = tuple[Severity, Confidence, str]

_ONE_GUEST: _Grade = ("high", "high", "both are on one network")
_IN_GUEST: _Grade = ("medium", "medium", "tools that match by MAC cannot tell the two apart")
_RUNNING: _Grade = ("high", "high", "both are running on one network of this host")
_ONE_HOST: _Grade = ("medium", "medium", "both connect to one network of this host")
_ALIKE: _Grade = ("medium", "medium", "both connect to a network of the same name")
_ATTACHED: _Grade = ("medium", "medium", "both are on {}")
_ANYWHERE: _Grade = ("low", "low", "that matters if they ever share a network")
_RUNS_TWICE: _Grade = (
    "low", "medium", "one guest, by its UUID, is running on two hosts, unless it is migrating now"
)  # fmt: skip
_DEFINED_TWICE: _Grade = (
    "info", "high", "one guest, by its UUID, is defined on two hosts, and may be started on both"
)  # fmt: skip
_ORDER = (
    _ONE_GUEST, _RUNNING, _IN_GUEST, _ONE_HOST, _ATTACHED, _ALIKE, _RUNS_TWICE, _ANYWHERE,
    _DEFINED_TWICE,
)  # fmt: skip
_TWICE = (
    "Undefine the guest on the host where it is not meant to run (virsh undefine, or its owner); "
    "if it is a copy, give it a UUID and addresses of its own."
)


def applies(subject: MacSubject) -> bool:
    """Any NIC that shares its address."""
    return bool(subject.other_nics)


def check(subject: MacSubject) -> Iterator[Problem]:
    """One problem, graded by the worst of the other NICs, naming the first few."""
    grades = [(_ORDER.index(_grade(subject.nic, other)), other) for other in subject.other_nics]
    grades.sort(key=lambda pair: pair[0])
    severity, confidence, why = grade = _ORDER[grades[0][0]]
    others = [other for _rank, other in grades]
    named = ", ".join(_nic_label(subject.nic, other) for other in others[:_NAMED])
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    yield Problem(
        f"{subject.nic.mac} is the MAC address of {named}{more} too: "
        f"{why.format(subject.nic.network)}",
        field="mac",
        severity=severity,
        confidence=confidence,
        fix=_TWICE if grade in (_RUNS_TWICE, _DEFINED_TWICE) else OwnerAdvice("own-address"),
        related=tuple(other.location for other in others[:_NAMED]),
    )


def _nic_label(nic: NicSeen, other: NicSeen) -> str:
    if other.reading == nic.reading:
        return f"NIC {other.index}"
    return other.label if other.target == nic.target else f"{other.label} ({other.target[:80]})"


def _grade(nic: NicSeen, other: NicSeen) -> _Grade:
    alike = bool(nic.network) and nic.network == other.network
    if nic.reading == other.reading:
        return _ONE_GUEST if alike else _IN_GUEST
    if nic.uuid and nic.uuid == other.uuid:
        return _RUNS_TWICE if nic.active and other.active else _DEFINED_TWICE
    if not alike:
        return _ANYWHERE
    if nic.network.startswith(ATTACHMENT):
        return _ATTACHED
    if nic.host and nic.host == other.host:
        return _RUNNING if nic.active and other.active else _ONE_HOST
    if nic.host and other.host:
        return _ANYWHERE  # every host may have a bridge of that name
    return _ALIKE if nic.uuid and other.uuid else _ANYWHERE


RULE = Rule(
    name="duplicate-mac",
    severity="high",
    groups=("addresses",),
    judges=(Judge("mac", applies=applies, check=check),),
)
