"""Where paths lose speed: the sentence, the row, and what was seen there."""

import pytest
from msgspec.structs import replace

from tests.reports.bench.samples import samples_of, side_by_side
from vnicaudit.model.measurement import (
    BenchResult,
    Covariates,
    CpuParts,
    CpuUse,
    Path,
    Setup,
    Workload,
)
from vnicaudit.reports.bench.cpu import cpu_sections
from vnicaudit.reports.bench.steps import drop_section
from vnicaudit.reports.model import cell_text

TCP = Workload(id="tcp", engine="iperf3", pattern="tcp", direction="rx", decides=("goodput",))
LEVELS = {"host": 10.0, "pod-same": 10.0, "pod-cross": 4.0}
NO_CPU = CpuUse()
STEADY = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002)
A, B = "ssh://node-a", "ssh://node-b"
POD_A, POD_B = "kubectl://a", "kubectl://b"


def path(name: str, target: str, peer: str, mtu: int = 1500) -> Path:
    return Path(name=name, target=target, peer=peer, address="192.0.2.1", mtu=mtu)


PATHS = (path("host", A, B), path("pod-same", POD_A, POD_A), path("pod-cross", POD_A, POD_B, 1400))


def measured(levels: dict[str, float], *setups: Setup, cpu: CpuUse = NO_CPU) -> BenchResult:
    """Six runs of each path, of 10 s."""
    values = {arm: {"goodput": [level * one for one in STEADY]} for arm, level in levels.items()}
    samples = (
        replace(one, covariates=Covariates(seconds=10.0, cpu=cpu))
        for one in samples_of(TCP, values)
    )
    known = side_by_side()
    return replace(
        known, run=replace(known.run, looks=(6,), alphas=(0.05,)), arms=tuple(levels), results=(),
        workloads=(TCP,), samples=tuple(samples), environment=setups,
        paths=tuple(one for one in PATHS if one.name in levels),
    )  # fmt: skip


def test_the_step_is_named_with_its_loss_and_its_interval() -> None:
    section = drop_section(measured(LEVELS))
    assert section.lead == (
        "at pod-same → pod-cross (same node → across nodes): goodput 10.0 b/s → 4.00 b/s, "
        "worse by 60.0 % (59.6 to 60.4), in tcp"
    )
    (table,) = section.tables
    assert [[cell_text(cell) for cell in row.cells][::5] for row in table.rows] == [
        ["host → pod-same (node → pod on the same node)", "no loss"],
        ["pod-same → pod-cross (same node → across nodes)", "loses"],
    ]


def test_no_loss_is_said_to_be_nowhere() -> None:
    section = drop_section(measured(dict.fromkeys(LEVELS, 10.0)))
    assert section.lead == "nowhere by more than the margin"
    assert section.items == ()


def test_what_may_be_chance_is_not_named() -> None:
    result = measured(LEVELS)
    few = tuple(one for one in result.samples if one.block < 2)
    section = drop_section(replace(result, samples=few))
    assert section.lead == "no step loses speed beyond chance; some are undecided"
    assert section.items == ()


def test_a_path_above_that_was_not_measured_is_named() -> None:
    result = measured(LEVELS)
    invalid = tuple(replace(one, valid=one.arm != "host") for one in result.samples)
    section = drop_section(replace(result, samples=invalid))
    assert section.lead == "no step loses speed beyond chance; some are undecided"
    assert [cell_text(row.cells[0]) for row in section.tables[0].rows] == [
        "host → pod-same (node → pod on the same node)",
        "host → pod-cross (node → pod, across nodes)",
    ]
    for row, outcome in zip(section.tables[0].rows, ("not measured", "undecided"), strict=True):
        said = cell_text(row.cells[-1])
        assert said.startswith(outcome)
        assert "too few valid runs of host: it was not measured" in said


def test_a_step_that_holds_is_told_beside_one_that_was_not_measured() -> None:
    result = measured(dict.fromkeys(LEVELS, 10.0))
    failed = tuple(replace(one, valid=one.arm != "pod-cross") for one in result.samples)
    assert drop_section(replace(result, samples=failed)).lead == (
        "nowhere by more than the margin, but not measured: pod-same → pod-cross (same node → "
        "across nodes)"
    )


def test_paths_that_are_compared_with_none_are_told() -> None:
    section = drop_section(measured({"host": 3.0, "vm-same": 10.0, "pod-cross": 3.0}))
    assert section.lead == "nowhere by more than the margin"
    assert section.items == ("vm-same was not compared: that takes the path pod-same",)
    section = drop_section(measured({"vm-same": 10.0, "nad-a.b": 3.0}))
    assert section.lead == "not judged: none of these paths is compared with another"


def test_terms_that_cannot_be_used_judge_nothing() -> None:
    result = measured(LEVELS)
    section = drop_section(replace(result, run=replace(result.run, alphas=(2.0,))))
    assert section.lead.startswith("not judged: ")
    assert section.tables == ()


def test_more_runs_and_paths_than_are_made_are_not_judged() -> None:
    result = measured(LEVELS)
    many = replace(result, samples=result.samples * 60)
    assert drop_section(many).lead == (
        "not judged: 360 runs of tcp in pod-cross: more than 300 are not compared"
    )
    arms = tuple(f"path{number}" for number in range(51))
    assert drop_section(replace(result, arms=arms)).lead == (
        "not judged: 51 paths: more than 50 are not compared"
    )


NODE = {
    "nic": "eno1", "nic.channels.combined": "1", "cpus": "16", "tunnels": "genev_sys_6081",
    "nic.offload.tx-udp_tnl-segmentation": "off [fixed]",
    "nic.offload.generic-receive-offload": "on",
}  # fmt: skip


