"""Drift between two audits, against its definition in plain loops."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import get_args

import pytest

from tests.history.drift_model import (
    FindingDrift,
    NicDrift,
    NicKey,
    PlainState,
    ambiguous,
    finding_drift,
    nic_drift,
)
from tests.history.fleets import RULES, TestDomain, TestNic, audit, drawn, host, reading, seeds
from vnicaudit.history.history import History
from vnicaudit.model.fleet import FleetAudit, HostReading, HostStatus, InventoryHost
from vnicaudit.model.history import Drift, NicRecord

HOSTS = tuple(host(f"kvm{n}") for n in range(4))
MAC = "52:54:00:00:00:01"
MACS = (MAC, "52:54:00:00:00:02", "52:54:00:00:00:03", None)
AUDITS = 8


class SmallFleet:
    """Few guests with few addresses, so that everything happens to them: they begin, end, move, are
    defined on two hosts; NICs get another address or model, share one, have none."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.guests: dict[str, list[TestDomain]] = {one.name: [] for one in HOSTS}
        for name in self.guests:
            self._begin(name)

    def _begin(self, name: str) -> None:
        nics = tuple(self._nic() for _ in range(self.random.randint(0, 3)))
        self._put(name, TestDomain(self.random.randint(1, 6), nics))

    def _nic(self) -> TestNic:
        mac, model = self.random.choice(MACS), self.random.choice(("virtio", "e1000"))
        found, skipped = (
            frozenset(one for one in list(RULES)[:3] if self.random.random() < share)
            for share in (0.4, 0.1)
        )
        accepted = frozenset(one for one in found if self.random.random() < 0.2)
        return TestNic(mac, model, found, accepted, skipped)

    def _put(self, name: str, one: TestDomain) -> None:
        """On that host, in the place of a guest of that number; of NICs with one address, the first
        alone has findings: theirs have one fingerprint in these tests."""
        macs = [nic.mac for nic in one.nics]
        nics = tuple(
            TestNic(nic.mac, nic.model) if nic.mac and nic.mac in macs[:place] else nic
            for place, nic in enumerate(one.nics)
        )
        others = [each for each in self.guests[name] if each.number != one.number]
        found = self.random.random() < 0.3
        self.guests[name] = [*others, TestDomain(one.number, nics, found)]

    def day(self) -> None:
        """Let it pass."""
        for _ in range(self.random.randint(1, 4)):
            name = self.random.choice(list(self.guests))
            if not self.guests[name]:
                self._begin(name)
                continue
            one = self.random.choice(self.guests[name])
            change = self.random.choices(("begin", "end", "copy", "move", "nic"), (1, 1, 1, 3, 3))[
                0
            ]
            if change in ("end", "move"):
                self.guests[name].remove(one)
            if change in ("move", "copy"):
                self._put(self.random.choice(list(self.guests)), one)
            elif change == "nic":
                self._put(name, self._changed(one))
            elif change == "begin":
                self._begin(name)

    def _changed(self, one: TestDomain) -> TestDomain:
        nics = [nic for nic in one.nics if self.random.random() < 0.8]
        nics = [self._nic() if self.random.random() < 0.4 else nic for nic in nics]
        if self.random.random() < 0.4:
            nics.append(self._nic())
        self.random.shuffle(nics)
        return TestDomain(one.number, tuple(nics))

    def audited(self, number: int) -> tuple[FleetAudit, list[HostReading]]:
        """An audit: of some hosts, rules or NICs; some readings fail, are late, or lack a part."""
        hosts = [one for one in HOSTS if self.random.random() < 0.85]
        rules = [one for one in RULES if self.random.random() < 0.9]
        share = 0.5 if self.random.random() < 0.15 else 1.0
        names = [one.name for one in hosts]
        made = audit(f"a{number}", number, HOSTS, rules=rules, chosen=names, nic_share=share)
        return made, [self._reading(one, number, rules, share) for one in hosts]

    def _reading(
        self, one: InventoryHost, number: int, rules: Sequence[str], share: float
    ) -> HostReading:
        status: HostStatus = self.random.choices(get_args(HostStatus), (8, 1, 1))[0]
        part = min(share, 0.5 if status == "partial" else 1.0)
        guests = [each for each in self.guests[one.name] if self.random.random() < part]
        day = number + (-1.5 if self.random.random() < 0.05 else 0.1)
        return reading(one, guests, day, rules=rules, status=status)


@pytest.mark.parametrize("seed", seeds(2, fresh=20, also=(7, 25)))
def test_drift_is_what_differs_between_two_states(history: History, seed: int | None) -> None:
    seed = drawn(seed)
    fleet, states = SmallFleet(seed), [PlainState()]
    for number in range(1, AUDITS + 1):
        made, readings = fleet.audited(number)
        history.store(made, readings)
        states.append(states[-1].after(made, readings))
        fleet.day()
    unclear = ambiguous(states)
    for b in states[2:]:
        for a in states[1 : b.number]:
            _compare(history.drift(f"a{a.number}", f"a{b.number}"), a, b, unclear)


def _compare(drift: Drift, a: PlainState, b: PlainState, unclear: set[NicKey]) -> None:
    pair = (a.number, b.number)
    assert (drift.hosts, drift.rules) == (len(a.read & b.read), len(a.rules & b.rules))
    findings = Counter(FindingDrift(one.state, one.host, one.fingerprint) for one in drift.findings)
    assert findings == Counter(finding_drift(a, b)), pair
    nics = Counter(_clear(_plain(one), unclear) for one in drift.nics)
    assert nics == Counter(_clear(one, unclear) for one in nic_drift(a, b)), pair


