"""A VM keeps an older copy of its preference, with other NIC settings than the preference has now.

## What is wrong

The preference was changed after the VM was created. The VM recorded the preference as it was, in a
ControllerRevision, and starts with that.

## Why it matters

Neither a restart nor a stop and start takes up the change (`pkg/instancetype/revision/store.go`): a
fleet can be restarted for nothing.

## Bad

```console
$ kubectl get vm web -o jsonpath='{.status.preferenceRef.controllerRevisionRef.name}'
web-fedora-v1beta1-3f2a-1
$ kubectl get controllerrevision web-fedora-v1beta1-3f2a-1 -o jsonpath='{.data.spec.devices}'
{"preferredInterfaceModel":"e1000"}
$ kubectl get virtualmachineclusterpreference fedora -o jsonpath='{.spec.devices}'
{"preferredInterfaceModel":"virtio"}
```

## Good

```console
$ kubectl get controllerrevision web-fedora-v1beta1-9c1e-1 -o jsonpath='{.data.spec.devices}'
{"preferredInterfaceModel":"virtio"}
```

## Fix

From KubeVirt 1.5 on, refer to another preference, or set the values on the VM and remove the
reference. Before, empty `spec.preference.revisionName` while the VM is stopped, then start it.

## Fix safety

The VM then takes up everything else that was changed in the preference, too: compare both first.

## When it does not fire

* When the two have the same NIC settings, or differ only in what the VM sets itself.
* On VMs that refer to none, as those of the policy `expand` do, or that recorded none yet.
* Skipped when the ControllerRevision, the preference, or the version of KubeVirt may not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.knowledge.kubevirt_versions import REVISION_IN_STATUS, is_at_least
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import Judge, Problem, Rule

_RECORDED = kube_needs.guest_fact(
    lambda guest: guest.preference is not None and guest.preference.then is not None,
    "the revision that the VM recorded",
    "controllerrevisions.apps",
)
_PRESENT = kube_needs.guest_fact(
    lambda guest: guest.preference is not None and guest.preference.now is not None,
    "the preference as it is today",
    "virtualmachinepreferences.instancetype.kubevirt.io",
    "virtualmachineclusterpreferences.instancetype.kubevirt.io",
)
_COMPARE = "it changes the VM's NICs: compare both first"
_NEW = (
    "Refer to another preference, or set what is wanted on the VM and remove spec.preference; then "
    "restart it."
)
_OLD = (
    "Stop it, run {patch}, and start it: it then records the preference as it is. All else that "
    "was changed there comes with it."
)
_PATCH = (
    """kubectl patch vm {} --type merge -p '{{"spec":{{"preference":{{"revisionName":""}}}}}}'"""
)


def applies(guest: ClusterGuest) -> bool:
    """A VM that recorded a preference."""
    preference = guest.preference
    return not guest.deleting and preference is not None and bool(preference.revision)


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem, if fields that the VM leaves to its preference differ."""
    preference = guest.preference
    if preference is None or preference.then is None or preference.now is None:
        return
    then, now = preference.then, preference.now
    fields = [key for key in dict.fromkeys([*then, *now]) if then.get(key) != now.get(key)]
    if fields:
        patch = _PATCH.format(kube_needs.machine(guest))
        is_in_status = is_at_least(guest.cluster.version, REVISION_IN_STATUS)
        yield Problem(
            f"it keeps {_words(fields, then)} of preference {preference.name[:60]}, which has "
            f"{_words(fields, now)} today: a restart does not change that",
            change=Change(
                "preference", _words(fields, then), _words(fields, now), safe=False, reason=_COMPARE
            )
            if guest.cluster.is_live
            else None,
            fix=kube_needs.with_owner(guest, _NEW if is_in_status else _OLD.format(patch=patch)),
        )


def _words(fields: list[str], values: dict[str, str]) -> str:
    return ", ".join(f"{key} {values.get(key, 'not set')[:40]}" for key in fields)


RULE = Rule(
    name="kube-preference-frozen",
    severity="medium",
    groups=("kubevirt", "cluster", "drift"),
    judges=(
        Judge(
            "guest",
            needs=(_RECORDED, _PRESENT, kube_needs.VERSION_OF_VM),
            applies=applies,
            check=check,
        ),
    ),
)
