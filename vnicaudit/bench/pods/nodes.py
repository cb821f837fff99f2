"""Choose the nodes that generator pods run on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vnicaudit.base.wording import count, first_names, plain
from vnicaudit.bench.pods.cluster import ApiObject, is_going, name_of
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.decoding import objects_at, text_at, texts_at, value_at

_ROLES = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_REPELLING = ("NoSchedule", "NoExecute")


class Node(NamedTuple):
    """A node. ``architecture`` empty: unknown. ``addresses``: the internal ones. ``why_not``: why
    no pod of ours can run there; empty: it can."""

    name: str
    architecture: str
    addresses: tuple[str, ...]
    is_control_plane: bool
    why_not: str


def node_of(found: ApiObject) -> Node:
    """A node of the cluster."""
    labels = texts_at(found, "/metadata/labels")
    addresses = (texts_at(one, "") for one in objects_at(found, "/status/addresses"))
    return Node(
        name=name_of(found),
        architecture=labels.get("kubernetes.io/arch", ""),
        addresses=tuple(one["address"] for one in addresses if one.get("type") == "InternalIP"),
        is_control_plane=any(role in labels for role in _ROLES),
        why_not=_why_not(found, labels),
    )


class NodeChoice(NamedTuple):
    """The nodes, the one of the targets first, and why these."""

    nodes: tuple[Node, ...]
    reason: str


def chosen_nodes(
    nodes: Sequence[Node], names: Sequence[str], number: int, first: str = ""
) -> NodeChoice:
    """``number`` nodes: those called ``names``; without names, the first by name that pods may run
    on, of one architecture, workers before others. ``first``: the node of a virtual machine, which
    is one of them. Raises UsageError, EndpointError."""
    known = {each.name: each for each in nodes}
    if names:
        return _as_asked(known, names, first)
    left_out = {each.name: each.why_not for each in nodes if each.why_not}
    usable = sorted(
        (each for each in nodes if each.name not in left_out), key=lambda each: each.name
    )
    if first and first not in {each.name for each in usable}:
        raise EndpointError(
            f"the virtual machine runs on {plain(first)}, where no generator pod can run: "
            f"{left_out.get(first, 'there is no such node')}"
        )
    workers = [each for each in usable if not each.is_control_plane or each.name == first]
    what, pool = "workers", _alike(workers, first)
    if len(pool) < number:
        what, pool = "nodes", _alike(usable, first)
    for each in usable:
        if each not in pool:
            left_out[each.name] = "control plane" if each.is_control_plane else each.architecture
    if len(pool) < number:
        raise EndpointError(
            f"these paths need {count(number, 'node')} of one architecture on which pods may run; "
            f"there {'is' if len(pool) == 1 else 'are'} {len(pool)}{_listed(left_out, '; not ')}"
        )
    words = f"the first by name of {len(pool)} {what} that are ready, schedulable and not tainted"
    if first:
        words = f"{plain(first)} has the virtual machine; otherwise {words}"
    kind = f" ({pool[0].architecture})" if pool[0].architecture else ""
    return NodeChoice(tuple(pool[:number]), f"{words}{kind}{_listed(left_out, '; not ')}")


def _as_asked(known: dict[str, Node], names: Sequence[str], first: str) -> NodeChoice:
    for name in names:
        if name not in known:
            raise UsageError(f"--nodes: there is no node {name!r}")
        if why := known[name].why_not:
            raise UsageError(f"--nodes: no generator pod can run on {name}: {why}")
    if first and first not in names:
        raise UsageError(
            f"--nodes: the virtual machine runs on {plain(first)}, which has to be one of them"
        )
    chosen = sorted((known[name] for name in names), key=lambda each: each.name != first)
    kinds = list(dict.fromkeys(each.architecture or "unknown" for each in chosen))
    differ = f"; their architectures differ: {plain(', '.join(kinds))}" if len(kinds) > 1 else ""
    return NodeChoice(tuple(chosen), f"as asked for{differ}")


def _why_not(node: ApiObject, labels: Mapping[str, str]) -> str:
    conditions = objects_at(node, "/status/conditions")
    states = {text_at(each, "/type"): text_at(each, "/status") for each in conditions}
    if states.get("Ready") != "True":
        return "not ready"
    if states.get("NetworkUnavailable") == "True":
        return "its network is unavailable"
    if is_going(node):
        return "being deleted"
    if value_at(node, "/spec/unschedulable"):
        return "cordoned"
    for taint in objects_at(node, "/spec/taints"):
        key, value, effect = (text_at(taint, f"/{part}") for part in ("key", "value", "effect"))
        if effect in _REPELLING:
            return plain(f"taint {key}{value and f'={value}'}:{effect}")
    system = labels.get("kubernetes.io/os", "linux")
    return "" if system == "linux" else plain(f"runs {system}")


def _alike(nodes: Sequence[Node], first: str) -> list[Node]:
    """Those of one architecture: that of ``first``, which is put first, else the most frequent."""
    if not nodes:
        return []
    kinds = Counter(each.architecture for each in nodes)
    kind = next((each.architecture for each in nodes if each.name == first), "")
    kind = kind or max(sorted(kinds), key=kinds.__getitem__)
    alike = [each for each in nodes if each.architecture == kind]
    return sorted(alike, key=lambda each: each.name != first)


def _listed(reasons: dict[str, str], before: str) -> str:
    shown = [f"{plain(name)} ({why})" for name, why in sorted(reasons.items())]
    return f"{before}{first_names(shown)}" if shown else ""
