"""The report for people where there is much: the answer first, equal findings once."""

import re

import pytest
from msgspec.structs import replace

from tests.reports.golden import golden
from tests.reports.samples import END, NOVA, OK_END, STREAM, WEB_01, WEB_UUID, finding, written
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.finding import EVERY_RULE, AuditedScope, Change, Ref, Severity, Skipped
from vnicaudit.model.report import Audited, RunEnd, Summary
from vnicaudit.reports.formats.text import FEW
from vnicaudit.reports.writers import Options, SortBy, View

MESSAGE = finding().message
SHORT = Options(width=80, view="short", wordings=Wordings())

AT_80 = golden("audit.short_text.at-80.txt")


def guest(
    number: int, severity: Severity = "high", rule: str = "VNIC001", message: str = MESSAGE
) -> Audited:
    """A guest with one finding."""
    name = f"vm-{number:03d}"
    nic = Ref("nic", name, None, f"52:54:00:00:00:{number % 100:02d}", 0)
    one = finding(
        rule, name=f"name-of-{rule.lower()}", severity=severity, about=nic, message=message
    )
    return Audited("domains", name, nics=1, findings=(one,))


def end_of(stream: list[Audited]) -> RunEnd:
    """The end of an audit of these."""
    found = [one for audited in stream for one in audited.findings]
    severities: dict[str, int] = {}
    for one in found:
        severities[one.severity] = severities.get(one.severity, 0) + 1
    summary = Summary(
        domains=len(stream), nics=len(stream), findings=len(found), by_severity=severities
    )
    return replace(OK_END, summary=summary)


def short(stream: list[Audited], options: Options = SHORT) -> str:
    return written("text", options, stream=stream, end=end_of(stream))


def test_the_whole_report() -> None:
    assert written("text", SHORT) == AT_80


def test_an_unsafe_fix_does_not_look_like_a_safe_one() -> None:
    coloured = written("text", replace(SHORT, color=True))
    assert "\x1b[1;33mfix (unsafe)\x1b[0m" in coloured
    assert "\x1b[32mfix\x1b[0m" in coloured


@pytest.mark.parametrize("number", [1, FEW])
def test_a_few_are_shown_one_by_one(number: int) -> None:
    stream = [guest(each) for each in range(number)]
    text = short(stream, replace(SHORT, view="auto"))
    each = short(stream, replace(SHORT, view="full")).splitlines()
    assert sorted(text.splitlines()) == sorted([*each, ""])
    assert text.startswith(f"{number} problem")


def test_one_more_makes_it_short() -> None:
    stream = [guest(each) for each in range(FEW + 1)]
    assert short(stream, replace(SHORT, view="auto")) == short(stream)


def test_verbose_shows_each() -> None:
    stream = [guest(each) for each in range(FEW + 1)]
    everything = replace(SHORT, view="auto", verbose=True)
    assert short(stream, everything).count("rtl8139 is emulated") == FEW + 1


def test_equal_findings_are_said_once_and_all_counted() -> None:
    text = short([guest(each) for each in range(300)])
    assert text.count("rtl8139 is emulated") == 1
    assert text.count("\n    fix: ") == 1
    names, more = re.findall(r"^    on: (.*) and (\d+) more$", text, re.MULTILINE)[0]
    assert len(names.split(", ")) + int(more) == 300
    assert "high    VNIC001  name-of-vnic001  300 problems in 300 guests" in text


def test_the_worst_comes_first_and_then_the_most_frequent() -> None:
    stream = [guest(1, "low", "VNIC009"), guest(2, "medium", "VNIC031"), guest(3, "high"),
              guest(4, "medium", "VNIC030"), guest(5, "medium", "VNIC030")]  # fmt: skip
    assert re.findall(r"^\w+ +(VNIC\d+)", short(stream), re.MULTILINE) == [
        "VNIC001", "VNIC030", "VNIC031", "VNIC009",
    ]  # fmt: skip
    by_number = short(stream, replace(SHORT, sort="number"))
    assert re.findall(r"^\w+ +(VNIC\d+)", by_number, re.MULTILINE)[0] == "VNIC030"
    by_name = short(stream, replace(SHORT, sort="name"))
    found = re.findall(r"^\w+ +(VNIC\d+)", by_name, re.MULTILINE)
    assert found == sorted(found)


def test_what_is_unsafe_for_some_is_said_with_how_many() -> None:
    unsafe = Change("model", "rtl8139", "virtio", safe=False, reason="who knows")
    stream = [guest(each) for each in range(12)]
    for number in range(5):
        (one,) = stream[number].findings
        risky = replace(one, change=unsafe, fix=f"{one.fix} Unsafe: who knows.")
        stream[number] = replace(stream[number], findings=(risky,))
    text = short(stream)
    assert "\n    fix: Set <model" in text
    assert "\n    unsafe (5 of 12): who knows\n" in text


