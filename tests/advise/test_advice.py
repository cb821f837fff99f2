"""Whole answers: scenarios of the founding documents, and what holds for every answer."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec
import pytest
from ruamel.yaml import YAML

from tests.advise.scenario_samples import Table, advice
from vnicaudit.knowledge.attachments import attachment_table
from vnicaudit.model.advice import FiredRow, NetworkAdvice

SCENARIOS: list[Table] = YAML(typ="safe").load(Path(__file__).with_suffix(".yaml"))
NOTHING: Table = {
    "attachments": [], "rfs": "", "placement": "", "infra_nodes": "", "rows": [], "beaten": {},
    "excluded": {}, "deciding": [], "against_present": "", "unmet": [],
}  # fmt: skip


@pytest.mark.parametrize("sample", SCENARIOS, ids=[sample["id"] for sample in SCENARIOS])
def test_answer(sample: Table) -> None:
    given = advice(sample["case"])
    (flow,) = given.flows
    expected = {**NOTHING, **sample["expected"]}
    missing, general = expected.pop("missing", []), expected.pop("general", None)
    assert {
        "answer": flow.answer,
        "attachments": list(flow.attachments),
        "rfs": flow.rfs,
        "placement": flow.placement,
        "infra_nodes": flow.infra_nodes,
        "rows": [row.row for row in flow.rows if not row.beaten_by],
        "beaten": {row.row: row.beaten_by for row in flow.rows if row.beaten_by},
        "excluded": {one.attachment: one.row for one in flow.excluded},
        "deciding": [one.fact for one in flow.deciding],
        "against_present": flow.present_row,
        "unmet": list(flow.unmet),
    } == expected
    assert flow.present_advised_against == bool(flow.present_row)
    assert {*missing} <= {one.name for one in flow.missing}
    assert general is None or [row.row for row in given.general] == general


def rows_of(given: NetworkAdvice) -> dict[str, FiredRow]:
    """All rows of an advice, flows and platform."""
    return {row.row: row for flow in given.flows for row in flow.rows} | {
        row.row: row for row in given.general
    }


S5 = {"kind": "z-vm", "sdn": "openshift-sdn"}
CROSS = {"nodes": "cross", "pattern": "rr", "connections": 250}


@pytest.mark.parametrize(
    ("platform", "figure", "direction"),
    [
        (S5, "up to factor 9.85x", ""),
        (
            {"kind": "z-kvm", "sdn": "ovn-kubernetes"},
            "",
            "latency and throughput better than on the default network, in most cases; "
            "not measured against OVN-Kubernetes",
        ),
        (
            {"kind": "x86", "sdn": "openshift-sdn"},
            "",
            "latency and throughput better than on the default network, in most cases; "
            "measured on IBM Z z15, not on x86",
        ),
        (
            {"kind": "z-kvm"},
            "",
            "latency and throughput better than on the default network, in most cases; "
            "measured against OpenShift-SDN on IBM Z z15, under z/VM and KVM",
        ),
    ],
)
def test_a_factor_is_shown_where_it_was_measured(
    platform: Table, figure: str, direction: str
) -> None:
    row = rows_of(advice({"platform": platform, "flow": CROSS}))["R06"]
    assert (figure in row.figure, row.direction) == (True, direction)
    assert bool(row.figure) == bool(figure)


def test_contradictions_have_both_sides() -> None:
    rows = rows_of(advice({"platform": S5, "flow": {"to": "external", "connections": 50}}))
    assert (rows["R16"].beaten_by, rows["R16"].figure) == ("R17", "")
    assert "medium and large number of parallel connections" in rows["R16"].quotation
    assert rows["R13"].quotation.count('"; "') == 1
    both = {"nodes": "either", "pattern": "rr", "priority": "throughput"}
    rows = rows_of(advice({"platform": S5, "flow": both}))
    assert "can go down to 3%" in rows["R24"].figure
    assert "factor 3x-4x" in rows["R25"].figure


def test_what_to_measure_is_of_the_kind_of_the_flows() -> None:
    streams: Table = {"nodes": "cross", "pattern": "streaming", "connections": 250}
    guest: Table = {"to": "vm", "priority": "latency"}
    vduse = {"ovs": "dpdk", "vduse": True}
    commands = attachment_table().command
    for flows, name in (
        ([streams], "attachments"),
        ([guest], "attachments-vm"),
        ([streams, guest], "attachments"),
    ):
        given = rows_of(advice({"platform": vduse, "flows": flows}))
        assert given["R71"].command == commands[name]


def test_rfs_is_measured_and_left_as_it_is() -> None:
    """Also for a flow to an external system, to which a pod of the cluster cannot be sent."""
    for flow, path in (({"nodes": "same"}, "pod-same"), ({"to": "external"}, "ssh://EXTERNAL")):
        (given,) = advice({"flow": {**flow, "connections": 1}}).flows
        (command,) = {one.command for one in given.deciding if "RFS" in one.fact}
        assert path in command
        assert "--arm" not in command


def test_versions_word_the_limits() -> None:
    flow = {"to": "vm", "vcpus": 4, "queues": 1, "connections": 64}
    worded = {
        version: "blocks CPU hot-plug"
        in rows_of(advice({"platform": {"kubevirt": version}, "flow": flow}))["R65"].limits
        for version in ("v1.2.2", "v1.3.0", "v1.4.0", "v1.4.1", "v1.5.1", "v1.5.2", "v1.10.0")
    }
    blocked = [version for version, is_blocked in worded.items() if is_blocked]
    assert blocked == ["v1.3.0", "v1.4.0", "v1.5.1"]


def grid() -> Iterator[Table]:
    """Scenarios that reach every choosing row, and most combinations of them."""
    platforms: list[Table] = [
        {},
        S5,
        {"kind": "z-kvm", "sdn": "ovn-kubernetes", "openshift": "4.16", "overcommit": True},
        {"kind": "x86", "sdn": "ovn-kubernetes", "ovs": "dpdk", "vduse": True, "sriov": True},
        {"kind": "z-kvm", "sdn": "openshift-sdn", "multus": False, "kernel_ipvlan": False},
        {"kind": "x86", "sdn": "other", "spare_nics": 0, "pods_below_nodes": True},
    ]
    needs: list[Table] = [
        {},
        {"network_policy": True, "high_availability": True, "effort": "any"},
        {"effort": "low", "load": "low", "latency_critical": False, "long_chains": False},
    ]
    sizes: list[Table] = [{}, {"request": 200, "response": 30000}, {"request": 1, "response": 1}]
    pods: list[Table] = [
        {"nodes": nodes, "pattern": pattern, "connections": connections, **size}
        for nodes, pattern, connections, size in product(
            ("same", "cross", "either"), ("rr", "streaming"), (1, 250), sizes[:2]
        )
    ]
    external: list[Table] = [
        {"to": "external", "connections": connections, "pods_per_node": pods_per_node, **size}
        for connections, pods_per_node, size in product((1, 50, 150, 250), (1, 2), sizes)
    ]
    vms: list[Table] = [
        {"to": "vm", "dpdk": dpdk, "vlan": vlan, "fixed_ip": vlan, "protocol": "tcp", **size}
        for dpdk, vlan, size in product((None, True), (None, True), sizes[:2])
    ]
    priorities: list[Table] = [
        {},
        {"priority": "latency", "frequent": False},
        {"priority": "throughput", "frequent": True},
        {"priority": "efficiency"},
    ]
    for platform, need, more in product(platforms, needs, priorities):
        flows = [{**flow, **more} for flow in (*pods, *external, *vms)]
        yield {"platform": platform, "needs": need, "flows": flows}


FIGURES = {
    token
    for row in attachment_table().row.values()
    if row.source == "busch"
    for token in re.findall(r"\d+(?:\.\d+)?x|\d+/15|\d+ times|\d+%", row.figure)
}
NUMBER = re.compile(r"\d[\d.,/]*")


@pytest.mark.parametrize("case", list(grid()))
def test_what_holds_for_every_answer(case: Table) -> None:
    given = advice(case)
    rows, commands = attachment_table().row, {*attachment_table().command.values()}
    for flow in given.flows:
        excluded = {one.attachment for one in flow.excluded}
        assert not excluded & {*flow.attachments}
        assert all(rows[one.row].kind == "hard" for one in flow.excluded)
        assert len(flow.attachments) == 1 or flow.answer != "advised"
        assert "vhost-vdpa" not in flow.attachments or case["platform"]["vduse"]
        if "depends" in (flow.answer, flow.rfs):
            assert flow.deciding
        assert all(one.fact and one.command in commands for one in flow.deciding)
        assert flow.answer != "unknown" or flow.missing or flow.unmet
        shown = {row.row for row in flow.rows}
        assert {one.row for one in flow.excluded} <= shown
        _assert_numbers(flow.rows)
    text = msgspec.json.encode(given).decode()
    if case["platform"].get("kind") == "x86" or case["platform"].get("sdn") == "ovn-kubernetes":
        assert [one for one in FIGURES if re.search(rf"(?<![\d.]){re.escape(one)}", text)] == []


def _assert_numbers(shown: tuple[FiredRow, ...]) -> None:
    """No number that is not the row's own, as the table has it."""
    table = attachment_table().row
    for row in shown:
        own = table[row.row]
        source = attachment_table().source[own.source]
        texts = (
            own.answer, own.figure, own.direction, own.limits, own.decides, *own.quotations,
            *(case.limits or "" for case in own.cases), *(case.answer or "" for case in own.cases),
            source.measured, *(one for words in source.excluded.values() for one in words.values()),
        )  # fmt: skip
        numbers = {number for text in texts for number in NUMBER.findall(text)}
        told = (row.answer, row.figure, row.direction, row.limits, row.decides, row.quotation)
        assert {number for text in told for number in NUMBER.findall(text)} <= numbers
