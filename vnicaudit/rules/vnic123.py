"""CPUs of a host with guests run under a frequency governor other than performance.

## What is wrong

cpufreq lowers the frequency of CPUs that look idle, by a governor such as `powersave`,
`ondemand` or `schedutil`.

## Why it matters

Packets come in bursts: between them a CPU becomes slow, and the next burst waits until it is fast
again. The system checks of hotsos ask for `performance` on hypervisors as well
(system_cpufreq_mode).

## Bad

```console
$ cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
ondemand
```

## Good

```console
$ cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
performance
```

## Fix

Use a profile of tuned that sets it (`virtual-host`, or one that includes the active profile, where
that isolates CPUs), or `cpupower frequency-set`, which lasts until the next boot.

## Fix safety

It takes effect at once, can be set again, and costs energy.

## When it does not fire

* Without cpufreq, as in most virtual machines and on IBM Z.
* On `powersave` of the drivers intel_pstate and amd-pstate-epp: there it is no fixed low frequency,
  the CPU itself chooses (admin-guide/pm/intel_pstate.rst and amd-pstate.rst of Linux).
* On hosts that run no guests.
* Skipped where /sys/devices/system/cpu was not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_setting_values import change_of_governor
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_PLAIN_PROFILES = frozenset({"balanced", "powersave", "throughput-performance", "virtual-host"})
_FAST = "performance"
_SAFE = "it can be set back; CPUs need more power"
_CHOOSE_THEMSELVES = frozenset({"intel_pstate", "amd-pstate-epp"})


def applies(subject: VisitedHost) -> bool:
    """A host with guests, but no IBM Z."""
    return host_needs.runs_guests(subject) and subject.facts.arch != "s390x"


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each such governor."""
    facts, cpus = subject.facts, subject.facts.cpus
    for governor, those in (cpus.governors or {}).items():
        if governor == _FAST:
            continue
        if governor == "powersave" and cpus.scaling_driver in _CHOOSE_THEMSELVES:
            continue
        change = None if facts.tuned_profile else change_of_governor(facts, _FAST, _SAFE)
        yield Problem(
            f"CPUs {as_list(those)} of this host with guests have the frequency governor "
            f"{governor}",
            field=governor,
            change=change,
            fix="(for good: tuned-adm profile virtual-host)"
            if change
            else f"Set performance: {_profile(facts.tuned_profile)}, or until the next boot "
            "cpupower frequency-set -g performance",
        )


def _profile(active: str | None) -> str:
    """A way by tuned that keeps what the active profile sets beside it, such as isolated CPUs."""
    if active is None or active in _PLAIN_PROFILES:
        return "tuned-adm profile virtual-host"
    return f"[cpu] governor=performance in a profile of tuned that includes {active}"


_GOVERNORS = host_needs.host_fact(
    lambda facts: facts.cpus.governors is not None,
    "the frequency governors of its CPUs (/sys/devices/system/cpu/cpu*/cpufreq)",
)

RULE = Rule(
    name="governor",
    severity="low",
    groups=("host", "cpus"),
    judges=(host_needs.visited_host(check, needs=(_GOVERNORS,), applies=applies),),
)
