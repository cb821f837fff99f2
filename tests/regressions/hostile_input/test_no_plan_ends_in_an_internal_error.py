"""A plan that names a file with a zero byte, or a place with a number of 5,000 digits, ended
``apply`` with an internal error, also as a dry run."""

import json
from pathlib import Path

import pytest

from tests.cli.definitions import E1000
from vnicaudit.cli.main import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VNICAUDIT_STATE", str(tmp_path / "state"))
    (tmp_path / "a.xml").write_text(E1000)
    assert run(["plan", "a.xml", "-o", "plan.json", "--quiet", "--include-unsafe"]) == 0
    return tmp_path


def edited(**fields: str) -> None:
    plan = json.loads(Path("plan.json").read_text())
    plan["steps"][0]["unit"].update(fields)
    Path("plan.json").write_text(json.dumps(plan))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("options", [["--dry-run"], ["--yes"]], ids=" ".join)
def test_a_file_name_with_a_zero_byte_is_no_plan(options: list[str], capsys: Capture) -> None:
    edited(path="a\0b")
    assert run(["apply", "plan.json", "--include-unsafe", *options]) == 2
    problem = "plan.json: not a plan: steps[0].unit.path: "
    assert problem in capsys.readouterr().err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("options", [["--dry-run"], ["--yes"]], ids=" ".join)
@pytest.mark.parametrize(
    "place", ["/domain[{}]/devices/interface[1]", "/domain/devices/interface[{}]"]
)
def test_a_place_of_many_digits_is_refused(place: str, options: list[str], capsys: Capture) -> None:
    edited(place=place.format("1" * 5000))
    assert run(["apply", "plan.json", "--include-unsafe", *options]) == 5
    assert "internal error" not in capsys.readouterr().err
    assert Path("a.xml").read_text() == E1000
