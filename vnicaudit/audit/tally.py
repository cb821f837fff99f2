"""Counts and memories kept while targets are read, per target and over the whole run.

:class:`RunProgress` is told how far the reading is. :class:`ComparingWork` works on each item, and
remembers what is compared with other items when everything has been read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from vnicaudit.audit.judging.macs import MacTable
from vnicaudit.audit.same_guest import with_reading
from vnicaudit.audit.work import Product
from vnicaudit.base.wording import count
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import (
    Audited,
    NotJudged,
    PutAside,
    ReadError,
    Summary,
    TargetResult,
)
from vnicaudit.text.secrets import masked_message

if TYPE_CHECKING:
    from vnicaudit.audit.chunk import Batch
    from vnicaudit.audit.judging.macs import EncodedNic
    from vnicaudit.audit.reading.selection import Selection
    from vnicaudit.audit.reading.targets import SeenFiles
    from vnicaudit.audit.work import Work
    from vnicaudit.model.finding import Confidence, Description, Severity
    from vnicaudit.model.host import HostConfig, SiteNode

MAX_ERRORS = 1000
"""Maximum number of reading errors kept per target; more are only counted."""

MAX_UNRECOGNISED = 10_000
"""Maximum number of unrecognised files whose names are kept per target; more are only counted."""

_NAMED = 3
"""Maximum number of copies, and of files that name NICs, that are named; more are only counted."""

_COPY = "{count} of a configuration file, which Nova does not read"
_GIVE = "to judge it, name it with --nova-config"

_Status = Literal["ok", "partial", "failed"]


class TargetCounts:
    """Counts and errors of one target."""

    def __init__(self) -> None:
        self.domains = self.nics = self.configs = self.unread = 0
        self.errors: list[ReadError] = []
        self._told: set[ReadError] = set()
        self.notes: list[str] = []
        self.calls: dict[str, int] = {}
        self.aside: list[str] = []
        self.aside_count = 0
        self.not_judged: list[NotJudged] = []
        self.not_judged_count = 0
        self.passed_over = False
        self.unrecognised: list[str] = []
        self.unrecognised_count = 0
        self.naming_nics: list[str] = []
        self.naming_nics_count = 0

    def domain(self, domain: Domain) -> None:
        """Count a domain and its NICs."""
        self.domains += not domain.declared.is_lone_nic
        self.nics += len(domain.nics)

    def forget(self, domain: Domain) -> None:
        """Uncount a domain that turned out to be a server which was not selected."""
        self.domains -= 1
        self.nics -= len(domain.nics)

    def error(self, error: ReadError) -> None:
        """Count a reading error; keep it, if there is room. A file that several others depend on
        fails once. A library's message may quote a file, and a target may be an address with a
        password, so both are masked."""
        if error.file is not None:
            if error in self._told:
                return
            self._told.add(error)
        self.unread += 1
        if len(self.errors) < MAX_ERRORS:
            file = error.file and _place(error.file)
            self.errors.append(ReadError(masked_message(error.message), file, error.line))

    @property
    def is_empty(self) -> bool:
        """True if nothing was read, and nothing failed to be read."""
        met = self.nics or self.domains or self.configs or self.aside_count or self.not_judged_count
        return not (met or self.unread)

    def put_aside(self, copy: PutAside) -> None:
        """Count a copy that is not judged; keep the names of some. If the user named the copy
        itself, that is an error: the request cannot be met."""
        if copy.is_explicit:
            what = _COPY.format(count="a copy")
            self.error(ReadError(f"{what} under this name: not judged ({_GIVE})", copy.file))
            return
        self.aside_count += 1
        if len(self.aside) < _NAMED:
            self.aside.append(copy.file)

    def unjudged(self, part: NotJudged) -> None:
        """Count a part of a file that is not judged; keep it, if there is room."""
        self.not_judged_count += 1
        if len(self.not_judged) < MAX_ERRORS:
            self.not_judged.append(part)

    def not_recognised(self, files: Sequence[str], naming_nics: Sequence[str]) -> None:
        """Count files of no recognised type, and those of them that name QEMU or NICs; keep their
        names, if there is room."""
        self.naming_nics_count += len(naming_nics)
        self.naming_nics.extend(naming_nics[: _NAMED - len(self.naming_nics)])
        self.unrecognised_count += len(files)
        self.unrecognised.extend(files[: MAX_UNRECOGNISED - len(self.unrecognised)])

    def result(self, name: str) -> TargetResult:
        """How reading the target went."""
        name = _place(name)
        status, said = self._end(name)
        return TargetResult(
            name,
            status,
            said,
            self.domains,
            self.nics,
            tuple(self.errors),
            self.unread,
            (*self.notes, *self._aside(), *self._unrecognised()),
            self.calls,
            tuple(self.not_judged),
            self.not_judged_count,
            self.passed_over,
            tuple(self.unrecognised),
            self.unrecognised_count,
        )

    def _aside(self) -> list[str]:
        if not self.aside_count:
            return []
        names = _names(self.aside, self.aside_count)
        one = self.aside_count == 1
        return [
            f"{_COPY.format(count='a copy' if one else f'{self.aside_count} copies')} by "
            f"{'this name' if one else 'these names'}, not judged: {names} ({_GIVE})"
        ]

    def _unrecognised(self) -> list[str]:
        number, naming = self.unrecognised_count, self.naming_nics_count
        if not number or self.passed_over or (self.is_empty and not naming):
            return []
        them = "it" if number == 1 else "them"
        text = f"{count(number, 'file')} passed over: nothing in {them} is recognised"
        if naming == 0:
            return [text]
        which = "it" if number == 1 else f"{naming:,} of them"
        word = "name" if naming > 1 else "names"
        return [f"{text}, but {which} {word} QEMU or NICs: {_names(self.naming_nics, naming)}"]

    def _end(self, name: str) -> tuple[_Status, str | None]:
        if not self.unread:
            return "ok", None
        first = self.errors[0]
        place = first.file or name
        where = place if first.line is None else f"{place}:{first.line}"
        more = f" (and {self.unread - 1} more)" if self.unread > 1 else ""
        said = f"{where}: {first.message}{more}"
        return ("partial" if self.domains or self.nics or self.configs else "failed"), said


def _names(some: Sequence[str], number: int) -> str:
    more = number - len(some)
    return ", ".join(some) + (f" and {more:,} more" if more else "")


def _place(name: str) -> str:
    """The path of a file unchanged; anything else, such as a URI, without its password."""
    address = "://" in name or ("@" in name and not os.path.lexists(name))
    return masked_message(name) if address else name


class Totals:
    """Counts over the whole run."""

    def __init__(self) -> None:
        self.severities: Counter[str] = Counter()
        self.graded: Counter[tuple[Severity, Confidence]] = Counter()
        self.rules: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.undecided: Counter[str] = Counter()
        self.crashed = self.suppressed = self.baselined = self.filtered = 0

    def add(self, product: Product) -> None:
        """Count the results of a judgement; a domain that was only resolved adds nothing."""
        if not isinstance(product, Audited):
            return
        for finding in product.findings:
            self.severities[finding.severity] += 1
            self.graded[finding.severity, finding.confidence] += 1
            self.rules[finding.rule] += 1
        for skipped in product.skipped:
            self.skipped[skipped.rule] += 1
            if not skipped.live:
                self.undecided[skipped.rule] += 1
        self.crashed += len(product.crashed)
        self.suppressed += len(product.suppressed)
        self.baselined += len(product.baselined)
        self.filtered += product.filtered

    def summary(self, *, domains: int, nics: int, read_again: int = 0) -> Summary:
        """The totals so far; ``domains`` and ``nics`` are the numbers that were read."""
        return Summary(
            domains=domains,
            nics=nics,
            read_again=read_again,
            findings=sum(self.rules.values()),
            by_severity=dict(sorted(self.severities.items())),
            by_rule=dict(sorted(self.rules.items())),
            skipped=dict(sorted(self.skipped.items())),
            crashed=self.crashed,
            suppressed=self.suppressed,
            baselined=self.baselined,
            filtered=self.filtered,
        )


# The progress of a run, for display.


class RunProgress:
    """Is told the progress of a run; this one shows nothing."""

    @property
    def is_shown(self) -> bool:
        """True if progress is shown, so that counting the work is worthwhile."""
        return False

    def waits_for(
        self, target: str, number: int = 1, total: int = 1, *, forks: bool = False
    ) -> None:
        """A live target, or a pipe, is being read now, the ``number``-th of ``total``; ``forks``:
        by a forked process, so start no thread: ``still_waits`` is called all the time."""

    def still_waits(self) -> None:
        """Nothing has come yet from a process that reads files."""

    def waits_no_more(self) -> None:
        """All of a pipe was read: processes may be forked from now on."""

    def read_files(self, done: int, total: int | None) -> None:
        """The number of files read so far from a target; ``total`` None: not counted."""

    def __call__(self, target: str, domains: int) -> None:
        """The number of domains of a target done so far."""


class FileCount:
    """Notes how many files of a target were read, and counts them all if progress is shown."""

    def __init__(
        self, top: str, selection: Selection, seen: SeenFiles, progress: RunProgress
    ) -> None:
        self._top = top
        self._selection = selection
        self._seen = seen
        self._progress = progress
        self._total: int | None = None

    def begin(self) -> None:
        """Count the files of the target, before the first is read."""
        if self._progress.is_shown and self._selection.changed is None:
            self._total = self._seen.number_unread(self._top, self._selection)

    def read(self, done: int) -> None:
        """Note the number of files read so far."""
        if self._total is None and not self._seen.several:  # those that are read count as seen
            self.begin()
        self._progress.read_files(done, self._total)


# Work on each item that is read, and comparison of items when everything has been read.


MAX_NODES = 20_000
"""Maximum number of compute nodes that are compared with each other."""


class ComparingWork:
    """Works on each item, and remembers its NICs and compute nodes. ``joins``: the nodes are joined
    with the servers of a cloud too."""

    def __init__(self, work: Work, *, joins: bool = False) -> None:
        self._work = work
        self._joins = joins
        self._macs: MacTable | None = None  # made for the first NIC
        self.nodes: list[SiteNode] = []

    def domain(
        self, domain: Domain, target: str, host: HostConfig | None = None, machine: str = ""
    ) -> Product:
        """Work on a domain. ``machine``: the name of the live host that it was read from."""
        self._take_nics(self._work.nics_to_compare(domain, target, machine))
        return with_reading(self._work.domain(domain, host, target), domain)

    def description(self, item: Description, target: str) -> Iterator[Product]:
        """Work on a description; yields nothing if there is nothing to do."""
        if (product := self._work.description(item, target)) is not None:
            yield product
        if (node := self._work.node(item, joins=self._joins)) is not None:
            self._take_nodes([node])

    def take(self, batch: Batch) -> None:
        """Remember the NICs and nodes that worker processes returned."""
        self._take_nics(batch.nics_seen)
        self._take_nodes(batch.nodes)

    def comparisons(self) -> Iterator[Product]:
        """The products of comparing everything that was remembered."""
        yield from self._work.site(self.nodes)
        if self._macs is not None:
            yield from self._work.shared_macs(self._macs)

    def notes(self) -> list[str]:
        """Notes on what was not compared, for lack of space."""
        return [] if self._macs is None else self._macs.notes()

    def _take_nics(self, nics: list[EncodedNic]) -> None:
        if not nics:
            return
        if self._macs is None:
            self._macs = MacTable()
        self._macs.take(nics)

    def _take_nodes(self, nodes: list[SiteNode]) -> None:
        self.nodes += nodes[: MAX_NODES - len(self.nodes)]
