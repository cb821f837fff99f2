"""A definition of a few thousand NICs kept a plan busy for hours: each step masked the definition
twice, and there was no limit."""

import re
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from tests.cli.inside import inside
from tests.regressions.hostile_input.growth import MOST, TIMES, ratio
from tests.remedy.planning.planned import definition, interface
from tests.remedy.planning.units import file_of, on_files
from vnicaudit.audit.reading.files import read_stream
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.plan import FileUnit, NotPlanned, Plan, Step
from vnicaudit.remedy.applying.apply import RunContext, dry_run_apply
from vnicaudit.remedy.applying.domains.file import prepare_file
from vnicaudit.remedy.applying.journal.events import Result, RunLimits, UnitRequest
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.unit_queue import Schedule, UnitQueue
from vnicaudit.remedy.planning import domain_targets
from vnicaudit.remedy.planning.domain_targets import MOST_NICS, DomainPlanner
from vnicaudit.remedy.planning.source import DomainSource
from vnicaudit.reports.plan import from_json


def _file(folder: Path, nics: int) -> None:
    addresses = (f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}" for number in range(nics))
    (folder / "guest.xml").write_text(
        definition("".join(interface("e1000", mac=mac) for mac in addresses))
    )


def test_a_domain_of_more_nics_than_any_has_is_not_planned(tmp_path: Path) -> None:
    _file(tmp_path, MOST_NICS + 1)
    result = inside("plan", "guest.xml", "--include-unsafe", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    words = " ".join(result.stdout.split())
    assert f"{MOST_NICS + 1} NICs: the domain has more than {MOST_NICS} NICs: it is not" in words


def _many(folder: Path, domains: int) -> str:
    """One file of so many definitions: each was read again, masked and compared for each step."""
    path = folder / f"{domains}.xml"
    path.write_text("".join(
        definition(interface("e1000", mac=f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}"))
        for number in range(domains)
    ))  # fmt: skip
    return path.name


def _planned(folder: Path, name: str) -> Plan:
    made = folder / f"{name}.json"
    result = inside("plan", name, "--include-unsafe", "-o", made.name, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return from_json(made.read_bytes(), name)


def test_a_file_of_eight_times_the_domains_costs_eight_times_as_much(tmp_path: Path) -> None:
    small, large = _many(tmp_path, 12), _many(tmp_path, 12 * TIMES)
    assert len(_planned(tmp_path, large).steps) == 12 * TIMES
    assert ratio(lambda name: _planned(tmp_path, name), small, large) <= MOST


def test_the_steps_of_such_a_file_are_applied_in_time_that_grows_with_it(tmp_path: Path) -> None:
    small, large = (
        on_files(_planned(tmp_path, _many(tmp_path, number)).steps) for number in (12, 12 * TIMES)
    )
    assert ratio(lambda steps: prepare_file(steps), small, large) <= MOST


def test_each_step_of_such_a_file_says_its_own_place(tmp_path: Path) -> None:
    plan = _planned(tmp_path, _many(tmp_path, 3))
    text = (tmp_path / "3.xml").read_text()
    for number, step in enumerate(plan.steps, 1):
        assert file_of(step).place == f"/domain[{number}]/devices/interface[1]"
        found = re.search(r"^@@ -(\d+),", step.diff, re.MULTILINE)
        assert found is not None
        line = text.split("\n")[int(found[1]) - 1]
        assert step.diff.split("\n")[3] == f" {line}"
    goal = prepare_file(on_files(plan.steps)).goal
    assert goal == text.replace("e1000", "virtio").encode()


@pytest.mark.usefixtures("without_collection")
def test_a_file_that_takes_too_long_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    for number, name in enumerate(("a.xml", "b.xml", "c.xml")):
        mac = f"52:54:00:00:00:{number:02x}"
        (folder / name).write_text(definition(interface("e1000", mac=mac)))
    _planned(tmp_path, _many(tmp_path, 1))  # what loads with the first plan is no file's time
    plan_one = DomainPlanner.plan

    def slow(planner: DomainPlanner, source: DomainSource) -> Iterator[Step | NotPlanned]:
        while source.name.endswith("b.xml"):
            for _item in read_stream(
                BytesIO(source.text), "f", every_platform().files
            ):  # it has a deadline of its own
                pass
        yield from plan_one(planner, source)

    monkeypatch.setattr(DomainPlanner, "plan", slow)
    monkeypatch.setattr(domain_targets, "FILE_SECONDS", 0.3)
    result = inside("plan", "all", "--include-unsafe", "-o", "p.json", cwd=tmp_path)
    assert result.returncode == 4
    plan = from_json((tmp_path / "p.json").read_bytes(), "p")
    assert [Path(file_of(step).path).name for step in plan.steps] == ["a.xml", "c.xml"]
    (error,) = plan.errors
    assert "b.xml: took more than" in error


def test_the_steps_of_a_plan_are_found_once_for_all_its_units(tmp_path: Path) -> None:
    """For each server all steps of the plan were looked through."""
    (step,) = _planned(tmp_path, _many(tmp_path, 1)).steps
    steps = [
        msgspec.structs.replace(step, id=str(n), unit=FileUnit(f"/{n}.xml")) for n in range(1600)
    ]
    small, large = steps[:200], steps

    def looked_at(some: list[Step]) -> None:
        assert len(dry_run_apply(some, b"", _order(tmp_path))) == len(some)

    assert ratio(looked_at, small, large) <= MOST


def test_units_of_a_run_are_counted_as_they_end() -> None:
    """Before each unit all that had ended were looked through, and all that were left."""
    units = [UnitRequest(str(n), "", f"host {n % 40}", (), (), "domain") for n in range(3200)]
    groups = {f"host {n}": (f"zone {n % 4}", f"rack {n % 10}") for n in range(40)}
    small, large = units[:400], units

    def gone_through(some: list[UnitRequest]) -> None:
        run = UnitQueue(Schedule(groups=groups), some)
        while run.targets:
            assert run.stop(datetime(2026, 11, 27)) == ""
            for unit in run.next():
                run.count(unit, Result("applied"))

    assert ratio(gone_through, small, large) <= MOST


def _order(folder: Path) -> RunContext:
    state = StateFolder(str(folder / "state"))
    table = every_platform().unit_kinds()
    return RunContext("next-boot", RunLimits(), Schedule(), 30.0, state, table, adapters())
