"""Partitions of a host's CPUs: which class of tasks may be on which class of CPUs, and which is.

The tables of OpenShift are those of J. Meng and M. Coquelin, *Beam Me Through the Datapath: VDUSE
for OpenShift Virtualization* (Red Hat). That of plain KVM is ours, after Nova's documentation
(doc/source/admin/cpu-topologies.rst: the shared and the dedicated set are disjoint, emulator
threads run on CPUs of their guest unless told otherwise). A node of OpenShift is told by kubelet's
reserved CPUs, or by what a PerformanceProfile writes (cluster-node-tuning-operator,
assets/performanceprofile/tuned/openshift-node-performance: ``tuned.non_isolcpus`` together with
``systemd.cpu_affinity``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vnicaudit.knowledge.cpu_lists import from_mask
from vnicaudit.knowledge.host_cpus import (
    NO_CPUS,
    CpuSet,
    isolated,
    online,
    pinned,
    polled,
    serves_on,
)
from vnicaudit.model.host import Cell, CpuClass, CpuColumn, HostCpus
from vnicaudit.model.host_facts import HostFacts

GUARANTEED, OTHER_PODS = "guaranteed pods", "burstable and best-effort pods"
PINNED, FLOATING = "pinned vCPUs", "floating vCPUs and emulators"
WORKERS, PMDS, OVS = "vhost workers", "PMD threads", "ovs.slice"
SERVICES, INTERRUPTS = "system services", "interrupts"

CLASSES: dict[str, CpuClass] = {
    "r": "reserved", "s": "shared", "i": "isolated", "b": "banned", "d": "dedicated", "p": "polled",
}  # fmt: skip
"""By the letters of the tables; where both are shown, *polled* is a kind of *dedicated*."""

Table = Mapping[str, str]
"""Class of tasks -> letters of the CPUs that it may use. A letter followed by ``?`` depends on what
no fact tells (ovs.slice: whether its dynamic pinning is on)."""
_STOCK = "stock"
_STRICT = "strict-cpu-reservation"
_POC = "dedicated (PoC v3)"
_KVM = "plain KVM"
TABLES: Mapping[str, Table] = {
    _STOCK: {
        GUARANTEED: "ib", OTHER_PODS: "ri", PMDS: "", OVS: "ri?", SERVICES: "r", INTERRUPTS: "ri",
    },
    _STRICT: {
        GUARANTEED: "ib", OTHER_PODS: "i", PMDS: "", OVS: "ri?", SERVICES: "r", INTERRUPTS: "ri",
    },
    _POC: {
        GUARANTEED: "ib", OTHER_PODS: "i", PMDS: "p", OVS: "r", SERVICES: "r", INTERRUPTS: "ri",
    },
    _KVM: {
        PINNED: "dib", FLOATING: "rs", WORKERS: "rsib", PMDS: "p", OVS: "rs", SERVICES: "rs",
        INTERRUPTS: "rsi",
    },
}  # fmt: skip


class Claim(NamedTuple):
    """CPUs, and what gives them to a class of tasks or of CPUs."""

    by: str
    cpus: CpuSet


class Use(NamedTuple):
    """CPUs of a class of tasks. ``known``: what no claim names, it does not use."""

    claims: tuple[Claim, ...]
    known: bool

    @property
    def cpus(self) -> CpuSet:
        """All CPUs of its claims."""
        return _joined(self.claims)


class Overlap(NamedTuple):
    """CPUs of a class that tasks use which the table forbids."""

    tasks: str
    kind: CpuClass
    cpus: CpuSet
    because: tuple[str, ...]
    """What puts the CPUs into their class."""
    by: tuple[str, ...]
    """What puts the tasks there."""


def partition_of(facts: HostFacts) -> HostCpus:
    """The matrix of a host. It has no columns where the CPUs that are online are unknown."""
    names, evidence = tables_of(facts)
    uses = uses_of(facts)
    rows = TABLES[names[0]] if names else TABLES[_KVM]
    found: dict[tuple[CpuClass, tuple[Cell, ...]], list[int]] = {}
    for letter, cpus in _divided(facts).items():
        for cpu in cpus:
            cells = tuple(Cell(_may(names, row, letter), _is(uses[row], cpu)) for row in rows)
            found.setdefault((CLASSES[letter], cells), []).append(cpu)
    columns = [
        CpuColumn(tuple(sorted(cpus)), kind, dict(zip(rows, cells, strict=True)))
        for (kind, cells), cpus in found.items()
    ]
    return HostCpus(
        tables=names,
        evidence=evidence,
        columns=tuple(sorted(columns, key=lambda column: column.cpus)),
    )


def overlaps(facts: HostFacts) -> Iterator[Overlap]:
    """Cells that are forbidden and used, one for each class of tasks and of CPUs."""
    names, _evidence = tables_of(facts)
    if not names:
        return
    uses, classes = uses_of(facts), _classes(facts)
    for row in TABLES[names[0]]:
        for letter, cpus in _divided(facts).items():
            shared = cpus & uses[row].cpus
            if shared and _may(names, row, letter) is False:
                because = tuple(each.by for each in classes[letter] if each.cpus & shared)
                by = tuple(each.by for each in uses[row].claims if each.cpus & shared)
                yield Overlap(row, CLASSES[letter], shared, because, by)


def tables_of(facts: HostFacts) -> tuple[tuple[str, ...], str]:
    """Names of the tables that may apply to a host, and what shows it."""
    node = _shows_node(facts)
    if node:
        return _tables_of_node(facts), node
    cpus = facts.cpus
    if cpus.nova_dedicated is not None or cpus.nova_shared is not None:
        return (_KVM,), "Nova's sets of CPUs"
    if facts.processes:
        return (_KVM,), "running QEMU processes, and no reserved CPUs of a kubelet"
    if facts.hypervisor:
        return (_KVM,), "set up to run guests, without reserved CPUs of a kubelet"
    return (), "neither guests, nor Nova's sets, nor reserved CPUs of a kubelet were seen"


def is_divided(facts: HostFacts) -> bool:
    """True if somebody divided the CPUs. A vCPU that is pinned divides nothing by itself."""
    cpus = facts.cpus
    return bool(
        isolated(facts) | polled(facts)
        or cpus.nova_dedicated
        or cpus.kubelet_reserved
        or (cpus.services and set(cpus.services) < set(cpus.online or ()))
    )


def is_known(facts: HostFacts) -> bool:
    """True if what uses the CPUs was read as far as overlaps depend on it."""
    names, _evidence = tables_of(facts)
    cpus = facts.cpus
    if not names or cpus.online is None or cpus.services is None:
        return False
    return threads_known(facts) if names == (_KVM,) else cpus.kubelet_reserved is not None


def uses_of(facts: HostFacts) -> dict[str, Use]:
    """Class of tasks -> the CPUs that it uses, by what is in effect."""
    cpus, ovs = facts.cpus, facts.ovs
    config = ovs.other_config or {}
    threads = threads_known(facts)
    served = [serves_on(each) for each in cpus.interrupts or () if each.total != 0]
    no_polling = facts.has_ovs is False or ovs.dpdk is False
    pins = _claims(Claim("pinned vCPUs", pinned(facts)))
    guests = _of_guests(facts, "vcpu", "emulator", "iothread")
    shared = _claims(Claim("Nova's cpu_shared_set", frozenset(cpus.nova_shared or ())))
    return {
        GUARANTEED: Use(pins, False),
        OTHER_PODS: Use(guests, False),
        PINNED: Use(pins, threads),
        FLOATING: Use((*guests, *shared), threads),
        WORKERS: Use(_of_guests(facts, "vhost"), threads),
        PMDS: Use(
            _claims(Claim("Open vSwitch", polled(facts))),
            no_polling or ovs.pmds is not None,
        ),
        OVS: Use(
            _claims(
                Claim("dpdk-lcore-mask", _mask(config.get("dpdk-lcore-mask", "")))
            ),
            facts.has_ovs is False,
        ),
        SERVICES: Use(
            _claims(Claim(cpus.services_by or "their affinity", frozenset(cpus.services or ()))),
            cpus.services is not None,
        ),
        INTERRUPTS: Use(
            _claims(Claim("effective affinity", NO_CPUS.union(*served))),
            cpus.interrupts is not None and all(served),
        ),
    }  # fmt: skip


def _tables_of_node(facts: HostFacts) -> tuple[str, ...]:
    """Polling threads make it the third; which of the others depends on kubelet's option."""
    ovs, strict = facts.ovs, facts.cpus.kubelet_strict
    if polled(facts):
        return (_POC,)
    found = {None: (_STOCK, _STRICT), True: (_STRICT,), False: (_STOCK,)}[strict]
    none = facts.has_ovs is False or ovs.pmds == () or ovs.dpdk is False
    return found if none else (*found, _POC)


