"""The facts of a host that a command of ``vnicaudit host`` is given as its TARGET."""

from __future__ import annotations

from vnicaudit.audit.reading.targets import target_of
from vnicaudit.cli.wiring.platforms import PlatformRegistry
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.report import ReadError

_EXPECTED = "expected a host, such as ssh://root@HOST or local, a recording of it or a sosreport"


def facts_at(name: str, platforms: PlatformRegistry) -> HostFacts:
    """The facts of the host at a target, with counters read once. Raises UsageError for a target
    that is no host, or several, and TargetError if it cannot be read."""
    live = LiveOptions(window=0, host_facts=True)
    target = target_of(name, platforms.targets)
    kind = platforms.kind_of(target)
    if kind is None or kind.read is None:
        raise UsageError(f"{name}: {_EXPECTED}")
    places = [place for place in kind.expanded(target.name, live) if place != target.name]
    if len(places) > 1:
        raise UsageError(f"{name}: several hosts, such as {places[0]}; name one of them")
    error = f"the facts of this host were not read; {_EXPECTED}"
    for item in kind.read(places[0] if places else target.name, live):
        if isinstance(item, HostFacts):
            return item
        if isinstance(item, ReadError):
            error = item.message
    raise TargetError(error, file=target.name)
