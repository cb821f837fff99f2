"""A server's NIC was changed with nova-manage before Nova 30: a migration brings the old one back.

## What is wrong

The definition of a server has another NIC model than its image, which has not changed since the
server was made. That is what `nova-manage image_property set` does. Before Dalmatian (30.0) it
changed the server's own copy of the properties alone, and not the request specification, from
which a resize and a cold migration take them.

## Why it matters

The server keeps its new NIC through every stop and start, and gets the old one at its next resize
or cold migration, when nobody thinks of it: nova-compute of the destination makes the definition of
what the request specification says (`prep_resize` is sent `request_spec.image` in
nova/conductor/tasks/migrate.py, and `finish_resize` hands it to the driver). Launchpad bug 2078999;
put right by 2a1fad4145.

## Bad

```console
$ nova-manage --version
29.2.0
$ nova-manage image_property set 2a0b… --property hw_vif_model=virtio
$ openstack server migrate 2a0b…
```

## Good

```console
$ nova-manage --version
30.0.0
$ nova-manage image_property set 2a0b… --property hw_vif_model=virtio
$ openstack server migrate 2a0b…
```

## Fix

Upgrade nova-manage to a Nova with the fix and set the property once more, with the server stopped.
Or hard-reboot the server after each resize and cold migration: that uses the server's own copy.

## Fix safety

No change is proposed: the server is as it should be.

## When it does not fire

* From Nova 30 on. The release is told by the highest microversion: where it is one that 29 and 30
  share (2.96), skipped.
* Where Nova says what it keeps (31 and later), and where the server's image changed since, is gone
  or is not seen.
* Where the server's libvirt was not read in the same run: only its definition shows the change.
* 29.2.1 and 28.3.1 have the fix too, and distributions may have taken it up; and the definition may
  have been edited behind Nova's back instead: confidence is medium.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import NOVA_TAPS
from vnicaudit.knowledge.models import shown_model
from vnicaudit.knowledge.nova_releases import LASTING
from vnicaudit.model.fix import Advice, OpenStack
from vnicaudit.model.openstack import VIF_MODELS
from vnicaudit.model.rule import DomainJudge, Problem, Rule
from vnicaudit.model.server import NovaVersions, ServerConfig
from vnicaudit.model.subject import DomainSubject, Subject

_FIX = Advice(
    (
        "Hard-reboot the server after each resize and cold migration (",
        OpenStack("server reboot --hard"),
        "); or upgrade nova-manage to a Nova with the fix, stop the server, set the property once "
        "more, start it.",
    )
)


def applies(subject: DomainSubject) -> bool:
    """A definition of a server whose model is not its image's, on a Nova that may be old."""
    server = subject.domain.server
    if server is None or subject.domain.is_server or subject.domain.owner != "nova":
        return False
    return not _fixed(server.nova) and _changed(subject, server) is not None


def check(subject: DomainSubject) -> Iterator[Problem]:
    """One problem for the server, however many NICs it has."""
    server = subject.domain.server
    model = None if server is None else _changed(subject, server)
    if server is None or server.image is None or model is None:
        return
    old = server.image.vif_model
    yield Problem(
        f"its NIC is {model} and its image, which has not changed since, says {old}: where "
        f"nova-manage image_property set did that, a resize or cold migration brings {old} back "
        "(bug 2078999, before Nova 30)",
        confidence="medium",
        fix=_FIX,
    )


def _fixed(nova: NovaVersions | None) -> bool:
    return nova is not None and (nova.oldest or 0) >= LASTING


def _changed(subject: DomainSubject, server: ServerConfig) -> str | None:
    """The model of a NIC that is not the image's; None where there is none, or nothing to compare
    with."""
    image = server.image
    if server.properties_source != "image" or image is None or image.vif_model not in VIF_MODELS:
        return None
    models = [nic.nic.model or "" for nic in subject.nics if _is_written(nic)]
    return next((shown_model(one) for one in models if one not in ("", image.vif_model)), None)


def _is_written(nic: Subject) -> bool:
    return nic.nic.origin == "interface" and nic.nic.type in NOVA_TAPS


RULE = Rule(
    name="server-change-not-lasting",
    severity="low",
    groups=("servers",),
    judges=(DomainJudge(needs=(facts.SERVER_NOVA30,), applies=applies, check=check),),
)
