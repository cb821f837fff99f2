"""Services of the host may run on CPUs that are isolated.

## What is wrong

CPUs were isolated for guests, pods or polling threads (`isolcpus`, `nohz_full`), but the services
of the host, which inherit the affinity of PID 1, may run there too.

## Why it matters

Each wake-up of a service on an isolated CPU interrupts what was meant to be alone. `nohz_full`, and
`isolcpus` with only `managed_irq`, keep no task away (admin-guide/kernel-parameters.txt of Linux).

## Bad

```console
$ cat /sys/devices/system/cpu/nohz_full
2-7
$ grep Cpus_allowed_list /proc/1/status
Cpus_allowed_list: 0-7
```

## Good

```console
$ grep Cpus_allowed_list /proc/1/status
Cpus_allowed_list: 0-1
```

## Fix

Confine the services: `systemd.cpu_affinity=` on the kernel's command line, or `CPUAffinity=` in
/etc/systemd/system.conf. Then reboot.

## Fix safety

The host's services get fewer CPUs. Guests of libvirt have an affinity of their own only if they are
pinned: others inherit this one, so pin them first.

## When it does not fire

* Where nothing is isolated, or services are already kept away, as by `isolcpus=domain`.
* Skipped where neither PID 1 nor the configuration tells, and in containers.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_cpus import isolated
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def applies(subject: VisitedHost) -> bool:
    """A host with isolated CPUs."""
    return bool(isolated(subject.facts))


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem if services may run on some of them."""
    facts = subject.facts
    apart, services = isolated(facts), frozenset(facts.cpus.services or ())
    if apart & services:
        left = as_list((services | frozenset(facts.cpus.online or ())) - apart) or "CPUS"
        yield Problem(
            f"services may run on CPUs {as_list(apart & services)}, which are isolated "
            f"({facts.cpus.services_by})",
            fix=f"Confine them: systemd.cpu_affinity={left} on the kernel's command line, or "
            f"CPUAffinity={left} in /etc/systemd/system.conf, then reboot",
        )


_SERVICES = host_needs.host_fact(
    lambda facts: facts.cpus.services is not None,
    "the CPUs of its services (/proc/1/status, /etc/systemd/system.conf)",
)

RULE = Rule(
    name="services-unconfined",
    severity="low",
    groups=("host", "cpus"),
    judges=(
        host_needs.visited_host(
            check, needs=(host_needs.NOT_A_CONTAINER, _SERVICES), applies=applies
        ),
    ),
)
