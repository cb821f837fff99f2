"""One NIC, layer by layer: declared values, which one wins and why, and the problems."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.report import Explanation, Layer, LayerFact
from vnicaudit.reports.findings.finding_text import FindingText
from vnicaudit.reports.nics.text import facts_text, type_of
from vnicaudit.reports.safe import Paint, Piece, encode, fold, safe, wrap
from vnicaudit.reports.table.model import Part, columns, row_with_text
from vnicaudit.reports.writers import Options


def explanation_json(explanation: Explanation) -> str:
    """``vnicaudit.explain/1``, on one line."""
    return encode(explanation) + "\n"


def explanation_text(explanation: Explanation, options: Options) -> str:
    """Text for people; ends with a line break."""
    return "".join(_Explain(explanation, options).sections())


class _Explain:
    def __init__(self, explanation: Explanation, options: Options) -> None:
        self._it = explanation
        self._width = options.width
        self._paint = Paint(color=options.color)
        self._entry = FindingText(options, self._paint)

    def sections(self) -> Iterator[str]:
        yield self._header()
        yield self._title("Who says what")
        yield from map(self._layer, self._it.layers)
        yield self._title("What the guest gets")
        yield self._facts()
        yield self._title("What is wrong")
        yield self._wrong()

    def _header(self) -> str:
        nic = self._it.nic
        name = safe(nic.domain)
        words = [f"NIC {nic.index}", nic.mac or nic.target_dev or "", type_of(nic), nic.owner,
                 str(nic.location)]  # fmt: skip
        pieces = [Piece(name, self._paint("name", name))]
        pieces.extend(Piece(word, word) for word in map(safe, words) if word)
        return fold(pieces, self._width, "", "  ", "  ") + self._server()

    def _server(self) -> str:
        """The OpenStack server of the NIC; empty: it belongs to none."""
        server = self._it.server
        if server is None:
            return ""
        words = [f"server {server.name}", server.id]
        project = server.project_name or server.project
        words += [f"project {project}"] if project else []
        words += [f"host {server.host}"] if server.host else []
        words += [server.cloud] if server.cloud != self._it.nic.location.target else []
        pieces = [Piece(word, word) for word in map(safe, words) if word]
        return fold(pieces, self._width, "  ", "    ", "  ")

    def _title(self, title: str) -> str:
        return "\n" + self._paint("name", title) + "\n"

    def _layer(self, layer: Layer) -> str:
        words = [safe(layer.name), *([safe(layer.place)] if layer.place else [])]
        head = fold([Piece(word, word) for word in words], self._width, "  ", "    ", "  ")
        if layer.missing:
            return head + wrap(f"not known: {safe(layer.missing)}", self._width, "    ", "      ")
        if not layer.facts:
            return head + "    does not mention it\n"
        cells = ((Part(fact.fact), Part(fact.value)) for fact in layer.facts)
        rows = columns(cells, self._paint)
        return head + "".join(map(self._fact, layer.facts, rows))

    def _fact(self, fact: LayerFact, row: list[Piece]) -> str:
        note = safe(fact.note)
        if not fact.wins:
            return row_with_text(row, note, self._width, "    ", "      ")
        wins = Piece("← wins", self._paint("fix", "← wins"))
        return row_with_text(row, note and f": {note}", self._width, "    ", "      ", wins)

    def _facts(self) -> str:
        text = facts_text(self._it.nic, self._width, "  ")
        return text if self._it.nic.starts else f"{text}  {self._paint('bad', 'does not start')}\n"

    def _wrong(self) -> str:
        entries = [
            *map(self._entry.finding, self._it.findings),
            *map(self._entry.crashed, self._it.crashed),
            *map(self._entry.suppressed, self._it.suppressed),
            *map(self._entry.skipped, self._it.skipped),
        ]
        return "".join(entries) or "  nothing found\n"
