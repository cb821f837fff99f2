"""The scheduler of a KVM host on IBM Z has the default cost of migration.

## What is wrong

`sched_migration_cost_ns` is 500000: a task that ran within the last half millisecond counts as warm
in its CPU's cache, and is not moved to an idle one.

## Why it matters

vCPUs and vhost workers wait although a CPU is idle. Red Hat's host practices for KVM on IBM Z
recommend 60000 for OpenShift, and warn that it is for experts.

## Bad

```console
$ cat /sys/kernel/debug/sched/migration_cost_ns
500000
```

## Good

```console
$ cat /sys/kernel/debug/sched/migration_cost_ns
60000
```

## Fix

Set it: by sysctl until kernel 5.12, in debugfs since.

## Fix safety

It takes effect at once, for all tasks of the host, and is unsafe: it is good for guests of
OpenShift only. Measure before and after.

## When it does not fire

* Other than on IBM Z, and on hosts that run no guests.
* With a value that somebody chose.
* Skipped where the value was not read: debugfs needs root.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import COST, HostSetting
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_DEFAULT, _ADVISED = 500000, 60000
_FILE = "migration_cost_ns"
_FOR_ALL = "it counts for all tasks of the host, and helps guests of OpenShift only"


def applies(subject: VisitedHost) -> bool:
    """A host with guests, on IBM Z."""
    return host_needs.runs_guests(subject) and subject.facts.arch == "s390x"


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem with the default."""
    facts = subject.facts
    if facts.migration_cost == _DEFAULT:
        yield Problem(
            f"the scheduler's cost of migration is its default ({_DEFAULT} ns) on a KVM host on "
            "IBM Z: does OpenShift run in its guests?",
            confidence="medium",
            change=change_of(facts, _setting(facts), str(_ADVISED), _FOR_ALL, safe=False),
            fix="(if so: measure before and after)",
        )


def _setting(facts: HostFacts) -> HostSetting:
    """Where this kernel has it."""
    in_proc = COST in (facts.sysctls or {})
    return HostSetting("sysctl", name=COST) if in_proc else HostSetting("scheduler", name=_FILE)


_COST = host_needs.host_fact(
    lambda facts: facts.migration_cost is not None,
    "the cost of migration (/sys/kernel/debug/sched/migration_cost_ns, as root)",
)

RULE = Rule(
    name="migration-cost",
    severity="info",
    groups=("host", "cpus"),
    judges=(host_needs.visited_host(check, needs=(_COST,), applies=applies),),
)
