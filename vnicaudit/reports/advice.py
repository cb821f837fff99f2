"""The advice of ``vnicaudit advise network``: text, Markdown and JSON.

Text and Markdown render the same sections: for each flow what to use, why, what is excluded, where
sources contradict each other, what would decide, and what is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, get_args, get_type_hints

from msgspec import Struct

from vnicaudit.base.wording import count
from vnicaudit.model.advice import FiredRow, FlowAdvice, MissingFact, NetworkAdvice
from vnicaudit.model.scenario import (
    AttachmentKind,
    NetworkNeeds,
    Scenario,
    ScenarioPlatform,
    TrafficFlow,
    words_of,
)
from vnicaudit.reports import as_markdown
from vnicaudit.reports.as_text import text_of
from vnicaudit.reports.model import ReportSection
from vnicaudit.reports.safe import encode
from vnicaudit.reports.writers import Options

ATTACHMENTS: dict[AttachmentKind, str] = {
    "default": "the default pod network",
    "ipvlan-l2": "IPVLAN L2, as a further interface",
    "macvlan": "macvlan, as a further interface",
    "host-device": "host-device (a NIC of the node inside the pod)",
    "sriov-netdev": "SR-IOV VF with its kernel driver (netdevice)",
    "sriov-vfio": "SR-IOV VF by vfio-pci",
    "linux-bridge": "a Linux bridge of the node",
    "ovn-localnet": "OVN-Kubernetes localnet",
    "primary-udn": "a primary user-defined network (UDN)",
    "vhost-vdpa": "vhost-vDPA (VDUSE)",
    "masquerade": "masquerade on the pod network",
    "pod-bridge": "bridge binding on the pod network",
    "passt": "passt binding",
    "host-network": "hostNetwork",
}
_NODES = {"same": "on one node", "cross": "across nodes", "either": "on any node"}
_PATTERNS = {"rr": "request/response", "streaming": "streaming"}
_PLACEMENT = {
    "same-node": "on one node (podAffinity)",
    "apart": "on different nodes (podAntiAffinity)",
}


class AdviceReport(NamedTuple):
    """An advice, the scenario that it answers, and the file in which facts are to be given."""

    advice: NetworkAdvice
    scenario: Scenario
    file: str


def _text(report: AdviceReport, options: Options) -> Iterator[str]:
    return text_of(_sections(report), options)


def _markdown(report: AdviceReport, options: Options) -> Iterator[str]:
    del options
    yield "## vnicaudit advise network\n\n"
    for section in _sections(report):
        yield from as_markdown.section_text(section)


def _json(report: AdviceReport, options: Options) -> Iterator[str]:
    del options
    yield f"{encode(report.advice)}\n"


FORMATS = {"text": _text, "json": _json, "markdown": _markdown}


def _sections(report: AdviceReport) -> Iterator[ReportSection]:
    sources = _Sources()
    for flow, advice in zip(report.scenario.flows, report.advice.flows, strict=True):
        yield from _flow_sections(flow, advice, report.file, sources)
    if report.advice.general:
        pairs = ((row.row, _row_text(row, sources)) for row in report.advice.general)
        yield ReportSection(title="The whole platform", pairs=tuple(pairs))
    commands: dict[str, list[str]] = {}
    for row in report.advice.general:
        if row.command:
            commands.setdefault(row.command, []).append(row.row)
    if commands:
        said = tuple(f"{', '.join(rows)}: {command}" for command, rows in commands.items())
        yield ReportSection(title="Measure it with", style="quiet", items=said)
    if sources.titles:
        yield ReportSection(title="Sources", style="quiet", pairs=tuple(sources.pairs()))


class _Sources:
    """The titles of sources, numbered as they are cited, and the hard rows that were shown."""

    def __init__(self) -> None:
        self.titles: dict[str, int] = {}
        self._shown: set[tuple[str, str]] = set()

    def once(self, row: str, text: str) -> str:
        """The text of a row; ``as above`` if an earlier flow has it."""
        if (row, text) in self._shown:
            return "as above"
        self._shown.add((row, text))
        return text

    def cited(self, row: FiredRow) -> str:
        """``[1, Scenario II]``."""
        number = self.titles.setdefault(row.source, len(self.titles) + 1)
        return f"[{number}, {row.section}]" if row.section else f"[{number}]"

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each number and its title."""
        return ((f"[{number}]", title) for title, number in self.titles.items())


def _flow_sections(
    flow: TrafficFlow, advice: FlowAdvice, file: str, sources: _Sources
) -> Iterator[ReportSection]:
    """The answer for one flow, and the rows and facts behind it."""
    yield ReportSection(
        title=flow.name, about=_about(flow), pairs=tuple(_answer(flow, advice)), verdict=True
    )
    excluded: dict[str, list[str]] = {}
    for one in advice.excluded:
        excluded.setdefault(one.row, []).append(one.attachment)
    parts: dict[str, list[tuple[str, str]]] = {
        "Why": [],
        "Excluded": [],
        "Undecided in the sources": [],
    }
    for row in advice.rows:
        text = _row_text(row, sources, excluded)
        if row.row in excluded:
            names = ", ".join(excluded[row.row])
            parts["Excluded"].append((row.row, f"{names}: {sources.once(row.row, text)}"))
        else:
            parts["Undecided in the sources" if row.kind == "depends" else "Why"].append(
                (row.row, text)
            )
    for title, pairs in parts.items():
        if pairs:
            yield ReportSection(title=title, style="quiet", pairs=tuple(pairs))
    facts: dict[str, list[str]] = {}
    for deciding in advice.deciding:
        facts.setdefault(deciding.command, []).append(deciding.fact)
    if facts:
        said = (f"{', '.join(names)}. Measure it with: {how}" for how, names in facts.items())
        yield ReportSection(title="Depends on", style="quiet", items=tuple(said))
    if advice.missing:
        place = "the scenario" if file == "-" else file
        yield ReportSection(
            title="Not said",
            style="quiet",
            lead=f"Set what you know in {place}, under {_tables(advice.missing)}; it may change "
            "the answer:",
            pairs=tuple((fact.name, _values(fact)) for fact in advice.missing),
        )


