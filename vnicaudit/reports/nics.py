"""``vnicaudit nics``: for people one table row for each NIC, or a list of facts if a row does not
fit; as CSV; and as ``vnicaudit.nics/1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeVar

from vnicaudit.audit.judging.domains import nic_row, path_of
from vnicaudit.base.wording import count
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import VIRTIO, name_of
from vnicaudit.model.nic import NONE, UNKNOWN, Resolved
from vnicaudit.model.report import NICS_SCHEMA, NicRow
from vnicaudit.reports.as_text import GAP, Pen, at_stops
from vnicaudit.reports.json_parts import Separator
from vnicaudit.reports.safe import csv_lines, encode_items, fold, safe, width_of, wrap
from vnicaudit.reports.writers import Options

# The mark of a NIC: slow, below what its definition declares, or neither.


Verdict = Literal["slow", "less", "ok"]
VERDICTS: tuple[Verdict, ...] = ("slow", "less", "ok")
"""Worst first."""

MARKS: dict[Verdict, str] = {"slow": "x", "less": "!", "ok": " "}
STYLES: dict[Verdict, str] = {"slow": "bad", "less": "medium", "ok": ""}
_ABSENT = "not created"
_MEANINGS: dict[Verdict, str] = {
    "slow": "x slow (emulated, or without vhost), or does not start",
    "less": "! less than declared (declared→in effect)",
}
_ASKED_FOR = "yes→unknown: asked for, in use unknown"


def verdict_of(nic: NicRow) -> Verdict:
    """``slow``: its data path is slow, or it does not start. ``less``: fewer queues or smaller
    rings than declared. Unknown values are ignored."""
    if kind_of(nic) == _ABSENT or path_of(nic) in ("slow", "does not start"):
        return "slow"
    cut = any(
        resolved.state not in (NONE, UNKNOWN)
        and None not in (resolved.declared, resolved.effective)
        and resolved.declared != resolved.effective
        for resolved in (nic.queues, nic.rx_queue_size, nic.tx_queue_size)
    )
    return "less" if cut else "ok"


def kind_of(nic: NicRow) -> str:
    """``virtio``, ``emulated``, ``passed through``, ``not created`` or ``of unknown model``."""
    if nic.model.state == NONE:
        unknown = nic.type == "network" and nic.actual_type is None  # the half of a teaming pair
        assigned = unknown or "hostdev" in (nic.type, nic.actual_type)
        return "passed through" if assigned else _ABSENT
    if nic.model.state == UNKNOWN or nic.model.effective is None:
        return "of unknown model"
    return "virtio" if nic.model.effective in VIRTIO else "emulated"


class NicCounts:
    """Totals of a list of NICs. A guest in several files (a definition, a dump, a log) counts once,
    and of what these say of a NIC the worst."""

    def __init__(self) -> None:
        self.domains = self.again = self._unproven = 0
        self.kinds: Counter[str] = Counter()
        self.verdicts: Counter[Verdict] = Counter()
        self._known: dict[tuple[str, str], tuple[str, Verdict]] = {}

    def add(self, domain: Domain, nics: Sequence[NicRow]) -> None:
        """Count a domain and its NICs."""
        macs = [nic.mac for nic in nics]
        again = False
        for nic in nics:
            now = kind_of(nic), verdict_of(nic)
            self.verdicts[now[1]] += 1
            self.kinds[now[0]] += 1
            self._unproven += nic.vhost.declared is True and nic.vhost.state == UNKNOWN
            if domain.uuid and nic.mac and nic.location.file and macs.count(nic.mac) == 1:
                known = self._known.get((domain.uuid, nic.mac))
                both = [now] if known is None else [known, now]
                worst = min(both, key=lambda one: VERDICTS.index(one[1]))
                self._known[domain.uuid, nic.mac] = worst
                for one in both:
                    self.kinds[one[0]] -= 1
                self.kinds[worst[0]] += 1
                again |= known is not None
        self.again += again
        self.domains += not (again or domain.declared.is_lone_nic)

    def legend(self) -> str:
        """The meanings of the marks and words in use."""
        used = [text for mark, text in _MEANINGS.items() if self.verdicts[mark]]
        return "; ".join([*used, _ASKED_FOR] if self._unproven else used)

    def sentence(self) -> str:
        """``17 NICs in 14 domains: 10 virtio, 6 emulated, 1 passed through``."""
        counted = ((kind, number) for kind, number in self.kinds.most_common() if number)
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in counted)
        nics = count(self.kinds.total(), "NIC")
        where = f"in {count(self.domains, 'guest')}" if self.domains else "outside of a domain"
        times = f" (read {self.domains + self.again:,} times)" if self.again else ""
        return f"{nics} {where}{times}: {kinds}"


# The five facts of a NIC, ``declared → effective``, as text.


T = TypeVar("T")

ARROW = "→"


def facts(nic: NicRow) -> Iterator[tuple[str, str, str]]:
    """``(label, value, reason)`` of each fact, safe to show."""
    model = value(nic.model)
    if nic.model.declared is None and nic.model.state not in (NONE, UNKNOWN):
        model = f"-{ARROW}{model}"  # a default is worth showing, because it is often unexpected
    yield "model", model, safe(nic.model.reason)
    yield "vhost", value(nic.vhost), safe(nic.vhost.reason)
    yield "queues", value(nic.queues), safe(nic.queues.reason)
    yield "rx", value(nic.rx_queue_size), safe(nic.rx_queue_size.reason)
    yield "tx", value(nic.tx_queue_size), safe(nic.tx_queue_size.reason)


def facts_text(nic: NicRow, pen: Pen, first: str) -> str:
    """One line or more for each fact: label, value and reason."""
    known = list(facts(nic))
    rows = pen.columns((label, value) for label, value, _ in known)
    return "".join(
        pen.beside(row, reason, first, 6) for row, (_, _, reason) in zip(rows, known, strict=True)
    )


def value(resolved: Resolved[T]) -> str:
    """``virtio``; ``1024→256`` if the effective value differs from the declared one; ``unknown``;
    ``-``: the NIC has no such value."""
    effective = {UNKNOWN: "unknown", NONE: "-"}.get(resolved.state) or word_of(resolved.effective)
    if resolved.declared is None or resolved.declared == resolved.effective:
        return effective
    return f"{word_of(resolved.declared)}{ARROW}{effective}"


def type_of(nic: NicRow) -> str:
    """``bridge``; ``network→bridge`` if it is known how the network is connected. In a manifest,
    how KubeVirt connects it: ``masquerade``."""
    if nic.wiring is not None:
        return safe(nic.wiring)
    actual = nic.actual_type or "unknown"
    return safe(nic.type if actual == nic.type else f"{nic.type}{ARROW}{actual}")


def connection_of(nic: NicRow, *, server: bool = False) -> str:
    """``bridge br0``, ``network default→bridge``, ``masquerade pod``: how a NIC is connected, and
    to what if that is known. ``server``: it belongs to a cloud, so its networks are Neutron's."""
    if not nic.source:
        return type_of(nic)
    source = safe(nic.source)
    if nic.wiring is None and (server or nic.type == "network"):
        actual = "" if nic.actual_type == "network" else f"{ARROW}{nic.actual_type or 'unknown'}"
        return f"network {source}{safe(actual)}"
    return f"{type_of(nic)} {source}"


