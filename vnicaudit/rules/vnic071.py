"""KubeVirt: an emulated NIC model, set on the interface or by a preference.

## What is wrong

`model` of an interface, or `preferredInterfaceModel` of the VM's preference, is an emulated chip
(e1000, e1000e, igb, rtl8139, pcnet, ne2k_pci). If neither is set, KubeVirt uses virtio. KubeVirt
refuses any other model, such as vmxnet3 or a misspelt one.

## Why it matters

Only virtio has vhost-net and several queues; `networkInterfaceMultiqueue` skips every other model.
rtl8139, pcnet, ne2k_pci and e1000 have no offloads at all: QEMU copies every frame on its own. A
Swiss cloud measured 132 Mb/s on rtl8139 and 7.81 Gb/s on virtio with vhost (A. Scicchitano,
SWITCH).

On s390x KubeVirt translates only `virtio` (`DomainConfigurator.Configure` and
`TransitionalModelType` in `converter/arch/s390x.go`), and nothing checks the model
(`pkg/virt-api/webhooks/s390x.go`, `pkg/defaults/s390x.go`). It passes e1000 on to a QEMU that does
not have it, and the VM does not start.

Sources in KubeVirt: `getInterfaceType` and `calculateNetworkQueues` in
`pkg/virt-launcher/virtwrap/converter/network/configurator.go`, `ApplyInterfacePreferences` in
`pkg/instancetype/preference/apply/interface.go`, `validInterfaceModels` in
`pkg/network/admitter/netiface.go`.

## Bad

```yaml
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  labels: {kubevirt.io/os: fedora40}
spec:
  template:
    spec:
      domain:
        devices:
          interfaces:
          - name: default
            masquerade: {}
            model: e1000
      networks:
      - name: default
        pod: {}
```

## Good

```yaml
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  labels: {kubevirt.io/os: fedora40}
spec:
  template:
    spec:
      domain:
        devices:
          interfaces:
          - name: default
            masquerade: {}
            model: virtio
      networks:
      - name: default
        pod: {}
```

## Fix

Set `model: virtio`, or remove the line if no preference sets another model. Then run `virtctl
restart`.

In a preference set `preferredInterfaceModel: virtio`: VMs created from then on get it. A VM that
exists keeps the ControllerRevision of the preference that it recorded, and a restart changes
nothing (`pkg/instancetype/revision/store.go`): set the model on its interfaces, or have it record
the preference again (VNIC206).

Ring sizes have no field in KubeVirt: a hook sidecar sets them, or from 1.9 on a `Plugin` (gate
Plugins, alpha).

## Fix safety

Safe if labels or annotations (`vm.kubevirt.io/os`, `kubevirt.io/os`, `os.template.kubevirt.io/…`)
or the preference, if only by its name, show that the guest supports virtio. Also safe if a virtio
disk and the name of the container disk show it together.

Unsafe if only one of these two shows it (a virtio disk does not prove that the guest is not
Windows), on Windows until NetKVM is installed, if nothing is known about the guest, and if a YAML
anchor shares the value.

Hyper-V features, a Sysprep volume, and the names of the VM and its disks also identify Windows.
KubeVirt's virtio is a virtio 1.0 device. Unsafe for guests whose driver supports only 0.9 (RHEL 6,
Debian 8, Ubuntu 14.04), until `useVirtioTransitional: true` is set on the VM or by its preference.
With virtio, QEMU tells the guest the MTU of its pod's network, which
it does not with other models: on a jumbo network the guest then sends larger frames.

## When it does not fire

* On a preference for Windows, and on VMs that take the model from one: Windows supports e1000 and
  e1000e out of the box, and virtio only with NetKVM.
* Reported as *low* when nothing shows that the guest supports virtio: review it. At most *medium*
  when only the container disk's name shows it. Skipped on a preference that does not say which
  guests it is for.
* Skipped when the model is decided by a template, or by a preference that is in none of the files
  beside the manifest; in a cluster, by the revision that the VM recorded, if it was not read. Of a
  running VM both are judged: what its instance has, and what the next start brings.
* On SR-IOV interfaces, whose `model` KubeVirt does not use, and on binding plugins, which create
  the device themselves.
* On VMs that take the model from a preference in the same file, which has its own finding, or from
  one that `--fix` corrects in the same run.
* On the interface that KubeVirt adds to a VM without interfaces, unless an instance runs with it.
* On igb KubeVirt before 1.4.0 refuses the VM, and later releases admit it; a manifest does not say
  which release runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.models import E1000, LEGACY
from vnicaudit.knowledge.to_virtio import NEEDS_SWITCH, VirtioConversion, to_virtio
from vnicaudit.model.finding import S390, VIRTIO, Change, Severity
from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.kubevirt import MODELS, Manifest, Preference
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_SHARED = "a YAML anchor shares the value with other places, which would change too"
_IMAGE = "only the name of the container disk says that the guest is Linux"
_READY = "the guest supports virtio"
_UNKNOWN = "the guest may not support virtio"
_UNREAD = "; which model the next start brings was not read"
_WRITE_IT = (
    "KubeVirt adds this interface, as the VM has none: write it into the VM, with model: virtio "
    "and its network (pod), or name another preference; then restart the VM."
)
_S390 = "on s390x every guest supports virtio, and QEMU has no such device there"
_ADMITTED = "Set it to virtio, or remove it: KubeVirt's default is virtio."
_PREFERENCE = (
    "Set preferredInterfaceModel: virtio, for VMs created from then on. Existing VMs keep the "
    "preference as they recorded it, also when they are restarted: set the model on their "
    "interfaces, or have them record it again (VNIC206)."
)
_WHY = {
    True: "is emulated packet by packet: no offload, no vhost",
    False: "is emulated by QEMU: no vhost, one queue",
}
"""Key: True if the model has no offload at all."""


def applies(subject: Subject) -> bool:
    """An interface of a manifest whose model is not virtio, is refused, or is unknown."""
    nic, manifest = subject.nic, subject.domain.manifest
    added = nic.origin == "default" and subject.running is None
    if manifest is None or nic.type == "hostdev" or added:
        return False
    if nic.plugin and nic.actual_type != "ethernet":
        return False
    if nic.model is None and (
        manifest.preferred_readiness == "needs-driver" or _said_elsewhere(subject, manifest)
    ):
        return False
    if subject.effective.model.state == "unknown" or subject.model not in VIRTIO:
        return True
    return subject.running is not None and manifest.next_model(nic) not in VIRTIO


def check(subject: Subject) -> Iterator[Problem]:
    """One problem: refused, or emulated, in the instance that runs or in the next one."""
    manifest, running, note = subject.domain.manifest, subject.model, ""
    later = running if manifest is None else manifest.next_model(subject.nic)
    if subject.running is not None and running in VIRTIO:
        subject, note = (
            subject.not_running(later if later in MODELS else None),
            "; it runs with virtio until a restart",
        )
    elif subject.running is not None and later in VIRTIO:
        yield Problem(
            f"{running}, with which it runs, {_reason(running)}; the VM has virtio",
            field="model",
            severity=_severity(running),
            fix=OwnerAdvice("restart"),
        )
        return
    elif subject.running is not None and later != running:
        note = f"; the VM has {later}, which a restart brings" if later else _UNREAD
    if subject.effective.model.effective is None:
        yield _refusal_problem(subject)
        return
    found = _conversion(subject)
    if subject.nic.origin == "default":
        found = found._replace(change=None, fix=_WRITE_IT)
    yield Problem(
        f"{subject.model}{_origin(subject)} {_reason(subject.model)}{found.note}{note}",
        field="model",
        severity=found.severity,
        confidence="medium" if _by_image(subject) else "high",
        change=found.change,
        fix=found.fix,
    )


def applies_preference(preference: Preference) -> bool:
    """A preference for another model than virtio, unless its guests need a driver (Windows)."""
    if preference.readiness == "needs-driver" and preference.interface_model in MODELS:
        return False
    if "model" in preference.unseen:
        return True
    return preference.interface_model not in (None, "", "virtio")


def check_preference(preference: Preference) -> Iterator[Problem]:
    """One problem, for every VM that refers to it and names no model."""
    model = preference.interface_model or ""
    judged = (preference.readiness, bool(preference.transitional))
    safe = judged != ("ready-transitional", False)
    reason = "its guests support virtio" if safe else NEEDS_SWITCH
    change = Change("model", model, "virtio", safe=safe, reason=reason)
    if model not in MODELS:
        yield Problem(
            f"KubeVirt refuses {model[:40]!r} as a model: no VM with this preference is admitted",
            field="model",
            severity="error",
            change=change,
            fix="Set preferredInterfaceModel: virtio, or remove it.",
        )
        return
    yield Problem(
        f"{model} {_reason(model)}; every VM created with this preference that names no model gets "
        "it",
        field="model",
        severity=_severity(model),
        change=change,
        fix=_PREFERENCE,
    )


def _said_elsewhere(subject: Subject, manifest: Manifest) -> bool:
    """True if the problem is reported for the preference. On s390x, where the VM does not start, it
    is not enough."""
    known = manifest.preferred_readiness != "unknown" and "model" not in subject.nic.unseen
    preferred = manifest.preferred_model or "virtio"
    judged = manifest.preference_judged and preferred not in VIRTIO
    return judged and known and subject.arch not in S390


def _refusal_problem(subject: Subject) -> Problem:
    model, manifest = subject.nic.model, subject.domain.manifest
    preferred = "" if manifest is None else manifest.preferred_model or ""
    ready = subject.domain.readiness == "ready"
    change = _change(subject, _READY if ready else _UNKNOWN, safe=ready) if model else None
    return Problem(
        f"KubeVirt refuses {(model or preferred)[:40]!r} as a model{_origin(subject)}: the VM is "
        "not admitted",
        field="model",
        severity="error",
        change=_guarded(subject, change),
        fix=_ADMITTED if model else "Correct preferredInterfaceModel of the preference.",
    )


def _conversion(subject: Subject) -> VirtioConversion:
    severity = _severity(subject.model)
    if subject.arch in S390:
        impossible = subject.model in LEGACY | E1000
        note = "; on s390x QEMU has no such device: the VM does not start" if impossible else ""
        change = _guarded(subject, _change(subject, _S390, safe=True))
        return VirtioConversion("error" if impossible else severity, note, change)
    found = to_virtio(subject, severity)
    if _by_image(subject) and found.severity == "high":
        found = found._replace(severity="medium")
    return found._replace(change=_guarded(subject, found.change))


def _guarded(subject: Subject, change: Change | None) -> Change | None:
    """The change, marked unsafe if the manifest gives a reason for review."""
    if change is None or not change.safe:
        return change
    if "model" in subject.nic.shared:
        return _change(subject, _SHARED, safe=False)
    return _change(subject, _IMAGE, safe=False) if _by_image(subject) else change


def _change(subject: Subject, reason: str, *, safe: bool) -> Change:
    return Change("model", subject.nic.model, "virtio", safe=safe, reason=reason)


def _by_image(subject: Subject) -> bool:
    manifest = subject.domain.manifest
    return manifest is not None and manifest.by_image


def _origin(subject: Subject) -> str:
    """The source of the model, if it is not the interface; else empty."""
    manifest = subject.domain.manifest
    if manifest is None:
        return ""
    if subject.running is not None and manifest.next_model(subject.nic) != subject.model:
        return ", with which it runs,"
    if subject.nic.model is not None:
        return ""
    return f" (from preference {(manifest.preference or '')[:60]!r})"


def _reason(model: str) -> str:
    return _WHY[model in LEGACY | E1000]


def _severity(model: str) -> Severity:
    """As in VNIC001 to VNIC003: chips with a vnet header are faster."""
    return "high" if model in LEGACY | E1000 else "medium"


RULE = Rule(
    name="kubevirt-emulated-nic",
    severity="high",
    groups=("kubevirt", "models"),
    forms=("definition", "manifest"),
    judges=(
        Judge("nic", needs=(facts.MANIFEST_MODEL,), applies=applies, check=check),
        Judge(
            "preference",
            needs=(facts.PREFERENCE_MODEL, facts.PREFERENCE_READINESS),
            applies=applies_preference,
            check=check_preference,
        ),
    ),
)
