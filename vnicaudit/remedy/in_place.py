"""The changes of one file, made and tried in memory, until there is none left to make.

Each round makes as many at once as do not meet, one for each NIC or option; what is spoken against
is found by halving, and left out.
"""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.audit.files import Item
from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import OwnedError, RefusedError
from vnicaudit.model.domain import REWRITTEN_BY, Domain
from vnicaudit.model.finding import Finding
from vnicaudit.model.nova import NovaConfig
from vnicaudit.remedy.check import Made, objection
from vnicaudit.remedy.contract import DOMAIN_XML, platform_of, writer_of
from vnicaudit.remedy.reading import Judged, Key, Reader
from vnicaudit.text.edits import Edit, OverlappingEditsError, applied

_TRIES = 256
"""Of one file. Each reads and judges it again."""


class Refused(NamedTuple):
    """A finding that was not fixed, and why. ``owned``: its place is not ours to change."""

    finding: Finding
    reason: str
    owned: bool


class Outcome(NamedTuple):
    """What became of one file's text. ``unsafe`` counts fixes that were not asked for."""

    before: bytes
    after: bytes
    made: tuple[Finding, ...]
    refused: tuple[Refused, ...]
    unsafe: int
    platform: str | None
    """Of what was changed."""


def fixed(
    data: bytes,
    path: str,
    work: AuditWork,
    *,
    include_unsafe: bool,
    preferences: frozenset[str] = frozenset(),
) -> Outcome:
    """Fix what can be fixed of the text of ``path``; ``work`` says what is wrong with it.
    ``preferences``: the files whose preferences are fixed too."""
    rounds = _Rounds(Reader(path, work, preferences), data, include_unsafe=include_unsafe)
    rounds.run()
    return rounds.outcome(data)


class _Try(NamedTuple):
    """A change that is to be made, and how."""

    made: Made
    platform: str
    edits: list[Edit]


class _Rounds:
    """One file on its way."""

    def __init__(self, reader: Reader, data: bytes, *, include_unsafe: bool) -> None:
        self._reader = reader
        self._data = data
        self._include_unsafe = include_unsafe
        self._reading = reader.read(data)
        self._made: dict[Key, Made] = {}
        self._refused: dict[Key, Refused] = {}
        self._platform: str | None = None

    def run(self) -> None:
        """Make changes until none is left, or until it takes too long."""
        at_once: int | None = None
        for _ in range(_TRIES):
            batch = self._batch(at_once)
            if not batch:
                return
            at_once = self._attempt(batch)
        for one in self._batch(None):
            self._refuse(one.made, f"given up after {_TRIES} attempts on this file")

    def outcome(self, before: bytes) -> Outcome:
        """What came of it."""
        left = self._candidates()
        return Outcome(
            before,
            self._data,
            tuple(one.finding for one in self._made.values()),
            tuple(self._refused.values()),
            sum(not made.change.safe for made, _platform in left if made.key not in self._refused),
            self._platform,
        )

    def _candidates(self) -> list[tuple[Made, str]]:
        """Every change that is proposed for this text, and the platform that can make it."""
        found = []
        for number, one in enumerate(self._reading.judged):
            platform = platform_of(one.item)
            for finding in one.audited.findings if platform is not None else ():
                if finding.change is not None:
                    made = Made(number, finding, finding.change)
                    found.append((made, platform or ""))
        return found

    def _batch(self, at_once: int | None) -> list[_Try]:
        """The next changes: one for each NIC, or each name of an option, as many as are to be
        made at once."""
        batch: list[_Try] = []
        taken: set[tuple[int, object]] = set()
        for made, platform in self._candidates():
            place = (made.subject, _changed(self._reading.judged[made.subject].item, made))
            if place in taken or not self._wanted(made):
                continue
            one = self._tried(made, platform)
            if one is not None:
                batch.append(one)
                taken.add(place)
            if at_once is not None and len(batch) >= at_once:
                break
        return batch

    def _wanted(self, made: Made) -> bool:
        return made.key not in self._refused and (self._include_unsafe or made.change.safe)

    def _tried(self, made: Made, platform: str) -> _Try | None:
        """How to make it; None, and noted, where it cannot be made."""
        if made.key in self._made:
            self._refuse(made, "it comes back when others are fixed")
            return None
        try:
            _check_owner(self._reading.judged[made.subject], platform)
            place = made.finding.location
            edits = writer_of(platform).edits_for(self._data, place, made.change)
        except RefusedError as error:
            self._refuse(made, str(error), owned=isinstance(error, OwnedError))
            return None
        return _Try(made, platform, edits)

    def _attempt(self, batch: list[_Try]) -> int | None:
        """Make them if nothing speaks against it. Returns how many to make at once next; None for
        as many as there are."""
        made = [one.made for one in batch]
        try:
            data = applied(self._data, (edit for one in batch for edit in one.edits))
            reading = self._reader.read(data)
            reason = objection(self._reading, reading, made)
        except OverlappingEditsError as error:
            reason = str(error)
        if reason is None:
            self._data, self._reading = data, reading
            self._made |= {one.key: one for one in made}
            self._platform = batch[-1].platform
        elif len(batch) > 1:
            return len(batch) // 2
        else:
            self._refuse(made[0], reason)
        return None

    def _refuse(self, made: Made, reason: str, *, owned: bool = False) -> None:
        self._refused[made.key] = Refused(made.finding, reason, owned)


def _changed(item: Item, made: Made) -> object:
    """What a change is made to: a NIC, by its number; in a configuration an option, by its section
    and name, as another change of it may be of the same lines."""
    if not isinstance(item, NovaConfig):
        return made.finding.nic.index
    option = item.on_line(made.finding.location.line)
    return option and option.written


def _check_owner(judged: Judged, platform: str) -> None:
    """Raises OwnedError for a definition that another program writes."""
    item = judged.item
    if platform == DOMAIN_XML and isinstance(item, Domain) and item.declared.owner in REWRITTEN_BY:
        name = REWRITTEN_BY[item.declared.owner]
        raise OwnedError(f"the definition is {name}'s, which writes it anew: change it there")
