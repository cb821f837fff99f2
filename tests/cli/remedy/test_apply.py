"""``vnicaudit apply`` on files, as a user runs it. What it does to guests: tests/rig."""

import json
import os
import re
import stat
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import click
import pytest

from tests.cli.definitions import E1000, VIRTIO, several
from tests.remedy.planning.planned import CENTOS_7, NOVA, SHARED, definition, interface
from tests.remedy.planning.test_diffs import FORMS
from tests.rows import rows
from vnicaudit.cli.main import run

Capture = pytest.CaptureFixture[str]
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with a definition and a state folder to be made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("VNICAUDIT_STATE", str(tmp_path / "state"))
    (tmp_path / "a.xml").write_text(E1000)
    return tmp_path


def planned(*targets: str, options: tuple[str, ...] = (), edit: Edit | None = None) -> None:
    """plan.json, as an editor may have left it."""
    assert run(["plan", *(targets or ("a.xml",)), *options, "-o", "plan.json", "--quiet"]) == 0
    if edit is not None:
        plan = json.loads(Path("plan.json").read_text())
        edit(plan)
        Path("plan.json").write_text(json.dumps(plan))


def apply(*options: str) -> int:
    return run(["apply", "plan.json", "--yes", "--quiet", *options])


def runs(capsys: Capture) -> list[dict[str, Any]]:
    """What ``vnicaudit runs`` knows, newest first."""
    capsys.readouterr()
    assert run(["runs", "--format", "json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return found


def outcomes(capsys: Capture) -> list[str]:
    """Of the newest run, domain by domain."""
    return [step["outcome"] for step in runs(capsys)[0]["steps"]]


def test_the_change_is_made_and_nothing_else(here: Path, capsys: Capture) -> None:
    planned()
    assert apply() == 0
    assert (here / "a.xml").read_text() == VIRTIO
    (one,) = runs(capsys)
    assert (one["kind"], one["mode"], one["outcome"]) == ("apply", "next-boot", "done")
    assert one["targets"] == ["a.xml"]
    assert outcomes(capsys) == ["applied"]


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_every_encoding(here: Path, data: bytes) -> None:
    (here / "a.xml").write_bytes(data)
    planned()
    assert apply() == 0
    assert (here / "a.xml").read_bytes() != data
    assert apply() == 0


def test_what_is_said(here: Path, capsys: Capture) -> None:
    planned()
    capsys.readouterr()
    assert run(["apply", "plan.json", "--yes"]) == 0
    shown = capsys.readouterr()
    row = r"^  a +0 +e1000 → virtio +safe +ens3 stays +after virsh define$"
    assert re.search(row, shown.out, re.MULTILINE)
    assert f" applied a 52:54:00:00:00:01 {here}/a.xml " in " ".join(shown.out.split())
    (run_id,) = os.listdir(here / "state" / "runs")
    assert shown.err == (f"a: applied\nUndo: vnicaudit rollback {run_id} --state {here}/state\n")


@pytest.mark.parametrize("chosen", [0, 1], ids=["first", "second"])
def test_of_two_guests_of_one_name_the_planned_one_is_changed(here: Path, chosen: int) -> None:
    """Nothing but their places in the file tells them apart."""
    text = definition(interface("e1000"), uuid=None)
    (here / "a.xml").write_text(text * 2)

    def only(plan: dict[str, Any]) -> None:
        plan["steps"] = [plan["steps"][chosen]]

    planned(edit=only)
    begins = json.loads((here / "plan.json").read_text())["steps"][0]["unit"]["line"]
    assert begins == 1 + chosen * text.count("\n")
    assert apply() == 0
    changed = definition(interface("virtio"), uuid=None)
    texts = [changed if number == chosen else text for number in range(2)]
    assert (here / "a.xml").read_text() == "".join(texts)
    planned()
    assert apply() == 0
    assert (here / "a.xml").read_text() == changed * 2


def test_again_is_already(here: Path, capsys: Capture) -> None:
    planned()
    apply()
    first = (here / "a.xml").stat()
    assert apply() == 0
    assert (here / "a.xml").stat().st_ino == first.st_ino
    assert outcomes(capsys) == ["already"]
    assert len(runs(capsys)) == 2


def test_a_link_is_followed_and_stays(here: Path) -> None:
    (here / "link.xml").symlink_to("a.xml")
    planned("link.xml")
    assert apply() == 0
    assert (here / "link.xml").is_symlink()
    assert (here / "a.xml").read_text() == VIRTIO


def test_other_names_of_the_file_would_keep_the_old_text(here: Path, capsys: Capture) -> None:
    (here / "b.xml").hardlink_to(here / "a.xml")
    planned()
    assert apply() == 5
    words = " ".join(capsys.readouterr().out.split())
    assert f"failed a 52:54:00:00:00:01 {here}/a.xml the file was not changed: " in words
    assert (here / "a.xml").read_text() == E1000


def test_a_file_that_may_not_be_written(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write every file: what it may is asked of the system."""
    planned()
    may = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: not path.endswith("a.xml") and may(path, mode)
    )
    assert apply() == 5
    assert "the file was not changed: the file is read-only" in capsys.readouterr().out
    assert (here / "a.xml").read_text() == E1000


def test_a_dry_run_changes_nothing_and_is_no_run(here: Path, capsys: Capture) -> None:
    planned()
    capsys.readouterr()
    assert run(["apply", "plan.json", "--dry-run", "--quiet"]) == 0
    assert capsys.readouterr().out == "a: would be applied\n"
    assert (here / "a.xml").read_text() == E1000
    assert not (here / "state").exists()


def test_a_dry_run_says_why_not(here: Path, capsys: Capture) -> None:
    planned()
    (here / "a.xml").write_text(E1000 + "\n")
    capsys.readouterr()
    assert run(["apply", "plan.json", "--dry-run", "--quiet"]) == 5
    assert capsys.readouterr().out == (
        "a: the file has changed since the plan was made: make a new plan\n"
    )


def test_a_dry_run_for_programs(here: Path, capsys: Capture) -> None:
    (here / "b.xml").write_text(definition(interface(), name="b", uuid=None))
    assert run(["plan", "a.xml", "b.xml", "-o", "plan.json", "--quiet"]) == 0
    (here / "b.xml").write_text("<domain/>")
    capsys.readouterr()
    assert run(["apply", "plan.json", "--dry-run", "--format", "json"]) == 5
    told = json.loads(capsys.readouterr().out)
    reason = told["units"][1]["message"]
    assert reason
    steps = [one["id"] for one in json.loads((here / "plan.json").read_text())["steps"]]
    assert told == {
        "schema": "vnicaudit.dry-run/1",
        "kind": "apply",
        "mode": "next-boot",
        "units": [
            {"name": "a", "outcome": "would-change", "message": "", "codes": [],
             "steps": steps[:1], "place": str(here / "a.xml")},
            {"name": "b", "outcome": "refused", "codes": ["drift"], "steps": steps[1:],
             "message": reason, "place": str(here / "b.xml")},
        ],
        "not_applied": [],
    }  # fmt: skip


def test_guests_of_one_name_are_told_apart(here: Path, capsys: Capture) -> None:
    (here / "b.xml").write_text(E1000)
    assert run(["plan", "a.xml", "b.xml", "-o", "plan.json"]) == 0
    names = [f"a ({here / file})" for file in ("a.xml", "b.xml")]
    planned_for = capsys.readouterr().out
    assert all(f"  a ({file})  " in planned_for for file in ("a.xml", "b.xml"))
    assert run(["apply", "plan.json", "--dry-run", "--quiet"]) == 0
    assert capsys.readouterr().out == "".join(f"{name}: would be applied\n" for name in names)
    assert run(["apply", "plan.json", "--yes"]) == 0
    told = capsys.readouterr()
    assert all(f"{name}: applied" in told.err for name in names)
    assert all(f"  a ({file})  " in told.out for file in ("a.xml", "b.xml"))


@rows
def test_steps_that_would_not_be_tried_have_codes(
    here: Path, capsys: Capture, edit: dict[str, object], mode: str, codes: list[str], reason: str
) -> None:
    planned()
    plan = json.loads((here / "plan.json").read_text())
    (step,) = plan["steps"]
    plan["steps"] = [step | edit]
    (here / "plan.json").write_text(json.dumps(plan))
    capsys.readouterr()
    dry = ("--dry-run", "--format", "json", "--mode", mode)
    assert run(["apply", "plan.json", *dry]) == 5
    out, err = capsys.readouterr()
    told = json.loads(out)
    (why_not,) = told["not_applied"]
    assert told["units"] == []
    assert (why_not["name"], why_not["outcome"], why_not["codes"], why_not["steps"]) == (
        "a", "refused", codes, [step["id"]],
    )  # fmt: skip
    assert why_not["message"].startswith(reason)
    assert f"Not applied: step {step['id']}, a" in err


def test_what_was_done_and_undone_as_json(here: Path, capsys: Capture) -> None:
    planned()
    capsys.readouterr()
    assert run(["apply", "plan.json", "--yes", "--format", "json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["schema"] == "vnicaudit.runs/1"
    (one,) = done["runs"]
    assert (one["kind"], one["outcome"]) == ("apply", "done")
    assert run(["rollback", one["id"], "--yes", "--format", "json"]) == 0
    (back,) = json.loads(capsys.readouterr().out)["runs"]
    assert (back["kind"], back["plan"]) == ("rollback", one["id"])
    assert (here / "a.xml").read_text() == E1000


def test_no_json_with_a_measurement_in_it(here: Path, capsys: Capture) -> None:
    planned()
    assert run(["apply", "plan.json", "--yes", "--format", "json", "--bench", "quick"]) == 2
    assert "--format json cannot be used with --bench" in capsys.readouterr().err
    assert (here / "a.xml").read_text() == E1000


def test_a_part_of_the_plan(here: Path, capsys: Capture) -> None:
    (here / "b.xml").write_text(E1000.replace("<name>a<", "<name>bee<"))
    planned("a.xml", "b.xml")
    assert apply("--domain", "bee") == 0
    assert (here / "a.xml").read_text() == E1000
    assert (here / "b.xml").read_text() != E1000
    assert [step["name"] for step in runs(capsys)[0]["steps"]] == ["bee"]
    assert apply("--domain", "be") == 2
    assert "no step for 'be'; did you mean 'bee'?" in capsys.readouterr().err
    assert apply("--domain", "zzz") == 2
    assert capsys.readouterr().err == (
        "Error: the plan has no step for 'zzz'; `vnicaudit apply --dry-run` without --domain and "
        "--nic lists all steps\n"
    )
    assert apply("--nic", "52:54:00:00:00:02") == 2
    assert apply("--nic", "52:54:00:00:00:01", "--domain", "a") == 0
    assert (here / "a.xml").read_text() == VIRTIO


def test_a_nic_of_another_domain_is_an_error(here: Path, capsys: Capture) -> None:
    mine, other = "52:54:00:00:00:01", "52:54:00:00:00:02"
    (here / "b.xml").write_text(E1000.replace("<name>a<", "<name>bee<").replace(mine, other))
    planned("a.xml", "b.xml")
    assert apply("--domain", "a", "--nic", other) == 2
    assert "no step for 'a' on the NICs named with --nic" in capsys.readouterr().err
    assert apply("--domain", "a", "--domain", "bee", "--nic", mine) == 2
    assert "no step for 'bee' on the NICs named with --nic" in capsys.readouterr().err
    assert apply("--domain", "a", "--nic", mine, "--nic", other.upper()) == 2
    assert (
        f"no step for NIC '{other}' in the domains named with --domain" in capsys.readouterr().err
    )
    assert (here / "a.xml").read_text() == E1000


def test_a_dry_run_says_that_nothing_was_changed(capsys: Capture) -> None:
    planned()
    capsys.readouterr()
    assert run(["apply", "plan.json", "--dry-run"]) == 0
    assert capsys.readouterr().err == "Nothing was changed.\n"


def test_nobody_is_there_to_be_asked(here: Path, capsys: Capture) -> None:
    planned()
    assert run(["apply", "plan.json"]) == 2
    told = capsys.readouterr().err
    assert told == "Error: not a terminal: pass --yes to go ahead without asking\n"
    assert (here / "a.xml").read_text() == E1000
    assert not (here / "state").exists()


@pytest.mark.parametrize(("answer", "code", "text"), [("y", 0, VIRTIO), ("n", 130, E1000)])
def test_somebody_is_asked(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, answer: str, code: int, text: str
) -> None:
    questions: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        questions.append(question)
        assert err
        return answer == "y"

    planned()
    monkeypatch.setattr("sys.stdin", Mock(isatty=lambda: True))
    monkeypatch.setattr(click, "confirm", confirm)
    assert run(["apply", "plan.json", "--quiet"]) == code
    assert questions == [
        "Change 1 NIC of a? Running guests keep running and get the change when next powered off "
        "and on."
    ]
    assert (here / "a.xml").read_text() == text
    assert (here / "state").exists() == (answer == "y")
    assert ("Nothing was changed.\n" in capsys.readouterr().err) == (answer == "n")


def test_what_somebody_changed_meanwhile_is_refused(here: Path, capsys: Capture) -> None:
    planned()
    other = E1000.replace("br0", "br1")
    (here / "a.xml").write_text(other)
    assert apply() == 5
    assert (here / "a.xml").read_text() == other
    assert [(one["outcome"], one["codes"]) for one in runs(capsys)[0]["steps"]] == [
        ("refused", ["drift"])
    ]


def test_a_plan_of_another_machine(here: Path, capsys: Capture) -> None:
    planned()
    (here / "a.xml").unlink()
    assert apply() == 5
    assert "it cannot be read: No such file or directory" in capsys.readouterr().out


def _drop(plan: dict[str, Any]) -> None:
    del plan["steps"][0]


def test_a_step_that_was_taken_out_is_not_done(here: Path, capsys: Capture) -> None:
    text = definition(interface("e1000"), interface("rtl8139", 2))
    (here / "a.xml").write_text(text)
    planned(edit=_drop)
    assert apply() == 0
    assert (here / "a.xml").read_text() == text.replace("rtl8139", "virtio")
    assert runs(capsys)[0]["steps"][0]["steps"] == ["2"]


def test_without_any_step_there_is_nothing_to_do(here: Path) -> None:
    planned(edit=_drop)
    assert apply() == 0
    assert not (here / "state").exists()


def _set(path: str, value: object) -> Edit:
    """Write something else somewhere into the first step."""

    def edit(plan: dict[str, Any]) -> None:
        *keys, last = (int(key) if key.isdigit() else key for key in path.split("."))
        place: Any = plan["steps"][0]
        for key in keys:
            place = place[key]
        place[last] = value

    return edit


_DISAGREES = "step 1: the change does not match its diff: make a new plan"


@rows
def test_a_step_that_is_not_as_it_was_reviewed_is_refused(
    here: Path, capsys: Capture, place: str, value: object, says: str
) -> None:
    text = definition(interface("e1000"), interface("e1000", 2))
    (here / "a.xml").write_text(text)
    planned(edit=_set(place, value))
    assert apply() == 5
    assert says in " ".join(capsys.readouterr().out.split())
    assert (here / "a.xml").read_text() == text


def test_a_step_of_another_text_is_refused(here: Path, capsys: Capture) -> None:
    planned(edit=_set("digest", "sha256:00"))
    assert apply() == 5
    assert [one["codes"] for one in runs(capsys)[0]["steps"]] == [["drift"]]
    assert (here / "a.xml").read_text() == E1000


@rows
def test_a_slip_of_the_pen_is_an_error(
    here: Path, capsys: Capture, place: str, value: object, says: str
) -> None:
    planned(edit=_set(place, value))
    capsys.readouterr()
    assert apply() == 2
    assert capsys.readouterr().err == f"Error: plan.json: not a plan: steps[0]{says}\n"
    assert (here / "a.xml").read_text() == E1000


@rows
def test_what_is_no_plan(
    here: Path, capsys: Capture, name: str, content: str | None, says: str
) -> None:
    if content is not None:
        (here / name).write_text(content)
    assert run(["apply", name, "--yes"]) == 2
    assert capsys.readouterr().err.startswith(f"Error: {says}")


def _unblock(plan: dict[str, Any]) -> None:
    plan["steps"][0]["blocked"] = []


def test_an_owners_step_that_was_unblocked_is_refused(here: Path, capsys: Capture) -> None:
    text = definition(interface("e1000"), metadata=NOVA)
    (here / "a.xml").write_text(text)
    planned(edit=_unblock)
    assert apply() == 5
    assert _DISAGREES in capsys.readouterr().out
    assert (here / "a.xml").read_text() == text


def test_what_is_blocked_is_said_and_not_done(here: Path, capsys: Capture) -> None:
    (here / "a.xml").write_text(definition(interface("e1000"), metadata=NOVA))
    planned()
    capsys.readouterr()
    assert apply() == 5
    assert capsys.readouterr().err == (
        "Not applied: step 1, a 52:54:00:00:00:01: the definition belongs to Nova, which "
        "rewrites it: change it there, not here\n"
    )
    assert not (here / "state").exists()


def test_unsafe_steps_are_for_those_who_ask_again(here: Path, capsys: Capture) -> None:
    (here / "a.xml").write_text(definition(interface("e1000"), os=CENTOS_7))
    planned()
    capsys.readouterr()
    assert apply() == 5
    assert capsys.readouterr().err.startswith(
        "Not applied: step 1, a 52:54:00:00:00:01: unsafe: the guest may no longer name it ens3"
    )
    assert "e1000" in (here / "a.xml").read_text()
    assert apply("--include-unsafe") == 0
    assert "e1000" not in (here / "a.xml").read_text()


def test_a_plan_of_unsafe_and_blocked_steps_alone(here: Path, capsys: Capture) -> None:
    (here / "a.xml").write_text(definition(interface("e1000"), os=CENTOS_7))
    blocked = definition(interface("e1000"), metadata=NOVA, name="b").replace("6f4d", "7f4d")
    (here / "b.xml").write_text(blocked)
    planned("a.xml", "b.xml")
    capsys.readouterr()
    assert run(["apply", "plan.json", "--dry-run"]) == 5
    shown = capsys.readouterr()
    assert shown.out == (
        "Nothing to apply: 1 unsafe step (why: above; to apply it: --include-unsafe), "
        "1 blocked step (make a new plan when the causes are removed)\n"
    )
    assert shown.err.endswith("\nNothing was changed.\n")


def test_what_can_be_done_is_done_and_the_rest_named(here: Path, capsys: Capture) -> None:
    (here / "b.xml").write_text(
        definition(interface("e1000"), metadata=NOVA, name="b").replace("6f4d", "7f4d")
    )
    planned("a.xml", "b.xml")
    capsys.readouterr()
    assert apply() == 5
    shown = capsys.readouterr()
    assert "Not applied: step 2, b " in shown.err
    assert "applied      a  " in shown.out
    assert (here / "a.xml").read_text() == VIRTIO


@pytest.mark.parametrize("mode", ["restart", "hotswap"])
def test_a_file_has_no_guest_to_restart(here: Path, capsys: Capture, mode: str) -> None:
    planned()
    capsys.readouterr()
    assert apply("--mode", mode) == 5
    assert capsys.readouterr().err == (
        f"Not applied: step 1, a 52:54:00:00:00:01: not possible with --mode {mode}: "
        "libvirt reads a file only when it is defined (virsh define)\n"
    )
    assert run(["apply", "plan.json", "--dry-run", "--mode", mode]) == 5
    assert capsys.readouterr().out == (
        f"Nothing to apply: 1 step not possible with --mode {mode} (use --mode next-boot, which "
        "writes the files)\n"
    )
    assert (here / "a.xml").read_text() == E1000


def test_a_state_folder_that_cannot_be_made(here: Path, capsys: Capture) -> None:
    planned()
    (here / "file").touch()
    capsys.readouterr()
    assert apply("--state", "file/below") == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert "file/below" in said
    assert "--state" in said
    assert (here / "a.xml").read_text() == E1000


def test_what_is_remembered_is_for_nobody_else(here: Path) -> None:
    os.umask(0o022)
    planned()
    apply()
    for folder, _folders, names in os.walk(here / "state"):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
        for name in names:
            assert stat.S_IMODE(os.stat(Path(folder, name)).st_mode) == 0o600, name


def test_outside_the_window_nothing_is_begun(here: Path, capsys: Capture) -> None:
    planned()
    later = datetime.now() + timedelta(hours=12)
    window = f"{later:%H:%M}-{later + timedelta(hours=1):%H:%M}"
    assert apply("--window", window) == 5
    assert capsys.readouterr().err == f"Stopped: outside the window {window}; 1 not touched\n"
    assert (here / "a.xml").read_text() == E1000
    assert outcomes(capsys) == ["not-reached"]


def test_a_window_that_is_none(capsys: Capture) -> None:
    planned()
    capsys.readouterr()
    assert apply("--window", "at night") == 2
    assert "'at night' is not a window: write it as 22:00-04:00" in capsys.readouterr().err


def _second_fails(folder: Path) -> list[Path]:
    paths = several(folder, 4)
    (folder / "other name").hardlink_to(paths[1])
    return paths


def _changed(paths: list[Path]) -> list[bool]:
    return ["virtio" in path.read_text() for path in paths]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ((), ["applied", "failed", "not-reached", "not-reached"]),
        (("--canary", "2"), ["applied", "failed", "not-reached", "not-reached"]),
        (("--canary", "2", "--max-failures", "9"),
         ["applied", "failed", "not-reached", "not-reached"]),
        (("--max-failures", "1"), ["applied", "failed", "applied", "applied"]),
        (("--canary", "0", "--batch", "3"), ["applied", "failed", "applied", "not-reached"]),
        (("--canary", "0", "--batch", "9"), ["applied", "failed", "applied", "applied"]),
    ],
)  # fmt: skip
def test_canaries_batches_and_failures(
    here: Path, capsys: Capture, options: tuple[str, ...], wanted: list[str]
) -> None:
    paths = _second_fails(here / "w")
    planned("w", options=("--exclude", "other name"))
    assert apply(*options) == 5
    assert outcomes(capsys) == wanted
    assert _changed(paths) == [one == "applied" for one in wanted]


def test_what_was_stopped_goes_on_where_it_failed(here: Path, capsys: Capture) -> None:
    paths = _second_fails(here / "w")
    planned("w", options=("--exclude", "other name"))
    apply()
    (here / "w" / "other name").unlink()
    assert apply() == 0
    assert outcomes(capsys) == ["already", "applied", "applied", "applied"]
    assert _changed(paths) == [True] * 4


def test_several_domains_of_one_file_are_changed_at_once(here: Path, capsys: Capture) -> None:
    text = E1000 + E1000.replace("<name>a<", "<name>b<").replace("6f4d", "7f4d")
    (here / "a.xml").write_text(text)
    planned()
    assert apply() == 0
    assert (here / "a.xml").read_text() == text.replace("e1000", "virtio")
    assert len(runs(capsys)[0]["steps"]) == 1


def test_two_nics_with_one_mac_in_a_file_are_not_mixed_up(here: Path) -> None:
    text = definition(interface("e1000"), interface("rtl8139", 2, mac="52:54:00:00:00:01"))
    (here / "a.xml").write_text(text)
    planned(edit=_drop)
    assert apply() == 0
    assert (here / "a.xml").read_text() == text.replace("rtl8139", "virtio")


_NODE = """\
<node>
<domain type='test'>
  <name>{name}</name>
  <uuid>6f4d3c1e-0e5a-4c52-8f6c-0d2f8f4f3a11</uuid>
  <memory>65536</memory>
  {memory}
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:01'/><source bridge='br0'/><model type='virtio'/>
      <filterref filter='clean-traffic'/>
    </interface>
  </devices>
</domain>
</node>
"""


def _to_vhostuser(node: Path, *options: str, edit: Edit | None = None) -> None:
    """A plan on libvirt's test driver, whose host is a file."""
    to = ("--to", "vhostuser", "--nic", "52:54:00:00:00:01", "--vhostuser-socket", "/run/vhu1")
    planned(f"test://{node}", options=(*to, *options), edit=edit)


def test_a_loss_has_to_be_accepted_by_name(here: Path, capsys: Capture) -> None:
    node = here / "node.xml"
    node.write_text(_NODE.format(name="a", memory=SHARED))
    _to_vhostuser(node)
    capsys.readouterr()
    assert apply("--dry-run") == 5
    assert capsys.readouterr().err.endswith("no longer applies (accept it by name: filterref)\n")
    _to_vhostuser(node, edit=_set("losses.0.accepted", True))
    capsys.readouterr()
    assert apply("--dry-run") == 0
    assert capsys.readouterr().out == "a: would be applied\n"
    _to_vhostuser(node, "--accept-loss", "filterref")
    assert apply("--dry-run") == 0


def test_twins_that_were_unblocked_are_refused(here: Path, capsys: Capture) -> None:
    """They are known by their MAC address on a host: which is meant cannot be told."""
    twin = interface("e1000", 2, mac="52:54:00:00:00:01")
    text = definition(interface("e1000"), twin).replace("type='kvm'", "type='test'")
    (here / "node.xml").write_text(f"<node>{text}</node>")

    def unblocked(plan: dict[str, Any]) -> None:
        for step in plan["steps"]:
            step["blocked"] = []

    planned(f"test://{here}/node.xml", edit=unblocked)
    capsys.readouterr()
    assert apply("--dry-run") == 5
    assert capsys.readouterr().out == (
        "a: step 1: 52:54:00:00:00:01 is no longer the only NIC with that MAC address, or "
        "has moved\n"
    )


def test_a_domain_that_is_not_there(here: Path, capsys: Capture) -> None:
    """As on another host."""
    node = here / "node.xml"
    node.write_text(_NODE.format(name="a", memory=SHARED))
    _to_vhostuser(node, "--accept-loss", "filterref")
    node.write_text(_NODE.format(name="a", memory=SHARED).replace("6f4d", "7f4d"))
    capsys.readouterr()
    assert apply() == 5
    out = " ".join(capsys.readouterr().out.split())
    assert "gone a" in out
    assert "the domain is no longer on its host, nor on another host of this run" in out
