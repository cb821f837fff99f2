"""The next hard reboot changes a server's NIC model, because Nova keeps no model for the server.

## What is wrong

Nova keeps no `hw_vif_model` for this server, so nova.conf of its compute node decides again at each
start. nova.conf has changed since the server's NIC was created: `use_virtio_for_bridges` was turned
on (or off). The next hard reboot changes the NIC, although nobody asked for that.

## Why it matters

Since Yoga (25.0) nova-compute records the model it chose among the properties it keeps for a server
(`_register_undefined_instance_details` in nova/virt/libvirt/driver.py). If neither the image nor
libosinfo names a model and `use_virtio_for_bridges` is false, it chooses none and records NULL.
`get_image_from_system_metadata` skips NULL at each start, and it is never written again, so such
servers follow nova.conf for good.

Once the option is turned on, their next hard reboot, stop and start, or cold migration changes them
to virtio. With Nova 34.0.0, a server that was built as rtl8139 came back from a hard reboot as
virtio. The code is the same from 25.3.0 to 34.0.0. Before Yoga, all servers whose image names no
model behave like this.

A Windows guest without NetKVM then has no network. A live migration between nodes that differ
fails.

## Bad

```console
$ openstack --os-compute-api-version 2.98 server show -c image 2a0b… | grep -c hw_vif_model
0
$ grep use_virtio_for_bridges /etc/nova/nova.conf
use_virtio_for_bridges = true
$ virsh dumpxml instance-00000007 | grep model.type
      <model type='rtl8139'/>
```

## Good

```console
$ openstack server stop 2a0b…
$ nova-manage image_property set 2a0b… --property hw_vif_model=rtl8139
$ openstack server start 2a0b…
```

## Fix

Give the server its own model, which nova.conf does not change. Stop the server and run `nova-manage
image_property set`: with `hw_vif_model=virtio` if the guest has a driver, otherwise with its
current model. Then start the server. Do all this before nova.conf is changed.

## Fix safety

No change is proposed: it is not known which of the two is intended. A property that has been set
cannot be unset.

## When it does not fire

* When Nova keeps a model: nova.conf does not affect that server (see VNIC079 if the NIC differs).
* When Nova does not report the kept properties (25 to 30). `nova-manage image_property show UUID
  hw_vif_model` exits with 3 if there is none.
* Skipped when nova.conf of the server's compute node was not read in the same run. No finding when
  it does not set the option for certain.
* On vhost-user, vDPA, macvtap and assigned devices.
* While a server is being built, resized, migrated or deleted, or is shelved and offloaded (it is on
  no node then): audit again before you turn the option on.

Severity depends on the guest: *high* if it is known to lack the driver (Windows), *low* if it is
known to have one, otherwise *medium*. It is *info* if the option is off and the server is as Nova
would write it: these servers will change once the option is turned on. If only the cloud was read,
and not the domain, it is *low* with medium confidence: the server may have been restarted since.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import NOVA_TAPS
from vnicaudit.knowledge.models import shown_model
from vnicaudit.knowledge.nova_releases import may_have_overrides
from vnicaudit.model.finding import VIRTIO, X86, Severity
from vnicaudit.model.fix import Advice, SetProperty
from vnicaudit.model.openstack import ServerConfig
from vnicaudit.model.rule import Problem, Rule, Subject

_OPTION = "use_virtio_for_bridges"
_TYPES = ("kvm", "qemu")
_STOPPED, _RESCUE = "SHUTOFF", "RESCUE"
_WHEN = {
    "ACTIVE": "the next hard reboot, stop and start, or cold migration",
    _STOPPED: "its next start",
    "ERROR": "the hard reboot that brings it back",
    "PAUSED": "its next hard reboot, or stop and start once it is unpaused,",
    "SUSPENDED": "its next hard reboot, or stop and start once it is resumed,",
    "SHELVED": "unshelving it",
    _RESCUE: "the first hard reboot, stop and start, or cold migration after its rescue",
}
"""Nova 34.0.0: ``ALLOW_HARD_REBOOT`` in compute/vm_states.py; in virt/libvirt/driver.py
``unpause``, ``resume`` and ``unrescue`` use the existing definition, while ``power_on`` writes a
new one. A server that is shelved but not offloaded is unshelved with ``power_on``
(``unshelve_instance`` in conductor/manager.py)."""
_GUESTS: dict[str, tuple[Severity, str]] = {
    "ready": ("low", ""),
    "needs-driver": ("high", "; this guest does not include a virtio driver"),
    "not-supported": ("high", "; this guest is known not to support virtio"),
}
_UNKNOWN: tuple[Severity, str] = ("medium", "; this guest may have no virtio driver")

_NONE = "Nova keeps no hw_vif_model for this server"
_SET = SetProperty("hw_vif_model", "virtio", "server")
_FIX_OFF = Advice(
    (
        "To keep virtio: stop it, ",
        _SET,
        ", start it; or turn use_virtio_for_bridges on again.",
    )
)


def applies(subject: Subject, server: ServerConfig) -> bool:
    """A NIC that Nova writes, of a server for which Nova keeps no model."""
    nic, domain = subject.nic, subject.domain
    if domain.owner != "nova" or server.status not in _WHEN:
        return False
    if not domain.is_server and subject.state is None:
        return False
    return nic.origin == "interface" and subject.backend in NOVA_TAPS and _keeps_none(server)


def check(subject: Subject, server: ServerConfig) -> Iterator[Problem]:
    """At most one problem."""
    node = server.node
    if node is None or node.value("virt_type") not in (*_TYPES, None):
        return
    on = {"true": True, "false": False}.get(node.value(_OPTION) or "")
    if on is None:
        return
    # during a rescue, libvirt has the domain of the rescue
    if subject.domain.is_server or server.status == _RESCUE:
        found = _in_the_cloud(subject, server, node.file, on=on)
    else:
        found = _in_libvirt(subject, server, node.file, on=on)
    if found is not None:
        yield found


def _keeps_none(server: ServerConfig) -> bool:
    """True if Nova certainly keeps no model: it reports so, or is too old to keep one that the
    image does not name."""
    if server.vif_model is not None or server.properties_source == "unseen":
        return False
    if server.properties_source == "api":
        return True
    return not may_have_overrides(server) and server.property("os_distro") is None


def _in_libvirt(subject: Subject, server: ServerConfig, file: str, *, on: bool) -> Problem | None:
    """The problem if the domain was read, so that its NIC is known."""
    model, virtio = subject.model, subject.model in VIRTIO
    if not model or (on and virtio):
        return None
    if on:
        severity, note = _GUESTS.get(subject.domain.readiness, _UNKNOWN)
        now = shown_model(model)
        return Problem(
            f"{_NONE}, and {_OPTION} is on in {file}: {_WHEN[server.status]} makes this NIC "
            f"virtio, unasked; it is {now}{note}",
            field="model",
            severity=severity,
            fix=_decide(now),
        )
    if not virtio:
        return _follows(server, file, shown_model(model))
    if subject.arch not in X86:
        return None
    return Problem(
        f"{_NONE}, and {_OPTION} is off in {file}: {_WHEN[server.status]} makes this NIC what "
        "libvirt chooses, rtl8139; it is virtio",
        field="model",
        severity="medium",
        fix=_FIX_OFF,
    )


def _in_the_cloud(subject: Subject, server: ServerConfig, file: str, *, on: bool) -> Problem | None:
    """The problem if only its cloud was read: from the stored properties it follows that the option
    was off when the server was created."""
    if not on:
        return _follows(server, file, "rtl8139")
    if server.properties_source != "api" or not _registered(server):
        return None
    note = _GUESTS.get(subject.domain.readiness, _UNKNOWN)[1]
    return Problem(
        f"{_NONE}: {_OPTION} was off when it was created. It is on in {file}: "
        f"{_WHEN[server.status]} makes this NIC virtio, unasked, unless it was started since{note}",
        field="model",
        severity="low",
        confidence="medium",
        fix=_decide("rtl8139"),
    )


def _registered(server: ServerConfig) -> bool:
    """True if Nova's libvirt driver has stored the values that it chose, and chose no model: if the
    image does not name one of these properties, only the driver can have stored it."""
    names = ("hw_machine_type", "hw_input_bus", "hw_pointer_model")
    image = server.image
    return any(
        server.property(name) is not None and (image is None or image.certain_value(name) is None)
        for name in names
    )


def _decide(now: str) -> Advice:
    return Advice(
        (
            "Decide before that: stop it, ",
            _SET,
            f" (or hw_vif_model={now}, if its guest has no virtio driver), start it.",
        )
    )


def _follows(server: ServerConfig, file: str, now: str) -> Problem:
    return Problem(
        f"{_NONE}: once {_OPTION} is turned on in {file}, {_WHEN[server.status]} makes this NIC "
        "virtio",
        field="model",
        severity="info",
        fix=_decide(now),
    )


RULE = Rule(
    name="server-model-not-kept",
    severity="medium",
    groups=("servers", "models"),
    forms=("definition", "server"),
    unasked=True,
    judges=(facts.of_server("nic", check, applies=applies, needs=(facts.SERVER_NODE,)),),
)
