"""KubeVirt: an interface binding that was removed (slirp, macvtap, passt).

## What is wrong

The interface uses a binding field that KubeVirt discontinued in v1.3: `slirp`, `macvtap` or
`passt`. The fields are still in the API, so KubeVirt parses a manifest that has one, and then
refuses it.

## Why it matters

The VM is not admitted: "Slirp interface support has been discontinued since v1.3", "Passt network
binding has been discontinued since v1.3", "Macvtap network binding is discontinued since v1.3".
Source: `pkg/network/admitter/discontinued.go` and `pkg/deprecation` of KubeVirt.

## Bad

```yaml
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: old}
spec:
  domain:
    devices:
      interfaces:
      - name: default
        slirp: {}
  networks:
  - {name: default, pod: {}}
```

## Good

```yaml
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: new}
spec:
  domain:
    devices:
      interfaces:
      - name: default
        masquerade: {}
  networks:
  - {name: default, pod: {}}
```

## Fix

On the pod network use `masquerade: {}`, or `passtBinding: {}` if its feature gate is on. For
macvtap use the binding plugin (`binding: {name: macvtap}`), registered in the KubeVirt resource, or
a `bridge` binding.

## Fix safety

No change is proposed: another binding means another network, with other addresses and other
reachability.

## When it does not fire

* On `passtBinding: {}`, which replaced `passt: {}`.
* On binding plugins, whatever their names.
* On clusters with KubeVirt before 1.3 the field still works. A manifest does not show the release,
  so the finding appears there, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.kubevirt import REMOVED_BINDINGS
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject

_INSTEAD = {
    "slirp": (
        "On the pod network use masquerade: {}, or passtBinding: {} if its feature gate is on."
    ),
    "passt": "Use passtBinding: {} if its feature gate is on, otherwise masquerade: {}.",
    "macvtap": "Use the macvtap binding plugin (binding: {name: macvtap}), or a bridge binding.",
}


def applies(subject: Subject) -> bool:
    """An interface with one of the three fields; a plugin may have the same name."""
    return subject.nic.binding in REMOVED_BINDINGS and not subject.nic.plugin


def check(subject: Subject) -> Iterator[Problem]:
    """One problem."""
    binding = subject.nic.binding or ""
    yield Problem(
        f"KubeVirt refuses the {binding} binding since v1.3: the VM is not admitted",
        field="binding",
        fix=_INSTEAD[binding],
    )


RULE = Rule(
    name="kubevirt-removed-binding",
    severity="error",
    groups=("kubevirt", "backends", "refused"),
    forms=("definition", "manifest"),
    judges=(NicJudge(applies=applies, check=check),),
)
