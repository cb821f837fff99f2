"""The committed rule pages are what the docstrings say."""

import re
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import pytest

from docs import generate_rules
from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.reports.rules import manual_text
from vnicaudit.reports.writers import Options


def test_committed_pages_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert (generate_rules.main(["--check"]), capsys.readouterr().err) == (0, "")


def test_index_links_every_rule_with_its_summary() -> None:
    index = generate_rules.pages()["index.md"]
    for rule_id in rule_ids():
        rule = shipped_catalogue().info(rule_id)
        assert f"| [{rule_id}]({rule_id}.md) | {rule.name} | {rule.severity} |" in index
        assert rule.summary in index.replace("\\<", "<")
        assert fnmatch(rule_id, "VNIC*"), "not in the table of contents"
    assert ":glob:\n\nVNIC*\n" in index


def test_page_has_the_manual_without_the_marks_of_its_examples() -> None:
    page = generate_rules.pages()["VNIC030.md"]
    assert page.startswith(
        "# VNIC030 single-queue\n\nOnly one queue pair in a guest with four or more"
    )
    assert "each NIC and each domain, also of KubeVirt manifests and OpenStack servers." in page
    assert "## When it does not fire" in page
    assert "```xml\n<interface" in page
    assert "domain.vcpus" not in page


def test_markup_outside_of_code_is_not_taken_for_html() -> None:
    for name, page in generate_rules.pages().items():
        prose = re.sub(r"```.*?```|``.*?``|`[^`]*`", "", page, flags=re.DOTALL)
        assert not re.findall(r"(?<!\\)<[a-z/]", prose), name


def test_differing_names_missing_changed_and_left_over_pages(tmp_path: Path) -> None:
    generate_rules.write(tmp_path)
    assert generate_rules.differing(tmp_path) == []
    (tmp_path / "VNIC001.md").unlink()
    (tmp_path / "VNIC002.md").write_text("edited by hand", "utf-8")
    (tmp_path / "VNIC999.md").write_text("a rule that is gone", "utf-8")
    assert generate_rules.differing(tmp_path) == ["VNIC001.md", "VNIC002.md", "VNIC999.md"]
    generate_rules.write(tmp_path)
    assert generate_rules.differing(tmp_path) == []
    assert not (tmp_path / "VNIC999.md").exists()


def test_check_exits_1_and_names_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    generate_rules.write(tmp_path)
    (tmp_path / "VNIC034.md").write_text("edited by hand", "utf-8")
    monkeypatch.setattr(generate_rules, "differing", partial(generate_rules.differing, tmp_path))
    assert generate_rules.main(["--check"]) == 1
    assert "docs/rules/VNIC034.md differs" in capsys.readouterr().err


def test_an_example_with_facts_beside_its_xml_says_them_in_words() -> None:
    for rule_id in rule_ids():
        rule = shipped_catalogue().info(rule_id)
        for found in re.finditer(r"^(.*)\n\n```\w+ \S+=", rule.manual, re.MULTILINE):
            assert found[1].endswith(":"), f"{rule_id}: {found[0]}"
        assert re.search(r"^```\w+ ", manual_text(rule, Options()), re.MULTILINE) is None