@pytest.mark.parametrize("others", [0, 60])
def test_each_owner_gets_its_fix(others: int) -> None:
    stream = [guest(each, message=f"{each} queues") for each in range(9 + others)]
    for number, (owner, fix) in enumerate([("kubevirt", "Set model."), ("nova", "Set a property."),
                                           ("kubevirt", "Set model."), ("ovirt", "")]):  # fmt: skip
        (one,) = stream[-1 - number].findings
        stream[-1 - number] = replace(
            stream[-1 - number], findings=(replace(one, owner=owner, fix=fix),)
        )
    text, total = short(stream), 9 + others
    assert re.findall(r"^    (fix.*?):", text, re.MULTILINE)[0].startswith("fix for libvirt (")
    few = (f"vm-{total - number:03}" for number in (3, 1))
    assert f"\n    fix ({', '.join(few)}): Set model.\n" in text or others
    assert f"\n    fix (vm-{total - 2:03}): Set a property.\n" in text
    grouped = written("markdown", replace(SHORT, group_by="rule"), stream=stream,
                      end=end_of(stream))  # fmt: skip
    assert "fix for libvirt: Set" in grouped


def test_owners_with_one_fix_share_it() -> None:
    stream = [guest(each) for each in range(5)]
    (one,) = stream[0].findings
    stream[0] = replace(stream[0], findings=(replace(one, owner="qemu"),))
    assert short(stream).count("\n    fix: ") == 1


def test_a_fact_that_rules_lacked_is_named_once() -> None:
    nic, needs = Ref("nic", "vm", None, None, 0), ("its host", "its log")
    skipped = tuple(Skipped(EVERY_RULE, Ref("domain", "vm", None), one) for one in needs)
    stream = [replace(guest(1), skipped=(*skipped, Skipped(EVERY_RULE, nic, needs[0])))]
    for fact in ("its host (1 guest)", "its host (1 NIC)", "its log (1 guest)"):
        assert short(stream).count(fact) == 1


def test_many_wordings_are_the_most_frequent_one_and_a_number() -> None:
    stream = [guest(each, message=f"{each % 4} queues") for each in range(12)]
    stream += [guest(20 + each, message="0 queues") for each in range(3)]
    text = short(stream)
    assert "    6: 0 queues\n    and 9 like it (--view full has each)\n" in text


@pytest.mark.parametrize("width", [60, 80, 200])
def test_many_rules_fit_a_screen_and_each_is_there(width: int) -> None:
    stream = [guest(each, "medium", f"VNIC{each % 25:03d}") for each in range(300)]
    text = short(stream, replace(SHORT, width=width))
    assert len(text.splitlines()) < 80
    heads = re.findall(r"^medium +(VNIC\d+) .*?(\d+) problems", " ".join(text.split("\n    ")),
                       re.MULTILINE)  # fmt: skip
    assert len({rule for rule, _number in heads}) == 25
    assert sum(int(number) for _rule, number in heads) == 300


def test_at_most_that_many_groups_and_the_rest_is_counted() -> None:
    stream = [guest(each, "medium", f"VNIC{each % 4:03d}") for each in range(12)]
    text = short(stream, replace(SHORT, most=1))
    assert text.count("\nmedium") == 1
    assert "\n… 9 more problems in 3 more groups (--max)\n" in text


def test_at_most_that_many_findings_where_each_is_shown() -> None:
    stream = [guest(each) for each in range(12)]
    text = short(stream, replace(SHORT, view="full", most=5))
    assert text.count("rtl8139 is emulated") == 5
    assert "\n… 7 more problems (--max)\n" in text


@pytest.mark.parametrize("view", ["full", "auto"])
def test_those_that_are_shown_are_the_worst(view: View) -> None:
    severities: tuple[Severity, ...] = ("low", "medium", "info", "high", "low", "error", "medium")
    stream = [guest(number, severity) for number, severity in enumerate(severities)]
    text = short(stream, replace(SHORT, view=view, most=3))
    assert re.findall(r"^(vm-\d+) ", text, re.MULTILINE) == ["vm-005", "vm-003", "vm-001"]
    assert "\n… 4 more problems (--max)\n" in text


@pytest.mark.parametrize(
    ("by", "title"),
    [("domain", "vm-001 (domains/web-01.xml)  1 problem"), ("owner", "owner libvirt  12 problems"),
     ("host", "host not told: files in domains  12 problems in 12 guests")],
)  # fmt: skip
def test_other_groups_have_a_title(by: str, title: str) -> None:
    text = short([guest(each) for each in range(12)], replace(SHORT, group_by=by))
    assert f"\n{title}" in text


@pytest.mark.parametrize("sort", ["severity", "number", "name"])
def test_two_guests_of_one_name_in_one_file_are_two_groups(sort: SortBy) -> None:
    (one, *_others) = WEB_01.findings
    again = replace(one, location=replace(one.location, line=700))
    twins = [replace(WEB_01, findings=(finding,)) for finding in (one, again)]
    text = short(twins, replace(SHORT, group_by="domain", sort=sort))
    assert re.findall(r"^web-01 \(.*", text, re.MULTILINE) == [
        f"web-01 (domains/web-01.xml, line {line})  1 problem" for line in (one.location.line, 700)
    ]