def word_of(thing: object) -> str:
    """A value as a word, safe to show: ``yes``, ``no``, ``-`` for none."""
    if isinstance(thing, bool):
        return "yes" if thing else "no"
    return "-" if thing is None else safe(str(thing))


_COLUMNS = (
    ("NIC", 2), ("MAC", 7), ("connected to", 26), ("model", 43), ("vhost", 53), ("queues", 62),
    ("rx", 70), ("tx", 76),
)  # fmt: skip
"""Column titles and start columns."""
_TABLE_WIDTH = 79
_CONNECTED = 2
_BELOW = " " * 7
_WIDE_STARTS = (2, 7, 26, 50, 61, 74, 82, 92)
"""Start columns with enough room for ``network default→bridge`` and ``yes→unknown``."""
_WIDE = 100
_LONGEST = 60
"""Maximum columns for the connection of a NIC: enough for the socket of a Neutron port."""


def as_text(domains: Iterable[Domain], options: Options, *, places: bool = False) -> Iterator[str]:
    """One piece per domain (a header line and its NICs), then the totals. ``verbose`` adds the
    reasons, and domains without NICs. ``places``: show the file or host of each domain."""
    table = options.width >= _TABLE_WIDTH and not options.verbose
    text = _NicsText(options, table=table)
    empty = True
    for domain in domains:
        if not (domain.nics or options.verbose):
            continue
        if empty and table and not options.quiet:
            yield text.titles()
        empty = False
        yield text.domain(domain, place=places)
    if not options.quiet:
        yield "No NICs\n" if empty else text.totals()


