"""A host prints whatever it likes: no parser of its facts may take the square of its length."""

from functools import partial

import pytest

from tests.platforms.host.given import readings_of
from tests.regressions.hostile_input.growth import MOST, TIMES, cost, ratio
from vnicaudit.platforms.host.facts import EVERY_FACT, links
from vnicaudit.platforms.host.ovsdb import value_of
from vnicaudit.platforms.host.readings import HostFact, SectionReadings

SIZE = 4_000
CLEAR = 0.02
"""Seconds for the large text that need no comparison."""
PIECES = (
    " ", "\t", "a", "1", "-", ":", "a: ", "1,", "[", "{", "\n", " \n", "0-1 ", '["', "eth0: ",
    "bus-info: ", "1: a: <UP> mtu 1 \n    ", "RX: a\n1\n", "rx-0 : ", "Features for a:\n",
    "default dev a\n", "port: a queue-id: 1 ", "pmd thread numa_id 0 core_id 0:\n  ", "cpu0 1 ",
    "kernel: a: dropped over-mtu packet: ", "VM00 Name: ", "-A a -m physdev ",
)  # fmt: skip
"""What is repeated, with the beginnings of several outputs before it."""
BEFORE = (
    "",
    "driver: a\nbus-info: ",
    "1: eth0: <UP> mtu 1 ",
    "Ring parameters for a:\n",
    "[",
    "x ",
)


GIVEN = {"ip -j -d -s -s link": '[{"ifname": "a", "flags": []}]'}
"""Without it nothing else of links is read."""
CASES = [
    *(pytest.param(fact, {}, id=fact.name) for fact in EVERY_FACT),
    pytest.param(links.FACT, GIVEN, id="links, beside a list of them"),
]


@pytest.mark.parametrize(("fact", "given"), CASES)
def test_no_output_costs_more_than_its_length(fact: HostFact, given: dict[str, str]) -> None:
    for before in BEFORE:
        for piece in PIECES:
            large = _readings(fact, given, before + piece * (SIZE * TIMES // len(piece)) + "! !")
            if cost(partial(fact.read, large), 1) < CLEAR:
                continue
            small = _readings(fact, given, before + piece * (SIZE // len(piece)) + "! !")
            assert ratio(fact.read, small, large, tries=8) <= MOST, (before, piece)


@pytest.mark.parametrize("piece", ["a", '"', '\\"', '"a', "\\", "a=", '"a"='])
def test_no_value_of_open_vswitch_costs_more_than_its_length(piece: str) -> None:
    for start, end in ("{}", "[]"):
        small, large = (start + piece * (SIZE * times) + end for times in (1, TIMES))
        if cost(partial(value_of, large), 1) >= CLEAR:
            assert ratio(value_of, small, large, tries=8) <= MOST, (start, piece)


def _readings(fact: HostFact, given: dict[str, str], text: str) -> SectionReadings:
    """Each file and each output is this text."""
    patterns = (*fact.files, *fact.counters, *(p for e in fact.excerpts for p in e.files))
    files = {pattern.replace("*", "a"): text for pattern in patterns}
    outputs: dict[str, str] = {}
    for command in fact.commands:
        outputs |= {command.name: text, f"{command.name} a": text}
    outputs |= given
    later = ({**files, "/proc/uptime": "9.00 1.00"}, outputs)
    return readings_of({**files, "/proc/uptime": "5.00 1.00"}, outputs, 4.0, later)
