"""Read a scenario."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from vnicaudit.base.deadlines import standard_input
from vnicaudit.base.opening import as_usage_error, own_text, read_regular
from vnicaudit.base.wording import mistake, reason_at, shortened
from vnicaudit.errors import UsageError
from vnicaudit.knowledge.attachments import Condition, holds
from vnicaudit.model.decoding import converted
from vnicaudit.model.names import STANDARD_INPUT
from vnicaudit.model.scenario import (
    FlowNetwork,
    NetworkNeeds,
    Scenario,
    ScenarioPlatform,
    TrafficFlow,
    words_of,
)
from vnicaudit.text.beginning import toml_values

MAX_BYTES = 1024 * 1024
_TABLES: dict[str, type[msgspec.Struct]] = {
    "platform": ScenarioPlatform,
    "needs": NetworkNeeds,
    "flow": TrafficFlow,
}
_VERSIONS = ("openshift", "kubevirt")
_IMPOSSIBLE: tuple[tuple[dict[str, Condition], str], ...] = (
    ({"ovs": "kernel", "vduse": True}, 'vduse = true needs ovs = "dpdk"'),
    # OpenShift 4.16, "Migrating from the OpenShift SDN network plugin": no upgrade to 4.17 with it
    (
        {"sdn": "openshift-sdn", "openshift": ">=4.17"},
        "OpenShift 4.17 and later have no openshift-sdn",
    ),
    (
        {"kind": "x86", "adapter": ("osa", "hipersockets")},
        "OSA and HiperSockets exist on IBM Z only",
    ),
    ({"kind": "x86", "eckd": True}, "ECKD disks exist on IBM Z only"),
)
"""Facts of a platform that cannot hold together."""
_PLACE = re.compile(r"(?P<table>\w+)(?:\[(?P<number>\d+)\])?\.?(?P<rest>[^`]*)")


def read_scenario(path: str) -> Scenario:
    """The scenario in a TOML file, or in standard input (``-``). Raises UsageError with file, table
    and key."""
    name = STANDARD_INPUT if path == "-" else path
    try:
        scenario = converted(toml_values(name, _text(path, name)), Scenario)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {_mistake(error)}") from None
    for problem in _problems(scenario):
        raise UsageError(f"{name}: {problem}")
    return scenario


def _text(path: str, name: str) -> str:
    if path == "-":
        stream = standard_input()
        data = stream.read(MAX_BYTES + 1) if stream else b""
    else:
        with as_usage_error(path):
            data = read_regular(path, MAX_BYTES + 1)
    return own_text(name, data, MAX_BYTES, "a scenario")


def _mistake(error: msgspec.ValidationError) -> str:
    """``[[flow]] 2: nodes: 'far' is not one of its values; use same, cross, either``."""
    reason, path = reason_at(error)
    found = _PLACE.match(path)
    if found is None:
        return mistake(error, [*_TABLES])[1]
    kind, rest = _TABLES[found["table"]], found["rest"]
    where = f"[[flow]] {int(found['number']) + 1}" if found["number"] else f"[{found['table']}]"
    if rest.partition(".")[0] == "network":
        kind, where, rest = FlowNetwork, f"{where}: network", rest.partition(".")[2]
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    if rest in _VERSIONS:
        return f'{where}: {rest}: expected a version in quotation marks, such as "4.18"'
    key, text = mistake(msgspec.ValidationError(f"{reason} - at `$.{rest}`"), known)
    values = words_of(kind, key) if reason.startswith("Invalid enum value") else []
    return f"{where}: {text}" + (f"; use {', '.join(values)}" if values else "")


def _problems(scenario: Scenario) -> list[str]:
    """Mistakes beyond the types of the keys."""
    if not scenario.flows:
        return ["no flow; add a table [[flow]] with name, from and to"]
    counts = Counter(flow.name for flow in scenario.flows)
    found = [f"two flows are called {shortened(name)!r}" for name in counts if counts[name] > 1]
    for number, flow in enumerate(scenario.flows, 1):
        if flow.source == flow.to == "external":
            found.append(
                f"[[flow]] {number}: from and to are external; one end must be in the cluster"
            )
        if flow.nodes == "same" and "external" in (flow.source, flow.to):
            found.append(
                f"[[flow]] {number}: nodes: an external system is on no node; leave it out"
            )
    for conditions, message in _IMPOSSIBLE:
        said = (
            holds(wanted, getattr(scenario.platform, key)) for key, wanted in conditions.items()
        )
        if all(said):
            found.append(f"[platform]: {', '.join(conditions)}: {message}; correct one of them")
    return found