def _plain(one: NicRecord) -> NicDrift:
    here = (one.host, one.model)
    key = (str(one.uuid), one.mac)
    if one.state == "gone":
        return NicDrift("gone", key, here)
    if one.state not in ("changed", "moved"):
        return NicDrift(one.state, key, None, here)
    host, _now = one.changes.get("host", (one.host, None))
    model, _now = one.changes.get("model", (one.model, None))
    return NicDrift(one.state, key, (str(host), None if model is None else str(model)), here)


def _clear(one: NicDrift, unclear: set[NicKey]) -> NicDrift:
    """As it is, or without the models and the host before where several are one another's like."""
    if one.key not in unclear:
        return one
    here = one.before if one.state == "gone" else one.now
    return NicDrift(one.state, one.key, None, None if here is None else (here[0], None))


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


def test_many_guests_with_one_address_are_compared_one_by_one(history: History) -> None:
    one, count = host("kvm1"), 50
    days = (["e1000"] * count, ["virtio"] * (count - 1) + ["e1000"])
    for day, models in enumerate(days, 1):
        guests = [TestDomain(n, (TestNic(MAC, model),)) for n, model in enumerate(models)]
        history.store(audit(f"a{day}", day, [one]), [reading(one, guests, day)])
    differences = history.drift("a1", "a2").nics
    assert [nic.changes["model"] for nic in differences] == [("e1000", "virtio")] * (count - 1)


A, B = HOSTS[:2]
NIC = TestNic(MAC, "e1000", frozenset({"TEST01"}))
GUEST, OTHER = TestDomain(1, (NIC,)), TestDomain(2, (NIC,))


def _told(history: History, *days: Sequence[Sequence[TestDomain]]) -> list[tuple[str, str, str]]:
    """The state, host and guest of NICs that differ between the first and the last of these days,
    on each of which each of the hosts has some guests; the findings are told as the NICs are."""
    for number, guests in enumerate(days, 1):
        readings = [reading(one, some, number) for one, some in zip(HOSTS, guests, strict=False)]
        history.store(audit(f"a{number}", number, HOSTS[: len(guests)]), readings)
    drift = history.drift("a1", f"a{len(days)}")
    nics = [(one.state, one.host, one.domain) for one in drift.nics]
    assert [(one.state, one.host, one.subject) for one in drift.findings] == nics
    return nics


def test_a_guest_that_moved_and_is_gone_is_told(history: History) -> None:
    told = _told(history, ([GUEST], []), ([], [GUEST]), ([], []))
    assert told == [("gone", "kvm0", "vm1")]


def test_a_guest_that_came_and_moved_is_new(history: History) -> None:
    told = _told(history, ([], []), ([GUEST], []), ([], [GUEST]))
    assert told == [("new", "kvm1", "vm1")]


def test_a_guest_that_moved_twice_moved(history: History) -> None:
    told = _told(history, ([GUEST], [], []), ([], [GUEST], []), ([], [], [GUEST]))
    assert told == [("moved", "kvm2", "vm1")]
    (nic,) = history.drift("a1", "a3").nics
    assert nic.changes == {"host": ("kvm0", "kvm2")}


def test_a_guest_is_not_taken_for_another_one_with_its_address(history: History) -> None:
    told = _told(history, ([GUEST, OTHER], []), ([], [GUEST]))
    assert told == [("gone", "kvm0", "vm2"), ("moved", "kvm1", "vm1")]
    with history.fleet_state() as state:
        assert state.summary().nics_removed == 1


def test_a_guest_that_moved_to_a_host_that_is_not_compared_is_told(history: History) -> None:
    history.store(audit("a1", 1, [A]), [reading(A, [GUEST], 1)])
    history.store(audit("a2", 2, [A, B]), [reading(A, [], 2), reading(B, [GUEST], 2)])
    drift = history.drift("a1", "a2")
    assert [(one.state, one.host) for one in drift.nics] == [("moved", "kvm1")]
    assert [(one.state, one.host) for one in drift.findings] == [("moved", "kvm1")]
    assert drift.notes == ("1 host read by only one of them: not compared",)


def test_a_guest_that_was_not_read_is_compared_as_last_read(history: History) -> None:
    history.store(audit("a1", 1, [A]), [reading(A, [GUEST, OTHER], 1)])
    history.store(audit("a2", 2, [A]), [reading(A, [GUEST], 2, status="partial")])
    drift = history.drift("a1", "a2")
    assert (drift.nics, drift.findings) == ((), ())
    assert drift.notes == (
        "the second audit read 1 host only in part: the rest is compared as last read",
    )


def test_nics_without_an_address_are_told_apart_by_what_they_are(history: History) -> None:
    days = (("e1000", "virtio"), ("virtio",), ("virtio", "rtl8139"))
    for day, models in enumerate(days, 1):
        guest = TestDomain(1, tuple(TestNic(None, model) for model in models))
        history.store(audit(f"a{day}", day, [A]), [reading(A, [guest], day)])
    (gone,) = history.drift("a1", "a2").nics
    assert (gone.state, gone.model) == ("gone", "e1000")
    (changed,) = history.drift("a1", "a3").nics
    assert changed.changes["model"] == ("e1000", "rtl8139")


def test_nics_in_another_order_are_the_same(history: History) -> None:
    models = ["e1000", "virtio", "rtl8139"]
    for day in range(1, 4):
        guest = TestDomain(1, tuple(TestNic(MAC, model) for model in models))
        history.store(audit(f"a{day}", day, [A]), [reading(A, [guest], day)])
        models.append(models.pop(0))
    assert history.drift("a1", "a3").nics == ()
