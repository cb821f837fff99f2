"""Whether the payload took the NIC that the result is about, and what is no proof against it."""

import subprocess
from collections.abc import Mapping
from typing import NoReturn

import pytest

from tests.bench.engines.here import Here
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.facts.path_check import (
    COUNTERS,
    LaggedReading,
    NicReading,
    PathFinding,
    check_path,
    counted_between,
    counted_both_ways,
    nic_reading,
    parse_lagged,
    payload_of,
    read_end,
)
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import NicBytes

MB = 1_000_000
START = {"lo": 5, "eth0": 10 * MB, "eth1": 0, "br0": 70}


def reading(named: str | None = "eth0", /, **more: int) -> NicReading:
    """Counters that received so much since the start."""
    return NicReading(
        {name: (count + more.get(name, 0), 0) for name, count in START.items()}, named
    )


def no_second_look(_nic: str) -> NoReturn:
    raise AssertionError("there is no need to look again")


def checked(
    payload: float | None, beside: frozenset[str] = frozenset(), *, held_only: bool = False,
    later: Mapping[str, int] | None = None, **counted: int,
) -> PathFinding:  # fmt: skip
    """``counted`` after the run; ``later``: in the second look, where that differs."""
    look = LaggedReading(reading(**(counted | dict(later or {}))), beside, held_only)
    return check_path(
        "target",
        reading(),
        reading(**counted),
        payload,
        lambda nic: look if nic == "eth0" else None,
    )


def own(count: int) -> NicBytes:
    return NicBytes("target", "eth0", count)


def other(nic: str, count: int) -> NicBytes:
    return NicBytes("target", nic, count, is_subject=False)


@pytest.mark.parametrize("counted", [95 * MB, 104 * MB])
def test_the_nic_carried_it(counted: int) -> None:
    after = reading(eth0=counted, eth1=500 * MB)
    found = check_path("target", reading(), after, 100 * MB, no_second_look)
    assert found == PathFinding((own(counted),))


@pytest.mark.parametrize("payload", [None, 0.0, 99_999.0])
def test_too_little_to_tell(payload: float | None) -> None:
    after = reading(eth0=10, eth1=100_000)
    assert check_path("target", reading(), after, payload, no_second_look) == PathFinding(
        (own(10),)
    )


def test_another_nic_carried_it() -> None:
    found = checked(800 * MB, eth0=2600, eth1=803 * MB, lo=3000)
    assert found == PathFinding((own(2600), other("eth1", 803 * MB)))


def test_loopback_carried_it() -> None:
    found = checked(800 * MB, lo=1700 * MB)
    assert found == PathFinding((own(0), other("lo", 1700 * MB)))


def test_half_of_it_went_another_way() -> None:
    found = checked(800 * MB, eth0=410 * MB, eth1=410 * MB)
    assert found == PathFinding((own(410 * MB), other("eth1", 410 * MB)))


def test_a_counter_that_lags_is_read_again() -> None:
    found = checked(100 * MB, eth0=60 * MB, eth1=100 * MB, later={"eth0": 104 * MB})
    assert found == PathFinding((own(104 * MB),))


def test_what_a_nic_is_stacked_on_is_one_way_with_it() -> None:
    found = checked(100 * MB, frozenset({"eth1", "br0"}), eth0=3, eth1=104 * MB)
    assert found == PathFinding((own(104 * MB + 3),))


def test_no_nic_counted_it() -> None:
    """Counters of a pod's eth0 behind bpf_redirect_peer do not move; that proves nothing."""
    found = checked(100 * MB, eth0=3, eth1=20 * MB, lo=MB)
    assert found == PathFinding((own(3),), "no NIC there counted as many bytes as the payload")


def test_an_address_on_a_dummy() -> None:
    found = checked(100 * MB, held_only=True, eth1=104 * MB)
    assert found == PathFinding(
        (own(0),), "the address is on eth0, which carries no traffic itself"
    )


def test_what_is_not_known() -> None:
    def why(before: NicReading | None, after: NicReading | None) -> str:
        found = check_path("peer", before, after, 100 * MB, lambda _nic: None)
        assert [nic.is_subject for nic in found.nics] == [True] * len(found.nics)
        return found.unchecked

    assert why(None, reading()) == why(reading(), None)
    assert why(reading(), None) == "the counters of its NICs cannot be read"
    assert why(reading(None), reading(None)) == "its route to the target is unknown"
    assert why(reading("eth7"), reading()) == "eth7 did not exist the whole time"
    assert why(reading(), reading()) == "the counters of its NICs cannot be read"  # nor once more


@pytest.mark.parametrize(
    ("measured", "payload"),
    [
        (Measured(), None),
        (Measured(bytes=5.0, transactions=9.0), 5.0),
        (Measured(transactions=60_000.0), 120_000.0),
    ],
)
def test_the_payload(measured: Measured, payload: float | None) -> None:
    assert payload_of(measured) == payload


