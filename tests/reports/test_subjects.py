"""Subjects of findings, for programs."""

import pytest
from msgspec.structs import replace

from tests.reports.samples import finding, written
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.finding import (
    Location,
    Ref,
    Skipped,
)
from vnicaudit.model.report import Audited
from vnicaudit.reports.writers import Options, rule_page

MAC = "52:54:00:6b:3c:58"


_STANDARD_INPUT = Audited(
    "-", "-", owner="nova", scope="config", file="-",
    findings=(replace(finding(about=Ref("config")), location=Location("-", "-", 3)),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("written_as", "options", "name"),
    [
        ("text", Options(), "\nstandard input  nova, configuration\n"),
        (
            "text",
            Options(group_by="domain", wordings=Wordings()),
            "\nstandard input  1 problem\n",
        ),
        ("markdown", Options(), "\n### `standard input` (config)\n"),
        ("json", Options(), '"location":{"target":"-","file":"-","line":3'),
    ],
)
def test_texts_alone_have_a_title_for_standard_input(
    written_as: str, options: Options, name: str
) -> None:
    assert name in "\n" + written(written_as, options, [_STANDARD_INPUT])


def test_only_rules_of_ours_have_a_page() -> None:
    url = "https://docs.example.org/vnic/"
    assert rule_page(url, finding().rule) == "https://docs.example.org/vnic/rules/VNIC001.html"
    assert rule_page(url, "ACME001") == rule_page(url, "SUPP001") == rule_page("", "VNIC001") == ""


def test_a_rule_that_was_skipped_for_links_says_so() -> None:
    skipped = tuple(
        Skipped("VNIC107", Ref("link", name), "the masks of its queues")
        for name in ("eth0", "eth1")
    )
    host = Audited("ssh://kvm7", "kvm7", owner="host", scope="host", skipped=skipped)
    text = written("text", Options(), [host])
    assert "VNIC107 was not judged for 2 links: needs the masks of its queues" in text
