"""A server's libvirt definition differs from what Nova would write.

## What is wrong

The libvirt domain of a server has another NIC than the properties that Nova keeps for it, or the
current nova.conf of its compute node, would give it: another model, number of queues or ring size.

## Why it matters

Nova rewrites the definition at each hard reboot, at each start after a stop, and at a migration
(`_hard_reboot` and `_update_vif_xml` in nova/virt/libvirt). The NIC then changes when nobody
expects it. Edits made with virsh are lost; changes made with nova-manage or in nova.conf take
effect. A live migration changes neither the model nor the address of a running guest: if the model
differs, libvirt refuses the migration (`Target network card model … does not match source …`).

There are three common causes: somebody ran `virsh edit` behind Nova's back; a property was set and
the server has not been started since; or nova-compute recorded a default that differs from the
guest's NIC, which dates from before Yoga (25.0) or from before nova.conf was changed.

## Bad

```console
$ nova-manage image_property show 2a0b… hw_vif_model
virtio
$ virsh dumpxml instance-00000007 | grep model.type
      <model type='rtl8139'/>
```

## Good

```console
$ nova-manage image_property show 2a0b… hw_vif_model
virtio
$ virsh dumpxml instance-00000007 | grep model.type
      <model type='virtio'/>
```

## Fix

If the kept properties are right, hard-reboot the server at a convenient time. If the definition is
right, make Nova keep it: stop the server, run `nova-manage image_property set`, start it. Another
ring size is only *info*: nova.conf was changed, and the server will follow.

## Fix safety

No change is proposed: it is not known which of the two is intended. A guest without a virtio driver
loses its network if a hard reboot gives it virtio.

## When it does not fire

* When Nova does not report the kept properties (before Nova 31), the server's cloud was not read in
  the same run, or the definition does not come from a live libvirt.
* While a server is being built, resized or migrated, or is rescued, suspended or paused: its
  definition is created in other ways then.
* On a stopped server only the model and the queues are judged, because its next start rewrites the
  definition anyway. The finding is *info* there, and *low* if the server loses virtio.
* On vhost-user, vDPA, macvtap and assigned devices, which Nova writes differently, and on NICs that
  Nova did not write.
* When the kept properties name no model: see VNIC084.
* Ring sizes, and queues if multiqueue is requested, are not judged unless nova.conf of the compute
  node was read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.backends import NOVA_TAPS, queue_pairs
from vnicaudit.knowledge.facts import of_server
from vnicaudit.knowledge.models import shown_model
from vnicaudit.model.finding import VIRTIO, Severity
from vnicaudit.model.fix import Advice, Command, OpenStack, SetProperty
from vnicaudit.model.nova import as_number
from vnicaudit.model.openstack import MULTIQUEUE, VIF_MODELS, ServerConfig
from vnicaudit.model.rule import Problem, Rule, Subject

_STOPPED = "SHUTOFF"
_WHEN = {
    "ACTIVE": "the next hard reboot, stop and start, or migration",
    _STOPPED: "its next start",
}
_REBOOT = OpenStack("server reboot --hard")
_KEEP = " if it should be as Nova would write it; if it should stay as it is, "
_FIX_STARTED = Advice(("Start the server if it should be as Nova would write it.",))
_FIX_CONF = Advice(
    (
        "Hard-reboot the server (",
        _REBOOT,
        ") at a convenient time; nova-compute must have read that nova.conf.",
    )
)


def applies(subject: Subject, server: ServerConfig) -> bool:
    """A NIC that Nova wrote, of a server whose stored properties Nova reports."""
    nic = subject.nic
    if subject.domain.is_server or subject.domain.owner != "nova":
        return False
    if server.properties_source != "api" or server.status not in _WHEN or subject.state is None:
        return False
    return nic.origin == "interface" and nic.type in NOVA_TAPS


def check(subject: Subject, server: ServerConfig) -> Iterator[Problem]:
    """One problem for the model; otherwise one each for queues and ring."""
    if not subject.model:
        return
    kept = server.vif_model
    if kept in VIF_MODELS and kept != subject.model:
        yield _model(subject, server, kept or "")
    elif kept in VIRTIO:
        yield from _queues(subject, server)
        if server.status != _STOPPED:
            yield from _ring(subject, server)


def _model(subject: Subject, server: ServerConfig, kept: str) -> Problem:
    now = shown_model(subject.model)
    return Problem(
        f"Nova keeps hw_vif_model = {kept} for this server, and its NIC is {now}: "
        f"{_WHEN[server.status]} makes it {kept}",
        field="model",
        severity=_severity(server, "medium", "info" if kept in VIRTIO else "low"),
        fix=_fix(server, "hw_vif_model", now),
    )


def _queues(subject: Subject, server: ServerConfig) -> Iterator[Problem]:
    kept, now = _queues_kept(server), subject.effective.queues.effective
    if kept is None or now is None or kept == now:
        return
    yield Problem(
        f"Nova would give this NIC {queue_pairs(kept)}, and it has {queue_pairs(now)}: "
        f"{_WHEN[server.status]} makes it {kept}",
        field="queues",
        severity=_severity(server, "low", "info"),
        fix=_fix_queues(server, now),
    )


def _queues_kept(server: ServerConfig) -> int | None:
    """The number of queue pairs that Nova would write; None if that is unknown."""
    flavor, node = server.flavor, server.node
    if flavor is None or not flavor.complete or flavor.vcpus is None:
        return None
    if flavor.vcpus == 1 or not server.asks_for(MULTIQUEUE):
        return 1
    if node is None or (most := node.value("max_queues")) is None:
        return None
    return 1 if node.value("virt_type") == "qemu" else min(flavor.vcpus, as_number(most) or 256)


def _fix_queues(server: ServerConfig, now: int) -> Advice:
    """The fix for queues. If a flavor requests them, or nova.conf takes them away, no property is
    proposed: Nova cannot start a server whose flavor and image differ."""
    if server.status == _STOPPED:
        return _FIX_STARTED
    if server.flavor_flag(MULTIQUEUE) is not None:
        return _reboot_or("resize it to another flavor.")
    if server.node is not None and server.asks_for(MULTIQUEUE) and now > 1:
        return _reboot_or(f"change [libvirt] in {server.node.file}.")
    return _fix(server, MULTIQUEUE, "true" if now > 1 else "false")


def _ring(subject: Subject, server: ServerConfig) -> Iterator[Problem]:
    node = server.node
    said = None if node is None else node.value("rx_queue_size")
    if node is None or said is None:
        return
    size, now = as_number(said), subject.nic.rx_queue_size
    if size == now:
        return
    asked = "is not set" if size is None else f"= {size}"
    yield Problem(
        f"rx_queue_size {asked} in {node.file}, and this NIC has {now or 'none'}: "
        f"{_WHEN[server.status]} changes it",
        field="rx_queue_size",
        severity="info",
        fix=_FIX_CONF,
    )


def _severity(server: ServerConfig, running: Severity, stopped: Severity) -> Severity:
    return stopped if server.status == _STOPPED else running


def _fix(server: ServerConfig, name: str, now: str) -> Advice:
    if server.status == _STOPPED:
        return _FIX_STARTED
    return _reboot_or("stop it, ", SetProperty(name, now, "server"), ", start it.")


def _reboot_or(*otherwise: str | Command) -> Advice:
    return Advice(("Hard-reboot the server (", _REBOOT, f"){_KEEP}", *otherwise))


RULE = Rule(
    name="server-definition-drift",
    severity="medium",
    groups=("servers", "drift"),
    judges=(of_server("nic", check, applies=applies),),
)
