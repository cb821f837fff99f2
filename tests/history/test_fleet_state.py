"""The state of a fleet, host by host, against what each audit was told."""

import pytest
from msgspec.structs import replace

from tests.history.fleets import TestDomain, TestNic, audit, fingerprint, host, reading, timestamp
from tests.history.measured import measurement
from vnicaudit.errors import UsageError
from vnicaudit.history.history import History
from vnicaudit.model.history import FindingRecord, FleetHost
from vnicaudit.reports.page.from_history import merged_reading

A, B, C = host("kvm1", "north"), host("kvm2", "south"), host("kvm3", "south")
MAC = "52:54:00:00:00:0{}"


def guest(number: int, found: str = "", accepted: str = "", skipped: str = "") -> TestDomain:
    """A guest with one NIC and findings of these rules, by their numbers."""
    rules = (frozenset(f"TEST0{one}" for one in some) for some in (found, accepted, skipped))
    return TestDomain(number, (TestNic(MAC.format(number), "e1000", *rules),))


def states(history: History) -> dict[str, str]:
    """Fingerprint -> state, of open findings."""
    with history.fleet_state() as state:
        return {
            one.fingerprint: one.state
            for _host, found in state.open_on(state.hosts())
            for one in found
        }


def known(history: History) -> dict[str, tuple[FleetHost, list[FindingRecord]]]:
    """By the names of hosts."""
    with history.fleet_state() as state:
        return {one.name: (one, found) for one, found in state.open_on(state.hosts())}


def mark(rule: int, number: int) -> str:
    """Of the finding of a rule on a guest."""
    return fingerprint(f"TEST0{rule}", guest(number), MAC.format(number))


def test_an_empty_history_has_no_state(history: History) -> None:
    with pytest.raises(UsageError, match="no audit yet"), history.fleet_state():
        pass


def test_each_finding_has_its_state_by_the_newest_audit(history: History) -> None:
    hosts = (A, B, C)
    for day, first in enumerate(("12", "2", "12"), 1):
        history.store(
            audit(f"a{day}", day, hosts),
            [
                reading(A, [guest(1, first)], day),
                reading(B, [guest(2, "1")], day),
                reading(C, [guest(3, "12", "2")], day),
            ],
        )
    history.store(
        audit("a4", 4, hosts),
        [
            reading(A, [guest(1, "13")], 4),
            reading(B, [], 4, status="failed"),
            reading(C, [guest(3, "2", "2", skipped="1")], 4),
        ],
    )
    assert states(history) == {
        mark(1, 1): "known",
        mark(3, 1): "new",
        mark(1, 2): "not looked at",
        mark(1, 3): "not looked at",
    }
    with history.fleet_state() as state:
        summary = state.summary()
        settled = {one.fingerprint: one for one in state.settled()}
    assert {key: one.state for key, one in settled.items()} == {
        mark(2, 1): "fixed", mark(2, 3): "suppressed",
    }  # fmt: skip
    assert settled[mark(2, 1)].until == timestamp(4).replace(".000", "")
    assert settled[mark(2, 3)].reason == "agreed"
    newest = summary.newest
    assert (newest.new, newest.fixed, newest.open, newest.stale) == (1, 1, 2, 2)
    assert [one.id for one in summary.audits] == ["a1", "a2", "a3", "a4"]
    stale, _found = known(history)["kvm2"]
    assert (stale.is_fresh, stale.is_tried, stale.status, stale.audit) == (
        False, True, "failed", "a3",
    )  # fmt: skip
    assert stale.read_at == timestamp(3).replace(".000", "")


def test_what_came_back_is_reopened_and_no_longer_fixed(history: History) -> None:
    for day, found in enumerate(("1", "", "1"), 1):
        history.store(audit(f"a{day}", day, (A,)), [reading(A, [guest(1, found)], day)])
    assert states(history) == {mark(1, 1): "reopened"}
    with history.fleet_state() as state:
        assert state.settled() == []
    history.store(audit("a4", 4, (A,)), [reading(A, [guest(1, "")], 4)])
    with history.fleet_state() as state:
        assert [(one.state, one.fingerprint) for one in state.settled()] == [("fixed", mark(1, 1))]


