"""Every NIC for people: a table row each, or its facts one by one where a row does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.audit.rows import row
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import NicRow
from vnicaudit.reports.facts_text import beside, facts, type_of
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import count
from vnicaudit.reports.wrap import Piece, fold, titled, width_of
from vnicaudit.reports.writer import Options

_COLUMNS = (
    ("NIC", 2), ("MAC", 7), ("type", 26), ("model", 40), ("vhost", 52), ("queues", 61),
    ("rx", 69), ("tx", 75),
)  # fmt: skip
"""Title and where it starts. A longer value pushes its neighbours, and they catch up."""
_TABLE_WIDTH = 79
_WIDE_COLUMNS = (
    ("NIC", 2), ("MAC", 7), ("type", 26), ("model", 43), ("vhost", 57), ("queues", 70),
    ("rx", 79), ("tx", 89),
)  # fmt: skip
"""Room enough that ``network→bridge`` and ``yes→unknown`` push nobody."""
_WIDE = 100


def render(domains: Iterable[Domain], options: Options) -> Iterator[str]:
    """One piece per domain: a header line and its NICs. ``verbose`` adds the reasons, and domains
    without NICs."""
    table = options.width >= _TABLE_WIDTH and not options.verbose
    text = _NicsText(options, table=table)
    empty = True
    for domain in domains:
        if not (domain.nics or options.verbose):
            continue
        if empty and table and not options.quiet:
            yield text.titles()
        empty = False
        yield text.domain(domain)
    if empty and not options.quiet:
        yield "No NICs\n"


class _NicsText:
    def __init__(self, options: Options, *, table: bool) -> None:
        self._width = options.width
        self._verbose = options.verbose
        self._table = table
        self._columns = _WIDE_COLUMNS if options.width >= _WIDE else _COLUMNS
        self._paint = Paint(color=options.color)

    def titles(self) -> str:
        """The line above the table."""
        line = self._row([title for title, _ in _COLUMNS])
        return self._paint("quiet", line) + "\n"

    def domain(self, domain: Domain) -> str:
        """The domain's line and its NICs'."""
        name = safe(domain.name)
        about = safe(", ".join(_about(domain)))
        head = titled(Piece(name, self._paint("name", name)), about, self._width)
        nics = "".join(self._nic(row(domain, nic)) for nic in domain.nics)
        return head + (nics or "  no NICs\n")

    def _nic(self, nic: NicRow) -> str:
        known = list(facts(nic))
        text = self._table_row(nic, known) or self._spelled_out(nic, known)
        return text if nic.starts else f"{text}    {self._paint('bad', 'does not start')}\n"

    def _table_row(self, nic: NicRow, known: list[tuple[str, str, str]]) -> str:
        """The NIC on one line; empty where that is not wanted or too wide."""
        cells = [str(nic.index), _mac(nic), type_of(nic), *(value for _, value, _ in known)]
        line = self._row(cells)
        return f"{line}\n" if self._table and width_of(line) <= self._width else ""

    def _row(self, cells: Iterable[str]) -> str:
        line, used = "", 0
        for cell, (_, start) in zip(cells, self._columns, strict=True):
            gap = max(start - used, 2)
            line += " " * gap + cell
            used += gap + width_of(cell)
        return line

    def _spelled_out(self, nic: NicRow, known: list[tuple[str, str, str]]) -> str:
        head = [f"NIC {nic.index}", _mac(nic), type_of(nic)]
        if self._verbose:
            head.append(safe(str(nic.location)))
        text = fold([Piece(word, word) for word in head], self._width, "  ", "    ", "  ")
        return text + self._facts(known)

    def _facts(self, known: list[tuple[str, str, str]]) -> str:
        if self._verbose:
            room = max(width_of(value) for _, value, _ in known)
            return "".join(
                beside(f"    {label:6}  {value:{room}}  ", reason, self._width, "      ")
                for label, value, reason in known
            )
        pieces = [f"{label} {value}" for label, value, _ in known]
        return fold([Piece(text, text) for text in pieces], self._width, "    ", "    ", "  ")


def _mac(nic: NicRow) -> str:
    return safe(nic.mac or nic.target_dev or "-")


def _about(domain: Domain) -> Iterator[str]:
    """What stands behind the name: owner, platform, size, state."""
    declared = domain.declared
    yield declared.owner
    if domain.cloud is not None and domain.cloud.name != domain.name:
        yield f"server {domain.cloud.name}"
    platform = " ".join(filter(None, (declared.type, declared.arch, declared.machine)))
    yield platform
    if declared.vcpus is not None:
        yield count(declared.vcpus, "vCPU")
    if domain.state is not None and domain.state.active is not None:
        yield "running" if domain.state.active else "shut off"
    if declared.form == "server" and declared.server is not None and declared.server.status:
        yield declared.server.status
    if declared.form == "server" and domain.cloud is not None and domain.cloud.host:
        yield f"on {domain.cloud.host}"
