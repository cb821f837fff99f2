"""Commands that were told to be copied lacked the state folder that had been given: "there is no
run"; and those on servers where their nova-manage is."""

import re
import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.definitions import E1000
from tests.cli.records import options_of
from tests.reports.runs.samples import APPLY
from vnicaudit.cli.main import run
from vnicaudit.cli.options.remedy import RemedyOptions
from vnicaudit.cli.remedy.apply import command as command_of_apply
from vnicaudit.cli.remedy.run_output import print_run
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.runner import RunResult
from vnicaudit.text.targets import command, default_state

Capture = pytest.CaptureFixture[str]
STATE = "my state"
_TOLD = re.compile(r"vnicaudit ((?:rollback|runs)(?: (?:--[-a-z]+|\d{8}-[-0-9a-f]+|'[^']*'))*)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that has changed two files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    for name in "ab":
        (tmp_path / f"{name}.xml").write_text(E1000.replace("<name>a<", f"<name>{name}<"))
    assert run(["plan", "a.xml", "b.xml", "-o", "plan.json", "--quiet"]) == 0
    assert run(["apply", "plan.json", "--yes", "--state", STATE, "--quiet"]) == 0
    return tmp_path / STATE / "runs" / runs(STATE)[0].id


def told(capsys: Capture) -> list[list[str]]:
    """The words of each command that was told."""
    said = capsys.readouterr()
    return [shlex.split(one) for one in _TOLD.findall(said.out + said.err)]


def cut(folder: Path, lines: int) -> None:
    """So many lines of a run's journal are left."""
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:lines]))


def test_an_original_of_a_lost_run_comes_back_by_it(folder: Path, capsys: Capture) -> None:
    cut(folder, 0)
    for copy in folder.glob("definitions/*.begin.json"):
        copy.unlink()
    capsys.readouterr()
    assert run(["rollback", folder.name, "--yes", "--state", STATE]) == 5
    back = ["rollback", folder.name, "--restore", "--state", STATE]
    found = told(capsys)
    assert found
    assert all(words == back for words in found)  # no way that does not go
    assert run([*found[0], "--yes"]) == 0
    assert Path("a.xml").read_text() == E1000


def test_an_unfinished_run_is_taken_back_by_it(folder: Path, capsys: Capture) -> None:
    cut(folder, 2)
    Path("other.json").write_text(Path("plan.json").read_text() + "\n")
    capsys.readouterr()
    assert run(["apply", "other.json", "--yes", "--state", STATE]) == 5
    (words,) = told(capsys)
    assert words == ["rollback", folder.name, "--state", STATE]
    assert run([*words, "--yes"]) == 0
    assert Path("a.xml").read_text() == E1000


def test_runs_are_listed_by_it(folder: Path, capsys: Capture) -> None:
    capsys.readouterr()
    asked = [
        ["runs", "20261121-101500-3f2a"], ["runs", "--verify"],
        ["rollback", "20261121-101500-3f2a", "--yes"],
        ["rollback", folder.name, "--domain", "nobody", "--yes"],
    ]  # fmt: skip
    for words in asked:
        assert run([*words, "--state", STATE]) == 2
        (listed,) = told(capsys)
        assert run(listed) == 0
        assert folder.name in capsys.readouterr().out


def test_which_uris_are_trusted_is_told_again(capsys: Capture) -> None:
    uri = "qemu+ext:///system?command=x y"
    units = (replace(APPLY.steps[0], kind="server", outcome="applied", target=uri),)
    done = RunResult(replace(APPLY, steps=units))
    options = options_of(
        command_of_apply, "plan.json", "--state", STATE,
        "--trust-uri", uri, "--trust-uri", "qemu:///system?socket=/of/another/run",
    )  # fmt: skip
    assert isinstance(options, RemedyOptions)
    print_run(done, options, every_platform().unit_kinds())
    assert capsys.readouterr().err.endswith(
        f"Undo: vnicaudit rollback {APPLY.id} --state 'my state' --trust-uri "
        "'qemu+ext:///system?command=x y'\n"
    )


def test_many_uris_that_are_trusted_are_told_by_one_word(capsys: Capture) -> None:
    uris = [f"qemu:///system?socket=/run/{number}" for number in range(3)]
    units = tuple(replace(APPLY.steps[0], outcome="applied", target=uri) for uri in uris)
    words = (word for uri in uris for word in ("--trust-uri", uri))
    options = options_of(command_of_apply, "plan.json", "--state", STATE, *words)
    assert isinstance(options, RemedyOptions)
    print_run(RunResult(replace(APPLY, steps=units)), options, every_platform().unit_kinds())
    undo = f"Undo: vnicaudit rollback {APPLY.id} --state 'my state' --trust-uri all\n"
    assert capsys.readouterr().err.endswith(undo)


def test_the_folder_that_is_taken_anyhow_is_not_told() -> None:
    assert command("runs", default_state()) == "vnicaudit runs"
    assert command("runs", "-x") == "vnicaudit runs --state ./-x"
