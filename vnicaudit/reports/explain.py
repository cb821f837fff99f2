"""One NIC, layer by layer: declared values, which one wins and why, and the problems."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.report import Explanation, Layer, ServerName
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.findings import FindingText
from vnicaudit.reports.model import Part
from vnicaudit.reports.nics import facts_text, type_of
from vnicaudit.reports.safe import encode, safe
from vnicaudit.reports.writers import Options


def explanation_json(explanation: Explanation) -> str:
    """``vnicaudit.explain/1``, on one line."""
    return encode(explanation) + "\n"


def explanation_text(explanation: Explanation, options: Options) -> str:
    """Text for people; ends with a line break."""
    return "".join(_sections(explanation, options))


def _sections(it: Explanation, options: Options) -> Iterator[str]:
    pen, entry, nic = Pen(options), FindingText(options), it.nic
    yield pen.words(
        Part(nic.domain, style="name"), f"NIC {nic.index}", nic.mac or nic.target_dev or "",
        type_of(nic), nic.owner, str(nic.location),
    )  # fmt: skip
    if it.server is not None:
        yield pen.words(*_server(it.server, nic.location.target), indent=2)
    yield "\n" + pen.title("Who says what")
    for layer in it.layers:
        yield from _layer(layer, pen)
    yield "\n" + pen.title("What the guest gets")
    yield facts_text(nic, pen, "  ")
    if not nic.starts:
        yield f"  {pen.paint('bad', 'does not start')}\n"
    yield "\n" + pen.title("What is wrong")
    entries = [
        *map(entry.finding, it.findings),
        *map(entry.crashed, it.crashed),
        *map(entry.suppressed, it.suppressed),
        *map(entry.skipped, it.skipped),
    ]
    yield from entries or ("  nothing found\n",)
    if it.next_checks:
        yield "\n" + pen.title("What to check next, if it is slow")
        rows = pen.columns((check.area,) for check in it.next_checks)
        for row, check in zip(rows, it.next_checks, strict=True):
            yield pen.beside(
                (*row, safe(check.command)), f"# {safe(check.look)}" * bool(check.look), "  ", 11
            )


def _server(server: ServerName, target: str) -> Iterator[str]:
    """The OpenStack server of the NIC. ``target``: where the NIC was read."""
    yield from (f"server {server.name}", server.id)
    if project := server.project_name or server.project:
        yield f"project {project}"
    if server.host:
        yield f"host {server.host}"
    if server.cloud != target:
        yield server.cloud


def _layer(layer: Layer, pen: Pen) -> Iterator[str]:
    yield pen.words(layer.name, layer.place or "", indent=2)
    if layer.missing:
        yield pen.say(f"not known: {layer.missing}", 4)
    elif not layer.facts:
        yield "    does not mention it\n"
    rows = pen.columns((fact.fact, fact.value) for fact in layer.facts)
    for row, fact in zip(rows, () if layer.missing else layer.facts, strict=False):
        note = safe(fact.note)
        if fact.wins:
            note = pen.paint("fix", "← wins") + (f": {note}" if note else "")
        yield pen.beside(row, note, "    ", 6)
