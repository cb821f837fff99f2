"""From a scenario to advice."""

from __future__ import annotations

from vnicaudit.model.advice import FlowAdvice, NetworkAdvice
from vnicaudit.model.scenario import Scenario


def advice_for(scenario: Scenario) -> NetworkAdvice:
    """The advice for each flow of a scenario, in its order."""
    return NetworkAdvice(
        flows=tuple(
            FlowAdvice(flow=flow.name, answer="unknown", present=flow.present)
            for flow in scenario.flows
        )
    )
