"""The planner of one kind of targets. The command line hands all of them in: nothing of a plan
knows which there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from vnicaudit.audit.progress import RunProgress
from vnicaudit.audit.reading.options import RunOptions
from vnicaudit.audit.reading.seen_files import SeenFiles
from vnicaudit.audit.reading.targets import Target
from vnicaudit.model.description import Description
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host
from vnicaudit.model.live import LiveDefinition
from vnicaudit.model.plan import Planned
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.planning.judged_item import Judges
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.requested_targets import RequestedTargets

OnProgress = Callable[[str, int], None]
"""Is told of each thing that is met: the target, and how many there were of it."""

DefinitionItem = Host | LiveDefinition | ReadError
ReadHosts = Callable[[Sequence[Target]], Iterator[tuple[Target, Iterator[DefinitionItem]]]]
"""What comes of each live host, once, in whatever order they are read."""


class PlanRequest(NamedTuple):
    """All that a plan is made by: judges, platforms, how targets are read, options, and who is told
    how far it is. ``read_hosts``: reads live hosts side by side; None: one after the other.
    ``file_progress``: is told how many files were read."""

    judges: Judges
    adapters: Adapters
    run: RunOptions
    options: PlanOptions
    on_progress: OnProgress
    read_hosts: ReadHosts | None = None
    file_progress: RunProgress | None = None


class ReadingObserver(Protocol):
    """Learns from what is read of other planners' targets."""

    def add_domain(self, domain: Domain) -> None:
        """A domain as it runs, or is defined."""

    def add_description(self, item: Description) -> bool:
        """Something in a file that is no domain. True if it is of use here: then nobody calls that
        a file without domains."""


class ReadingObservers:
    """All that learn from what others read."""

    def __init__(self) -> None:
        self._all: list[ReadingObserver] = []

    def register(self, observer: ReadingObserver) -> None:
        """Tell it from now on."""
        self._all.append(observer)

    def add_domain(self, domain: Domain) -> None:
        """See :meth:`ReadingObserver.add_domain`."""
        for observer in self._all:
            observer.add_domain(domain)

    def add_description(self, item: Description) -> bool:
        """See :meth:`ReadingObserver.add_description`: whether it is of use to any."""
        return sum(observer.add_description(item) for observer in self._all) > 0


class PlanContext(NamedTuple):
    """All that planners have in common. ``seen_files``: the files that were read; ``requested``: is
    shown every domain; ``observers``: are told what is read for others."""

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
    """A plan that is being made: what comes of each target, by its name, what of it could not be
    read, and what else is to be said."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self.planned: dict[str, list[Planned]] = {target.name: [] for target in targets}
        self.errors: dict[str, list[str]] = {name: [] for name in self.planned}
        self.notes: list[str] = []
        self.unread_targets = 0

    def add_unread_targets(self, targets: Iterable[Target], read: Collection[str]) -> None:
        """Count those of a planner's targets that had errors and are not in ``read``: the names of
        targets of which something could be read."""
        names = (target.name for target in targets)
        self.unread_targets += sum(bool(self.errors[name]) for name in names if name not in read)

    def add_unread(self, target: Target, error: ReadError | NotJudged) -> None:
        """Add what could not be read of a target, or was not judged."""
        if isinstance(error, ReadError):
            self.errors[target.name].append(_error_text(error, target))
        else:
            self.notes.append(_error_text(error, target))


class TargetPlanner(Protocol):
    """Plans the targets of one kind, for one plan."""

    def takes(self, target: Target) -> bool:
        """True for a target of its kind."""

    def plan(self, targets: tuple[Target, ...], parts: PlanParts) -> None:
        """Read its targets, and add to ``parts`` what comes of each. Nothing is changed. Raises
        UsageError for targets that cannot be changed, and for what was named and is of several."""

    def missing(self) -> list[str]:
        """Everything that was named and is not there, beside domains and NICs: a sentence each."""

    def covers(self, found: Planned) -> bool:
        """True if what another one found, and gives way, is planned here, and so left out there."""


NewPlanner = Callable[[PlanContext], TargetPlanner]
"""Makes what plans the targets of one kind."""


def _error_text(error: ReadError | NotJudged, target: Target) -> str:
    """The place and message of something that could not be read or was not judged."""
    place = error.file or target.name
    where = place if error.line is None else f"{place}:{error.line}"
    return f"{where}: {error.message}"
