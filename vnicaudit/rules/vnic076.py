"""KubeVirt: an interface that it does not admit.

## What is wrong

The interface, or the network that it is on, has something that KubeVirt refuses in every
configuration:

* a binding that was removed in v1.3: `slirp`, `macvtap` or `passt`. The fields are still in the
  API, so KubeVirt parses a manifest that has one, and then refuses it;
* no binding, several, or one without its mapping (`masquerade:` in place of `masquerade: {}`);
* `masquerade` or `passtBinding` on another network than the pod's;
* a `model` that KubeVirt does not know, also where it would not use it (`sriov`, binding plugins);
* `state: absent` on the default network or on another binding than `bridge`, `up` or `down` on
  `sriov`, or another word;
* a name, MAC or PCI address, port, DHCP option or boot order that is malformed, out of range or not
  unique;
* a network of no type or of two, without `networkName`, or a second pod or default network;
* a value of the wrong type, such as `networkInterfaceMultiqueue: "yes"` or `model: 5`.

## Why it matters

The VM is not admitted: "Masquerade interface only implemented with pod network", "Slirp interface
support has been discontinued since v1.3", "cannot unmarshal string into Go struct field". Sources
in KubeVirt: `pkg/network/admitter`, `validateInterfaceBootOrder` in `pkg/virt-api/webhooks`, the
types in `staging/src/kubevirt.io/api/core/v1/schema.go`.

Up to 1.8 an interface without a binding is admitted, but never starts: virt-handler reports
"undefined binding method" at every attempt (kubevirt/kubevirt pull request 18374).

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
      - name: blue
        masquerade: {}
  networks:
  - {name: default, pod: {}}
  - {name: blue, multus: {networkName: blue}}
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
      - name: blue
        bridge: {}
  networks:
  - {name: default, pod: {}}
  - {name: blue, multus: {networkName: blue}}
```

## Fix

On the pod network use `masquerade: {}`, or `passtBinding: {}` if its feature gate is on; on another
network `bridge: {}`. For macvtap use the binding plugin (`binding: {name: macvtap}`), registered in
the KubeVirt resource, or a `bridge` binding. Correct everything else as the message says.

## Fix safety

No change is proposed: another binding means another network, with other addresses and other
reachability.

## When it does not fire

* On what depends on the cluster: `passtBinding: {}`, `portRanges` and `resourceClaim` need a
  feature gate, `bridge` on the pod network may be forbidden.
* On binding plugins, whatever their names.
* On an interface of the pod network without a binding, if the VM names a preference: that may set
  masquerade.
* On an unknown model of any other interface: see VNIC071.
* On an interface without a network, or a network without an interface: no rule is judged then,
  because the manifest is a part of a whole.
* On the removed bindings where the KubeVirt object, beside the manifest or in a cluster, says a
  release before 1.3. A manifest alone does not show the release, so the finding appears there, too.
  On a VM that runs with one, from before an update, it is *medium*.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.kubevirt import REMOVED_BINDINGS
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_INSTEAD = {
    "slirp": (
        "On the pod network use masquerade: {}, or passtBinding: {} if its feature gate is on."
    ),
    "passt": "Use passtBinding: {} if its feature gate is on, otherwise masquerade: {}.",
    "macvtap": "Use the macvtap binding plugin (binding: {name: macvtap}), or a bridge binding.",
}


_BINDING = (
    "Use one binding: masquerade: {} on the pod network, bridge: {} or a binding plugin elsewhere."
)
_ANY = "Correct it in the manifest: the VM is not admitted as it is."


def applies(subject: Subject) -> bool:
    """An interface of a manifest with a removed binding, or with something else that is refused."""
    if subject.domain.manifest is None:
        return False
    return bool(subject.nic.refused) or _is_removed(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """A problem about the removed binding, and one naming everything else that is refused."""
    if _is_removed(subject):
        binding, runs = subject.nic.binding or "", subject.running is not None
        what = "it runs, and cannot be created again" if runs else "the VM is not admitted"
        yield Problem(
            f"KubeVirt refuses the {binding} binding since v1.3: {what}",
            field="binding",
            severity="medium" if runs else None,
            fix=_INSTEAD[binding],
        )
    if found := subject.nic.refused:
        yield Problem(
            f"KubeVirt does not admit the VM: {'; '.join(each.reason for each in found)}",
            field=found[0].place,
            fix=_BINDING if found[0].place == "binding" else _ANY,
        )


def _is_removed(subject: Subject) -> bool:
    """True for one of the three fields; a plugin may have the same name."""
    manifest = subject.domain.manifest
    admits = manifest is not None and manifest.has_removed_bindings
    return subject.nic.binding in REMOVED_BINDINGS and not subject.nic.plugin and not admits


RULE = Rule(
    name="kubevirt-not-admitted",
    severity="error",
    groups=("kubevirt", "backends", "refused"),
    forms=("definition", "manifest"),
    judges=(Judge("nic", applies=applies, check=check),),
)
