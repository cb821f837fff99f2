"""Drift between two audits, against the history in plain Python."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import pytest

from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from tests.history.plain_model import Interval, NicInterval, PlainHistory
from tests.history.test_random_audits import Fleet
from vnicaudit.history import drift_nics
from vnicaudit.history.drift_sides import pairing
from vnicaudit.history.history import History
from vnicaudit.history.transitions import nic_key

Told = set[tuple[str, str, str]]
CHANGES = ("changed", "suppressed", "unsuppressed")


def test_drift_is_what_differs_between_two_audits(history: History) -> None:
    seed = int(os.environ.get("HISTORY_SEEDS", random.randrange(10**6)))
    print(f"HISTORY_SEEDS={seed}")
    fleet, plain = Fleet(seed), PlainHistory()
    rules: list[set[str]] = []
    read: list[set[str]] = []
    for number in range(1, 15):
        made, readings = fleet.audited(number)
        history.store(made, readings)
        plain.store(made, readings)
        rules.append(set(made.coverage.rules))
        read.append({name for name, one in plain.hosts.items() if one.read == number})
        fleet.day()
    for _ in range(12):
        before, after = sorted(random.Random(seed).sample(range(1, 15), 2))
        drift = history.drift(f"audit-{before}", f"audit-{after}")
        hosts = read[before - 1] & read[after - 1]
        both = rules[before - 1] & rules[after - 1]
        assert (drift.hosts, drift.rules) == (len(hosts), len(both))
        findings = [one for one in plain.findings if one.rule in both and one.host in hosts]
        assert {(one.host, one.fingerprint, one.state) for one in drift.findings} == _findings(
            findings, before, after
        )
        nics = [one for one in plain.nics if one.host in hosts]
        assert {(one.host, str(one.mac), one.state) for one in drift.nics} == _nics(
            nics, before, after
        )
        seed += 1


def _holds(one: Interval | NicInterval, number: int) -> bool:
    return one.opened <= number and (one.closed is None or one.closed > number)


def _state(intervals: Sequence[Interval | NicInterval], before: int, after: int) -> str | None:
    """How something came or went; None: it did neither, or went where that is told."""
    there = any(_holds(one, before) for one in intervals)
    here = any(_holds(one, after) for one in intervals)
    if there and not here:  # how what was there ended
        ended = [one.closed_as for one in intervals if one.closed and one.closed > before]
        how = next(each for each in ended if each not in CHANGES)
        return None if how == "moved" else how
    if here and not there:  # how what is there began
        began = [one.opened_as for one in intervals if one.opened <= after]
        return [each for each in began if each not in CHANGES][-1]
    return None


def _findings(all_: Sequence[Interval], before: int, after: int) -> Told:
    told: Told = set()
    for key in {(one.host, one.mark) for one in all_}:
        mine = [one for one in all_ if (one.host, one.mark) == key]
        state = _state(mine, before, after)
        old = [one for one in mine if _holds(one, before)]
        new = [one for one in mine if _holds(one, after)]
        if old and new:
            (a,), (b,) = old, new
            if a.accepted != b.accepted:
                state = "suppressed" if b.accepted else "unsuppressed"
            elif a.message != b.message:
                state = "changed"
        if new and new[0].accepted and state in ("new", "reopened", "returned", "moved"):
            state = "suppressed"
        if state is not None:
            told.add((*key, state))
    return told


def _nics(all_: Sequence[NicInterval], before: int, after: int) -> Told:
    told: Told = set()
    for key in {(one.host, one.mac) for one in all_}:
        mine = [one for one in all_ if (one.host, one.mac) == key]
        state = _state(mine, before, after)
        old = [one for one in mine if _holds(one, before)]
        new = [one for one in mine if _holds(one, after)]
        if old and new and old[0].model != new[0].model:
            state = "changed"
        if state is not None:
            told.add((*key, state))
    return told


def test_what_changed_of_a_nic_is_told(history: History) -> None:
    one, mac = host("kvm1"), "52:54:00:00:00:01"
    for day, model in enumerate(("e1000", "rtl8139", "virtio"), 1):
        guest = TestDomain(1, (TestNic(mac, model),))
        history.store(audit(f"a{day}", day, [one]), [reading(one, [guest], day)])
    (nic,) = history.drift("a1", "a3").nics
    assert (nic.state, nic.domain, nic.mac, nic.model) == ("changed", "vm1", mac, "virtio")
    assert nic.changes["model"] == ("e1000", "virtio")
    assert nic.changes["vhost"] == (0, 1)
    (later,) = history.drift("previous", "latest").nics
    assert later.changes["model"] == ("rtl8139", "virtio")


def test_nics_with_one_address_are_told_each(history: History) -> None:
    one, mac = host("kvm1"), "52:54:00:00:00:01"
    for day, models in enumerate((("e1000", "rtl8139"), ("virtio", "virtio"), ("virtio",)), 1):
        guest = TestDomain(1, tuple(TestNic(mac, model) for model in models))
        history.store(audit(f"a{day}", day, [one]), [reading(one, [guest], day)])
    changed = history.drift("a1", "a2").nics
    assert [(nic.state, nic.changes["model"]) for nic in changed] == [
        ("changed", ("e1000", "virtio")), ("changed", ("rtl8139", "virtio")),
    ]  # fmt: skip
    assert [nic.state for nic in history.drift("a2", "a3").nics] == ["gone"]
    assert sorted(nic.state for nic in history.drift("a1", "a3").nics) == ["changed", "gone"]


def test_rows_of_one_key_are_paired_in_their_order_however_many() -> None:
    count = 5000
    before = [(number, "key") for number in range(count)]
    after = [(number, "key") for number in reversed(range(count, 2 * count + 1))]
    paired = pairing(before, after)
    assert paired.changed == {number: count + number for number in range(count)}
    assert (paired.only_before, paired.only_after) == ([], [2 * count])


def test_a_guest_with_many_nics_of_one_address_is_compared_nic_by_nic(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, mac, count = host("kvm1"), "52:54:00:00:00:01", 50
    days = (["e1000"] * count, ["virtio"] * (count - 1) + ["e1000"])
    for day, models in enumerate(days, 1):
        guest = TestDomain(1, tuple(TestNic(mac, model) for model in models))
        history.store(audit(f"a{day}", day, [one]), [reading(one, [guest], day)])
    differences = history.drift("a1", "a2").nics
    assert [nic.changes["model"] for nic in differences] == [("e1000", "virtio")] * (count - 1)
    monkeypatch.setattr(drift_nics, "_MOST_JOINED", count)  # the other way to compare them
    assert history.drift("a1", "a2").nics == differences


def test_the_key_of_a_nic_has_its_index_where_it_has_no_address() -> None:
    mac = "52:54:00:00:00:01"
    assert nic_key(b"uuid", "vm1", mac, 3) == (b"uuid", mac, 0)
    assert nic_key(None, "vm1", None, 3) == ("vm1", None, 3)
