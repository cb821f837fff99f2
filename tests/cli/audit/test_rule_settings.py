"""What settings say of rules: groups that are selected, a severity, settings of a rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside

GUEST = """\
<domain type='kvm'><name>a</name><uuid>6e1f1c2e-6a0f-4d53-a1f2-0d8f3f0a4a01</uuid>
<vcpu>8</vcpu><os><type arch='x86_64' machine='pc-q35-9.2'>hvm</type></os><devices>
<interface type='bridge'><source bridge='br0'/><model type='e1000'/></interface>
<interface type='bridge'><source bridge='br0'/><model type='virtio'/></interface>
</devices></domain>
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.xml").write_text(GUEST, "utf-8")


def audited(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = inside("audit", "a.xml", "--format", "json", *arguments)
    return result.returncode, json.loads(result.stdout)


def grades(report: dict[str, Any]) -> dict[str, str]:
    return {one["rule"]: one["severity"] for one in report["findings"]}


def test_a_group_a_name_and_an_id_are_selected_together() -> None:
    assert grades(audited("--select", "queues,mixed-models")[1]).keys() == {"VNIC009", "VNIC030"}
    assert grades(audited("--ignore", "models")[1]).keys() == {"VNIC030"}


def test_a_group_that_is_none_is_an_error_that_names_the_nearest() -> None:
    result = inside("audit", "a.xml", "--select", "modles")
    assert result.returncode == 2
    assert "no rule or group is called 'modles'; did you mean 'models'?" in result.stderr


def test_a_severity_in_the_settings_is_that_of_all_findings_of_the_rule() -> None:
    code, report = audited("--select", "VNIC002", "--level", "medium")
    assert (code, grades(report)["VNIC002"]) == (1, "high")
    Path("vnicaudit.toml").write_text('[rules.vnic002]\nseverity = "low"\n', "utf-8")
    code, report = audited("--select", "VNIC002", "--level", "medium")
    assert code == 0
    assert report["summary"]["filtered"] == 1


def test_sarif_has_the_severity_of_the_settings() -> None:
    Path("vnicaudit.toml").write_text('[rules.VNIC002]\nseverity = "info"\n', "utf-8")
    sarif = json.loads(inside("audit", "a.xml", "--format", "sarif", "--select", "VNIC002").stdout)
    (run,) = sarif["runs"]
    rule = next(one for one in run["tool"]["driver"]["rules"] if one["id"] == "VNIC002")
    assert rule["properties"]["severity"] == "info"
    assert [one["level"] for one in run["results"]] == ["note"]


def test_a_baseline_is_compared_by_the_severity_of_the_settings() -> None:
    Path("vnicaudit.toml").write_text('[rules.VNIC002]\nseverity = "info"\n', "utf-8")
    inside("audit", "a.xml", "--write-baseline", "known.json")
    assert audited("--select", "VNIC002", "--baseline", "known.json")[1]["findings"] == []
    Path("vnicaudit.toml").write_text('[rules.VNIC002]\nseverity = "high"\n', "utf-8")
    assert audited("--select", "VNIC002", "--baseline", "known.json")[1]["findings"]


def test_rules_that_are_not_judged_settle_nothing_in_a_baseline() -> None:
    inside("audit", "a.xml", "--write-baseline", "known.json")
    summary = audited("--select", "VNIC002", "--baseline", "known.json")[1]["summary"]
    assert (summary["baselined"] > 0, summary["baseline_gone"]) == (True, 0)


def test_a_setting_of_a_rule_holds_for_a_plan_too() -> None:
    Path("vnicaudit.toml").write_text("[rules.VNIC030]\nmin-vcpus = 16\n", "utf-8")
    assert "VNIC030" not in grades(audited()[1])


def test_a_severity_hides_no_error_from_a_plan() -> None:
    """What a change would bring up is judged by the rule's own severity."""
    before = inside("plan", "a.xml", "--include-unsafe", "-o", "-").stdout
    Path("vnicaudit.toml").write_text('[rules.VNIC002]\nseverity = "error"\n', "utf-8")
    after = inside("plan", "a.xml", "--include-unsafe", "-o", "-").stdout
    assert _steps(before) == _steps(after)


def _steps(plan: str) -> Any:
    return json.loads(plan)["steps"]


def test_explain_shows_the_severity_of_the_settings() -> None:
    Path("vnicaudit.toml").write_text('[rules.VNIC002]\nseverity = "info"\n', "utf-8")
    result = inside("explain", "a.xml", "--nic", "0", "--format", "json")
    assert {one["rule"]: one["severity"] for one in json.loads(result.stdout)["findings"]}[
        "VNIC002"
    ] == "info"


def test_the_catalogue_shows_groups_and_what_can_be_set() -> None:
    assert "\nGroups, for --select and --ignore:\n" in inside("rules").stdout
    models = json.loads(inside("rules", "models", "--format", "json").stdout)["rules"]
    assert {"VNIC001", "VNIC071"} <= {one["id"] for one in models}
    assert all("models" in one["groups"] for one in models)
    page = inside("rules", "VNIC033").stdout
    assert page.startswith("# VNIC033 small-rx-ring\n\nSeverity: medium. Groups: rings. ")
    assert "\n## Settings\n" in page
    assert "`minimum = 512`" in page
    (rule,) = json.loads(inside("rules", "VNIC033", "--format", "json").stdout)["rules"]
    assert [each["name"] for each in rule["settings"]] == ["minimum"]