class _NicsText:
    def __init__(self, options: Options, *, table: bool) -> None:
        self._counts = NicCounts()
        self._pen = Pen(options)
        self._verbose = options.verbose
        self._table = table
        self._starts = _starts(options.width)

    def titles(self) -> str:
        """The line of titles above the table."""
        return self._pen.title(at_stops((title for title, _ in _COLUMNS), self._starts), "quiet")

    def domain(self, domain: Domain, *, place: bool) -> str:
        """The lines of a domain and its NICs."""
        rows = [nic_row(domain, nic) for nic in domain.nics]
        self._counts.add(domain, rows)
        head = self._pen.titled(domain.name, ", ".join(_about(domain, place=place)))
        return head + ("".join(self._nic(domain, row) for row in rows) or "  no NICs\n")

    def _nic(self, domain: Domain, nic: NicRow) -> str:
        known = list(facts(nic))
        connected = connection_of(nic, server=domain.declared.is_server)
        text = self._table_rows(nic, known, connected) or self._spelled_out(nic, known, connected)
        verdict = verdict_of(nic)
        if verdict != "ok":
            text = f"{self._pen.paint(STYLES[verdict], MARKS[verdict])}{text[1:]}"
        return text if nic.starts else f"{text}    {self._pen.paint('bad', 'does not start')}\n"

    def totals(self) -> str:
        """The number of NICs of each kind, and the meaning of the marks."""
        sentences = (self._counts.sentence(), self._counts.legend())
        return "\n" + "".join(self._pen.say(one) for one in sentences if one)

    def _table_rows(self, nic: NicRow, known: list[tuple[str, str, str]], connected: str) -> str:
        """The NIC on one line, or two if its connection is long; empty if tables are off or it is
        too wide."""
        if not self._table:
            return ""
        room = self._starts[_CONNECTED + 1] - self._starts[_CONNECTED] - len(GAP)
        shorter = connected.removesuffix(f"{ARROW}{UNKNOWN}") if nic.source else connected
        shown = next((one for one in (connected, shorter) if width_of(one) <= room), type_of(nic))
        cells = [str(nic.index), _mac(nic), shown, *(value for _, value, _ in known)]
        line = at_stops(cells, self._starts)
        if width_of(line) > self._pen.width:
            return ""
        below = shown not in (connected, shorter)
        return f"{line}\n{wrap(connected, self._pen.width, _BELOW, _BELOW) if below else ''}"

    def _spelled_out(self, nic: NicRow, known: list[tuple[str, str, str]], connected: str) -> str:
        place = str(nic.location) if self._verbose else ""
        text = self._pen.words(f"NIC {nic.index}", _mac(nic), connected, place, indent=2)
        if self._verbose:
            return text + facts_text(nic, self._pen, "    ")
        pieces = [f"{label} {value}" for label, value, _ in known]
        return text + fold(pieces, self._pen.width, "    ", "    ", GAP)


def _starts(width: int) -> tuple[int, ...]:
    """Start columns for this width; the connection column gets the spare room."""
    if width < _WIDE:
        return tuple(start for _, start in _COLUMNS)
    connected = _WIDE_STARTS[_CONNECTED]
    room = min(width - _WIDE, _LONGEST - (_WIDE_STARTS[_CONNECTED + 1] - connected))
    return tuple(start + room * (start > connected) for start in _WIDE_STARTS)


def _mac(nic: NicRow) -> str:
    return safe(nic.mac or nic.target_dev or "-")


def _about(domain: Domain, *, place: bool) -> Iterator[str]:
    """Parts of the header line after the domain's name: owner, platform, size, state, place."""
    declared = domain.declared
    yield name_of(declared.owner)
    if domain.cloud is not None and domain.cloud.name != domain.name:
        yield f"server {domain.cloud.name}"
    platform = " ".join(filter(None, (declared.type, declared.arch, declared.machine)))
    yield platform
    if declared.vcpus is not None:
        yield count(declared.vcpus, "vCPU")
    if domain.state is not None and domain.state.active is not None:
        yield "running" if domain.state.active else "shut off"
    if isinstance(domain, Server) and domain.config.status:
        yield domain.config.status
    if isinstance(domain, Server) and domain.cloud.host:
        yield f"on {domain.cloud.host}"
    if place:
        yield domain.location.file or domain.location.target


# One line per NIC, for spreadsheets. Columns are stable: new ones are added at the end.


_FACTS = ("model", "vhost", "queues", "rx_queue_size", "tx_queue_size")
COLUMNS = (
    "domain", "uuid", "nic", "mac", "target_dev", "type", "actual_type", "owner", "arch",
    "machine", "vcpus", "active", "starts", "verdict",
    *(f"{fact}_{side}" for fact in _FACTS for side in ("declared", "effective")),
    "target", "file", "line", "source",
)  # fmt: skip


def as_csv(domains: Iterable[Domain]) -> Iterator[str]:
    """The column heads, and a piece for each domain."""
    yield csv_lines([COLUMNS])
    for domain in domains:
        if domain.nics:
            yield csv_lines(_csv_row(nic_row(domain, nic)) for nic in domain.nics)


def _csv_row(nic: NicRow) -> tuple[str | int | None, ...]:
    facts = (nic.model, nic.vhost, nic.queues, nic.rx_queue_size, nic.tx_queue_size)
    sides = (_csv_word(side) for fact in facts for side in (fact.declared, fact.effective))
    place = nic.location
    return (
        nic.domain, nic.uuid, nic.index, nic.mac, nic.target_dev, nic.type, nic.actual_type,
        nic.owner, nic.arch, nic.machine, nic.vcpus, _csv_word(nic.active), _csv_word(nic.starts),
        verdict_of(nic), *sides, place.target, place.file, place.line,
        nic.source,
    )  # fmt: skip


def _csv_word(value: str | int | bool | None) -> str | int | None:
    return str(value).lower() if isinstance(value, bool) else value


def as_json(domains: Iterable[Domain]) -> Iterator[str]:
    """``vnicaudit.nics/1``: one NIC per line, in pieces, one per domain."""
    separator = Separator()
    yield f'{{"schema":"{NICS_SCHEMA}",\n"nics":['
    for domain in domains:
        if domain.nics:
            yield separator.before() + encode_items([nic_row(domain, nic) for nic in domain.nics])
    yield "]}\n"
