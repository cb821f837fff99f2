"""Large receive offload (LRO) is on at an adapter whose frames are forwarded to guests.

## What is wrong

The adapter is a port of a bridge or of Open vSwitch, or its host routes, and it merges received
frames (`large-receive-offload: on`).

## Why it matters

LRO throws away header fields that a forwarder must keep: merged packets cannot be cut back into
what was sent. They are dropped, or reach guests larger than their MTU. The kernel therefore
switches LRO off when an adapter becomes a port (`dev_disable_lro` in net/core/dev.c of Linux): that
it is on means that somebody switched it on again. GRO merges as well, and can be undone.

## Bad

```console
$ ethtool -k eth0 | grep large-receive
large-receive-offload: on
```

## Good

```console
$ ethtool -k eth0 | grep -e large-receive -e generic-receive
generic-receive-offload: on
large-receive-offload: off
```

## Fix

Switch it off with `ethtool -K`, and where the host's network configuration or a tuned profile
switches it on.

## Fix safety

It takes effect at once. Some adapters reset their link.

## When it does not fire

* On links that carry no guest, and where the driver does not let LRO be changed (`[fixed]`).
* On adapters that carry guests only in tunnels, whose packets end at the host.
* On adapters under macvtap only, unless the host routes (`net.ipv4.ip_forward`).
* Skipped where the host itself is not visited.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_links import carried_by, leads_out, switch_of
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_LRO = "large-receive-offload"
_SAFE = "it can be switched on again; some adapters reset their link"


def applies(subject: LinkSubject) -> bool:
    """A link by which guests' frames leave the host, and that forwards them."""
    facts, link = subject.facts, subject.link
    forwards = switch_of(facts, link) is not None or facts.sysctl("net.ipv4.ip_forward") == 1
    return bool(subject.carries) and leads_out(link) and forwards


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if LRO is on."""
    link = subject.link
    feature = link.feature(_LRO)
    if feature is None or not feature.on or feature.fixed:
        return
    guests = carried_by(subject.facts, subject.host.guests, through_tunnels=False)
    if link.name not in guests:
        return
    where = switch_of(subject.facts, link) or "the host's routing"
    yield Problem(
        f"LRO is on at {link.name}, a port of {where}, which forwards to "
        f"{host_needs.guests_named(guests[link.name])}",
        change=change_of(subject.facts, HostSetting("feature", link.name, _LRO), "off", _SAFE),
    )


RULE = Rule(
    name="lro-under-bridge",
    severity="medium",
    groups=("host", "offloads"),
    judges=(Judge("link", needs=(host_needs.LINK_FEATURES,), applies=applies, check=check),),
)
