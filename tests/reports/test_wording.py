"""Words that formats share."""

import pytest

from vnicaudit.base.wording import count
from vnicaudit.model.finding import Ref
from vnicaudit.model.report import ReadError, RunEnd, Summary, TargetResult
from vnicaudit.reports.wording import Unread, accepted_sentence, part_label, unread_of


@pytest.mark.parametrize(
    ("ref", "label"),
    [
        (Ref("nic", "a", None, "52:54:00:00:00:01", 3, "vnet1"), "NIC 3 52:54:00:00:00:01"),
        (Ref("nic", "a", None, None, 3, "vnet1"), "NIC 3 vnet1"),
        (Ref("nic", "a", None, None, 0), "NIC 0"),
        (Ref("nic", "a", None, "52:54:00:00:00:01"), "NIC 52:54:00:00:00:01"),
        (Ref("domain", "a"), ""),
        (Ref("host"), ""),
        (Ref("link", "eth0"), "link eth0"),
    ],
)
def test_a_nic_is_named_by_what_is_known_of_it(ref: Ref, label: str) -> None:
    assert part_label(ref) == label


def test_numbers_and_plurals() -> None:
    assert [count(number, "NIC") for number in (0, 1, 2, 12345)] == [
        "0 NICs", "1 NIC", "2 NICs", "12,345 NICs",
    ]  # fmt: skip


def test_what_was_not_read_is_placed_as_well_as_can_be() -> None:
    errors = (ReadError("a", "f.xml", 3), ReadError("b", "g.xml"), ReadError("c"))
    target = TargetResult("dir", "partial", "a", errors=errors, unread=5)
    assert list(unread_of(target)) == [
        Unread("f.xml:3", "a", "f.xml", 3),
        Unread("g.xml", "b", "g.xml"),
        Unread("dir", "c"),
        Unread("dir", "2 more were not read"),
    ]


def test_a_failed_target_always_says_something() -> None:
    assert list(unread_of(TargetResult("t", "failed"))) == [Unread("t", "could not be read")]
    assert list(unread_of(TargetResult("t", "failed", "refused"))) == [Unread("t", "refused")]
    assert list(unread_of(TargetResult("t", "ok"))) == []


def test_what_is_not_shown_is_counted() -> None:
    summary = Summary(suppressed=2, baselined=1, baseline_gone=3)
    assert accepted_sentence(RunEnd("", (), summary)) == (
        "2 findings suppressed, 1 finding known from the baseline, 3 findings of the baseline gone"
    )
    assert accepted_sentence(RunEnd("", (), Summary())) == ""
