"""A guest's vhost workers may run only where vCPUs are pinned, or where switches poll.

## What is wrong

Each CPU that the vhost workers of the guest may use has a vCPU pinned to it, or a polling thread
(PMD) of Open vSwitch.

## Why it matters

The vhost workers move the guest's packets. They take time from the vCPU that they share a CPU with,
and next to a polling thread, which never sleeps, they hardly get any. Nova says the same of its
default: emulator threads run on the cores of the guest and steal time from them
(doc/source/admin/cpu-topologies.rst).

## Bad

```console
$ grep Cpus_allowed_list /proc/4711/task/*/status     # qemu: two vCPUs, one vhost worker
Cpus_allowed_list: 4
Cpus_allowed_list: 5
Cpus_allowed_list: 4-5
```

## Good

```console
$ grep Cpus_allowed_list /proc/4711/task/*/status
Cpus_allowed_list: 4
Cpus_allowed_list: 5
Cpus_allowed_list: 0-3
```

## Fix

Pin the guest's emulator threads to other CPUs; vhost workers are where these are.

## Fix safety

libvirt moves them at once. Nova's and KubeVirt's policies apply at the next start of the guest.

## When it does not fire

* Without pinning: vCPUs that may run on several CPUs are not pinned.
* When one CPU is free of both.
* Skipped where the CPUs of QEMU's threads were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_cpus import CpuSet, housekeeping, pinned, polled
from vnicaudit.knowledge.host_settings import pin_emulator
from vnicaudit.knowledge.partitions import threads_known
from vnicaudit.model.host_facts import QemuProcess
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each guest."""
    facts = subject.facts
    for_vcpus, polling = pinned(facts), polled(facts)
    for process in facts.processes or ():
        allowed = _allowed(process)
        if not allowed or allowed - for_vcpus - polling:
            continue
        name = process.guest or f"QEMU {process.pid}"
        has = [
            f"{what} ({as_list(cpus & allowed)})"
            for what, cpus in (("pinned vCPUs", for_vcpus), ("polling threads", polling))
            if cpus & allowed
        ]
        others = as_list(housekeeping(facts) or ()) or "CPUS"
        yield Problem(
            f"vhost workers of {name} may run only on CPUs {as_list(allowed)}, which have "
            f"{' and '.join(has)}",
            field=name,
            fix=f"Give its emulator threads other CPUs: {pin_emulator(name, others)} "
            "--live --config. Nova: hw:emulator_threads_policy=share, with [compute] "
            "cpu_shared_set. KubeVirt: isolateEmulatorThread",
        )


def _allowed(process: QemuProcess) -> CpuSet:
    return frozenset(
        cpu for thread in process.threads if thread.role == "vhost" for cpu in thread.cpus or ()
    )


_WORKERS = host_needs.host_fact(
    threads_known, "the CPUs of QEMU's threads (/proc/PID/task/*/status, as root)"
)

RULE = Rule(
    name="vhost-thread-crowded",
    severity="medium",
    groups=("host", "cpus"),
    judges=(host_needs.visited_host(check, needs=(_WORKERS,)),),
)
