"""What the NICs of an end counted, from ``/proc/net/dev`` as it is and as it may be."""

import subprocess

import pytest

from tests.bench.engines.here import Here
from vnicaudit.bench.facts.path_check import (
    COUNTERS,
    NicReading,
    counted_between,
    counted_both_ways,
    nic_reading,
    read_end,
)
from vnicaudit.model.host import Section

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
