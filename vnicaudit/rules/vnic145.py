"""An OSA adapter in a bridge does not receive frames for guests.

## What is wrong

The adapter is a port of a bridge or of Open vSwitch, but it was told neither to take frames for
unknown addresses (an active `bridge_role`, or VNIC characteristics `flooding` and `learning`) nor
the addresses of the guests.

## Why it matters

An OSA adapter is shared by several systems, and passes to each only frames for MAC addresses that
it knows to be there. Guests can send, but answers to them arrive nowhere, or only as long as
something refreshes what the adapter learned (IBM, *Configuring a network device as a member of a
Linux bridge*).

## Bad

```console
$ cd /sys/bus/ccwgroup/drivers/qeth/0.0.f500; cat bridge_state vnicc/flooding
inactive
0
```

## Good

```console
$ cd /sys/bus/ccwgroup/drivers/qeth/0.0.f500; cat vnicc/flooding vnicc/learning
1
1
```

## Fix

Switch on flooding and learning; or give it a bridge role, of which an OSA channel has one that is
active; or add each guest's address with `bridge fdb add`. The first two exclude each other.

## Fix safety

Both take effect at once. With a bridge role, another port of the same channel may become standby.

## When it does not fire

* On layer 3 devices (VNIC046), on networks of z/VM, on macvtap, and on links without guests.
* When a bridge role is active, or standby for another port on purpose; and when addresses were
  added to the device.
* Skipped where the device's attributes or addresses are not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_links import switch_of
from vnicaudit.knowledge.host_setting_values import change_of_several
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK, HostSetting
from vnicaudit.knowledge.qeth import FLOOD_AND_LEARN, flood_and_learn
from vnicaudit.model.host_facts import Qeth
from vnicaudit.model.rule import Fact, Judge, LinkSubject, Problem, Rule


def _is_told(subject: LinkSubject) -> bool:
    qeth = subject.link.qeth
    return qeth is not None and (
        qeth.bridge_state is not None or qeth.vnicc.keys() >= set(FLOOD_AND_LEARN)
    )


_ROLES: Fact[LinkSubject] = Fact(
    _is_told,
    "the device's bridge_state or vnicc (/sys/bus/ccwgroup/drivers/qeth/*)",
    live=True,
)
_ADDRESSES = host_needs.link_fact(
    lambda link: link.static_macs is not None,
    "the addresses that were added to the device (bridge fdb show)",
)


def applies(subject: LinkSubject) -> bool:
    """A layer 2 OSA adapter or HiperSockets that is a port of a bridge with guests."""
    link, qeth = subject.link, subject.link.qeth
    return (
        bool(subject.carries)
        and qeth is not None
        and (qeth.is_osa or qeth.is_hipersockets is True)
        and qeth.layer2 is not False
        and switch_of(subject.facts, link) is not None
    )


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if it passes only frames for its own address."""
    link, qeth = subject.link, subject.link.qeth
    if qeth is None or link.static_macs or _takes_all(qeth):
        return
    yield Problem(
        f"{link.name} ({qeth.card_type}) is a port of {switch_of(subject.facts, link)}, but takes "
        f"no frames for {host_needs.guests_named(subject.carries)}: no active bridge role, no "
        "flooding and learning",
        change=change_of_several(subject.facts, _missing(link.name, qeth), CAN_BE_SET_BACK),
        fix=f"Switch them on: {flood_and_learn(qeth.device)}",
    )


def _missing(name: str, qeth: Qeth) -> dict[HostSetting, str]:
    """Those that are to be switched on; where a bridge role blocks them, none of it has a value."""
    off = [each for each in FLOOD_AND_LEARN if qeth.vnicc.get(each) != "1"]
    return {HostSetting("vnicc", name, each): "1" for each in off}


def _takes_all(qeth: Qeth) -> bool:
    """True if frames for unknown addresses come to this device, or to another port on purpose."""
    floods = all(qeth.vnicc.get(each) == "1" for each in FLOOD_AND_LEARN)
    return floods or qeth.bridge_state in ("active", "standby")


RULE = Rule(
    name="osa-port-mute",
    severity="high",
    groups=("host", "z"),
    judges=(Judge("link", needs=(_ROLES, _ADDRESSES), applies=applies, check=check),),
)
