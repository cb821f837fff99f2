"""Replaces UUIDs of guests by their names. `apply` reaches a guest by its UUID, which never
changes, but people know their guests by name."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from vnicaudit.model.measurement import BenchResult

_HERE = "?connect=qemu:///system"
"""Query that changes nothing about the meaning of an endpoint's URL."""

_Rename = Callable[[str], str]


def with_guest_names(result: BenchResult) -> BenchResult:
    """The measurement with the name of each guest instead of its UUID in all texts for people."""
    names = {
        path.domain: path.guest
        for path in result.paths
        if path.domain and path.guest and path.domain != path.guest
    }
    if not names:
        return result

    def with_names(text: str) -> str:
        for domain, guest in names.items():
            text = text.replace(f"{domain}{_HERE}", guest).replace(domain, guest)
        return text

    return _renamed(result, with_names)


def _renamed(result: BenchResult, with_names: _Rename) -> BenchResult:
    decision = result.decision
    return replace(
        result,
        paths=tuple(
            replace(each, target=with_names(each.target), peer=with_names(each.peer))
            for each in result.paths
        ),
        environment=tuple(
            replace(each, endpoint=with_names(each.endpoint)) for each in result.environment
        ),
        samples=tuple(
            replace(each, reason=with_names(each.reason)) if each.reason else each
            for each in result.samples
        ),
        guard_rails=tuple(
            replace(each, detail=with_names(each.detail)) for each in result.guard_rails
        ),
        results=tuple(
            replace(each, notes=tuple(map(with_names, each.notes))) for each in result.results
        ),
        decision=decision and replace(decision, reasons=tuple(map(with_names, decision.reasons))),
    )
