"""Too few huge pages are free for what needs them next.

## What is wrong

A guest that is off has its memory in huge pages, or DPDK of Open vSwitch, which is switched on but
not running, needs them, and the host has fewer free.

## Why it matters

The guest does not start: QEMU allocates all of its memory first, and huge pages are never swapped
or made from small ones on demand (admin-guide/mm/hugetlbpage.rst of Linux). Without its memory DPDK
fails, and no port of the userspace datapath works.

## Bad

```console
$ virsh dumpxml db | grep -A1 -E 'memory unit|memoryBacking'
  <memory unit='KiB'>4194304</memory>
  <memoryBacking><hugepages/>
$ cat /sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages
512
```

## Good

```console
$ cat /sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages
2048
```

## Fix

Reserve more, best at boot (`hugepagesz=1G hugepages=N`): later memory may be too fragmented.

## Fix safety

Reserved pages are taken from everything else on the host.

## When it does not fire

* For guests that run, and for those of which nothing tells whether they do.
* When the pages of one size are enough, on whichever nodes. Which nodes a guest is bound to is not
  judged.
* Skipped where the huge pages of nodes were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of, value_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.finding import Change
from vnicaudit.model.host_facts import HostFacts, Ovs
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_MIB = 1024
_MEMORY = "it takes memory from everything else on the host"
_MOST_NODES = 64


def applies(subject: VisitedHost) -> bool:
    """A host where something that does not run needs huge pages."""
    return _waits(subject.facts.ovs) or any(_needed(subject))


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each guest, and for each node on which DPDK needs some."""
    facts = subject.facts
    for name, need in _needed(subject):
        nodes = {pages.node for pages in facts.huge_pages or ()}
        node = nodes.pop() if len(nodes) == 1 else None
        size, free = _free(facts)
        if free < need:
            yield Problem(
                f"{name} needs {_amount(need)} of huge pages to start, and {_amount(free)} are free"
                + (f" (pages of {_amount(size)})" if free else ""),
                field=name,
                change=_more(facts, node, size, need - free),
                fix=_reserve(need - free, size),
            )
    if _waits(facts.ovs):
        for node, need in _of_dpdk(facts.ovs):
            size, free = _free(facts, node)
            if free < need:
                yield Problem(
                    f"DPDK of Open vSwitch does not run, and needs {_amount(need)} of huge pages "
                    f"on node {node}, of which {_amount(free)} are free (dpdk-socket-mem)",
                    field=f"node{node}",
                    change=_more(facts, node, size, need - free),
                    fix=f"{_reserve(need - free, size)} on node {node}, then restart Open vSwitch",
                )


def _more(facts: HostFacts, node: int | None, size: int, kib: int) -> Change | None:
    """The change that reserves so many more; None: on a node that is not known."""
    setting = HostSetting("pages", name=f"node{node}/hugepages/hugepages-{size}kB")
    present = value_of(facts, setting)
    if present is None:
        return None
    new = str(int(present) - kib // -size)
    return change_of(facts, setting, new, _MEMORY, safe=False)


def _needed(subject: VisitedHost) -> Iterator[tuple[str, int]]:
    """Guests that are off, and what they need, in KiB."""
    for guest in subject.guests:
        if guest.running is False and guest.huge_kib:
            yield guest.name, guest.huge_kib


def _waits(ovs: Ovs) -> bool:
    """True if DPDK is switched on with huge pages, but did not start."""
    config = ovs.other_config or {}
    asked = config.get("dpdk-init", "").lower() in ("true", "try")
    return asked and ovs.dpdk is False and "no-huge" not in config.get("dpdk-extra", "")


def _of_dpdk(ovs: Ovs) -> Iterator[tuple[int, int]]:
    """Nodes and what DPDK reserves on each, in KiB; nothing where it takes what it finds."""
    sizes = (ovs.other_config or {}).get("dpdk-socket-mem", "").split(",")
    for node, mib in enumerate(sizes[:_MOST_NODES]):
        if mib.strip().isdecimal() and len(mib) < 10:
            yield node, int(mib) * _MIB


def _free(facts: HostFacts, node: int | None = None) -> tuple[int, int]:
    """The size of pages of which most memory is free, and that memory, both in KiB."""
    found: dict[int, int] = {}
    for pages in facts.huge_pages or ():
        if node is None or pages.node == node:
            found[pages.size] = found.get(pages.size, 0) + pages.free * pages.size
    return max(found.items(), key=lambda item: item[1], default=(2048, 0))


def _amount(kib: int) -> str:
    for unit, size in (("GiB", _MIB * _MIB), ("MiB", _MIB)):
        if kib >= size:
            return f"{kib / size:.3g} {unit}"
    return f"{kib} KiB"


def _reserve(kib: int, size: int) -> str:
    return f"Reserve {-(-kib // size)} more pages of {_amount(size)}"


_PAGES = host_needs.host_fact(
    lambda facts: facts.huge_pages is not None,
    "the free huge pages of each node (/sys/devices/system/node/node*/hugepages)",
)

RULE = Rule(
    name="hugepages-short",
    severity="high",
    groups=("host", "memory"),
    judges=(host_needs.visited_host(check, needs=(_PAGES,), applies=applies),),
)