def _shows_node(facts: HostFacts) -> str:
    """The evidence of a node of OpenShift or Kubernetes; empty: there is none."""
    line = facts.cpus.command_line or {}
    if facts.cpus.kubelet_reserved is not None:
        return "kubelet's reserved CPUs"
    owner = next((each for each in facts.owners if each.name == "performance-profile"), None)
    if owner is not None:
        return owner.evidence
    parameters = ("tuned.non_isolcpus", "systemd.cpu_affinity")
    return f"{' and '.join(parameters)}" if all(map(line.get, parameters)) else ""


def _classes(facts: HostFacts) -> dict[str, tuple[Claim, ...]]:
    """Letter -> what puts CPUs into that class; a CPU is in the first that claims it."""
    cpus, here = facts.cpus, online(facts) or NO_CPUS
    is_node = bool(_shows_node(facts))
    kept = isolated(facts)
    apart = [Claim("isolcpus or nohz_full", kept)]
    if is_node and cpus.kubelet_reserved is not None:
        rest = here - frozenset(cpus.kubelet_reserved)
        apart.append(Claim("not among kubelet's reserved CPUs", rest))
    banned = frozenset(cpus.irqbalance_banned or ()) & _joined(apart)
    guests = [] if is_node else [
        Claim("a vCPU is pinned there", pinned(facts)),
        Claim("Nova's cpu_dedicated_set", frozenset(cpus.nova_dedicated or ())),
    ]  # fmt: skip
    return {
        "p": _claims(Claim("polling threads of Open vSwitch", polled(facts))),
        "d": _claims(*guests),
        "b": _claims(Claim("banned from irqbalance", banned)),
        "i": _claims(*apart),
        "s": _claims(Claim("Nova's cpu_shared_set", frozenset(cpus.nova_shared or ()))),
        "r": (Claim("left to the host", here),),
    }


