"""Random fleets, audited at random, against the history in plain Python."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import get_args

import pytest

from tests.history.fleets import RULES, TestDomain, TestNic, audit, drawn, host, reading, seeds
from tests.history.plain_model import PlainHistory
from vnicaudit.history.history import History
from vnicaudit.model.fleet import FleetAudit, HostReading, HostStatus

HOSTS = tuple(host(f"kvm{n}", f"site{n % 2}") for n in range(5))
MODELS = ("virtio", "e1000", "rtl8139")


class Fleet:
    """Guests on hosts; something happens to them every day."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._count = 0
        self._clock = 0.0
        self.guests: dict[str, list[TestDomain]] = {one.name: [] for one in HOSTS}
        for one in HOSTS:
            for _ in range(3):
                self._begin(one.name)

    def _begin(self, name: str) -> None:
        self._count += 1
        macs = [f"52:54:00:00:{self._count:02x}:{n:02x}" for n in range(self.random.randint(0, 3))]
        nics = tuple(self._nic(mac) for mac in macs)
        found = self.random.random() < 0.3
        self.guests[name].append(TestDomain(self._count, nics, found))

    def _nic(self, mac: str | None) -> TestNic:
        found = self._some(0.4)
        accepted = frozenset(one for one in found if self.random.random() < 0.15)
        return TestNic(mac, self.random.choice(MODELS), found, accepted, self._some(0.1))

    def _some(self, share: float) -> frozenset[str]:
        return frozenset(one for one in list(RULES)[:3] if self.random.random() < share)

    def day(self) -> None:
        """Let it pass."""
        for name in self.guests:
            for _ in range(self.random.randint(0, 2)):
                changes = (self._change, self._change, self._move, self._end, self._begin)
                self.random.choice(changes)(name)

    def _pick(self, name: str) -> TestDomain | None:
        guests = self.guests[name]
        return guests.pop(self.random.randrange(len(guests))) if guests else None

    def _change(self, name: str) -> None:
        one = self._pick(name)
        if one is None:
            return
        nics = [self._nic(nic.mac) if self.random.random() < 0.6 else nic for nic in one.nics]
        if nics and self.random.random() < 0.2:
            nics.pop(self.random.randrange(len(nics)))
        found = self.random.random() < 0.3
        self.guests[name].append(TestDomain(one.number, tuple(nics), found))

    def _move(self, name: str) -> None:
        one = self._pick(name)
        if one is not None:
            self.guests[self.random.choice(list(self.guests))].append(one)

    def _end(self, name: str) -> None:
        self._pick(name)

    def audited(self, number: int) -> tuple[FleetAudit, list[HostReading]]:
        """An audit of it: whole, or of some hosts, rules or NICs; some hosts fail. The clock steps
        at times, and is set right later."""
        if self.random.random() < 0.2:
            self._clock = self.random.choice((0, 0, -2.5, 3, 40))
        day = number + self._clock
        listed = [one for one in HOSTS if self.random.random() < 0.95]
        chosen = [one for one in listed if self.random.random() < 0.8]
        rules = [one for one in RULES if self.random.random() < 0.85] or list(RULES)
        share = 0.5 if self.random.random() < 0.15 else 1.0
        made = audit(
            f"audit-{number}", day, listed, rules=rules,
            chosen=[one.name for one in chosen], nic_share=share,
        )  # fmt: skip
        return made, [self._reading(one.name, day, rules, share) for one in chosen]

    def _reading(self, name: str, day: float, rules: Sequence[str], share: float) -> HostReading:
        (one,) = [each for each in HOSTS if each.name == name]
        status: HostStatus = self.random.choices(get_args(HostStatus), (8, 1, 2))[0]
        guests = list(self.guests[name])
        if status == "partial":
            guests = [each for each in guests if self.random.random() < 0.5]
        if share < 1:
            guests = [each for each in guests if self.random.random() < share]
        day += -1.5 if self.random.random() < 0.05 else self.random.random() / 3
        return reading(one, guests, day, rules=rules, status=status)


@pytest.mark.usefixtures("any_clock")
@pytest.mark.parametrize("seed", seeds(4, fresh=40, also=(270816,)))
def test_random_audits(history: History, seed: int | None) -> None:
    seed = drawn(seed)
    fleet, plain = Fleet(seed), PlainHistory()
    for day in range(1, 25):
        made, readings = fleet.audited(day)
        stored = history.store(made, readings)
        if fleet.random.random() < 0.15:
            history.remove("latest")
            stored = history.store(made, readings)
        plain.store(made, readings)
        assert stored.number == plain.number
        _check(history, plain, day)
        _check_tally(history, plain, made)
        fleet.day()


def _check(history: History, plain: PlainHistory, day: int) -> None:
    assert _findings(history) == _plain_findings(plain), day
    assert _nics(history) == _plain_nics(plain), day


def _findings(history: History) -> Counter[tuple[object, ...]]:
    query = """
        SELECT v.host, v.fingerprint, v.rule, v.state, v.reopened, f.opened, f.opened_as, f.closed,
            f.first_seen
        FROM finding f JOIN findings v ON v.id = f.id"""
    with history.database.reading() as connection:
        rows = connection.exec_driver_sql(query).fetchall()
    return Counter(tuple(row) for row in rows)


def _plain_findings(plain: PlainHistory) -> Counter[tuple[object, ...]]:
    from vnicaudit.history.rows import milliseconds

    return Counter(
        (
            one.host, one.mark, one.rule, plain.state(one), one.reopened, one.opened,
            one.opened_as, one.closed, milliseconds(one.first_seen),
        )
        for one in plain.findings
    )  # fmt: skip


def _nics(history: History) -> Counter[tuple[object, ...]]:
    query = """
        SELECT h.name, n.mac, n.model, n.opened, n.opened_as, n.closed, n.closed_as, n.first_seen
        FROM nic n JOIN host h ON h.id = n.host"""
    with history.database.reading() as connection:
        return Counter(tuple(one) for one in connection.exec_driver_sql(query))


def _plain_nics(plain: PlainHistory) -> Counter[tuple[object, ...]]:
    from vnicaudit.history.rows import milliseconds

    return Counter(
        (
            one.host, one.mac, one.model, one.opened, one.opened_as, one.closed, one.closed_as,
            milliseconds(one.first_seen),
        )
        for one in plain.nics
    )  # fmt: skip


def _check_tally(history: History, plain: PlainHistory, made: FleetAudit) -> None:
    query = f"""
        SELECT rule, SUM(open), SUM(stale), SUM(accepted), SUM(new), SUM(reopened), SUM(fixed),
            SUM(gone)
        FROM trend WHERE audit = '{made.id}' GROUP BY rule"""
    with history.database.reading() as connection:
        rows = {rule: list(map(int, values)) for rule, *values in connection.exec_driver_sql(query)}
    counts = plain.counts(made)
    for rule in RULES:
        flows = [plain.flows[(rule, how)] for how in ("new", "reopened", "fixed", "gone")]
        wanted = [counts[kind][rule] for kind in ("open", "stale", "accepted")] + flows
        assert rows.get(rule, [0] * 7) == wanted, (made.id, rule)
