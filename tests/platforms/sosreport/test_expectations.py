"""Real recordings of hosts, where they are at hand, against what is known of each of them: rules
that must fire, rules that must not, and facts. What cannot be tried is skipped, with its reason."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from tests.cli.command import vnicaudit
from vnicaudit.audit.judging.catalogue import shipped_catalogue
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import LiveDomain
from vnicaudit.model.host import Host
from vnicaudit.model.host_facts import HostFacts, HostLink
from vnicaudit.platforms.host.copied_tree import CopiedTree, FolderFiles
from vnicaudit.platforms.host.facts import EVERY_FACT
from vnicaudit.platforms.host.readings import facts_from
from vnicaudit.platforms.sosreport import report_of
from vnicaudit.platforms.sosreport.read import TreeReadings, read, tree_of

CORPUS = Path(__file__).parents[4] / "shared/corpora/host"
LIST = CORPUS / "expectations.json"
EXPECTED: list[dict[str, Any]] = json.loads(LIST.read_text()) if LIST.is_file() else []
RULES = set(shipped_catalogue().select((), ()))
NOT_CHECKED = {
    "underlay_mtu": "is that of the link below the tunnel",
    "tunnel": "is the port's name",
    "kvm_intel": "is no fact of ours",
    "proc_stat_is_lxcfs": "is told by the container",
    "NET_RX_on_reserved_percent": "is a figure for people",
    "reserved": "is where systemd may run",
    "isolated": "is nohz_full, not /sys/devices/system/cpu/isolated",
    "hugepages": "is the default size",
    "p2 numa 2 has no PMD": "is what VNIC130 says",
    "soft_seg_total": "is not in the recording: its coverage/show has no netdev_soft_seg_good",
}
"""Facts of the list that no field tells, and why."""
NOT_RECORDED = {("own-ovs-dpdk-3.5", "VNIC132"): NOT_CHECKED["soft_seg_total"]}
"""Rules that cannot fire on what was recorded."""


class Recording(NamedTuple):
    """One recording: what an audit found, and what was read of it."""

    rules: set[str]
    facts: HostFacts
    host: Host | None
    domains: list[Domain]


def rules_in(text: str) -> set[str]:
    """Rules that an expectation names: VNIC049,131, VNIC116/VNIC125, VNIC141..144, VNIC*."""
    found: set[str] = set()
    if "VNIC*" in text:
        return RULES
    for first, last in re.findall(r"(\d{3})(?:\.\.(?:VNIC)?(\d{3}))?", text):
        numbers = range(int(first), int(last or first) + 1)
        found |= {f"VNIC{number:03}" for number in numbers}
    return found


def named(cpus: Iterable[int]) -> str:
    """A list of CPUs as the kernel writes it."""
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, part)) for part in parts)


FIELDS: dict[str, Callable[[Recording], object]] = {
    "is_hypervisor": lambda it: it.facts.hypervisor,
    "guests_running": lambda it: _names(it, runs=True),
    "guests_only_in_logs": lambda it: _names(it, runs=False),
    "vhost_net_loaded": lambda it: it.host and it.host.declared.vhost_net,
    "vhost_in_use": lambda it: {
        each.name: all(nic.running and nic.running.vhost for nic in each.nics)
        for each in it.domains if each.name in _names(it, runs=True)
    },
    "rps_sock_flow_entries": lambda it: it.facts.sysctl("net.core.rps_sock_flow_entries"),
    "sched_migration_cost_ns": lambda it: it.facts.migration_cost,
    "bridge_nf_call_iptables": lambda it: it.facts.sysctl("net.bridge.bridge-nf-call-iptables"),
    "dpdk": lambda it: bool(it.facts.ovs.dpdk),
    "container": lambda it: it.facts.container,
    "ovs_version": lambda it: str(it.facts.ovs.version),
    "bridges": lambda it: sorted(it.facts.ovs.bridges or ()),
    "flannel.1": lambda it: (link := it.facts.link("flannel.1")) and link.kind,
    "cpus": lambda it: len(it.facts.cpus.online or ()),
    "numa": lambda it: len(it.facts.cpus.nodes or ()),
    "smt": lambda it: max(map(len, it.facts.cpus.cores or ((),))),
    "isolcpus": lambda it: (it.facts.cpus.command_line or {}).get("isolcpus", "").split(",")[0],
    "cpu_affinity": lambda it: named(it.facts.cpus.services or ()),
    "z_level": lambda it: it.facts.z and it.facts.z.level,
    "shared": lambda it: it.facts.z and it.facts.z.shared,
    "capped": lambda it: it.facts.z and it.facts.z.capped,
    "vm": lambda it: list(it.facts.z.hypervisors) if it.facts.z else None,
    "pmd": lambda it: {
        str(pmd.core): f"numa {pmd.node}" for pmd in it.facts.ovs.pmds or ()
    },
}  # fmt: skip
OF_LINKS: dict[str, Callable[[HostLink], object]] = {
    "mtu": lambda link: link.mtu,
    "txqueuelen": lambda link: link.queue_length,
    "queues": lambda link: link.rx_queues,
    "driver": lambda link: link.driver,
    "combined": lambda link: _of(link, "combined"),
    "rx_ring": lambda link: _of(link, "rx"),
}


def _names(recording: Recording, *, runs: bool) -> list[str]:
    states = ((each.name, each.state) for each in recording.domains)
    return [name for name, state in states if state is not None and state.active is runs]


def _of(link: HostLink, name: str) -> str:
    amount = {**(link.rings or {}), **(link.channels or {})}.get(name)
    return "" if amount is None else f"{amount.now} of {amount.most}"


def _as_text(value: Any) -> str:
    """A value of Open vSwitch's database in JSON as ``ovs-vsctl list`` prints it."""
    match value:
        case ["map", pairs]:
            return "{" + ", ".join(f"{key}={_as_text(each)}" for key, each in pairs) + "}"
        case ["set", each]:
            return "[" + ", ".join(map(_as_text, each)) + "]"
        case ["uuid", each]:
            return str(each)
    return str(value)


