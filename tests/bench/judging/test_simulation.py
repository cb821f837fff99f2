"""The page's table of the simulation: what it says is what the program does, seen in a small share
of the same repetitions; and the bars that it has to hold."""

from __future__ import annotations

import math

import pytest

from scripts import simulate_verdicts as simulation

SHARE = 600
"""Repetitions, of thousands: a few seconds."""

CASES = {case.name: case for case in simulation.CASES}
RANDOMISED = CASES["randomised blocks"]


def row(name: str) -> list[str]:
    """The cells of a line of the page's table."""
    text = simulation.PAGE.read_text("utf-8")
    table = text.partition(simulation.BEGIN)[2].partition(simulation.END)[0]
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {name} |"))
    return [part.strip() for part in line.strip("|").split("|")][1:]


def numbers(cell: str) -> list[float]:
    """``95.1 % (99.9 %)``"""
    return [float(part) for part in cell.replace("(", "").replace(")", "").replace("%", "").split()]


def test_every_case_is_on_the_page() -> None:
    text = simulation.PAGE.read_text("utf-8")
    table = text.partition(simulation.BEGIN)[2].partition(simulation.END)[0]
    assert len(table.splitlines()) == len(simulation.CASES) + 2
    for case in simulation.CASES:
        assert len(row(case.name)) == 7


@pytest.mark.parametrize("name", [case.name for case in simulation.CASES if case.workloads == 1])
def test_page_says_what_the_program_does(name: str) -> None:
    for column, effect in ((0, 0.0), (3, -0.10)):
        wanted = numbers(row(name)[column])[-1] / 100
        found = simulation.cell(CASES[name], effect, SHARE).regressed / 100
        spread = math.sqrt(max(wanted * (1 - wanted), 0.01) / SHARE)
        assert found == pytest.approx(wanted, abs=4 * spread)


@pytest.mark.parametrize(
    "name",
    [
        "randomised blocks", "randomised blocks, one look at n = 10",
        "randomised blocks, 8 primaries", "boots, one run in each", "boots, three runs in each",
        "single flip, n = 7",
    ],
)  # fmt: skip
def test_bar_of_false_regressions(name: str) -> None:
    assert numbers(row(name)[0])[0] <= 5


@pytest.mark.parametrize(
    "name",
    ["randomised blocks", "randomised blocks, one look at n = 10", "boots, three runs in each"],
)
def test_bar_of_ten_per_cent(name: str) -> None:
    assert numbers(row(name)[3])[0] >= 95


def test_the_same_seed_says_the_same() -> None:
    few, more = (list(simulation.outcomes(RANDOMISED, -0.05, count)) for count in (5, 10))
    assert more[:5] == few


def test_another_table_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(simulation, "table", lambda: "| another |\n")
    assert simulation.main(["--check"]) == 1
    assert "run scripts/simulate_verdicts.py --write" in capsys.readouterr().err
    assert simulation.main([]) == 0
    assert capsys.readouterr().out == "| another |\n"
