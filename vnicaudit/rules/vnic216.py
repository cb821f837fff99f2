"""The specification of a VM is not the last word: a hook rewrites its domain.

## What is wrong

The VM has the annotation `hooks.kubevirt.io/hookSidecars`, or a `Plugin` of the cluster
(KubeVirt 1.9) has hooks for domains.

## Why it matters

Such a hook gets the libvirt domain before it starts, and may change its NICs: model, queues, ring
sizes. What this audit says of them from the specification may then not be true of what runs, so the
confidence of the findings on its NICs is one step lower.

## Bad

```yaml
metadata:
  annotations:
    hooks.kubevirt.io/hookSidecars: '[{"image": "registry.example/rings:1"}]'
```

## Good

```yaml
metadata:
  annotations: {}
```

## Fix

Look at what runs: `--exec` asks the launcher for it, and the finding then says what the hook
changed. If it is wanted, accept the finding.

## Fix safety

No change is proposed.

## When it does not fire

* When `--exec` showed that the NICs are as specified.
* When no hook is there, and on Plugins without hooks for domains or without the gate Plugins.
* Says "may" where a Plugin has a condition: it is an expression that only KubeVirt evaluates.
* Skipped when the Plugins or the KubeVirt object, which has the gate, may not be listed, or a file
  holds the VM, unless KubeVirt is older than 1.9.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.knowledge.kubevirt_versions import PLUGINS, is_at_least
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.rule import Judge, Problem, Rule

_LOOK = (
    "Look at what runs: --exec, or kubectl exec {} LAUNCHER -c compute -- virsh dumpxml 1, with "
    "the name of its virt-launcher pod."
)
_WANTED = "If the hook is wanted, accept this."
_MOST = 5
"""Interfaces that are named."""
_PLUGINS = kube_needs.guest_fact(
    lambda guest: (
        guest.hooks
        or guest.cluster.plugins is not None
        or is_at_least(guest.cluster.version, PLUGINS) is False
    ),
    "the Plugins",
    "plugins.plugin.kubevirt.io",
)

_GATE = kube_needs.guest_fact(
    lambda guest: guest.hooks or guest.cluster.kubevirt is not None,
    kube_needs.KUBEVIRT_OF_VM.tell,
    kube_needs.KUBEVIRTS,
)


def applies(guest: ClusterGuest) -> bool:
    """A VM that is not being deleted."""
    settings = guest.cluster.kubevirt
    gated = settings is not None and "Plugins" not in settings.gates
    if guest.deleting or (guest.launcher_told and not any(kube_needs.launched_differences(guest))):
        return False
    return guest.hooks or (not gated and guest.cluster.plugins != {})


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for the VM."""
    if not guest.rewriter:
        return
    differences = [*kube_needs.launched_differences(guest)][:_MOST]
    found = [f"interface {name} runs with {how}" for name, how in differences]
    text = "; ".join(found) or "its NICs may be others"
    fix = _WANTED if found else f"{_LOOK.format(kube_needs.namespace(guest))} {_WANTED}"
    yield Problem(f"{guest.rewriter} its domain: {text}", fix=fix)


RULE = Rule(
    name="kube-domain-changed-by-hook",
    severity="info",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(_PLUGINS, _GATE), applies=applies, check=check),),
)
