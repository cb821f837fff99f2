"""Whose CPU time it was, of which seconds, and what that makes per Gbit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.bench.contract import Measured
from vnicaudit.bench.facts.covariates import Spent, attribute, cost
from vnicaudit.bench.facts.cpu import Used
from vnicaudit.bench.facts.guest_process import HostUse
from vnicaudit.model.measurement import Covariates, CpuParts, CpuUse

NOBODY = Used()
NO_HOST = HostUse()


def spent(
    target: Used = NOBODY, peer: Used = NOBODY, host: HostUse = NO_HOST, *, polls: bool = False
) -> Spent:
    return Spent(target, peer, host, polls)


def test_the_time_of_the_warm_up_is_taken_out() -> None:
    use = attribute(spent(Used(12e6, seconds=12.0)), 10.0, 2.0)
    assert use == CpuUse(target=10e6)


def test_setting_up_is_no_load() -> None:
    """12 s of load in a window of 15 s: what was spent was spent in those 12."""
    use = attribute(spent(Used(12e6, seconds=15.0)), 10.0, 2.0)
    assert use.target == pytest.approx(10e6)


@pytest.mark.parametrize("window", [14.0, 16.0])
def test_an_engine_that_loads_longer_says_so(window: float) -> None:
    """Several clients of iperf3 run 2 s longer: 14 s of load, 10 of them measured."""
    use = attribute(spent(Used(14e6, seconds=window)), 10.0, 2.0, 14.0)
    assert use.target == pytest.approx(10e6)


def test_a_warm_up_is_as_long_as_it_was_in_fact() -> None:
    """Half a second was asked for, iperf3 takes whole ones."""
    use = attribute(spent(Used(11e6, seconds=12.0)), 10.0, 0.5, 11.0)
    assert use.target == pytest.approx(10e6)


def test_a_long_load_is_no_search() -> None:
    use = attribute(spent(Used(20e6, seconds=40.0)), 10.0, 2.0, 38.0)
    assert use.target == pytest.approx(20e6 * 10 / 38)


def test_where_the_warm_up_is_not_known_the_whole_window_was_load() -> None:
    use = attribute(spent(Used(12e6, seconds=15.0)), 10.0, None)
    assert use.target == pytest.approx(8e6)


def test_an_engine_that_does_not_warm_up_loads_the_window_only() -> None:
    use = attribute(spent(Used(10e6, seconds=10.5)), 10.0, 2.0)
    assert use.target == pytest.approx(10e6 / 10.5 * 10)


def test_the_time_of_a_search_belongs_to_many_rates() -> None:
    assert attribute(spent(Used(40e6, seconds=40.0)), 10.0, 2.0) == CpuUse()
    assert attribute(spent(Used(40e6, seconds=40.0)), 1.0, None) == CpuUse()


def test_what_was_not_measured_has_no_cpu_time() -> None:
    assert attribute(spent(Used(1e6, seconds=1.0)), None, 2.0) == CpuUse()
    assert attribute(spent(Used(1e6, seconds=1.0)), 0.0, 0.0) == CpuUse()


def test_two_ends_of_one_machine_share_its_cpu_time() -> None:
    both = Used(5e6, seconds=10.0, boot="same")
    assert attribute(spent(both, both), 10.0, 0.0) == CpuUse(shared=5e6)


def test_of_one_machine_each_end_has_what_its_own_cgroup_used() -> None:
    """Half of the window was load; softirqs are the machine's."""
    target, peer = (
        Used(5e6, seconds=20.0, boot="same", group=inode,
             parts=CpuParts(group=used, softirq=1e6, softirq_of_busiest=8e5, vswitch=4e5))
        for inode, used in (("7", 2e6), ("9", 3e6))
    )  # fmt: skip
    use = attribute(spent(target, peer), 10.0, 10.0)
    assert use == CpuUse(
        shared=2.5e6,
        target_parts=CpuParts(1e6, 5e5, 4e5, 2e5),
        peer_parts=CpuParts(1.5e6, 5e5, 4e5, 2e5),
    )


def test_more_than_all_cpus_have_is_no_cpu_time_of_the_load() -> None:
    """Two CPUs, busy with other work for 6 s around a run of 2 s."""
    window = Used(10e6, seconds=6.0, boot="a", cpus=2, parts=CpuParts(group=1e6))
    use = attribute(spent(window), 2.0, 0.0)
    assert use.target is None
    assert use.target_parts.group == pytest.approx(1e6)
    for spent_there, told in ((3.9e6, 3.9e6), (4.4e6, 4e6)):
        use = attribute(spent(window._replace(busy=spent_there)), 2.0, 0.0)
        assert use.target == pytest.approx(told)


