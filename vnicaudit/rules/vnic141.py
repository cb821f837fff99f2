"""Two classes of tasks share CPUs that were divided between them.

## What is wrong

The CPUs of this host are divided, and some are claimed from two sides: Nova's shared set overlaps
its dedicated or the isolated CPUs, guests or services may run on CPUs that are dedicated to pinned
vCPUs, or pods on those that kubelet reserves.

## Why it matters

Whoever was promised a CPU does not have it alone, and what comes there takes its time. The tables
for OpenShift are Red Hat's (*Beam Me Through the Datapath*, J. Meng and M. Coquelin), that for
plain KVM is ours, after Nova's documentation (doc/source/admin/cpu-topologies.rst).

## Bad

```ini
[compute]
cpu_dedicated_set = 4-15
cpu_shared_set = 0-5
```

## Good

```ini
[compute]
cpu_dedicated_set = 4-15
cpu_shared_set = 0-3
```

## Fix

Take the CPUs away from one of the two; `vnicaudit host cpus TARGET` shows all classes.

## Fix safety

Nova and kubelet read their sets when they start; CPUs are isolated at boot. Move guests away from
a CPU before it leaves their set.

## When it does not fire

* On hosts that nobody divided: a vCPU that is pinned divides nothing by itself.
* On overlaps that have a rule of their own: services on isolated CPUs (VNIC142), interrupts
  (VNIC143), vhost workers (VNIC121), and what is pinned or configured to be on CPUs of polling
  threads (VNIC131). Other tasks that may come to those are only shown by the command.
* Where two tables may apply and differ.
* Skipped where the classes, or what runs on them, were not read, and no overlap was found.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_cpus import NO_CPUS, isolated
from vnicaudit.knowledge.partitions import (
    FLOATING,
    INTERRUPTS,
    OVS,
    SERVICES,
    WORKERS,
    is_divided,
    is_known,
    overlaps,
    tables_of,
)
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_JUDGED_ELSEWHERE = (INTERRUPTS, WORKERS)
_FIXES = {
    FLOATING: "take them out of cpu_shared_set, or confine these guests to other CPUs "
    "(vcpupin, emulatorpin)",
    SERVICES: "confine services to other CPUs (systemd.cpu_affinity=, or CPUAffinity= in "
    "/etc/systemd/system.conf)",
    OVS: "set another dpdk-lcore-mask",
}


def applies(subject: VisitedHost) -> bool:
    """A host that is divided between guests, pods and its own work."""
    return is_divided(subject.facts) and subject.facts.hypervisor is not False


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each class of tasks and class of CPUs."""
    return _problems(subject.facts)


def _problems(facts: HostFacts) -> Iterator[Problem]:
    names, _evidence = tables_of(facts)
    for found in overlaps(facts):
        cpus = found.cpus
        if found.tasks in _JUDGED_ELSEWHERE or found.kind == "polled":
            continue
        if found.tasks == SERVICES:  # isolated ones are VNIC142's, or kept by kubelet alone
            cpus = cpus - isolated(facts) if found.kind == "dedicated" else NO_CPUS
        if cpus:
            why, by = "; ".join(found.because), host_needs.guests_named(found.by)
            other = _FIXES.get(found.tasks, "pin them to other CPUs")
            yield Problem(
                f"{found.tasks} may be on CPUs {as_list(cpus)} ({by}), which are {found.kind} "
                f"({why})",
                field=f"{found.tasks} on {found.kind}",
                fix=f"Take CPUs {as_list(cpus)} away from one of the two: {other}; in the table "
                f"for {names[0]} they do not share",
            )


_USES = host_needs.host_fact(
    lambda facts: is_known(facts) or any(_problems(facts)),
    "which CPUs its guests, services and pods may use (/proc/PID/task/*/status of QEMU, as root; "
    "/proc/1/status; kubelet's configuration)",
)

RULE = Rule(
    name="partition-overlap",
    severity="medium",
    groups=("host", "cpus"),
    judges=(
        host_needs.visited_host(
            check, needs=(host_needs.NOT_A_CONTAINER, host_needs.ONLINE, _USES), applies=applies
        ),
    ),
)
