"""The table of the talk."""

from __future__ import annotations

from msgspec.structs import replace

from tests.reports.bench.samples import ALL, SWITCH, switch_dns
from vnicaudit.reports.bench.tables.dimensions import matrices


def test_the_table_of_the_talk() -> None:
    """Rows by NIC and vCPUs, columns by server option, a number for each number of generators; the
    figures are those of the talk, give or take the noise of five runs."""
    (matrix,) = matrices([switch_dns("2"), switch_dns("1")])
    assert (matrix.title, matrix.metric) == ("dnsperf max", "query_rate")
    assert matrix.states == ("", "querylog", "querylog+dsc")
    assert matrix.generators == (1, 2)
    assert list(matrix.rows) == list(SWITCH)
    for row, cells in SWITCH.items():
        for state, numbers in zip(matrix.states, cells, strict=True):
            for generators, rate in zip(matrix.generators, numbers, strict=True):
                assert abs(matrix.rows[row][state, generators] / rate - 1) < 0.01


def test_a_measurement_without_dimensions_has_no_such_table() -> None:
    for result in ALL:
        if result.run.profile != "switch-dns":
            assert list(matrices([result])) == []


def test_vcpus_alone_are_a_dimension_over_several_measurements() -> None:
    one, two = switch_dns("1"), switch_dns("2")
    bare = [replace(result, workloads=result.workloads[:1]) for result in (one, two)]
    (matrix,) = matrices(bare)
    assert list(matrix.rows) == list(SWITCH)
    assert list(matrices(bare[:1])) == []


def test_what_was_not_measured_has_no_cell_and_odd_labels_come_first() -> None:
    result = switch_dns("2")
    lost = tuple(one for one in result.samples if "g2" not in one.workload)
    odd = replace(result, samples=lost, run=replace(result.run, labels={"vcpus": "9" * 5000}))
    (matrix,) = matrices([result, odd])
    arm, vcpus = next(iter(matrix.rows))
    assert (arm, len(vcpus)) == ("emulated", 5000)
    assert ("", 2) not in matrix.rows[arm, vcpus]


def test_connections_tell_kinds_apart_where_nothing_else_does() -> None:
    result = switch_dns("2")
    twice = tuple(
        replace(one, id=f"{one.id}.{connections}", connections=connections)
        for one in result.workloads[:2]
        for connections in (10, 20)
    )
    samples = tuple(
        replace(one, workload=workload.id)
        for workload in twice
        for one in result.samples
        if one.workload == workload.id.rpartition(".")[0]
    )
    found = list(matrices([replace(result, workloads=twice, samples=samples)]))
    assert [matrix.generators for matrix in found] == [(1, 2), (1, 2)]
