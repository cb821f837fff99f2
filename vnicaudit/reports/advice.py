"""The advice of ``vnicaudit advise network``: text, Markdown and JSON.

Text and Markdown render the same sections: for each flow what to use, why, what is excluded, where
sources contradict each other, what would decide, and what is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import fields

from vnicaudit.base.wording import count
from vnicaudit.model.advice import FiredRow, FlowAdvice, MissingFact, NetworkAdvice
from vnicaudit.model.scenario import (
    Attachment,
    FlowNetwork,
    NetworkNeeds,
    Scenario,
    ScenarioPlatform,
    TrafficFlow,
)
from vnicaudit.reports import as_markdown
from vnicaudit.reports.as_text import text_of
from vnicaudit.reports.model import ReportSection
from vnicaudit.reports.safe import encode
from vnicaudit.reports.writers import Options

ATTACHMENTS: dict[Attachment, str] = {
    "default": "the default pod network",
    "ipvlan-l2": "IPVLAN L2, as a further interface",
    "macvlan": "macvlan, as a further interface",
    "host-device": "host-device: a NIC of the node inside the pod",
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
    for flow, advice in zip(report.scenario.flows, report.advice.flows, strict=True):
        yield from _flow_sections(flow, advice, report.file)
    if report.advice.general:
        yield ReportSection(title="The whole platform", pairs=tuple(_rows(report.advice.general)))


def _flow_sections(flow: TrafficFlow, advice: FlowAdvice, file: str) -> Iterator[ReportSection]:
    """The answer for one flow, and the rows and facts behind it."""
    yield ReportSection(
        title=flow.name, about=_about(flow), pairs=tuple(_answer(advice)), verdict=True
    )
    disputed = [row for row in advice.rows if row.kind == "depends"]
    others = [row for row in advice.rows if row.kind != "depends"]
    excluded = ((one.attachment, f"{one.reason} ({one.row})") for one in advice.excluded)
    for title, pairs in (
        ("Why", tuple(_rows(others))),
        ("Excluded", tuple(excluded)),
        ("Sources contradict each other, or do not say", tuple(_rows(disputed))),
    ):
        if pairs:
            yield ReportSection(title=title, style="quiet", pairs=pairs)
    if advice.deciding:
        said = (f"{one.fact} decides; measure it with: {one.command}" for one in advice.deciding)
        yield ReportSection(title="Depends", style="quiet", items=tuple(said))
    if advice.missing:
        said = (_missing_sentence(fact, flow.name, file) for fact in advice.missing)
        yield ReportSection(title="Not known", style="quiet", items=tuple(said))


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


def _answer(advice: FlowAdvice) -> Iterator[tuple[str, str]]:
    """The answer, one line for each question."""
    named = [ATTACHMENTS[each] for each in advice.attachments]
    if advice.answer == "advised":
        yield "Network", "; or ".join(named)
    elif advice.answer == "depends":
        yield "Network", f"depends: {'; or '.join(named) or 'see below'}"
    else:
        yield "Network", "unknown: facts are missing, see below"
    if advice.present:
        judged = "advised against" if advice.present_advised_against else "may stay"
        yield "Today", f"{ATTACHMENTS[advice.present]}: {judged}"
    if advice.rfs:
        yield "RFS", advice.rfs
    if advice.placement:
        yield "Nodes", _PLACEMENT[advice.placement]
    if advice.infra_nodes:
        yield "Infra", f"{advice.infra_nodes} infra nodes"


def _rows(rows: Iterable[FiredRow]) -> Iterator[tuple[str, str]]:
    """Each row: its answer, the exact figure or the direction, the words of its source, limits."""
    for row in rows:
        said = ". ".join(one.rstrip(".") for one in (row.answer, row.figure, row.direction) if one)
        quoted = f" {_quoted(row.quotation)}" if row.quotation not in said else ""
        beaten = f" {row.beaten_by} takes precedence." if row.beaten_by else ""
        limits = f" Limits: {row.limits.rstrip('.')}." if row.limits else ""
        yield row.row, f"{said}.{quoted} ({row.source}){beaten}{limits}"


def _quoted(words: str) -> str:
    """The words of a source in quotation marks, unless they are several quotations."""
    return words if '"' in words else f'"{words}"'


_TABLES: dict[str, type[Struct]] = {
    "platform": ScenarioPlatform,
    "needs": NetworkNeeds,
    "flow": TrafficFlow,
    "flow.network": FlowNetwork,
}


def _missing_sentence(fact: MissingFact, flow: str, file: str) -> str:
    """A fact that nobody said, which rows it would decide, and how to give it."""
    table, _dot, key = fact.name.rpartition(".")
    where = f"[[flow]] of {flow!r}" if table == "flow" else f"[{table}]"
    rows = f" ({', '.join(fact.rows)})" if fact.rows else ""
    return f"{fact.name} is not said{rows}: set it in {file} under {where}{_values(table, key)}"


def _values(table: str, key: str) -> str:
    """The values of a key, if they are a few words."""
    names = {field.encode_name: field.name for field in fields(_TABLES[table])}
    hint = get_type_hints(_TABLES[table])[names[key]]
    words = [word for kind in get_args(hint) for word in get_args(kind)]
    kinds = get_args(hint) or (hint,)
    if bool in kinds:
        return " to true or false"
    return f" to {', '.join(words[:-1])} or {words[-1]}" if words else ""
