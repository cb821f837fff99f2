"""Receive flow steering (RFS) is on, and the host's CPUs are short.

## What is wrong

Both tables of RFS have entries, and within the window the CPUs were hardly idle, or their
hypervisor took time from them.

## Why it matters

RFS moves packets to the CPU on which their reader runs. Where CPUs are short, that one has no time
either: IBM saw RFS do harm under contention of CPUs and raise the stolen time, and advises to
switch it off for only 50 connections to external services (A. Busch, IBM, "Unleashing the Network
of OpenShift").

## Bad

```console
$ sysctl net.core.rps_sock_flow_entries
net.core.rps_sock_flow_entries = 8192
$ mpstat 2 1 | tail -1     # the columns %steal and %idle
Average:  all  41.2  0.0  38.1  0.0  0.9  8.4  7.3  0.0  0.0  4.1
```

## Good

```console
$ sysctl net.core.rps_sock_flow_entries
net.core.rps_sock_flow_entries = 0
```

## Fix

Switch RFS off, or give the host more CPU time.

## Fix safety

It takes effect at once, and can be set again.

## When it does not fire

* On time of polling threads (PMD), which are never idle.
* The thresholds, 5 % stolen and 10 % idle as means of all CPUs, are our own: see the settings.
* Skipped without a window of two readings, in containers, and where a half of RFS is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.flow_steering import ENTRIES, rfs_is_on
from vnicaudit.knowledge.host_cpus import loads
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK, HostSetting
from vnicaudit.model.rule import Problem, RuleSettings, VisitedHost, adjustable_rule, setting


class ContentionLimits(RuleSettings, frozen=True):
    """When CPUs are short."""

    steal: Annotated[
        int, setting("Percent of stolen time that shows short CPUs.", at_least=1, at_most=100)
    ] = 5
    idle: Annotated[
        int, setting("Percent of idle time below which CPUs are short.", at_least=1, at_most=100)
    ] = 10


def applies(subject: VisitedHost) -> bool:
    """A host on which RFS may be on."""
    return rfs_is_on(subject.facts) is not False


def check(subject: VisitedHost, limits: ContentionLimits) -> Iterator[Problem]:
    """One problem if its CPUs are short."""
    facts = subject.facts
    shares = list(loads(facts).values())
    if not shares:
        return
    idle = sum(share.idle for share in shares) / len(shares)
    known = [share.steal for share in shares if share.steal is not None]
    steal = sum(known) / max(1, len(known))
    if steal >= limits.steal or idle < limits.idle:
        setting = HostSetting("sysctl", name=ENTRIES)
        stolen = f" and {steal:.0f} % stolen" if steal >= 1 else ""
        yield Problem(
            f"receive flow steering is on while CPUs are short: {idle:.0f} % of the window was "
            f"idle{stolen}",
            change=change_of(facts, setting, "0", CAN_BE_SET_BACK),
        )


_RFS = host_needs.host_fact(
    lambda facts: rfs_is_on(facts) is not None,
    f"{ENTRIES} and rps_flow_cnt of each adapter",
)


RULE = adjustable_rule(
    ContentionLimits,
    lambda limits: host_needs.visited_host(
        lambda subject: check(subject, limits),
        needs=(host_needs.NOT_A_CONTAINER, _RFS, host_needs.SHARES),
        applies=applies,
    ),
    name="rfs-under-contention",
    severity="medium",
    groups=("host", "steering", "cpus"),
)
