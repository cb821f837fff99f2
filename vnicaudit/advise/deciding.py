"""From a scenario to advice."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.advise.weighing import (
    FactChange,
    FlowDecision,
    changes,
    decide,
    facts_of_figures,
    facts_to_begin_with,
    fired_rows,
    rows_about,
)
from vnicaudit.knowledge.attachments import AttachmentRow, Facts, Value, attachment_table
from vnicaudit.model.advice import DecidingFact, FiredRow, FlowAdvice, MissingFact, NetworkAdvice
from vnicaudit.model.scenario import AttachmentKind, Scenario, TrafficFlow

LARGE, SMALL = 30_000, 1_000
"""Bytes of a message: sizes that were measured; the first is called large, the other is not."""
_COMBINED = {"default", "ipvlan-l2", "host-device"}
"""Attachments that the sources combine in one application."""


def advice_for(scenario: Scenario) -> NetworkAdvice:
    """The advice for each flow of a scenario, in its order."""
    facts = _facts(scenario)
    general = fired_rows(rows_about("platform"), facts)
    infra = next((row.infra for row in general if row.infra), "")
    flows = tuple(_flow_advice(flow, _facts(scenario, flow), infra) for flow in scenario.flows)
    advised = {each for flow in flows if flow.answer == "advised" for each in flow.attachments}
    facts["advice.attachments"] = len(advised & _COMBINED)
    facts["advice.depends"] = any("depends" in (flow.answer, flow.rfs) for flow in flows)
    kinds = {_between(flow) for flow in scenario.flows}
    facts["flow.between"] = kinds.pop() if len(kinds) == 1 else None
    facts["advice.withheld"] = any(row.direction for flow in flows for row in flow.rows)
    rows = sorted((*general, *fired_rows(rows_about("advice"), facts)), key=lambda row: row.id)
    return NetworkAdvice(flows=flows, general=tuple(_as_fired(row, facts) for row in rows))


def _facts(scenario: Scenario, flow: TrafficFlow | None = None) -> dict[str, Value | None]:
    """All facts by their names, with those that are worked out."""
    parts: dict[str, msgspec.Struct] = {"platform": scenario.platform, "needs": scenario.needs}
    if flow is not None:
        parts["flow"] = flow
    facts: dict[str, Value | None] = {
        f"{name}.{key}": value
        for name, part in parts.items()
        for key, value in msgspec.structs.asdict(part).items()
        if value is None or isinstance(value, bool | int | str)
    }
    if flow is not None:
        facts["flow.between"] = _between(flow)
        facts["flow.size"] = _size(flow)
        if flow.present == "host-device":
            facts["platform.spare_nics"] = 1  # the one that the pod has
    return facts


def _between(flow: TrafficFlow) -> str:
    ends = {flow.source, flow.to}
    return "vm" if "vm" in ends else "pods" if ends == {"pod"} else "external"


def _size(flow: TrafficFlow) -> str | None:
    """``large``, ``small``, ``between``; None if request or response, or the message of a stream,
    is not said."""
    larger = max(flow.request or 0, flow.response or 0)
    if larger >= LARGE:
        return "large"
    if flow.request is None or (flow.response is None and flow.pattern != "streaming"):
        return None
    return "small" if larger <= SMALL else "between"


def _flow_advice(flow: TrafficFlow, facts: Facts, infra: str) -> FlowAdvice:
    decision = decide(facts)
    found = list(changes(facts))
    if decision.answer == "unknown":
        found = [*facts_to_begin_with(facts), *found]
    is_unknown = decision.answer == "unknown" and bool(found or decision.needs)
    answer = decision.answer if decision.answer != "unknown" or is_unknown else "depends"
    unmet = () if found or not is_unknown else decision.needs
    if not unmet:
        found += facts_of_figures(facts, decision)
    present_row = _row_against(flow.present, decision)
    return FlowAdvice(
        flow=flow.name,
        answer=answer,
        attachments=decision.attachments,
        rfs=decision.rfs,
        placement=decision.placement,
        infra_nodes=next((row.infra for row in decision.counting() if row.infra), infra),
        rows=tuple(_rows_shown(decision, facts)),
        excluded=decision.excluded,
        deciding=tuple(_deciding(decision, answer, facts, found)),
        missing=_missing(found, facts),
        unmet=unmet,
        present=flow.present,
        present_advised_against=bool(present_row),
        present_row=present_row,
    )


def _row_against(present: AttachmentKind | None, decision: FlowDecision) -> str:
    """The row that excludes the attachment of today, or found the advised one better; empty: no row
    says so, though another one may be advised."""
    excluding = (each.row for each in decision.excluded if each.attachment == present)
    better = (
        row.id
        for row in decision.counting()
        if decision.answer == "advised" and present in row.over
        if decision.attachments[0] in row.gives
    )
    return next(excluding, None) or next(better, "")


def _said_by(name: str, facts: Facts) -> str:
    """The key of a scenario that says a fact, which may be one that is worked out."""
    if name != "flow.size":
        return name
    is_request = facts["flow.response"] is not None or facts["flow.pattern"] == "streaming"
    return "flow.request" if is_request else "flow.response"


def _missing(found: list[FactChange], facts: Facts) -> tuple[MissingFact, ...]:
    """Each fact once, with all rows that wait for it."""
    rows: dict[str, set[str]] = {}
    for each in found:
        rows.setdefault(_said_by(each.fact, facts), set()).update(each.rows)
    return tuple(MissingFact(name, tuple(sorted(rows[name]))) for name in rows)


def _rows_shown(decision: FlowDecision, facts: Facts) -> Iterator[FiredRow]:
    """The rows that fired; behind one that says the opposite of others for another case, these,
    without their figure."""
    fired = {row.id for row in decision.fired}
    table = attachment_table().row
    for row in decision.fired:
        yield _as_fired(row, facts, beaten_by=decision.beaten_by.get(row.id, ""))
        for other in (table[name] for name in row.against if name not in fired):
            yield _as_fired(msgspec.structs.replace(other, figure=""), facts, beaten_by=row.id)


def _as_fired(row: AttachmentRow, facts: Facts, beaten_by: str = "") -> FiredRow:
    """A row with its figure, or with the direction alone where its source measured elsewhere."""
    table = attachment_table()
    source = table.source[row.source]
    chooses = row.kind != "hard" and (row.gives or row.rfs or row.placement)
    objections = source.objections(facts) if row.figure or row.direction or chooses else []
    direction = [row.direction] * bool(row.figure and row.direction) + objections
    return FiredRow(
        row=row.id,
        kind=row.kind,
        answer=row.answer,
        figure="" if objections else row.figure,
        direction="; ".join(direction) if objections else "",
        quotation="; ".join(f'"{each}"' for each in row.quotations),
        source=source.title,
        section=row.section,
        limits=row.limits,
        decides=row.decides,
        command=_command(row.command, facts) if row.command else "",
        beaten_by=beaten_by,
    )


def _command(name: str, facts: Facts) -> str:
    """The command of that name, for this kind of flow if there are several."""
    commands = attachment_table().command
    return commands.get(f"{name}-{facts.get('flow.between')}") or commands[name]


def _deciding(
    decision: FlowDecision, answer: str, facts: Facts, found: list[FactChange]
) -> Iterator[DecidingFact]:
    """Facts of the scenario on which an answer depends, then measurements that rows name, else a
    comparison of the attachments."""
    compare = _command("attachments", facts)
    counting = [row for row in decision.counting() if row.decides]
    names: dict[str, str] = {}
    if answer == "depends":
        names = {_said_by(one.fact, facts): compare for one in found if one.settles}
        for row in counting:
            if row.kind == "depends" and not row.rfs and facts.get(row.decides) is None:
                names.setdefault(row.decides, _command(row.command, facts))
        speed = "how fast the default network is for this flow"
        if decision.attachments:
            speed = f"which is faster for this flow: {' or '.join(decision.attachments)}"
        names = names or {speed: compare}
    if decision.rfs == "depends":
        rfs = _command("rfs", facts)
        about_rfs = {row.decides: rfs for row in counting if row.rfs == "depends"}
        names |= about_rfs or {"the same with RFS on and off": rfs}
    for name, command in names.items():
        yield DecidingFact(name, command)
