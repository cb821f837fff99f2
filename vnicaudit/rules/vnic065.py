"""A NIC change made with nova-manage before Nova 30 is lost at a resize or cold migration.

## What is wrong

The server's definition has another NIC model than its image, and the image has not changed since
the server was created. `nova-manage image_property set` has that effect. Before Dalmatian (30.0) it
changed only the server's own copy of the properties, not the request specification, which a resize
or a cold migration uses.

## Why it matters

The server keeps its new NIC through every stop and start, and gets the old one back unexpectedly at
its next resize or cold migration. nova-compute on the destination builds the definition from the
request specification (`prep_resize` is sent `request_spec.image` in
nova/conductor/tasks/migrate.py, and `finish_resize` passes it to the driver). Launchpad bug
2078999; fixed by 2a1fad4145.

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

Upgrade nova-manage to a Nova with the fix, and set the property again with the server stopped. Or
hard-reboot the server after each resize and cold migration: a hard reboot uses the server's own
copy.

## Fix safety

No change is proposed: the server is as it should be.

## When it does not fire

* From Nova 30 on. The highest microversion shows the release. Skipped when it is 2.96, which 29 and
  30 share.
* When Nova reports the kept properties (31 and later), and when the server's image has changed
  since, is gone or is not visible.
* When the server's libvirt was not read in the same run: only its definition shows the change.
* Confidence is medium: 29.2.1 and 28.3.1 also have the fix, a distribution may have backported it,
  or somebody may have edited the definition behind Nova's back.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import NOVA_TAPS
from vnicaudit.knowledge.models import shown_model
from vnicaudit.knowledge.nova_releases import LASTING
from vnicaudit.model.fix import Advice, OpenStack
from vnicaudit.model.openstack import VIF_MODELS, ServerConfig
from vnicaudit.model.rule import DomainSubject, Problem, Rule

_FIX = Advice(
    (
        "Hard-reboot the server after each resize and cold migration (",
        OpenStack("server reboot --hard"),
        "); or upgrade nova-manage to a Nova with the fix, stop the server, set the property "
        "again, start it.",
    )
)


def applies(subject: DomainSubject, server: ServerConfig) -> bool:
    """A definition of a server whose model differs from its image's, with a Nova that may be
    old."""
    if subject.domain.is_server or subject.domain.owner != "nova":
        return False
    is_fixed = server.nova is not None and (server.nova.oldest or 0) >= LASTING
    return not is_fixed and any(True for _ in check(subject, server))


def check(subject: DomainSubject, server: ServerConfig) -> Iterator[Problem]:
    """One problem for the server, however many NICs it has: the model of one differs from the
    image's."""
    old = None if server.image is None else server.image.vif_model
    if server.properties_source != "image" or old not in VIF_MODELS:
        return
    nics = [nic.nic for nic in subject.nics if nic.nic.origin == "interface"]
    models = [nic.model or "" for nic in nics if nic.type in NOVA_TAPS]
    model = next((shown_model(one) for one in models if one not in ("", old)), None)
    if model is None:
        return
    yield Problem(
        f"its NIC is {model} and its image, which has not changed since then, says {old}: if "
        f"nova-manage image_property set did that, a resize or cold migration brings {old} back "
        "(bug 2078999, before Nova 30)",
        confidence="medium",
        fix=_FIX,
    )


RULE = Rule(
    name="server-change-not-lasting",
    severity="low",
    groups=("servers",),
    judges=(facts.of_server("domain", check, applies=applies, needs=(facts.SERVER_NOVA30,)),),
)
