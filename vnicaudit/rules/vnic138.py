"""Sleeping of PMDs does not fit the traffic of the host.

## What is wrong

PMDs may sleep when they receive little (`pmd-sleep-max`), on a host whose guests stream; or they
never do, on a host whose guests receive many small packets.

## Why it matters

A PMD that sleeps lets packets gather: guests get fewer interrupts, and streams wait. In Red Hat's
measurements with buffers of 128 B a guest had about 90,000 interrupts a second and its QEMU used
200 % of a CPU without it, 3,000 and 115 % with it; with large buffers it cost throughput.

## Bad

```console
$ ovs-vsctl get Open_vSwitch . other_config:pmd-sleep-max
"200"
```

on a host that streams.

## Good

```console
$ ovs-vsctl get Open_vSwitch . other_config:pmd-sleep-max
"0"
```

## Fix

Set `pmd-sleep-max`: 0 for streams and for latency, some hundred µs for small packets. Interrupt
coalescing in the guests is the better cure.

## Fix safety

It takes effect at once, and can be set back.

## When it does not fire

* With sleeping on it is a question, unless the workload is *streaming* or *latency*; with
  *many-connections* and *few-connections* it is not asked.
* With sleeping off: unless packets to guests were counted in a window, at 50,000 a second or more,
  of 256 B on average or less (both limits are ours), and for *streaming* and *latency*.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting, command_for
from vnicaudit.knowledge.ovs_ports import is_connected
from vnicaudit.model.host import Version
from vnicaudit.model.host_facts import HostFacts, Ovs
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_MANY, _SMALL = 50_000, 256
_SLEEP = "200"
_SAFE = "it takes effect at once, and can be set back"


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem at most."""
    facts, workload = subject.facts, subject.workload
    pmds = facts.ovs.pmds or ()
    longest = HostSetting("ovs", name=_key(subject.ovs))
    sleeping = {pmd.core: pmd.sleeps for pmd in pmds if pmd.sleeps}
    if sleeping and workload in (None, "streaming", "latency"):
        told = f"PMDs on CPU {as_list(sleeping)} may sleep for {max(sleeping.values())} µs"
        asked = ": do guests stream, or need low latency?"
        why = f", on a host for {workload}" if workload else asked
        fix = f"If so: {command_for(longest, '0')}"
        change = change_of(facts, longest, "0", _SAFE) if workload else None
        yield Problem(told + why, change=change, fix="" if change else fix)
    elif not sleeping and workload in (None, "many-connections"):
        rate, size = _to_guests(facts)
        if any(pmd.sleeps == 0 for pmd in pmds) and rate >= _MANY and size <= _SMALL:
            yield Problem(
                f"PMDs never sleep, and guests receive {rate:.0f} packets a second "
                f"of {size:.0f} B: do interrupts cost the guests too much?",
                fix=f"If so, and latency does not matter: {command_for(longest, _SLEEP)}",
            )


def _key(ovs: Ovs) -> str:
    """The key: ``pmd-sleep-max`` was called ``pmd-maxsleep`` in 3.1 (NEWS of Open vSwitch)."""
    is_old = ovs.version is not None and ovs.version < Version(3, 2)
    return "pmd-maxsleep" if is_old else "pmd-sleep-max"


def _to_guests(facts: HostFacts) -> tuple[float, float]:
    """Packets a second to guests, and their average size in bytes."""
    ports = facts.ovs.ports or ()
    grown = [port.growth for port in ports if is_connected(port) and port.growth]
    packets = sum(each.get("tx_packets", 0) for each in grown)
    if not packets or not facts.window:
        return 0, 0
    return packets / facts.window, sum(each.get("tx_bytes", 0) for each in grown) / packets


RULE = Rule(
    name="pmd-sleep",
    severity="info",
    groups=("host", "ovs"),
    judges=(
        host_needs.visited_host(check, needs=(host_needs.OVS_PMDS,), applies=host_needs.has_dpdk),
    ),
)
