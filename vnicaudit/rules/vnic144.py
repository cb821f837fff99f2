"""Threads of one core are divided between the host and what has CPUs of its own.

## What is wrong

With SMT, a core has two threads or more, each of which is a CPU. Here some of them are isolated, or
dedicated to pinned vCPUs, while their siblings are left to the host.

## Why it matters

Siblings share one core: whatever the host does on its thread takes time from the isolated one,
which then is neither alone nor even. Red Hat's partitioning of CPUs always takes a core with all of
its threads.

## Bad

```console
$ cat /sys/devices/system/cpu/isolated
0-4,11-79
$ cat /sys/devices/system/cpu/cpu5/topology/thread_siblings_list
5,45
```

## Good

```console
$ cat /sys/devices/system/cpu/isolated
0-4,11-44,51-79
```

## Fix

Give all threads of a core to one side: in the PerformanceProfile, in `isolcpus` and
`systemd.cpu_affinity`, or in Nova's sets.

## Fix safety

CPUs are isolated at boot: plan one. Guests that are pinned to a CPU that leaves their set do not
start.

## When it does not fire

* Without SMT, or where the sibling is offline.
* On cores with a polling thread of Open vSwitch (see VNIC131).
* Skipped where the threads of cores were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_cpus import CpuSet, dedicated, isolated, online, polled
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def applies(subject: VisitedHost) -> bool:
    """A host that is divided."""
    return bool(_apart(subject.facts))


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for all such cores."""
    facts = subject.facts
    apart, here, polling = _apart(facts), online(facts), polled(facts)
    cores = [
        frozenset(core) if here is None else here & set(core) for core in facts.cpus.cores or ()
    ]
    split = [core for core in cores if core & apart and core - apart and not core & polling]
    if split:
        threads = frozenset().union(*split)
        lists = (as_list(threads - apart), as_list(threads & apart))
        yield Problem(
            f"the threads of {host_needs.counted(len(split), 'core')} are divided: CPUs "
            f"{lists[0]} are left to the host, their siblings {lists[1]} are isolated or dedicated",
            fix=f"Give both threads of a core to one side: leave {lists[1]} to the host as well, "
            f"or isolate {lists[0]}, then reboot",
        )


def _apart(facts: HostFacts) -> CpuSet:
    return isolated(facts) | dedicated(facts)


_CORES = host_needs.host_fact(
    lambda facts: facts.cpus.cores is not None,
    "the threads of its cores (thread_siblings_list)",
)

RULE = Rule(
    name="smt-split",
    severity="medium",
    groups=("host", "cpus"),
    judges=(host_needs.visited_host(check, needs=(_CORES,), applies=applies),),
)