def _laid_out(tree: str, folder: Path) -> Path:
    """The tree or archive of a recording, as sos would have it."""
    source = CORPUS / tree
    ovs = folder / "sos_commands/openvswitch"
    if tree.endswith(".yaml"):
        files = YAML(typ="safe").load(source).get("data-root", {}).get("files", {})
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        ovs.mkdir(parents=True, exist_ok=True)
        return folder
    if tree.startswith("own-ovs-dpdk"):
        ovs.mkdir(parents=True)
        for path in source.iterdir():
            name = path.name.replace("ovs-vsctl_list", "ovs-vsctl_-t_5_list")
            name = re.sub(r"list_(Interface|Bridge|Port)\Z", lambda found: found[0].lower(), name)
            name = name.replace("ovs-vsctl_get", "ovs-vsctl_-t_5_get")
            if "json" not in name:
                (ovs / name).write_bytes(path.read_bytes())
        return folder
    if tree.startswith("own-ovs-dummy"):
        ovs.mkdir(parents=True)
        (ovs / "ovs-appctl_dpif-netdev.pmd-rxq-show").write_bytes(source.read_bytes())
        table = json.loads((source.parent / "list_Interface.json").read_text())
        rows = (zip(table["headings"], row, strict=True) for row in table["data"])
        text = "\n".join(
            "".join(f"{name} : {_as_text(value)}\n" for name, value in row) for row in rows
        )
        (ovs / "ovs-vsctl_-t_5_list_interface").write_text(text)
        return folder
    if tree.startswith("util-linux"):
        with tarfile.open(source) as packed:
            packed.extractall(folder, filter="data")
        (top,) = folder.iterdir()
        return top
    return source


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recording]:
    """Reads and audits a recording, each once."""

    @cache
    def recorded(tree: str) -> Recording:
        target = _laid_out(tree, tmp_path_factory.mktemp("recording"))
        if tree.startswith("util-linux"):
            facts = _facts(target)
            return Recording(set(), facts, None, [])
        ran = vnicaudit("audit", target, "--format", "json")
        assert ran.returncode in (0, 1), ran.stdout + ran.stderr
        told = json.loads(ran.stdout)
        assert not [error for each in told["targets"] for error in each["errors"]]
        found = list(read(str(target)))
        facts = next((each for each in found if isinstance(each, HostFacts)), None) or _facts(
            target
        )
        host = next((each for each in found if isinstance(each, Host)), None)
        domains = [each.domain for each in found if isinstance(each, LiveDomain)]
        return Recording({finding["rule"] for finding in told["findings"]}, facts, host, domains)

    return recorded


def _facts(target: Path) -> HostFacts:
    is_known = target.is_file() or report_of(str(target)) is not None
    tree = tree_of(str(target)) if is_known else CopiedTree(FolderFiles(str(target)), "")
    return facts_from(TreeReadings(tree, EVERY_FACT), EVERY_FACT)


def test_the_recordings_are_here() -> None:
    if not EXPECTED:
        pytest.skip(f"{LIST} is not here")


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda each: each["tree"])
def test_rules_that_must_not_fire_do_not(
    expected: dict[str, Any], recordings: Callable[[str], Recording]
) -> None:
    found = recordings(expected["tree"]).rules
    never = {rule: each["why"] for each in expected["must_not"] for rule in rules_in(each["rule"])}
    assert {rule: why for rule, why in never.items() if rule in found} == {}


@pytest.mark.parametrize(
    ("tree", "rule", "why"),
    [(each["tree"], must["rule"], must["why"]) for each in EXPECTED for must in each["must"]],
)
def test_rules_that_must_fire_do(
    tree: str, rule: str, why: str, recordings: Callable[[str], Recording]
) -> None:
    if rule not in RULES:
        pytest.skip(f"there is no {rule} yet, which must fire on {tree}: {why}")
    if reason := NOT_RECORDED.get((tree, rule)):
        pytest.skip(f"{rule} on {tree}: it {reason}")
    assert rule in recordings(tree).rules, why


@pytest.mark.parametrize(
    ("tree", "name", "value"),
    [(each["tree"], *fact) for each in EXPECTED for fact in each["facts"].items()],
)
def test_facts_are_read(
    tree: str, name: str, value: object, recordings: Callable[[str], Recording]
) -> None:
    recorded = recordings(tree)
    if isinstance(value, dict) and name not in FIELDS:
        link = recorded.facts.link(name)
        assert link is not None or recorded.facts.ovs.ports
        if link is not None:
            told = {key: OF_LINKS[key](link) for key in value if key in OF_LINKS}
            assert told == {key: value[key] for key in told}
    elif name not in NOT_CHECKED:
        assert FIELDS[name](recorded) == value
