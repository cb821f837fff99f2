"""Guests by their names, where a measurement has them by their UUIDs: `apply` reaches a guest by
its UUID, which stays what it is, and nobody knows his guests by that."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from vnicaudit.model.measurement import BenchResult

_HERE = "?connect=qemu:///system"
"""What an endpoint's URL means without it, too."""

_Rename = Callable[[str], str]


def with_guest_names(result: BenchResult) -> BenchResult:
    """The same measurement; in all that is for people, each guest has its name in the place of its
    UUID."""
    names = {
        path.domain: path.guest
        for path in result.paths
        if path.domain and path.guest and path.domain != path.guest
    }
    if not names:
        return result

    def named(text: str) -> str:
        for domain, guest in names.items():
            text = text.replace(f"{domain}{_HERE}", guest).replace(domain, guest)
        return text

    return _renamed(result, named)


def _renamed(result: BenchResult, named: _Rename) -> BenchResult:
    decision = result.decision
    return replace(
        result,
        paths=tuple(
            replace(each, target=named(each.target), peer=named(each.peer)) for each in result.paths
        ),
        environment=tuple(
            replace(each, endpoint=named(each.endpoint)) for each in result.environment
        ),
        samples=tuple(
            replace(each, reason=named(each.reason)) if each.reason else each
            for each in result.samples
        ),
        guard_rails=tuple(replace(each, detail=named(each.detail)) for each in result.guard_rails),
        results=tuple(
            replace(each, notes=tuple(map(named, each.notes))) for each in result.results
        ),
        decision=decision and replace(decision, reasons=tuple(map(named, decision.reasons))),
    )
