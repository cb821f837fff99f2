"""The page's tables of the simulation: what they say is what the program does, seen in a share of
the same repetitions; and the bounds that every cell has to hold."""

from collections.abc import Sequence

import pytest

from scripts import simulate_verdicts as simulation
from scripts.simulate_verdicts import CASES, ONE_OF_MANY, WORLDS, Case, Cell, World

MANY_IN_TURNS = CASES[4]
APART = {0.0: 2.0, -0.10: 5.0, 0.30: 6.0}
"""Effect -> percentage points between the page, of a thousand repetitions and more, and the first
few hundred of the same: as far apart as they are, for the seed is fixed."""


def share_of(case: Case) -> int:
    """How many of the repetitions are made."""
    return 300 if case.workloads == 1 else 100


def shown(title: str, cases: Sequence[Case]) -> list[list[str]]:
    """The rows of a table of the page, without its head."""
    found = simulation.PLACE.shown().split("\n\n")
    (table,) = (each for each in found if title in each)
    rows = [[part.strip() for part in row.strip("|").split("|")] for row in table.splitlines()]
    assert rows[0][1:] == [case.name for case in cases]
    return rows[2:]


def cell(effect: float, world: World, case: Case) -> Cell:
    """A cell of the page: ``1.2 / 0.8 (13.1)``."""
    cases = simulation.cases_of(effect)
    rows = {row[0]: row for row in shown(simulation.TITLES[effect], cases)}
    said = rows[world.name][1 + cases.index(case)]
    numbers = [float(part) for part in said.replace("(", "/").replace(")", "").split("/")]
    return Cell(*numbers)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_without_a_change_none_is_found(world: World, case: Case) -> None:
    """In every world, of every design, and as the page says."""
    said = cell(0.0, world, case)
    found = simulation.cell(case, world, 0.0, share_of(case))
    for wanted, seen in ((said.regressed, found.regressed), (said.improved, found.improved)):
        assert max(wanted, seen) <= simulation.BOUND
        assert seen == pytest.approx(wanted, abs=APART[0.0])


@pytest.mark.parametrize("world", WORLDS[:5], ids=lambda world: world.name)
@pytest.mark.parametrize(
    "case", [CASES[0], MANY_IN_TURNS, *ONE_OF_MANY], ids=lambda case: case.name
)
def test_a_loss_is_found_as_often_as_the_page_says(world: World, case: Case) -> None:
    said = cell(-0.10, world, case).regressed
    seen = simulation.cell(case, world, -0.10, share_of(case)).regressed
    assert seen == pytest.approx(said, abs=APART[-0.10])


@pytest.mark.parametrize("case", ONE_OF_MANY, ids=lambda case: case.name)
def test_a_gain_of_thirty_per_cent_in_one_workload_is_kept(case: Case) -> None:
    """Also where none of the others excludes harm."""
    said = cell(0.30, WORLDS[1], case).improved
    assert said > 80
    seen = simulation.cell(case, WORLDS[1], 0.30, share_of(case)).improved
    assert seen == pytest.approx(said, abs=APART[0.30])


@pytest.mark.parametrize("effect", [-0.10, 0.10])
def test_a_change_of_all_workloads_is_decided(effect: float) -> None:
    """Few turns could not: the smallest p of five against five is 0.0079, and eleven times that is
    more than any look spends."""
    found = cell(effect, WORLDS[0], MANY_IN_TURNS)
    assert (found.regressed if effect < 0 else found.improved) > 95


def test_the_same_seed_says_the_same() -> None:
    few, more = (list(simulation.outcomes(CASES[0], WORLDS[1], -0.10, count)) for count in (5, 10))
    assert more[:5] == few


def test_another_table_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(simulation, "tables", lambda: "| another |\n")
    assert simulation.main(["--check"]) == 1
    assert "simulated-verdicts.txt has other tables" in capsys.readouterr().err
    assert simulation.main([]) == 0
    assert capsys.readouterr().out == "| another |\n"


def test_help_simulates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "tables", lambda: pytest.fail("it simulates"))
    with pytest.raises(SystemExit) as end:
        simulation.main(["--help"])
    assert end.value.code == 0