def _divided(facts: HostFacts) -> dict[str, CpuSet]:
    """Letter -> the CPUs of that class that are online, each in one class."""
    left = online(facts) or NO_CPUS
    found = {}
    for letter, claims in _classes(facts).items():
        found[letter] = left & _joined(claims)
        left -= found[letter]
    return found


def _may(names: tuple[str, ...], row: str, letter: str) -> bool | None:
    """True or False if all tables say so of a cell; None if they differ, or do not say."""
    told = set()
    for name in names:
        letters = TABLES[name][row]
        told.add(None if f"{letter}?" in letters else letter in letters)
    return told.pop() if len(told) == 1 else None


def _is(use: Use, cpu: int) -> bool | None:
    return True if cpu in use.cpus else (False if use.known else None)


def threads_known(facts: HostFacts) -> bool:
    """True if it is known where all threads of the guests may run."""
    return facts.processes is not None and all(
        each.threads and all(thread.cpus is not None for thread in each.threads)
        for each in facts.processes
    )


def _of_guests(facts: HostFacts, *roles: str) -> tuple[Claim, ...]:
    """Where each guest's threads of these roles may run, without vCPUs that are pinned and their
    CPUs. Nothing comes by itself to CPUs outside of the scheduler's domains, and on other isolated
    ones only vCPUs count: emulators are pinned there on purpose."""
    found, alone, apart = [], frozenset(facts.cpus.isolated or ()), isolated(facts)
    for process in facts.processes or ():
        own, moving = set[int](), set[int]()
        for thread in process.threads:
            cpus = thread.cpus or ()
            if thread.role == "vcpu" and len(cpus) == 1:
                own.update(cpus)
            elif thread.role in roles:
                moving.update(frozenset(cpus) - (alone if thread.role == "vcpu" else apart))
        name = f"guest {process.guest or process.pid}"
        found.append(Claim(name, frozenset(moving - own)))
    return _claims(*found)


def _mask(text: str) -> CpuSet:
    return frozenset(from_mask(text) or ())


def _claims(*claims: Claim) -> tuple[Claim, ...]:
    return tuple(each for each in claims if each.cpus)


def _joined(claims: tuple[Claim, ...] | list[Claim]) -> CpuSet:
    return NO_CPUS.union(*(each.cpus for each in claims))
