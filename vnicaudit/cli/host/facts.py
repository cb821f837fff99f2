"""The facts of a host that a command of ``vnicaudit host`` is given as its TARGET."""

from __future__ import annotations

from vnicaudit.cli.wiring.platforms import PlatformRegistry
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.report import ReadError


def facts_at(target: str, platforms: PlatformRegistry) -> HostFacts:
    """The facts of the host at a target, with counters read once. Raises UsageError for a target
    that is no host, TargetError if it cannot be read."""
    error = "the facts of this host were not read"
    try:
        for item in platforms.read_live(target, LiveOptions(window=0)):
            if isinstance(item, HostFacts):
                return item
            if isinstance(item, ReadError):
                error = item.message
    except KeyError:
        raise UsageError(
            f"{target}: expected a host, such as ssh://root@HOST or local, or a sosreport"
        ) from None
    raise TargetError(error, file=target)