def _about(flow: TrafficFlow) -> tuple[str, ...]:
    """The flow in a few words: ends, nodes, pattern, sizes, connections, priority."""
    sizes = "x".join(str(size) for size in (flow.request, flow.response) if size is not None)
    words = (
        f"{flow.source} to {flow.to}",
        _NODES.get(flow.nodes or "", ""),
        " ".join(filter(None, (_PATTERNS.get(flow.pattern or ""), sizes and f"{sizes} B"))),
        "" if flow.connections is None else count(flow.connections, "connection"),
        f"{flow.priority} first" if flow.priority else "",
    )
    return tuple(filter(None, words))


def _answer(flow: TrafficFlow, advice: FlowAdvice) -> Iterator[tuple[str, str]]:
    """The answer, one line for each question."""
    named = "; or ".join(ATTACHMENTS[each] for each in advice.attachments)
    if advice.answer == "advised":
        yield "Network", named
    elif advice.answer == "depends":
        yield "Network", f"depends: {named or 'measure first, see below'}"
    elif advice.unmet:
        needs = " and ".join(need.partition(".")[2] for need in advice.unmet)
        yield "Network", f"unknown: no source says which network meets {needs} here"
    else:
        yield "Network", "unknown: facts are missing, see below"
    if advice.present:
        yield "Today", f"{ATTACHMENTS[advice.present]}{_verdict_on_present(advice)}"
    if advice.rfs:
        yield "RFS", advice.rfs
    if advice.placement:
        is_moved = advice.placement == "apart" and flow.nodes == "same"
        now = ", although the scenario has them on one" if is_moved else ""
        yield "Nodes", f"{_PLACEMENT[advice.placement]}{now}"
    if advice.infra_nodes:
        yield "Infra", f"{advice.infra_nodes} infra nodes"


def _verdict_on_present(advice: FlowAdvice) -> str:
    """The words behind the attachment of today: advised against, as advised, or none."""
    if advice.present_row in {one.row for one in advice.excluded}:
        return f": {advice.present_row} rules this out"
    for row in advice.rows:
        if row.row == advice.present_row:
            better = ATTACHMENTS[advice.attachments[0]].partition(",")[0].partition(" (")[0]
            elsewhere = ", though not on such a platform" if row.direction else ""
            return f": {row.row} found {better} better than this{elsewhere}"
    is_advised = advice.answer == "advised" and advice.present in advice.attachments
    return ", as advised" if is_advised else ""


def _row_text(row: FiredRow, sources: _Sources, excluded: Collection[str] = ()) -> str:
    """A row: its answer, the exact figure or the direction, the words of its source, limits."""
    shown = (row.answer, row.figure or row.direction)
    said = " ".join(f"{_capitalised(one).rstrip('.')}." for one in shown if one)
    quoted = f" {row.quotation}" if row.quotation else ""
    beaten = f" {row.beaten_by} takes precedence." if row.beaten_by else ""
    if row.beaten_by in excluded or "." in row.beaten_by:
        beaten = f" Not possible here: {row.beaten_by}."
    limits = f" Limits: {row.limits.rstrip('.')}." if row.limits else ""
    return f"{said}{quoted} {sources.cited(row)}{beaten}{limits}"


def _capitalised(sentence: str) -> str:
    """A sentence with a capital, unless it begins with a name such as z/VM or hostNetwork."""
    first = sentence.partition(" ")[0].rstrip(",;:.")
    is_word = first.isalpha() and first.islower()
    return f"{sentence[:1].upper()}{sentence[1:]}" if is_word else sentence


_TABLES: dict[str, tuple[str, type[Struct]]] = {
    "platform": ("[platform]", ScenarioPlatform),
    "needs": ("[needs]", NetworkNeeds),
    "flow": ("this [[flow]]", TrafficFlow),
}


def _tables(missing: Iterable[MissingFact]) -> str:
    """``[platform] or this [[flow]]``: the tables of facts."""
    found = {fact.name.partition(".")[0] for fact in missing}
    return " or ".join(words for name, (words, _kind) in _TABLES.items() if name in found)


_KINDS = {bool: "true or false", int: "a number", str: "a version"}


def _values(fact: MissingFact) -> str:
    """The values that a fact may have, and the rows that it would decide."""
    table, _dot, key = fact.name.partition(".")
    record = _TABLES[table][1]
    known = " or ".join(words_of(record, key)) or _KINDS[get_args(get_type_hints(record)[key])[0]]
    return f"{known}  ({', '.join(fact.rows)})" if fact.rows else known
