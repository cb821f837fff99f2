"""The table of the talk."""

from msgspec.structs import replace

from tests.reports.bench.samples import ALL, SWITCH, applied, switch_dns
from vnicaudit.reports.bench.matrix import all_matrices, matrices, matrix_table


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


def test_before_and_after_of_a_plan_are_rows_by_nic() -> None:
    """Mb/s and queries per second, and these per vCPU, as in the talk."""
    one = replace(applied(), run=replace(applied().run, labels={"vcpus": "1"}))
    tcp, dns, each = all_matrices([one, applied()])
    names = [("rtl8139", "1"), ("rtl8139", "2"), ("virtio", "1"), ("virtio", "2")]
    assert list(tcp.rows) == list(dns.rows) == list(each.rows) == names
    assert tcp.title == "iperf3 tcp, the target receives, 64 KiB"
    assert (each.metric, each.per_vcpu) == ("query_rate", True)
    for row in names:
        assert each.rows[row]["", 1] == dns.rows[row]["", 1] / int(row[1])
    table = matrix_table(tcp)
    assert table.caption == "iperf3 tcp, the target receives, 64 KiB: received payload, Mb/s"
    assert [row.cells for row in table.rows][1:3] == [
        ("rtl8139, 2 vCPU", "132"), ("virtio, 1 vCPU", "7,820"),
    ]  # fmt: skip


def test_several_guests_have_their_names() -> None:
    other = replace(applied(), paths=tuple(replace(path, guest="ns1") for path in applied().paths))
    (tcp, *_) = all_matrices([applied(), other])
    assert [row[0] for row in tcp.rows] == [
        "web01 rtl8139", "web01 virtio", "ns1 rtl8139", "ns1 virtio",
    ]  # fmt: skip


def test_two_measurements_of_one_nic_are_one_sample() -> None:
    less = tuple(
        replace(one, values={name: value / 2 for name, value in one.values.items()})
        for one in applied().samples
    )
    (tcp, *_) = all_matrices([applied(), replace(applied(), samples=less)])
    (once, *_) = all_matrices([applied()])
    assert once.rows["virtio", "2"]["", 1] / 2 < tcp.rows["virtio", "2"]["", 1]
    assert tcp.rows["virtio", "2"]["", 1] < once.rows["virtio", "2"]["", 1]


def test_states_of_one_nic_keep_their_names() -> None:
    live = replace(applied(), run=replace(applied().run, design="live-flip"))
    (tcp, *_) = all_matrices([live])
    assert [row[0] for row in tcp.rows] == ["before", "after"]


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
