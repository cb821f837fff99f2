"""What is written into the page, without a browser."""

import re

import msgspec
import pytest

from tests.reports.page.decoded import Elements, check_markup, decoded
from tests.reports.page.fleet import WHY, PageData, fleet, host, render_page
from tests.reports.samples import END, LEGACY, STREAM, written
from vnicaudit.audit.judging.domains import path_of
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.fleet import (
    Coverage,
)
from vnicaudit.model.nic import NONE, UNKNOWN, Resolved
from vnicaudit.reports.page.summary import HtmlPage
from vnicaudit.reports.page.tables import (
    MAC,
    NAME,
    UUID,
    AnswerCounts,
    SubjectMarks,
    TableColumns,
    TextColumn,
)

DATA = fleet(2)
SUBJECTS = list(DATA.subjects)
GUESTS = [one.audited for one in SUBJECTS]
ROW = GUESTS[0].rows[0]


def page(data: PageData) -> str:
    return "".join(render_page(data))


def test_every_nic_and_finding_is_in_it() -> None:
    tables = decoded(page(DATA._replace(subjects=SUBJECTS))).tables
    assert tables["subject"]["name"] == [one.subject for one in GUESTS]
    assert tables["subject"]["uuid"] == [one.uuid or "" for one in GUESTS]
    rows = [row for one in GUESTS for row in one.rows]
    assert tables["nic"]["mac"] == [row.mac or "" for row in rows]
    models = [str(cell).split("\t") for cell in tables["nic"]["model"]]
    assert [cell[2] for cell in models] == [row.model.effective for row in rows]
    assert [cell[3] for cell in models] == [WHY[row.index] for row in rows]
    findings = [(one, each) for one in SUBJECTS for each in one.audited.findings]
    assert tables["finding"]["rule"] == [each.rule for _, each in findings]
    assert tables["finding"]["fix"] == [
        SubjectMarks(one.audited).sentence(each.fix, each.about.mac) for one, each in findings
    ]
    assert tables["finding"]["state"] == [
        one.history[each.fingerprint].state for one, each in findings
    ]
    places = [each.about.index for _, each in findings]
    assert tables["finding"]["nic"] == [at + 1 for at in places if at is not None]


def test_names_leave_sentences_so_that_equal_ones_are_one() -> None:
    one = GUESTS[0]
    text = f"virsh edit {one.subject}; openstack server stop {one.uuid}, {ROW.mac}"
    marked = SubjectMarks(one).sentence(text, ROW.mac)
    assert marked == f"virsh edit {NAME}; openstack server stop {UUID}, {MAC}"
    hostile = SubjectMarks(msgspec.structs.replace(one, subject="a\x01b"))
    assert hostile.sentence("virsh edit a\x01b", ROW.mac) == f"virsh edit {NAME}"
    assert hostile.sentence("\x01", ROW.mac) == "\\x01"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({}, "fast"),
        ({"vhost": Resolved[bool](None, None, "vhost-user", NONE)}, "fast"),
        ({"vhost": Resolved[bool](None, None, "needs /proc", UNKNOWN)}, "unknown"),
        ({"vhost": Resolved(None, False, "name='qemu'")}, "slow"),
        ({"model": Resolved("e1000", "e1000", "as declared")}, "slow"),
        ({"model": Resolved[str](None, None, "?", UNKNOWN)}, "unknown"),
        ({"model": Resolved[str](None, None, "a PCI function", NONE)}, "fast"),
        ({"starts": False}, "does not start"),
    ],
)
def test_how_packets_travel(change: dict[str, Resolved[str]], path: str) -> None:
    virtio = msgspec.structs.replace(
        ROW,
        model=Resolved("virtio", "virtio", "as declared"),
        vhost=Resolved(None, True, "vhost"),
    )
    assert path_of(msgspec.structs.replace(virtio, **change)) == path


def test_each_text_is_stored_once_and_safe_to_show() -> None:
    column = TextColumn()
    for text in ("a", "b\n", "a", "b\\n"):
        column.append(text)
    assert column.json() == rb'{"texts":["a","b\\n"],"rows":[0,1,0,1]}'


def test_a_column_without_repeated_texts_needs_no_rows() -> None:
    column = TextColumn()
    for text in ("a", "b"):
        column.append(text)
    assert column.json() == b'{"texts":["a","b"]}'


def test_a_number_that_is_too_large_is_shown_as_the_largest() -> None:
    table = TableColumns("line", "")
    for number in (0, 1 << 32):
        table.add((number,), ())
    assert bytes(table.json()["line"]) == b"[0,4294967295]"


def finding(number: int, rule: str, new: str, *, safe: bool, confidence: str = "high") -> Finding:
    return msgspec.structs.replace(
        LEGACY, rule=rule, name=rule.lower(), fingerprint=str(number), confidence=confidence,
        change=Change("model", None, new, safe),
    )  # fmt: skip


def test_one_change_cures_findings_of_several_rules() -> None:
    answer = AnswerCounts()
    several = [finding(number, f"R{number % 2}", "virtio", safe=True) for number in range(5)]
    several += [finding(9, "R9", "virtio", safe=False)]
    several += [finding(n, "R3", "hint", safe=True, confidence="low") for n in range(20, 30)]
    answer.add(msgspec.structs.replace(GUESTS[0], findings=tuple(several)))
    cures = answer.cures(5)
    assert [(cure.key.change, cure.key.safe, cure.number) for cure in cures] == [
        ("model → virtio", "safe", 5), ("model → virtio", "unsafe", 1),
    ]  # fmt: skip
    assert list(cures[0].rules) == ["r0", "r1"]


def test_what_was_not_checked_is_said() -> None:
    some = DATA._replace(
        subjects=SUBJECTS,
        about=msgspec.structs.replace(
            DATA.about, coverage=Coverage(("VNIC001",), host_share=0.05, seed=7)
        ),
        end=msgspec.structs.replace(DATA.end, hosts=(host(0), host(99))),
    )
    text = Elements(page(some)).text
    assert "5% of the hosts (seed 7)" in str(decoded(page(some)).facts["sample"])
    assert "5% of the hosts (seed 7)" in text
    assert "1 of 2 hosts could not be read in full; 1 host shown as last read" in text
    assert "no route; shown as read on 20 Nov 2026 03:00 UTC" in text
    assert "VNIC020 was not judged for 24 NICs" in text


def test_without_a_history_nothing_is_said_of_one() -> None:
    alone = msgspec.structs.replace(DATA.end, changes=None)
    assert "Since" not in page(DATA._replace(subjects=SUBJECTS, end=alone))


def test_an_audit_becomes_a_page() -> None:
    text = written("html")
    check_markup(text)
    found = decoded(text)
    assert len(found.tables["finding"]["rule"]) == sum(len(one.findings) for one in STREAM)
    words = Elements(text).text
    assert f"Audit of {len(END.targets)} targets" in words
    assert "could not be read in full" in words


def test_an_empty_audit_is_a_page_too() -> None:
    text = Elements(written("html", stream=())).text
    assert "No NIC was audited" in text


def test_the_same_input_gives_the_same_bytes() -> None:
    data = DATA._replace(subjects=SUBJECTS)
    assert page(data) == page(data)
    assert re.search(r"^.{100000,}$", page(data), re.MULTILINE) is None


def test_nics_that_came_without_rows_are_counted_as_unknown() -> None:
    one = HtmlPage()
    bare = msgspec.structs.replace(GUESTS[0], rows=(), nics=3)
    one.add(SUBJECTS[0]._replace(audited=bare))
    text = Elements("".join(one.finish(DATA.about, DATA.end))).text
    assert "3 unknown" in text
