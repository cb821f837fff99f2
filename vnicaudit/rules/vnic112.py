"""The host drops packets before its network stack sees them, or does not get through with them.

## What is wrong

Within the window, packets were dropped because a CPU's backlog was full, or a CPU had to stop
receiving with packets left (*time squeeze*) once a second or more often.

## Why it matters

Packets of veth pairs, and those that RPS steers, wait in a backlog of
`net.core.netdev_max_backlog` packets for each CPU; what does not fit is lost. A squeeze means that
`netdev_budget` packets or `netdev_budget_usecs` were used up
(Documentation/admin-guide/sysctl/net.rst of Linux): it delays packets, and precedes drops.

## Bad

```console
$ awk '{print $2, $3}' /proc/net/softnet_stat     # dropped, squeezed; twice, two seconds apart
0000a3f1 00000c40
0000b012 00000c9d
```

## Good

```console
$ awk '{print $2, $3}' /proc/net/softnet_stat
00000000 00000003
00000000 00000003
```

## Fix

Raise the backlog, or the budget with its time. If one CPU does all the work (VNIC111), spread it
first: a budget of more than 1200 is not proposed.

## Fix safety

It takes effect at once, and can be set back. A long backlog delays packets, and a large budget
everything else on that CPU.

## When it does not fire

* For totals since boot: skipped without a window of two readings.
* One squeeze per second as the limit is our own, as are the 1200: see the settings. Squeezes are
  *low*.
* Skipped in containers: they have softnet_stat of the whole host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of, change_of_several
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK, HostSetting
from vnicaudit.model.finding import Change
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.rule import Problem, RuleSettings, VisitedHost, adjustable_rule, setting

_BACKLOG, _BUDGET, _TIME = (
    f"net.core.{name}" for name in ("netdev_max_backlog", "netdev_budget", "netdev_budget_usecs")
)
_MOST_BUDGET = 1200
"""Four times the kernel's default, of which one round may take a millisecond."""
_BY_HAND = f"Spread the work over more CPUs (VNIC111), or raise {_BUDGET} and {_TIME}"


class SoftnetLimits(RuleSettings, frozen=True):
    """When a host does not get through with its packets."""

    squeezes: Annotated[
        int, setting("Time squeezes per second, of all CPUs, to report.", at_least=1)
    ] = 1


def check(subject: VisitedHost, limits: SoftnetLimits) -> Iterator[Problem]:
    """One problem for drops, one for squeezes."""
    facts = subject.facts
    growth = facts.cpus.softnet_growth
    if growth is None or not facts.window:
        return
    if growth.dropped:
        yield Problem(
            f"{host_needs.counted(growth.dropped, 'packet')} dropped in {facts.window:.0f} s "
            "because the backlog of a CPU was full",
            field="backlog",
            change=_more_waiting(facts),
            fix="" if facts.sysctl(_BACKLOG) else f"Double {_BACKLOG}",
        )
    if growth.squeezed >= limits.squeezes * facts.window:
        yield Problem(
            f"CPUs stopped receiving {growth.squeezed / facts.window:.0f} times a second with "
            "packets left (time squeeze)",
            field="budget",
            severity="low",
            change=(change := _larger(facts)),
            fix="" if change else _BY_HAND,
        )


def _more_waiting(facts: HostFacts) -> Change | None:
    setting, value = HostSetting("sysctl", name=_BACKLOG), facts.sysctl(_BACKLOG)
    return change_of(facts, setting, str(2 * value), CAN_BE_SET_BACK) if value else None


def _larger(facts: HostFacts) -> Change | None:
    """The change that doubles both, as either may be what was used up. The default of the time is
    no help: it depends on how the kernel was built (net/core/hotdata.c of Linux: two ticks)."""
    present = {name: facts.sysctl(name) or 0 for name in (_BUDGET, _TIME)}
    if 2 * present[_BUDGET] > _MOST_BUDGET or not present[_TIME]:
        return None
    wanted = {HostSetting("sysctl", name=name): str(2 * n) for name, n in present.items()}
    return change_of_several(facts, wanted, CAN_BE_SET_BACK)


RULE = adjustable_rule(
    SoftnetLimits,
    lambda limits: host_needs.visited_host(
        lambda subject: check(subject, limits),
        needs=(host_needs.NOT_A_CONTAINER, host_needs.SOFTNET_WINDOW),
    ),
    name="softnet-drops",
    severity="medium",
    groups=("host", "cpus"),
)