def looked(**sections: str) -> LaggedReading:
    printed = {"nics": "eth0 1 1\n", "nic": "eth0\n", **sections}
    found = parse_lagged(tuple(Section(*each) for each in printed.items()), "eth0")
    assert found is not None
    return found


def test_the_second_look() -> None:
    assert looked() == LaggedReading(NicReading({"eth0": (1, 1)}, "eth0"), frozenset(), False)
    assert parse_lagged((Section("nics", ""),), "eth0") is None
    assert looked(related="\nenp1 enp2\n\nbond0\n").beside == {"enp1", "enp2", "bond0"}
    # iproute2 6.1: ip -4 -o route show to match
    two = (
        "192.0.2.0/24 proto static metric 20 \\\tnexthop via 198.51.100.1 dev eth0 weight 1 "
        "\\\tnexthop via 203.0.113.1 dev eth1 weight 1 \n"
    )
    assert looked(ways=two).beside == {"eth1"}
    assert looked(ways=two.replace("eth0", "eth9")).beside == frozenset()
    dummy = (
        "4: eth0: <BROADCAST,NOARP,UP,LOWER_UP> mtu 1500 qdisc noqueue state UNKNOWN mode DEFAULT "
        "group default qlen 1000\\    link/ether 6a:2c:00:00:00:01 brd ff:ff:ff:ff:ff:ff "
        "promiscuity 0 minmtu 0 maxmtu 0 \\    dummy addrgenmode eui64 numtxqueues 1 \n"
    )
    assert looked(link=dummy).held_only
    assert not looked(link=dummy.replace("dummy", "veth")).held_only


# What the NICs of an end counted, from ``/proc/net/dev`` as it is and as it may be.


GIB_4 = 2**32


def test_what_is_printed() -> None:
    text = "lo 10 10\neth0.100 18446744073709551615 2\nodd line\n"
    found = nic_reading((Section("nics", text), Section("nic", "eth0.100\n")))
    assert found == NicReading({"lo": (10, 10), "eth0.100": (2**64 - 1, 2)}, "eth0.100")


@pytest.mark.parametrize("named", ["", "eth0\neth1\n"])
def test_none_or_several_are_meant(named: str) -> None:
    found = nic_reading((Section("nics", "lo 1 1\n"), Section("nic", named)))
    assert found == NicReading({"lo": (1, 1)}, None)


def test_there_are_no_counters() -> None:
    assert nic_reading((Section("nics", ""), Section("nic", "eth0\n"))) is None


# Linux 6.1 writes a blank behind the colon, 2.6 did not where the number was long.
DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo:  123456     12    0    0    0     0          0         0   654321      12    0    0    0     0       0          0
  eth0:4294967290  9 1 2 3 4 5 6 777 8 0 0 0 0 0 0
br-lan.7: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0
"""  # noqa: E501


def test_the_columns_that_are_taken() -> None:
    command = next(line for line in COUNTERS.replace("\\\n", " ").splitlines() if "sed" in line)
    script = command.replace("/proc/net/dev", "")
    printed = subprocess.run(
        ["sh", "-c", script], input=DEV, capture_output=True, text=True, check=True
    ).stdout
    assert printed == "lo 123456 654321\neth0 4294967290 777\nbr-lan.7 5 6\n"


@pytest.mark.parametrize(
    ("early", "late", "counted"),
    [
        ((100, 50), (300, 60), {"eth0": 210}),
        ((1000, 0), (900, 5), {}),  # another NIC of that name
    ],
)
def test_what_was_counted_since(
    early: tuple[int, int], late: tuple[int, int], counted: dict[str, int]
) -> None:
    before = NicReading({"eth0": early, "gone": (1, 1)}, "eth0")
    after = NicReading({"eth0": late, "new": (9, 9)}, "eth0")
    assert counted_between(before, after) == counted


def test_this_machine() -> None:
    with Here() as here:
        for end in ("target", "peer"):
            found = read_end(here, end, "127.0.0.1").nics
            assert found is not None
            assert found.subject_nic == "lo"
            assert "lo" in found.counters
        assert len(here.commands) == 2


@pytest.mark.parametrize(
    ("late", "seconds", "counted"),
    [
        ((300, 60), 0.1, True),
        ((100, 60), 3.0, False),  # it hears nothing
        ((300, 50), 3.0, False),  # it says nothing
        ((100, 50), 1.0, None),  # its driver may not have asked the device yet
    ],
)
def test_both_ways_were_counted(
    late: tuple[int, int], seconds: float, *, counted: bool | None
) -> None:
    before, after = (NicReading({"eth0": each}, "eth0") for each in ((100, 50), late))
    assert counted_both_ways(before, after, seconds) is counted
    assert counted_both_ways(before, NicReading({"eth0": late}, None), seconds) is None
    assert counted_both_ways(None, after, seconds) is None
