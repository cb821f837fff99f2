"""The GitHub Action: its steps run by bash as a runner runs them, with what a runner sets. (A
runner itself, or act, cannot be had in a test.)"""

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.docs.pages import ROOT
from tests.pipelines.once import made_once
from tests.pipelines.project import (
    bash,
    copy_of_this,
    git,
    guests,
    needs_packages,
    parse,
    repository,
    shellcheck,
    snippets,
)

SUITE = "github-action"
ACTION: dict[str, Any] = parse((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
_INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")
_OUTPUT = re.compile(r"\$\{\{ steps\.([\w-]+)\.outputs\.([\w-]+) \}\}")


class Ran(NamedTuple):
    """How the action ended: that of the step that failed, or of the last."""

    code: int
    log: str
    outputs: dict[str, str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """RUNNER_TEMP after the first step: the action's own checkout is installed once."""
    needs_packages(SUITE)
    return made_once(tmp_path_factory, worker_id, "action", _install) / "runner-temp"


def _install(folder: Path) -> None:
    action, temp = folder / "action", folder / "runner-temp"
    action.mkdir()
    temp.mkdir()
    copy_of_this(action)
    result = bash(
        STEPS[0]["run"],
        temp,
        {
            "INPUT_PYTHON": sys.executable,
            "GITHUB_ACTION_PATH": str(action),
            "RUNNER_TEMP": str(temp),
        },
        ("-eo", "pipefail"),
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    guests(folder, good="virtio", slow="rtl8139")
    return folder


def run(workspace: Path, temp: Path, **given: str) -> Ran:
    """The steps after the first, with inputs as ``with:`` would give them (_ for -)."""
    inputs = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
    inputs |= {name.replace("_", "-"): value for name, value in given.items()}
    assert inputs.keys() == ACTION["inputs"].keys()
    output = workspace.parent / "output"
    output.write_text("")
    summary = workspace.parent / "summary"
    summary.write_text("")
    (step,) = STEPS[1:]
    environment = {
        name: _INPUT.sub(lambda match: inputs[match[1]], value)
        for name, value in step["env"].items()
    }
    runner = {
        "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
        "RUNNER_TEMP": str(temp), "GITHUB_ACTIONS": "true", "CI": "true",
        "GITHUB_WORKSPACE": str(workspace),
    }  # fmt: skip
    result = bash(step["run"], workspace, {**environment, **runner}, ("-eo", "pipefail"))
    written = dict(line.split("=", 1) for line in output.read_text().splitlines())
    outputs = {}
    for name, entry in ACTION["outputs"].items():
        match = _OUTPUT.fullmatch(entry["value"])
        assert match is not None
        assert match[1] == step["id"]
        outputs[name] = written.get(match[2], "")
    return Ran(result.returncode, result.stdout + result.stderr, outputs)


def test_findings_are_annotations_and_sarif(workspace: Path, installed: Path) -> None:
    ran = run(workspace, installed)
    assert ran.code == 1
    assert ran.outputs == {"sarif": "vnicaudit.sarif", "exit-code": "1"}
    assert re.search(
        r"^::error file=guests/slow\.xml,line=12,.*title=VNIC001 ", ran.log, re.MULTILINE
    )
    log = json.loads((workspace / "vnicaudit.sarif").read_text())
    places = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in log["runs"][0]["results"]
    }
    assert places == {"guests/slow.xml"}
    summary = (workspace.parent / "summary").read_text()
    assert summary.startswith("## vnicaudit\n")
    assert "guests/slow.xml:12" in summary


def test_settings_of_a_checkout_that_another_user_made_hold(
    workspace: Path, installed: Path
) -> None:
    """As in a container job."""
    settings = workspace / "vnicaudit.toml"
    settings.write_text('exclude = ["guests/slow.xml"]\n')
    settings.chmod(0o666)
    assert run(workspace, installed).code == 0


def test_a_clean_repository(workspace: Path, installed: Path) -> None:
    ran = run(workspace, installed, targets="guests/good.xml")
    assert (ran.code, ran.outputs["exit-code"]) == (0, "0")
    assert ran.outputs["sarif"] == "vnicaudit.sarif"


def test_every_input_does_something(workspace: Path, installed: Path) -> None:
    known = run(workspace, installed, args="--write-baseline known.json")
    assert known.code == 0
    assert run(workspace, installed, baseline="known.json").code == 0
    assert run(workspace, installed, level="error").code == 0
    assert run(workspace, installed, args="--select VNIC9").code == 2
    assert run(workspace, installed, args="--ignore\nVNIC00\n--level\nnever").code == 0
    assert run(workspace, installed, sarif="x/my report.sarif").outputs["sarif"] == (
        "x/my report.sarif"
    )
    repository(workspace)
    assert run(workspace, installed, changed_since="HEAD").code == 0


def test_targets_are_lines_whatever_is_in_them(workspace: Path, installed: Path) -> None:
    evil = "$(touch pwned) `touch pwned` \"; touch pwned; '.xml"
    guests(workspace, **{evil.removesuffix(".xml"): "rtl8139"})
    ran = run(workspace, installed, targets=f"guests/{evil}\n\nguests/good.xml\n")
    assert ran.code == 1
    assert "touch pwned" in ran.log
    assert not (workspace / "pwned").exists()
    ran = run(workspace, installed, targets="--help")
    assert (ran.code, ran.outputs["sarif"]) == (4, "vnicaudit.sarif")


def test_line_ends_of_windows(workspace: Path, installed: Path) -> None:
    ran = run(workspace, installed, targets="guests/good.xml\r\n\r\nguests/slow.xml\r\n")
    assert ran.code == 1
    assert "file=guests/slow.xml" in ran.log


def test_the_folder_of_the_report_is_made(workspace: Path, installed: Path) -> None:
    ran = run(workspace, installed, sarif="out/of/x.sarif")
    assert (ran.code, ran.outputs["sarif"]) == (1, "out/of/x.sarif")
    assert (workspace / "out/of/x.sarif").is_file()


def test_an_older_report_is_not_taken_for_this_one(workspace: Path, installed: Path) -> None:
    (workspace / "vnicaudit.sarif").write_text("old")
    ran = run(workspace, installed, level="nonsense")
    assert (ran.code, ran.outputs) == (2, {"sarif": "", "exit-code": "2"})
    assert not (workspace / "vnicaudit.sarif").exists()


def test_no_input_is_part_of_a_script() -> None:
    for step in STEPS:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    used = {
        name for step in STEPS for value in step["env"].values() for name in _INPUT.findall(value)
    }
    assert used == ACTION["inputs"].keys()
    for entry in ACTION["inputs"].values():
        assert entry.keys() == {"description", "default"}


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_shellcheck_has_nothing_to_say(number: int) -> None:
    assert shellcheck(STEPS[number]["run"]) == ""


class TestPage:
    """The workflows of the how-to."""

    def test_each_gives_the_action_inputs_it_has(self) -> None:
        workflows = snippets("github")
        assert len(workflows) == 3
        for step in _ours(workflows):
            assert step.get("with", {}).keys() <= ACTION["inputs"].keys()
            assert re.fullmatch(r"you/vnicaudit@v\d+\.\d+\.\d+", step["uses"])

    def test_uploads_what_the_action_has_written(self) -> None:
        for workflow in snippets("github"):
            for step in _steps(workflow):
                if "upload-sarif" in step.get("uses", ""):
                    assert step["with"]["sarif_file"] == "${{ steps.vnicaudit.outputs.sarif }}"
                    assert step["if"] == "always() && steps.vnicaudit.outputs.sarif != ''"
                    assert [s["id"] for s in _ours([workflow])] == ["vnicaudit"]
                    assert workflow["permissions"]["security-events"] == "write"  # type: ignore[index]

    def test_the_first_fails_for_a_finding(self, workspace: Path, installed: Path) -> None:
        assert _run_page(0, workspace, installed).code == 1

    def test_the_second_sees_what_a_pull_request_changes(
        self, workspace: Path, installed: Path
    ) -> None:
        repository(workspace)
        git(workspace, "update-ref", "refs/remotes/origin/main", "HEAD")
        assert _run_page(1, workspace, installed).code == 0
        guests(workspace, new="rtl8139")
        ran = _run_page(1, workspace, installed)
        assert ran.code == 1
        assert "guests/new.xml" in ran.log
        assert "guests/slow.xml" not in ran.log

    def test_the_third_knows_the_baseline(self, workspace: Path, installed: Path) -> None:
        baseline = _ours([snippets("github")[2]])[0]["with"]["baseline"]
        run(workspace, installed, args=f"--write-baseline {baseline}")
        assert _run_page(2, workspace, installed).code == 0
        guests(workspace, new="rtl8139")
        assert _run_page(2, workspace, installed).code == 1


def _steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    jobs = workflow["jobs"].values() if "jobs" in workflow else [workflow]
    return [step for job in jobs for step in job["steps"]]


def _ours(workflows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        step
        for workflow in workflows
        for step in _steps(workflow)
        if step.get("uses", "").startswith("you/vnicaudit@")
    ]


def _run_page(number: int, workspace: Path, temp: Path) -> Ran:
    (step,) = _ours([snippets("github")[number]])
    context = {"${{ github.base_ref }}": "main"}
    given = {}
    for name, value in step.get("with", {}).items():
        for expression, meaning in context.items():
            value = value.replace(expression, meaning)
        assert "${{" not in value
        given[name.replace("-", "_")] = value
    return run(workspace, temp, **given)
