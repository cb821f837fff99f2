"""Scenarios as tables, as a TOML file has them."""

from typing import Any

from vnicaudit.advise import advice_for
from vnicaudit.model.advice import NetworkAdvice
from vnicaudit.model.decoding import converted
from vnicaudit.model.scenario import Scenario

Table = dict[str, Any]


def scenario(case: Table) -> Scenario:
    """``platform``, ``needs``, and ``flow`` (one) or ``flows``; from a pod to a pod unless said."""
    flows = case.get("flows", [case.get("flow", {})])
    rows = [
        {"name": f"flow {number}", "from": "pod", "to": "pod", **flow}
        for number, flow in enumerate(flows, 1)
    ]
    tables = {"platform": case.get("platform", {}), "needs": case.get("needs", {}), "flow": rows}
    return converted(tables, Scenario)


def advice(case: Table) -> NetworkAdvice:
    """The advice for such a scenario."""
    return advice_for(scenario(case))


def fired(given: NetworkAdvice) -> set[str]:
    """Rows that fired; not those that are shown as the other side of one."""
    shown = (row for flow in given.flows for row in flow.rows)
    return {row.row for row in (*shown, *given.general)}
