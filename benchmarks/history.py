"""The history against bare bulk inserts, and a year of it.

    python -m benchmarks.history [--hosts 1000] [--days 365] [--rounds 3] [--postgresql]

HOSTS hosts of 50 domains with two NICs and two findings each; CPU seconds of this process (and,
with ``--postgresql``, of the server's):

* floor: the rows that the first audit writes, as tuples that are made already, into the same empty
  tables with the same indexes: ``executemany`` in one transaction, or COPY;
* store: the first audit, from readings in memory;
* unchanged: the same readings on the next day;
* DAYS more audits in which 1 % of the NICs change, then ``drift`` and ``trend`` over all.

PostgreSQL: Debian's, in a private folder, with ``fsync=off``: CPU and sizes only.
"""

from __future__ import annotations

import random

import msgspec

from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from vnicaudit.model.fleet import HostReading, InventoryHost

_SLOW = frozenset({"TEST01"})


class Fleet:
    """Guests of hosts; a reading is made anew where something of its host changed."""

    def __init__(self, hosts: int) -> None:
        self.hosts = tuple(host(f"kvm{n:05}", f"site{n % 10}") for n in range(hosts))
        self._guests = {
            one.name: [self._guest(place * 50 + n) for n in range(50)]
            for place, one in enumerate(self.hosts)
        }
        self._readings: dict[str, HostReading] = {}

    def _guest(self, number: int) -> TestDomain:
        macs = [f"52:54:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}:{n:02x}" for n in (0, 1)]  # fmt: skip
        return TestDomain(number, tuple(TestNic(mac, "e1000", _SLOW) for mac in macs))

    def change(self, share: float, seed: int) -> None:
        """Change that share of all NICs: those with a finding lose it, and the other way round."""
        drawn = random.Random(seed)
        number = round(len(self.hosts) * 100 * share)
        for place in drawn.sample(range(len(self.hosts) * 100), number):
            name = self.hosts[place // 100].name
            guest = place % 100 // 2
            one = self._guests[name][guest]
            nics = list(one.nics)
            nic = nics[place % 2]
            new = TestNic(nic.mac) if nic.found else TestNic(nic.mac, "e1000", _SLOW)
            nics[place % 2] = new
            self._guests[name][guest] = TestDomain(one.number, tuple(nics))
            self._readings.pop(name, None)

    def readings(self, day: int) -> list[HostReading]:
        """Of all hosts."""
        return [self._reading(one, day) for one in self.hosts]

    def _reading(self, one: InventoryHost, day: int) -> HostReading:
        made = self._readings.get(one.name)
        if made is None:
            made = self._readings[one.name] = reading(one, self._guests[one.name], day)
        return msgspec.structs.replace(made, finished=_moment(day), started=_moment(day))


def _moment(day: int) -> str:
    return audit("x", day, ()).started