def _in_file(line: int, uuid: str | None = WEB_UUID, scope: AuditedScope = "domain") -> Audited:
    (one, *_others) = WEB_01.findings
    finding = replace(one, location=replace(one.location, line=line))
    return replace(WEB_01, uuid=uuid, scope=scope, findings=(finding,))


def _titles_of_domains(stream: list[Audited]) -> list[str]:
    text = short(stream, replace(SHORT, group_by="domain", sort="name"))
    return re.findall(r"^web-01 \(.*", text, re.MULTILINE)


def test_what_guests_share_is_in_the_group_of_the_guest() -> None:
    assert _titles_of_domains([_in_file(6), _in_file(4, scope="mac")]) == [
        "web-01 (domains/web-01.xml)  2 problems"
    ]


@pytest.mark.parametrize("uuid", [WEB_UUID, None])
def test_what_twins_share_is_in_the_group_that_begins_above_it(uuid: str | None) -> None:
    twins = [_in_file(line, uuid) for line in (6, 30, 60)]
    shared = [_in_file(line, uuid, "mac") for line in (4, 8, 59, 61)]
    assert _titles_of_domains([*twins, *shared]) == [
        "web-01 (domains/web-01.xml, line 6)  3 problems",
        "web-01 (domains/web-01.xml, line 30)  2 problems",
        "web-01 (domains/web-01.xml, line 60)  2 problems",
    ]


def test_what_twins_share_is_in_the_group_of_the_same_uuid() -> None:
    other = "00000000-0000-0000-0000-000000000002"
    stream = [_in_file(6), _in_file(30, other), _in_file(28, other, "mac")]
    assert _titles_of_domains(stream) == [
        "web-01 (domains/web-01.xml, line 6)  1 problem",
        "web-01 (domains/web-01.xml, line 30)  2 problems",
    ]


def test_what_only_twins_share_has_no_line_of_its_own() -> None:
    (title,) = _titles_of_domains([_in_file(4, scope="mac"), _in_file(30, scope="mac")])
    assert title == "web-01 (domains/web-01.xml)  2 problems"


def test_the_line_of_a_guest_is_that_of_its_first_finding() -> None:
    (one, *_others) = WEB_01.findings
    lines = (30, 20, 25)
    later = tuple(replace(one, location=replace(one.location, line=line)) for line in lines)
    stream = [_in_file(6), replace(WEB_01, findings=later)]
    assert [title.split("  ")[0] for title in _titles_of_domains(stream)] == [
        f"web-01 (domains/web-01.xml, line {line})" for line in (6, 20)
    ]


def test_a_group_without_a_line_names_none() -> None:
    (one, *_others) = WEB_01.findings
    nowhere = replace(one, location=replace(one.location, line=None))
    titles = _titles_of_domains([_in_file(6), replace(WEB_01, findings=(nowhere,))])
    assert titles == [
        "web-01 (domains/web-01.xml)  1 problem",
        "web-01 (domains/web-01.xml, line 6)  1 problem",
    ]


def test_quiet_keeps_the_answer_and_the_findings() -> None:
    text = written("text", replace(SHORT, quiet=True))
    assert text == AT_80[: AT_80.index("Unknown:")]
    assert written("text", replace(SHORT, quiet=True), stream=[], end=OK_END) == ""


def test_what_was_not_judged_takes_two_lines() -> None:
    (one, *_rest) = WEB_01.skipped
    skips = tuple(replace(one, needs=f"the fact {number}: ask it") for number in range(60))
    text = written("text", replace(SHORT, width=60), stream=[replace(WEB_01, skipped=skips)])
    told = text[text.index("Unknown:") : text.index("Each finding:")]
    assert told.count("\n") == 2
    words = " ".join(told.split())
    assert f"and {60 - words.count(' (1 NIC)')} more; why: --verbose" in words


def test_a_hostile_name_stays_on_its_line() -> None:
    stream = [replace(guest(each), subject="web\n\x1b[2J\u202e") for each in range(12)]
    assert all(line.isprintable() for line in short(stream).split("\n"))


def test_crashes_are_told_and_counted() -> None:
    assert "KeyError: 'mtu'" in written("text", SHORT, stream=[NOVA], end=END)
    assert len(STREAM) > 1


def test_guests_of_one_name_are_told_apart() -> None:
    (one, *_others) = WEB_01.findings
    elsewhere = replace(one, location=replace(one.location, file="other/web-01.xml"))
    twins = [replace(WEB_01, findings=(finding,)) for finding in (one, elsewhere)]
    text = " ".join(written("text", replace(SHORT, width=200), twins).split())
    assert "on: web-01 (domains/web-01.xml), web-01 (other/web-01.xml)" in text
