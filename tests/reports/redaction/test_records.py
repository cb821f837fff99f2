"""Every text of every record that reports are made of holds a name; none comes through."""

from typing import cast

import msgspec
import pytest

from tests.reports.redaction.planting import NAME, Planter, texts_of, unpacked
from tests.reports.samples import RULES
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import Change, Finding, Location, Ref
from vnicaudit.model.fix import SetHostSetting
from vnicaudit.model.fleet import FleetAudit, HostReading
from vnicaudit.model.report import Audited, Explanation, RunEnd, RunInfo, TargetResult, Tool
from vnicaudit.reports.explain import explanation_json, explanation_text
from vnicaudit.reports.formats import formats, writer
from vnicaudit.reports.redaction import Redactor
from vnicaudit.reports.writers import GROUP_BY, Options

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
RECORDS = (Audited, Domain, Server, Explanation, RunEnd, TargetResult, HostReading, FleetAudit)
STARTED, FINISHED = "2026-11-22T10:15:30Z", "2026-11-22T10:16:30Z"


def named(text: str) -> list[str]:
    return [line for line in text.splitlines() if NAME in line.casefold()]


def audited() -> Audited:
    return cast(Audited, Planter().record(Audited))


def report(format_: str, key: bytes, group_by: str = "") -> str:
    """A report of one planted judgement in every scope, redacted."""
    redactor, out = (
        Redactor(key),
        writer(format_, Options(verbose=True, group_by=group_by, wordings=Wordings())),
    )
    text = out.start(redactor.run(RunInfo(Tool("vnicaudit", "1"), STARTED, lambda: RULES)))
    for scope in (
        "domain", "host", "config", "image", "flavor", "preference", "cluster", "site", "mac",
    ):  # fmt: skip
        one = msgspec.structs.replace(audited(), scope=scope)
        text += out.add(redactor.record(one))
    end = cast(RunEnd, Planter().record(RunEnd))
    shown = redactor.record(msgspec.structs.replace(end, finished=FINISHED))
    return unpacked(text + "".join(out.finish(shown)))


@pytest.mark.parametrize("kind", RECORDS)
def test_a_planted_record_has_the_name_and_a_redacted_one_has_not(
    kind: type[msgspec.Struct],
) -> None:
    record = Planter().record(kind)
    assert [text for text in texts_of(record) if NAME in text.casefold()]
    redacted = Redactor(KEY).record(record)
    assert type(redacted) is kind
    assert [text for text in texts_of(redacted) if NAME in text.casefold()] == []


@pytest.mark.parametrize("kind", RECORDS)
def test_one_key_redacts_alike_and_another_does_not(kind: type[msgspec.Struct]) -> None:
    record = Planter().record(kind)
    first = Redactor(KEY).record(record)
    assert Redactor(KEY).record(record) == first
    assert Redactor(OTHER_KEY).record(record) != first


@pytest.mark.parametrize("format_", formats())
def test_no_format_has_a_name_of_the_site(format_: str) -> None:
    assert named(report(format_, KEY)) == []


@pytest.mark.parametrize("group_by", GROUP_BY)
@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_no_grouping_words_a_fix_with_names_once_more(format_: str, group_by: str) -> None:
    assert named(report(format_, KEY, group_by)) == []


@pytest.mark.parametrize("format_", formats())
def test_reports_of_one_key_can_be_compared(format_: str) -> None:
    first = report(format_, KEY)
    assert report(format_, KEY) == first
    if format_ != "prometheus":  # which has no names
        assert report(format_, OTHER_KEY) != first


def test_an_explanation_has_no_name_of_the_site() -> None:
    it = Redactor(KEY).record(cast(Explanation, Planter().record(Explanation)))
    assert named(explanation_json(it)) == []
    assert named(explanation_text(it, Options(verbose=True))) == []


def test_a_reading_of_a_host_is_without_what_its_nics_are_compared_by() -> None:
    reading = cast(HostReading, Planter().record(HostReading))
    assert reading.nics_seen
    assert Redactor(KEY).reading(reading).nics_seen == ()


def test_a_name_of_one_record_is_recognised_in_the_message_of_another() -> None:
    redactor = Redactor(KEY)
    made = redactor.record(Audited("a", "two words")).subject
    assert redactor.text("the same MAC as NIC 0 of two words") == (
        f"the same MAC as NIC 0 of {made}"
    )


def test_the_manual_of_a_rule_from_elsewhere_is_left_out() -> None:
    own = msgspec.structs.replace(RULES[0], id="ACME001", summary="of Acme", manual="at Acme")
    run = RunInfo(Tool("vnicaudit", "1"), STARTED, lambda: (RULES[0], own))
    shipped, other = Redactor(KEY).run(run).rules()
    assert shipped == RULES[0]
    assert other.manual == ""
    assert "acme" not in other.summary.casefold()


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        ("eth0", True), ("enp59s0f1np1", True), ("bond0.120", True), ("br-acme", False),
        ("vnet12", False), ("tap3f2a1b2c-4d", False), ("acme-lan", False),
    ],
)  # fmt: skip
def test_links_with_usual_names_are_shown(name: str, *, is_kept: bool) -> None:
    redactor = Redactor(KEY)
    shown = redactor.record(Ref("link", name)).name or ""
    assert (shown == name) is is_kept
    assert (name in redactor.text(f"{name} has an MTU of 1500")) is is_kept


def test_the_setting_that_a_change_names_does_not_name_a_tap() -> None:
    change = Change("rps:tap-web:rx-0", "f", "3", safe=True)
    fixes = (SetHostSetting(change.field, "3"),)
    finding = Finding(
        "VNIC115", "steering-onto-wrong-cpus", "medium", "high", "RPS of rx-0 on tap-web",
        Ref("link", "tap-web"), Location("ssh://kvm1"), "host", change, "f" * 24, "", (), fixes,
    )  # fmt: skip
    redacted = Redactor(KEY).record(finding)
    assert redacted.change is not None
    kind, device, queue = redacted.change.field.split(":")
    assert (kind, queue, device) == ("rps", "rx-0", redacted.about.name)
    assert redacted.fixes == (SetHostSetting(redacted.change.field, "3"),)
    assert "tap-web" not in str(redacted)