def test_what_an_audit_did_not_ask_or_choose_is_not_looked_at(history: History) -> None:
    hosts = (A, B)
    readings = [reading(A, [guest(1, "12")], 1), reading(B, [guest(2, "1")], 1)]
    history.store(audit("a1", 1, hosts), readings)
    two = audit("a2", 2, hosts, rules=["TEST02"], chosen=["kvm1"])
    history.store(two, [reading(A, [guest(1, "12")], 2, rules=["TEST02"])])
    assert states(history) == {
        mark(1, 1): "not looked at", mark(2, 1): "known", mark(1, 2): "not looked at",
    }  # fmt: skip
    other, _found = known(history)["kvm2"]
    assert (other.is_tried, other.is_fresh, other.status) == (False, False, "ok")
    with history.fleet_state() as state:
        assert state.summary().rules == ("TEST02",)


def test_a_host_whose_reading_is_not_kept_has_what_the_history_knows(history: History) -> None:
    one = reading(A, [guest(1, "1"), guest(2)], 1)
    history.store(audit("a1", 1, (A,)), [one])
    with history.fleet_state() as state:
        ((known_host, findings),) = state.open_on(state.hosts())
        made = merged_reading(known_host, findings, None, state.nics_on)
        kept = merged_reading(known_host, findings, one, state.nics_on)
        (found,) = findings
        changes = replace(found, field="model", old="e1000", new="virtio", safe=True)
        worded = merged_reading(known_host, [changes], None, state.nics_on)
    assert worded.audited[0].findings[0].fix == (
        "Set <model type='virtio'/> (virsh edit), then power the guest off and on. "
        "`vnicaudit rules TEST01` says more."
    )
    assert [each.subject for each in made.audited] == ["vm1", "vm2"]
    for mine, theirs in zip(made.audited, one.audited, strict=True):
        assert [each.fingerprint for each in mine.findings] == [
            each.fingerprint for each in theirs.findings
        ]
        for row, read in zip(mine.rows, theirs.rows, strict=True):
            assert (row.mac, row.model.effective, row.vhost.effective, row.uuid) == (
                read.mac, read.model.effective, read.vhost.effective, read.uuid,
            )  # fmt: skip
    assert made.audited[0].findings[0].about == one.audited[0].findings[0].about
    assert kept.audited == one.audited


def test_a_part_that_was_not_read_stays_beside_what_was(history: History) -> None:
    history.store(audit("a1", 1, (A,)), [reading(A, [guest(1, "1"), guest(2, "1")], 1)])
    part = reading(A, [guest(1, "1")], 2, status="partial")
    history.store(audit("a2", 2, (A,)), [part])
    with history.fleet_state() as state:
        ((known_host, findings),) = state.open_on(state.hosts())
        made = merged_reading(known_host, findings, part, state.nics_on)
    assert {one.fingerprint: one.state for one in findings} == {
        mark(1, 1): "known", mark(1, 2): "not looked at",
    }  # fmt: skip
    assert [(one.subject, len(one.findings), one.nics) for one in made.audited] == [
        ("vm1", 1, 1), ("vm2", 1, 1),
    ]  # fmt: skip


def test_measurements_of_flips_have_both_nics_and_mark_the_state(history: History) -> None:
    history.store(audit("a1", 1, (A,)), [reading(A, [guest(1, "1")], 1)])
    with history.fleet_state() as state:
        before = state.mark()
    one = measurement("20260101-000000-0001", 212.0)
    flips = replace(one, run=replace(one.run, design="flips"))
    assert history.add_measurements([flips]) == 1
    (gain,) = history.gains()
    assert (gain.before_nic, gain.after_nic, gain.percent) == ("e1000", "virtio, 4 queues", 212.0)
    with history.fleet_state() as state:
        assert state.mark() != before
        (found,) = state.measurements()
    assert (found.domain, found.percent, found.before_nic) == ("web-01", 212.0, "e1000")