def test_what_is_on_the_nodes_is_told() -> None:
    assert drop_section(measured(LEVELS, Setup(A, NODE))).items == (
        "seen at pod-same → pod-cross: MTU 1400 on pod-cross, 1500 on pod-same",
        f"seen at pod-same → pod-cross: encapsulation by genev_sys_6081 at {A}",
        f"seen at pod-same → pod-cross: tx-udp_tnl-segmentation is off on eno1 at {A}",
        f"seen at pod-same → pod-cross: 1 queue for 16 CPUs on eno1 at {A}",
    )


def test_the_same_at_several_ends_is_told_once_and_what_is_usual_is_not() -> None:
    pod = {"nic": "eth0", "nic.driver": "veth", "nic.offload.generic-receive-offload": "off"}
    both = (Setup(f"{end}?address=192.0.2.1", NODE | {"nic.channels.combined": "8"})
            for end in (A, B))  # fmt: skip
    result = measured(LEVELS, *both, Setup(POD_A, pod))
    paths = tuple(
        replace(one, target=f"{A}?address=192.0.2.1", peer=f"{B}?address=192.0.2.1", mtu=1400)
        if one.name == "host"
        else replace(one, mtu=1400)
        for one in result.paths
    )
    assert drop_section(replace(result, paths=paths)).items == (
        f"seen at pod-same → pod-cross: encapsulation by genev_sys_6081 at {A}, {B}",
        f"seen at pod-same → pod-cross: tx-udp_tnl-segmentation is off on eno1 at {A}, {B}",
    )


def test_offloads_of_tunnels_say_nothing_without_a_tunnel() -> None:
    facts = NODE | {"tunnels": "none", "nic.channels.combined": "16"}
    result = measured(LEVELS, Setup(A, facts))
    alike = tuple(replace(one, mtu=1500) for one in result.paths)
    assert drop_section(replace(result, paths=alike)).items == (
        f"nothing was seen on the nodes of pod-same → pod-cross ({A}): no tunnel, no offload "
        "that is off, no single queue; not known: nic.mtu; `vnicaudit audit ssh://NODE` reads more",
    )


def test_on_one_node_neither_its_nic_nor_its_tunnel_is_on_the_way() -> None:
    result = measured({"host": 10.0, "pod-same": 4.0}, Setup(A, NODE), Setup(POD_A, NODE | {
        "nic": "eth0", "tunnels": "none", "nic.channels.combined": "2",
        "nic.offload.tcp-segmentation-offload": "off",
    }))  # fmt: skip
    assert drop_section(result).items == (
        f"seen at host → pod-same: tcp-segmentation-offload is off on eth0 at {POD_A}",
        "nothing was seen on the nodes of host → pod-same, whose own part of the way was not read: "
        "`vnicaudit audit ssh://NODE` would tell",
    )


def test_nodes_that_were_not_read_are_no_clean_nodes() -> None:
    result = measured({"pod-same": 10.0, "pod-cross": 4.0}, Setup(POD_A, {"nic": "eth0"}))
    assert drop_section(result).items[-1] == (
        "nothing was seen on the nodes of pod-same → pod-cross, whose own part of the way was not "
        "read: a path between them (host=ssh://NODE1,ssh://NODE2) and `vnicaudit audit ssh://NODE` "
        "would tell"
    )


@pytest.mark.parametrize(
    ("busiest", "all_", "told"),
    [(9.8e6, 12.0e6, True), (9.8e6, 150e6, False), (5e6, 5.1e6, False), (None, None, False)],
)
def test_one_cpu_full_of_softirqs(busiest: float, all_: float, told: bool) -> None:
    cpu = CpuUse(peer_parts=CpuParts(softirq=all_, softirq_of_busiest=busiest))
    items = drop_section(measured(LEVELS, Setup(POD_B, {"cpus": "16"}), cpu=cpu)).items
    words = f"one CPU was 98.0 % in softirqs, the other 15 1.47 %, at {POD_B}"
    assert (f"seen at pod-same → pod-cross: {words}" in items) == told


def cells(result: BenchResult) -> dict[str, dict[str, str]]:
    ((table,),) = (section.tables for section in cpu_sections(result))
    return {
        cell_text(row.cells[0]): {
            head: cell_text(cell) for head, cell in zip(table.heads, row.cells, strict=True)
        }
        for row in table.rows
    }


def test_cpu_of_both_ends_stands_side_by_side() -> None:
    parts = CpuParts(group=4.5e6, softirq=2e6, softirq_of_busiest=1e6)
    cpu = CpuUse(target=18e6, peer=7.2e6, target_parts=parts)
    result = measured({"host": 1e9}, cpu=cpu)
    assert cells(result) == {
        "host": {
            "path": "host", "carried": "1.00 Gb/s", "cgroup": "45 / -", "machine": "180 / 72",
            "softirq": "20 / -", "one CPU's": "10 / -", "µs/Gbit": "450k / -",
        }
    }  # fmt: skip
    (section,) = cpu_sections(result)
    assert section.tables[0].caption.endswith("not measured at any end: steal, OVS, vhost")


def test_a_machine_that_both_ends_share_is_no_ones() -> None:
    parts = CpuParts(group=5e6)
    found = cells(measured({"pod-same": 1e9}, cpu=CpuUse(shared=15e6, peer_parts=parts)))
    assert found["pod-same"]["machine"] == "= 150"
    assert found["pod-same"]["µs/Gbit"] == "- / 500k"


def test_without_cpu_time_there_is_no_table() -> None:
    assert list(cpu_sections(measured(LEVELS))) == []
