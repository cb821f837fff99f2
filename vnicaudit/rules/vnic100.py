"""The kernel's log tells of frames dropped because they were larger than a tap's MTU.

## What is wrong

Open vSwitch dropped frames towards a guest: they were larger than the MTU of its tap. The kernel
logs it as `dropped over-mtu packet`.

## Why it matters

The frames are gone, and no ICMP message tells the sender. Short packets pass, so ping and logins
work while large transfers hang. Something sends with a larger MTU than the guest's: another guest,
a router, or a network of which only a part has jumbo frames.

## Bad

```console
$ journalctl -k | grep -c 'tap0: dropped over-mtu packet'
214
```

## Good

```console
$ journalctl -k | grep -c 'tap0: dropped over-mtu packet'
0
```

## Fix

Give all of that network one MTU: raise the tap's and its guest's, or lower the sender's. The log
has the size of each dropped frame.

## Fix safety

Where the guest's own MTU is larger than its tap's, the tap's is raised, as VNIC048 proposes. Else
no change is proposed: which of the MTUs is meant is not known here.

## When it does not fire

* Below 10 messages on one device, within at most 7 days of log (our own threshold, a setting of
  this rule).
* On bridges and internal ports of Open vSwitch, which are the host's own and no guest's.
* Skipped where the kernel's log was not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_links import is_host_port
from vnicaudit.knowledge.host_mtu import too_narrow_for
from vnicaudit.knowledge.host_setting_values import change_of_mtu
from vnicaudit.model.rule import Problem, RuleSettings, VisitedHost, adjustable_rule, setting


class LogLimits(RuleSettings, frozen=True):
    """How many messages count."""

    min_messages: Annotated[
        int, setting("Report devices with at least this many messages.", at_least=1)
    ] = 10


def check(subject: VisitedHost, limits: LogLimits) -> Iterator[Problem]:
    """One problem for each device."""
    facts = subject.facts
    for device, count in sorted(facts.log.over_mtu.items() if facts.log else ()):
        if count < limits.min_messages or is_host_port(facts, device):
            continue
        guest = next(
            (each.name for each in subject.guests if device in [nic.device for nic in each.nics]),
            None,
        )
        of = "" if guest is None else f" of {guest}"
        link = facts.link(device)
        wanted = {} if link is None else too_narrow_for(facts, link, subject.guests)
        yield Problem(
            f"{count} frames{of} were dropped at {device} because they exceed its MTU",
            field=device,
            change=change_of_mtu(facts, device, max(wanted.values())) if wanted else None,
            fix="Give its network one MTU: raise that of the tap and its guest, or lower the "
            "sender's. Sizes: journalctl -k | grep 'dropped over-mtu packet'",
        )


RULE = adjustable_rule(
    LogLimits,
    lambda limits: host_needs.visited_host(
        lambda subject: check(subject, limits),
        needs=(host_needs.LOG,),
    ),
    name="mtu-drops-seen",
    severity="high",
    groups=("host", "mtu"),
)
