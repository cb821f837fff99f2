"""Subjects of findings, for programs."""

import pytest
from msgspec.structs import replace

from tests.reports.samples import LEGACY, LIVE, PLAIN, WEB_UUID, finding, written
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.finding import (
    Finding,
    Location,
    Ref,
)
from vnicaudit.model.report import Audited
from vnicaudit.reports.report_file import (
    FileSubject,
    Fixable,
    Options,
    fixable,
    rule_page,
    subject_of,
)

MAC = "52:54:00:6b:3c:58"


@pytest.mark.parametrize(
    ("ref", "kind", "name", "identity"),
    [
        (Ref("nic", "web", WEB_UUID, MAC, 0), "nic", "web/NIC 0", f"{WEB_UUID}/{MAC}"),
        (Ref("nic", "web", WEB_UUID, MAC), "nic", f"web/{MAC}", f"{WEB_UUID}/{MAC}"),
        (Ref("nic", "web", WEB_UUID, None, 1), "nic", "web/NIC 1", None),
        (Ref("nic", "web", None, MAC, 1), "nic", "web/NIC 1", None),
        (Ref("domain", "web", WEB_UUID), "domain", "web", WEB_UUID),
        (Ref("server", "web", WEB_UUID), "server", "web", WEB_UUID),
        (Ref("image", "debian", "i-1"), "image", "debian", "i-1"),
        (Ref("flavor", "m1", None), "flavor", "m1", None),
        (Ref("preference", "linux"), "preference", "linux", None),
        (Ref("host"), "host", "kvm7", None),
        (Ref("config"), "config", "kvm7", None),
    ],
)
def test_a_subject(ref: Ref, kind: str, name: str, identity: str | None) -> None:
    subject = subject_of(ref, "kvm7")
    assert (subject.kind, subject.name, subject.id) == (kind, name, identity)
    assert isinstance(subject, FileSubject)


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
        ("json", Options(), '"subject":{"kind":"config","name":"-","id":null}'),
    ],
)
def test_texts_alone_have_a_title_for_standard_input(
    written_as: str, options: Options, name: str
) -> None:
    assert name in "\n" + written(written_as, options, [_STANDARD_INPUT])


@pytest.mark.parametrize(("one", "word"), [(LEGACY, "unsafe"), (PLAIN, "safe"), (LIVE, "by-hand")])
def test_who_can_fix_it(one: Finding, word: Fixable) -> None:
    assert fixable(one) == word


def test_only_rules_of_ours_have_a_page() -> None:
    url = "https://docs.example.org/vnic/"
    assert rule_page(url, finding().rule) == "https://docs.example.org/vnic/rules/VNIC001.html"
    assert rule_page(url, "ACME001") == rule_page(url, "SUPP001") == rule_page("", "VNIC001") == ""
