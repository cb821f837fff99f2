"""``VNICAUDIT_RULES_DIR`` and ``rules test``: somebody's own rules in every command that judges."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.docs.pages import ROOT, blocks
from tests.rows import rows

if sys.version_info >= (3, 11):
    pass
else:
    pass

PAGE = ROOT / "docs/how-to/bring-your-own-rules.md"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the page."""
    monkeypatch.chdir(tmp_path)
    for block in blocks(PAGE.read_text("utf-8")):
        name = block.mark.removeprefix("file: ")
        if block.mark.startswith("file: ") and not name.endswith(".toml"):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(block.text, "utf-8")


OURS = ("VNICAUDIT_RULES_DIR=our-rules",)


def test_its_findings_are_in_reports_and_in_sarif() -> None:
    report = json.loads(inside("audit", "guests", *OURS, "--format", "json").stdout)
    assert [one["rule"] for one in report["findings"]] == ["ACME001"]
    sarif = json.loads(inside("audit", "guests", *OURS, "--format", "sarif").stdout)
    rules = [one["id"] for one in sarif["runs"][0]["tool"]["driver"]["rules"]]
    assert rules[-4:] == ["ACME001", "SUPP001", "SUPP002", "SUPP003"]
    assert [one["ruleId"] for one in sarif["runs"][0]["results"]] == ["ACME001"]


def test_worker_processes_have_them_too() -> None:
    text = Path("guests/mail.xml").read_text("utf-8")
    for number in range(300):
        Path(f"guests/{number}.xml").write_text(text.replace("mail", f"mail-{number}"), "utf-8")
    result = inside(
        "audit", "guests", *OURS, "--select", "acme", "VNICAUDIT_JOBS=2", "--format", "json"
    )
    found = json.loads(result.stdout)["summary"]
    assert found["by_rule"] == {"ACME001": 301}
    assert found["crashed"] == 0


def test_a_domain_s_own_metadata_may_suppress_them() -> None:
    text = Path("guests/mail.xml").read_text("utf-8")
    metadata = (
        "<metadata><v:suppress xmlns:v='https://vnicaudit.org/xmlns/1' rule='ACME001' "
        "reason='known'/></metadata>"
    )
    Path("guests/mail.xml").write_text(text.replace("<vcpu>", f"{metadata}<vcpu>"), "utf-8")
    report = json.loads(inside("audit", "guests", *OURS, "--format", "json").stdout)
    assert report["findings"] == []
    assert report["summary"]["suppressed"] == 1


def test_a_plan_and_an_explanation_know_them() -> None:
    assert inside("plan", "guests", *OURS).returncode == 0
    shown = inside("explain", "guests", "--nic", "0", *OURS, "--format", "json").stdout
    assert [one["rule"] for one in json.loads(shown)["findings"]] == ["ACME001"]
    assert inside("nics", "guests", *OURS).returncode == 0


@pytest.mark.parametrize("command", ["audit", "plan", "nics"])
def test_none_are_taken_from_what_is_audited(command: str) -> None:
    result = inside(command, ".", *OURS)
    assert result.returncode == 2
    assert "which is audited: rules are code" in result.stderr


def test_no_settings_file_names_a_directory_of_rules() -> None:
    Path("vnicaudit.toml").write_text('rules-dir = "our-rules"\n', "utf-8")
    result = inside("audit", "guests")
    assert (result.returncode, "unknown key 'rules-dir'" in result.stderr) == (2, True)


def test_a_case_that_fails_is_told_with_what_differs() -> None:
    path = Path("our-rules/ACME001.yaml")
    path.write_text(path.read_text("utf-8").replace("severity: medium", "severity: high"), "utf-8")
    result = inside("rules", "test", "our-rules")
    assert result.returncode == 1
    assert result.stdout.startswith("FAIL  ACME001: the link is down\n      findings: expected [(")
    assert result.stdout.endswith("3 cases, 1 failed\n")


def test_a_rule_without_cases_fails() -> None:
    Path("our-rules/ACME001.yaml").unlink()
    result = inside("rules", "test", "our-rules")
    assert (result.returncode, "it is not there" in result.stdout) == (1, True)


def test_a_rule_that_crashes_fails() -> None:
    path = Path("our-rules/acme001.py")
    path.write_text(path.read_text("utf-8").replace("yield Problem(", "1 / 0, Problem("), "utf-8")
    result = inside("rules", "test", "our-rules")
    assert (result.returncode, "the rule crashed: " in result.stdout) == (1, True)


@rows
def test_a_file_of_cases_that_is_none_is_a_usage_error(text: str) -> None:
    Path("our-rules/ACME001.yaml").write_text(text, "utf-8")
    result = inside("rules", "test", "our-rules")
    assert result.returncode == 2
    assert result.stderr.startswith("Error: our-rules/ACME001.yaml: ")


def test_a_case_that_cannot_be_read_fails_alone() -> None:
    with Path("our-rules/ACME001.yaml").open("a", encoding="utf-8") as stream:
        stream.write("\n- {name: broken, xml: <interface>, pass: true}\n")
    result = inside("rules", "test", "our-rules")
    assert (result.returncode, "the case cannot be read: " in result.stdout) == (1, True)
    assert result.stdout.endswith("4 cases, 1 failed\n")


@pytest.mark.parametrize("arguments", [["test"], ["VNIC001", "our-rules"]])
def test_anything_else_is_a_usage_error(arguments: list[str]) -> None:
    assert inside("rules", *arguments).returncode == 2
