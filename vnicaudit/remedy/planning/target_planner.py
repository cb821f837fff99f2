"""The interface of a planner for one kind of targets. The command line passes all planners in: no
other planning code knows which kinds exist."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from vnicaudit.audit.progress import RunProgress
from vnicaudit.audit.reading.options import RunOptions
from vnicaudit.audit.reading.seen_files import SeenFiles
from vnicaudit.audit.reading.targets import Target
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host
from vnicaudit.model.live import LiveDefinition
from vnicaudit.model.location import Description
from vnicaudit.model.plan import Planned
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.planning.judged_item import Judges
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.requested_targets import RequestedTargets

OnProgress = Callable[[str, int], None]
"""Is told of each item that is read: the target, and the number of items so far."""

DefinitionItem = Host | LiveDefinition | ReadError
ReadHosts = Callable[[Sequence[Target]], Iterator[tuple[Target, Iterator[DefinitionItem]]]]
"""Reads live hosts: the items of each host, once, in whatever order the hosts are read."""


class PlanRequest(NamedTuple):
    """The request for a plan: judges, platforms, how targets are read, options, and who is told the
    progress. ``read_hosts``: reads live hosts side by side; None: one after the other.
    ``file_progress``: is given the number of files read so far."""

    judges: Judges
    adapters: Adapters
    run: RunOptions
    options: PlanOptions
    on_progress: OnProgress
    read_hosts: ReadHosts | None = None
    file_progress: RunProgress | None = None


class ReadingObserver(Protocol):
    """Learns from items that are read for other planners' targets."""

    def add_domain(self, domain: Domain) -> None:
        """Learn from a domain, running or defined."""

    def add_description(self, item: Description) -> bool:
        """Learn from an item of a file that is not a domain. True if it is of use here: then its
        file is not reported as one without domains."""


class ReadingObservers:
    """All observers that learn from items read for others."""

    def __init__(self) -> None:
        self._all: list[ReadingObserver] = []

    def register(self, observer: ReadingObserver) -> None:
        """Tell it about items from now on."""
        self._all.append(observer)

    def add_domain(self, domain: Domain) -> None:
        """See :meth:`ReadingObserver.add_domain`."""
        for observer in self._all:
            observer.add_domain(domain)

    def add_description(self, item: Description) -> bool:
        """See :meth:`ReadingObserver.add_description`: true if it is of use to any."""
        return sum(observer.add_description(item) for observer in self._all) > 0


class PlanContext(NamedTuple):
    """The context that all planners share. ``seen_files``: the files that were read; ``requested``:
    is shown every domain; ``observers``: are told what is read for others."""

    judges: Judges
    adapters: Adapters
    run: RunOptions
    options: PlanOptions
    on_progress: OnProgress
    read_hosts: ReadHosts | None
    file_progress: RunProgress | None
    targets: tuple[Target, ...]
    seen_files: SeenFiles
    requested: RequestedTargets
    observers: ReadingObservers


class PlanParts:
    """A plan in progress: the planned items of each target, by its name, what could not be read,
    and notes."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self.planned: dict[str, list[Planned]] = {target.name: [] for target in targets}
        self.errors: dict[str, list[str]] = {name: [] for name in self.planned}
        self.notes: list[str] = []
        self.unread_targets = 0

    def add_unread_targets(self, targets: Iterable[Target], read: Collection[str]) -> None:
        """Count those targets that had errors and are not in ``read``, the names of targets of
        which something could be read."""
        names = (target.name for target in targets)
        self.unread_targets += sum(bool(self.errors[name]) for name in names if name not in read)

    def add_unread(self, target: Target, error: ReadError | NotJudged) -> None:
        """Add what could not be read from a target, or was not judged."""
        if isinstance(error, ReadError):
            self.errors[target.name].append(_error_text(error, target))
        else:
            self.notes.append(_error_text(error, target))


class TargetPlanner(Protocol):
    """Plans the targets of one kind, for one plan."""

    def takes(self, target: Target) -> bool:
        """True for a target of its kind."""

    def plan(self, targets: tuple[Target, ...], parts: PlanParts) -> None:
        """Read its targets, and add the planned items of each to ``parts``. Nothing is changed.
        Raises UsageError for targets that cannot be changed, and for a name that matches
        several."""

    def missing(self) -> list[str]:
        """Everything that was named and does not exist, apart from domains and NICs: one sentence
        each."""

    def covers(self, found: Planned) -> bool:
        """True if an item that another planner found is planned here instead, and so left out
        there."""


NewPlanner = Callable[[PlanContext], TargetPlanner]
"""Makes the planner of one kind of targets."""


def _error_text(error: ReadError | NotJudged, target: Target) -> str:
    """The place and message of an item that could not be read or was not judged."""
    place = error.file or target.name
    where = place if error.line is None else f"{place}:{error.line}"
    return f"{where}: {error.message}"
