"""The GitLab template: its script run by bash as a runner runs it. (GitLab itself cannot be had in
a test.)"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from tests.docs.pages import ROOT
from tests.packaging.conftest import Release
from tests.pipelines.project import (
    SCRIPTS,
    bash,
    git,
    guests,
    parse,
    repository,
    shellcheck,
    snippets,
)

TEMPLATE: dict[str, Any] = parse(
    (ROOT / "templates" / "gitlab" / "vnicaudit.gitlab-ci.yml").read_text("utf-8")
)
JOB: dict[str, Any] = TEMPLATE["vnicaudit"]
INSTALL, AUDIT = JOB["script"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    guests(folder, good="virtio", slow="rtl8139")
    return folder


def run(project: Path, script: str, **variables: str) -> tuple[int, str]:
    """Exit code and log; variables of the template are set as in a job."""
    runner = {"CI": "true", "CI_PROJECT_DIR": str(project)}
    given = {**TEMPLATE["variables"], **runner, **variables}
    result = bash(script, project, given, ("-eo", "pipefail"))
    return result.returncode, result.stdout + result.stderr


def audit(project: Path, **variables: str) -> tuple[int, str]:
    """The second part, with what is installed here in place of what the first installed."""
    here = str(Path(SCRIPTS).parent)
    return run(project, f"environment={here}\n{AUDIT}", **variables)


def test_the_whole_script_from_a_package(project: Path, tmp_path: Path, released: Release) -> None:
    """That pip builds what it needs of a checkout, too, the action shows (test_github.py)."""
    python = tmp_path / "bin"
    python.mkdir()
    (python / "python3").symlink_to(sys.executable)
    script = f'PATH="{python}:$PATH"\n{INSTALL}\n{AUDIT}'
    code, log = run(project, script, VNICAUDIT_PACKAGE=str(released.file("*.whl")))
    assert code == 1, log
    assert "guests/slow.xml:12" in log


def test_without_a_package_it_says_so(project: Path) -> None:
    assert run(project, INSTALL) == (
        2, "VNICAUDIT_PACKAGE is not set: set it to the package that pip should install\n",
    )  # fmt: skip


def test_the_reports_are_those_the_job_hands_over(project: Path) -> None:
    code, log = audit(project)
    assert code == 1, log
    assert "VNIC001" in log
    reports = JOB["artifacts"]["reports"]
    assert list(reports.values()) == JOB["artifacts"]["paths"]
    assert JOB["artifacts"]["when"] == "always"
    entries = json.loads((project / reports["codequality"]).read_text())
    assert [(e["check_name"], e["location"]) for e in entries] == [
        ("VNIC001", {"path": "guests/slow.xml", "lines": {"begin": 12}}),
    ]
    suites = etree.parse(str(project / reports["junit"])).getroot()
    assert [suite.get("failures") for suite in suites] == ["0", "1"]


def test_settings_of_a_checkout_that_all_may_write_hold(project: Path) -> None:
    """As the runner makes it for a container."""
    settings = project / "vnicaudit.toml"
    settings.write_text('exclude = ["guests/slow.xml"]\n')
    settings.chmod(0o666)
    assert audit(project)[0] == 0


def test_targets_and_options_are_words(project: Path) -> None:
    code, log = audit(project, VNICAUDIT_TARGETS=" guests/good.xml  guests/slow.xml ")
    assert (code, "2 guests" in log) == (1, True), log
    assert audit(project, VNICAUDIT_TARGETS="guests/good.xml")[0] == 0
    assert audit(project, VNICAUDIT_ARGS="--level error --select VNIC00")[0] == 0
    assert audit(project, VNICAUDIT_TARGETS="none.xml")[0] == 4


def test_no_name_of_a_file_is_taken_apart_or_completed(project: Path) -> None:
    """With a line break in the list, each line is a target: names may have blanks. No character is
    a pattern: which files would match, the repository decides."""
    (project / "guests" / "slow.xml").rename(project / "guests" / "a [b] * c.xml")
    code, log = audit(project, VNICAUDIT_TARGETS="guests/good.xml\nguests/a [b] * c.xml\n")
    assert (code, "2 guests" in log) == (1, True), log
    guests(project, b="virtio")
    code, log = audit(project, VNICAUDIT_TARGETS="guests/[b].xml")
    assert (code, "guests/[b].xml: No such file or directory" in log) == (4, True), log


def test_no_file_of_the_checkout_becomes_an_option(project: Path) -> None:
    """``--exclude *.bak`` was completed by the shell with a file called ``--baseline=.b.bak``."""
    known = "--write-baseline .b.bak"
    assert audit(project, VNICAUDIT_TARGETS="guests", VNICAUDIT_ARGS=known)[0] == 0
    for name in ("!.bak", "--baseline=.b.bak"):
        (project / name).write_text("")
    code, log = audit(project, VNICAUDIT_TARGETS="guests", VNICAUDIT_ARGS="--exclude *.bak")
    assert (code, "slow.xml:12" in log) == (1, True), log


@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_the_script_is_one_of_any_posix_shell(project: Path, shell: str) -> None:
    """The runner takes bash where the image has it, and else sh."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    words = [program, "sh"] if shell == "busybox" else [program]
    given = {**TEMPLATE["variables"], "VNICAUDIT_TARGETS": "guests/good.xml\nguests/slow.xml"}
    ended = subprocess.run(
        [*words, "-ec", f"environment={Path(SCRIPTS).parent}\n{AUDIT}"],
        cwd=project, env={**given, "CI_PROJECT_DIR": str(project), "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, "2 guests" in ended.stdout) == (1, True), ended.stderr


def test_shellcheck_has_nothing_to_say() -> None:
    assert shellcheck(f"{INSTALL}\n{AUDIT}") == ""


class TestPage:
    """The configurations of the how-to."""

    def test_they_include_the_template_and_set_what_it_has(self) -> None:
        pages = snippets("gitlab")
        assert len(pages) == 3
        for page in pages:
            includes: list[dict[str, str]] = page["include"]  # type: ignore[assignment]
            (include,) = includes
            assert (ROOT / include["file"].lstrip("/")).is_file()
            assert "VNICAUDIT_PACKAGE" in _variables(page)
            assert page.keys() <= {"include", "variables", "vnicaudit"}

    def test_the_first_fails_for_a_finding(self, project: Path) -> None:
        assert audit(project, **_variables(snippets("gitlab")[0]))[0] == 1

    def test_the_second_sees_what_a_merge_request_changes(self, project: Path) -> None:
        start = repository(project)
        guests(project, new="rtl8139")
        git(project, "add", "-A")
        git(project, "commit", "-q", "-m", "m")
        page = snippets("gitlab")[1]
        job: dict[str, Any] = page["vnicaudit"]  # type: ignore[assignment]
        rule = next(rule for rule in job["rules"] if "merge_request_event" in rule["if"])
        given = {
            name: value.replace("$CI_MERGE_REQUEST_DIFF_BASE_SHA", start)
            for name, value in rule["variables"].items()
        }
        code, log = audit(project, **_variables(page), **job["variables"], **given)
        assert code == 1
        assert "guests/new.xml" in log
        assert "guests/slow.xml" not in log

    def test_the_third_knows_the_baseline(self, project: Path) -> None:
        variables = _variables(snippets("gitlab")[2])
        baseline = variables["VNICAUDIT_BASELINE"]
        assert audit(project, VNICAUDIT_ARGS=f"--write-baseline {baseline}")[0] == 0
        assert audit(project, **variables)[0] == 0
        guests(project, new="rtl8139")
        assert audit(project, **variables)[0] == 1


def _variables(page: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = page["variables"]
    return found