def test_one_cpu_has_no_more_than_its_time() -> None:
    for spent_there, told in ((1.9e6, 1.9e6), (2.2e6, 2e6), (3.9e6, None)):
        parts = CpuParts(softirq=3.9e6, softirq_of_busiest=spent_there)
        use = attribute(spent(Used(seconds=2.5, cpus=2, parts=parts)), 2.0, 0.0)
        assert use.target_parts.softirq_of_busiest == told
        assert use.target_parts.softirq == 3.9e6


def test_ends_in_one_cgroup_share_its_cpu_time_too() -> None:
    both = Used(5e6, seconds=10.0, boot="same", group="7", parts=CpuParts(group=2e6))
    assert attribute(spent(both, both), 10.0, 0.0) == CpuUse(shared=5e6)
    elsewhere = both._replace(boot="another")
    use = attribute(spent(both, elsewhere), 10.0, 0.0)
    assert (use.target_parts.group, use.peer_parts.group) == (2e6, 2e6)


def test_ends_whose_machine_is_not_known_may_be_two() -> None:
    both = Used(5e6, seconds=10.0)
    assert attribute(spent(both, both), 10.0, 0.0) == CpuUse(target=5e6, peer=5e6)


def test_a_guest_is_taken_out_of_a_peer_that_is_its_hypervisor() -> None:
    peer = Used(9e6, seconds=10.0, boot="host")
    host = HostUse(6e6, 10.0, "host")
    use = attribute(spent(Used(2e6, seconds=10.0, boot="guest"), peer, host), 10.0, 0.0)
    assert use == CpuUse(target=2e6, peer=3e6, host=6e6)


@pytest.mark.parametrize(
    ("host", "polls"), [(HostUse(boot="host"), False), (HostUse(6e6, 10.0, "host"), True)]
)
def test_where_the_guests_part_is_not_known_the_peers_is_not_either(
    host: HostUse, polls: bool
) -> None:
    peer = Used(9e6, seconds=10.0, boot="host")
    assert attribute(spent(peer=peer, host=host, polls=polls), 10.0, 0.0).peer is None


@given(
    busy=st.floats(0, 1e9), seconds=st.floats(0.1, 1e4), warmup=st.none() | st.floats(0, 60),
    window=st.floats(0.1, 1e4), load=st.none() | st.floats(0, 1e4),
)  # fmt: skip
def test_it_is_never_more_than_was_spent(
    busy: float, seconds: float, warmup: float | None, window: float, load: float | None
) -> None:
    use = attribute(spent(Used(busy, seconds=window)), seconds, warmup, load).target
    assert use is None or 0 <= use <= busy


def covariates(cpu: CpuUse) -> Covariates:
    return Covariates(cpu=cpu)


def test_netperfs_example_in_microseconds_per_gbit() -> None:
    """3.879 us/KB at 2099.76 Mb/s on one CPU at 99.43 % is 473,511 us/Gbit."""
    seconds, rate, share = 10.0, 2099.76e6, 0.9943
    found = cost(Measured(bytes=rate * seconds / 8), covariates(CpuUse(host=seconds * share * 1e6)))
    assert found.keys() == {"host_cpu_per_gbit"}
    assert found["host_cpu_per_gbit"] == pytest.approx(473_511, rel=1e-4)


def test_all_there_is() -> None:
    cpu = CpuUse(target=2e6, peer=3e6, host=4e6)
    assert cost(Measured(bytes=1.25e9, transactions=1000.0), covariates(cpu)) == {
        "host_cpu_per_gbit": 4e5,
        "host_cpu_per_transaction": 4000.0,
        "target_cpu_per_gbit": 2e5,
        "target_cpu_per_transaction": 2000.0,
        "peer_cpu_per_gbit": 3e5,
        "peer_cpu_per_transaction": 3000.0,
    }


@pytest.mark.parametrize("measured", [Measured(), Measured(bytes=0.0, transactions=0.0)])
def test_of_nothing_carried_there_is_no_cost(measured: Measured) -> None:
    assert cost(measured, covariates(CpuUse(target=2e6, peer=3e6, host=4e6))) == {}


def test_a_hypervisor_that_polls_has_no_cost_its_guest_has() -> None:
    cpu = CpuUse(target=2e6, host=4e6, busy_poll=True)
    assert cost(Measured(bytes=1.25e9), covariates(cpu)) == {"target_cpu_per_gbit": 2e5}


def test_no_cpu_time_is_zero_and_not_unknown() -> None:
    assert cost(Measured(transactions=5.0), covariates(CpuUse(host=0.0))) == {
        "host_cpu_per_transaction": 0.0
    }
