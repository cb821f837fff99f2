"""One PMD is overloaded while another of its node idles.

## What is wrong

A PMD is busy for 95 % of the last minute or more, and another one on its NUMA node, which may take
its queues, for less than 50 %.

## Why it matters

The busy one drops what it cannot fetch in time. Open vSwitch distributes queues when ports change,
not when traffic does, unless `pmd-auto-lb` is on; that acts at 95 %
(Documentation/topics/dpdk/pmd.rst).

## Bad

```console
$ ovs-appctl dpif-netdev/pmd-rxq-show | grep -e thread -e usage
pmd thread numa_id 0 core_id 1:
  port: vhu0              queue-id:  0 (enabled)   pmd usage: 51 %
  port: vhu1              queue-id:  0 (enabled)   pmd usage: 46 %
pmd thread numa_id 0 core_id 2:
  port: vhu2              queue-id:  0 (enabled)   pmd usage:  3 %
```

## Good

```console
$ ovs-appctl dpif-netdev/pmd-rxq-show | grep -e thread -e usage
pmd thread numa_id 0 core_id 1:
  port: vhu0              queue-id:  0 (enabled)   pmd usage: 51 %
pmd thread numa_id 0 core_id 2:
  port: vhu1              queue-id:  0 (enabled)   pmd usage: 46 %
  port: vhu2              queue-id:  0 (enabled)   pmd usage:  3 %
```

## Fix

Distribute the queues again, and let Open vSwitch do it (`pmd-auto-lb`). A PMD with one queue needs
more queues on its port instead.

## Fix safety

Packets are lost for a moment while queues move.

## When it does not fire

* With one PMD on the node, or when the others are isolated.
* The threshold for idle, 50 %, is our own: see the settings.
* Skipped while Open vSwitch has not measured a minute (`NOT AVAIL`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.knowledge.ovs_ports import pmds_on, queues_of
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.rule import Problem, RuleSettings, VisitedHost, adjustable_rule, setting

_BALANCE = HostSetting("ovs", name="pmd-auto-lb")
_MOVES = "queues move to other threads when that pays, with a loss of packets"
_RESTARTS = "the port is stopped for a moment"


class Loads(RuleSettings, frozen=True):
    """Limits of busy and of idle PMDs."""

    busy: Annotated[
        int, setting("A PMD is overloaded from this percentage on.", at_least=50, at_most=100)
    ] = 95
    idle: Annotated[
        int, setting("A PMD has room below this percentage.", at_least=1, at_most=90)
    ] = 50


def check(subject: VisitedHost, loads: Loads) -> Iterator[Problem]:
    """One problem for each overloaded PMD."""
    facts = subject.facts
    for pmd in facts.ovs.pmds or ():
        if pmd.busy is None or pmd.busy < loads.busy or pmd.node is None or not pmd.queues:
            continue
        idle = [
            other
            for other in pmds_on(facts.ovs, pmd.node)
            if not other.isolated and other.busy is not None and other.busy < loads.idle
        ]
        if not idle:
            continue
        alone = len(pmd.queues) == 1
        port = facts.ovs_ports.get(pmd.queues[0].port)
        change = None
        if not alone:
            change = change_of(facts, _BALANCE, "true", _MOVES, safe=False)
        elif port is not None and port.type == "dpdk" and (number := queues_of(port)):
            queues = HostSetting("ovs-interface", port.name, "options:n_rxq")
            change = change_of(facts, queues, str(number + 1), _RESTARTS, safe=False)
        yield Problem(
            f"the PMD on CPU {pmd.core} is busy for {pmd.busy:.0f} % of its time, "
            f"and the one on CPU {idle[0].core} for {idle[0].busy:.0f} %",
            field=str(pmd.core),
            change=change,
            fix="(or once: ovs-appctl dpif-netdev/pmd-rxq-rebalance)"
            if not alone
            else "(it polls one queue only)"
            if change
            else f"It polls one queue only: give port {pmd.queues[0].port} more receive queues",
        )


def _is_measured(facts: HostFacts) -> bool:
    pmds = facts.ovs.pmds or ()
    return len(pmds) < 2 or any(pmd.busy is not None for pmd in pmds)


_MEASURED = host_needs.host_fact(
    _is_measured, "the load of PMDs, which Open vSwitch measures within a minute"
)


RULE = adjustable_rule(
    Loads,
    lambda loads: host_needs.visited_host(
        lambda subject: check(subject, loads),
        needs=(host_needs.OVS_PMDS, _MEASURED),
        applies=host_needs.has_dpdk,
    ),
    name="pmd-overloaded",
    severity="medium",
    groups=("host", "ovs"),
)
