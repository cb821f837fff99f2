"""Targets named by the user -> things to read: paths, standard input, live connections, clouds; and
:class:`Platform` and :class:`Platforms`, by which the sources of NICs are passed to an audit.

Files are recognised by content, a few by their place (:mod:`vnicaudit.audit.reading.files`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from vnicaudit.base.opening import is_input_awaited, is_pipe
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.file_kind import FileKinds
from vnicaudit.model.names import STANDARD_INPUT
from vnicaudit.model.report import ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.effective.resolve import Resolver
    from vnicaudit.audit.reading.selection import Selection
    from vnicaudit.knowledge.fixes.wording import Wording
    from vnicaudit.model.domain import DomainConfig
    from vnicaudit.model.file_kind import FileKind, Item, Unjudged
    from vnicaudit.model.finding import Form, PlatformName
    from vnicaudit.model.fleet import (
        CloudItem,
        HostTraffic,
        LiveDefinition,
        LiveDomain,
        LiveOptions,
    )
    from vnicaudit.model.host import Host
    from vnicaudit.model.host_facts import HostFacts
    from vnicaudit.model.runs import ComputeNode

    HostItem = Item | Host | HostFacts | LiveDomain | HostTraffic
    PlannedItem = HostItem | LiveDefinition

_PLAN_WINDOW = 2.0
"""Seconds between two readings of a host's counters: some rules propose a change for what grows."""


class Target(msgspec.Struct, frozen=True):
    """One target: its ``name`` as the user gave it, and its ``kind``: ``path``, ``stdin``,
    ``together`` (files that one program reads together: ``FileKind.together``), or a kind that a
    platform defines."""

    name: str
    kind: str


def awaited_pipe(target: Target) -> str:
    """The name of a target whose end is up to whoever writes to it; empty: it is no such target."""
    if target.kind == "stdin" and is_input_awaited():
        return STANDARD_INPUT
    return target.name if target.kind == "path" and is_pipe(target.name) else ""


class CloudReading(Protocol):
    """One cloud. After ``items`` has ended, ``notes`` say what is hidden from this user, and
    ``calls`` counts the calls to each API."""

    items: Iterator[CloudItem]
    notes: tuple[str, ...]
    calls: dict[str, int]


def _itself(name: str, live: LiveOptions) -> list[str]:
    del live
    return [name]


class TargetKind(msgspec.Struct, frozen=True):
    """A kind of target that a platform reads, other than files."""

    kind: str
    name_of: Callable[[str], str | None]
    """The target for a name of this kind; None for other names. Raises UsageError for an invalid
    one."""
    check: Callable[[], None] = lambda: None
    """Raises MissingExtraError if a package for reading it is missing."""
    read: Callable[[str, LiveOptions], Iterator[HostItem]] | None = None
    """Reads the domains that run there; None: it is a cloud."""
    waits: Callable[[str], bool] = lambda _name: False
    """True if reading a target means waiting for another machine, so that several are read side by
    side, in threads. Data of this machine is read by the main thread, the only one that can be
    stopped if an input takes too long (:mod:`vnicaudit.base.deadlines`)."""
    definitions: (
        Callable[[str, LiveOptions], Iterator[Host | LiveDefinition | ReadError]] | None
    ) = None
    """Reads the domains that run there with their persistent definitions, which can be changed;
    None: it has none."""
    not_planned: str = "changes cannot be planned for this kind of target"
    """Why such a target cannot be planned, and what to name instead."""
    is_copy: bool = False
    """It is the copy of a host's files, in which nothing is to be changed."""
    cloud: Callable[[str, LiveOptions], CloudReading] | None = None
    """Reads everything in a cloud, whose servers are joined with running domains; None: it is not a
    cloud."""
    probe: Callable[[str, LiveOptions], str] | None = None
    """Connects, disconnects, and returns a short description of what answered. Raises
    TargetError."""
    compute_nodes: Callable[[str, LiveOptions], list[ComputeNode]] | None = None
    """The hosts of a cloud that run its servers. Raises TargetError if they are unknown."""
    expanded: Callable[[str, LiveOptions], list[str]] = _itself
    """The targets that one target stands for; itself among several: what they leave of its files.
    Raises UsageError if its configuration is wrong."""


def target_of(name: str, kinds: Iterable[TargetKind]) -> Target:
    """The target of that name, with its kind. Raises UsageError for an invalid name of a kind."""
    if name == "-":
        return Target(name, "stdin")
    for kind in kinds:
        if (found := kind.name_of(name)) is not None:
            return Target(found, kind.kind)
    return Target(name, "path")


def is_cloud(name: str, kinds: Iterable[TargetKind]) -> bool:
    """True for the name of a cloud. Raises UsageError for an invalid name of a kind."""
    kinds = tuple(kinds)
    kind = target_of(name, kinds).kind
    return any(one.kind == kind and one.cloud is not None for one in kinds)


def unique_targets(names: Iterable[str], kinds: Iterable[TargetKind]) -> list[Target]:
    """The targets without duplicates. Raises UsageError for an invalid one, and MissingExtraError
    if a package for one is missing: both before anything is read or written."""
    kinds = tuple(kinds)
    targets = list(dict.fromkeys(target_of(name, kinds) for name in names))
    for kind in kinds:
        if any(target.kind == kind.kind for target in targets):
            kind.check()
    return targets


def expanded_targets(
    targets: Iterable[Target], kinds: Iterable[TargetKind], live: LiveOptions
) -> list[Target]:
    """The targets without duplicates; a target that stands for several, such as the regions of a
    cloud, is replaced by these. Raises UsageError if the configuration of one is wrong."""
    by_kind = {kind.kind: kind for kind in kinds}
    found: dict[Target, None] = {}
    for target in targets:
        kind = by_kind.get(target.kind)
        names = [target.name] if kind is None else kind.expanded(target.name, live)
        for name in names:
            rest = name == target.name and len(names) > 1
            found[Target(name, "path" if rest else target.kind)] = None
    return list(found)


def _none_left_out(path: str) -> bool:
    del path
    return False


def walk(top: str, leave_out: Callable[[str], bool] = _none_left_out) -> Iterator[str | ReadError]:
    """Every regular file below ``top`` (or ``top`` itself), in a stable order, without the files
    and folders for which ``leave_out`` is true.

    Links are followed; a folder is never entered twice. Sockets, devices and FIFOs are skipped. A
    folder that cannot be listed is a ReadError.
    """
    if not os.path.isdir(top):
        yield top
        return
    seen: set[tuple[int, int]] = set()
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            listing = _listing(folder)
        except OSError as error:
            yield ReadError(error.strerror or str(error), folder)
            continue
        while listing.files:  # dropped as they are handed out
            if not leave_out(path := _below(folder, listing.files.pop())):
                yield path
        yield from (error for error in listing.errors if not leave_out(error.file or folder))
        below = (_below(folder, name) for name in reversed(listing.folders))
        pending.extend(path for path in below if not leave_out(path))


def _below(folder: str, name: str) -> str:
    """The path of something in a folder; without a leading ``./``, which suppression patterns and
    build servers would not match."""
    return name if folder == os.curdir else os.path.join(folder, name)


class _Listing(msgspec.Struct, frozen=True):
    """Names in one folder. Only names: a folder may hold 100,000 files. ``files`` are in reverse
    order, to be taken from the end."""

    files: list[str]
    folders: list[str]
    errors: list[ReadError]


def _listing(folder: str) -> _Listing:
    found = _Listing([], [], [])
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if entry.is_file():
                    found.files.append(entry.name)
                elif entry.is_dir():
                    found.folders.append(entry.name)
                elif entry.is_symlink():
                    os.stat(entry.path)  # a link to a FIFO or device is skipped
            except OSError as error:
                found.errors.append(ReadError(_unreachable(entry, error), entry.path))
    found.files.sort(reverse=True)
    found.folders.sort()
    found.errors.sort(key=lambda error: error.file or "")
    return found


def _unreachable(entry: os.DirEntry[str], error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"a broken link: {reason}" if entry.is_symlink() else reason


# Files of a run that are in several of its targets: an audit or a plan reads each only once.


class SeenFiles:
    """The files that were read so far. A file that is named and also in a folder is read as the
    named one. A single target is read as it is walked."""

    def __init__(self, targets: Iterable[Target]) -> None:
        targets = tuple(targets)
        paths = [target.name for target in targets if target.kind == "path"]
        self.several = len(paths) > 1
        named = [path for path in paths if not os.path.isdir(path)] if self.several else []
        self._named = frozenset(map(os.path.realpath, named))
        others = (each.name for each in targets if each.kind not in ("path", "stdin", "together"))
        self._others = frozenset(name for name in others if os.path.exists(name))
        self._seen: set[str] = set()
        self.passed = 0
        """Number of files that were not read again so far."""

    def unread(self, top: str, selection: Selection) -> Iterator[str | ReadError]:
        """The files of the target ``top`` to be read that were not read before, and errors for
        folders that cannot be listed, if they matter."""
        named = not os.path.isdir(top)
        for path in walk(top, self._leaves_out(selection)):
            if isinstance(path, ReadError):
                if selection.minds(path.file or top):
                    yield path
            elif selection.wants(path, named=named) and self._takes(path, named=named):
                yield path

    def number_unread(self, top: str, selection: Selection) -> int:
        """The number of files of the target ``top`` to be read that were not read before."""
        named = not os.path.isdir(top)
        walked = walk(top, self._leaves_out(selection))
        files = (path for path in walked if isinstance(path, str))
        wanted = (path for path in files if selection.wants(path, named=named))
        if not self.several:
            return sum(1 for _path in wanted)
        return len({place for path in wanted if (place := self._new_place(path, named=named))})

    def _leaves_out(self, selection: Selection) -> Callable[[str], bool]:
        """Tells what is left out of a folder: also what is a target of another kind."""
        others = self._others
        if not others:
            return selection.leaves_out
        return lambda path: path in others or selection.leaves_out(path)

    def _takes(self, path: str, *, named: bool) -> bool:
        """True if a file is to be read here: new, and not left for a target that names it."""
        if not self.several:
            return True
        place = self._new_place(path, named=named)
        if place is None:
            self.passed += 1
            return False
        self._seen.add(place)
        return True

    def _new_place(self, path: str, *, named: bool) -> str | None:
        """The path of a file with links resolved; None if it was read, or a target names it."""
        place = os.path.realpath(path)
        passed = place in self._seen or (not named and place in self._named)
        return None if passed else place


# Interface of a platform (a source of descriptions of NICs) to an audit, and all platforms of a
# run.
#
# The command line passes the platforms in (:mod:`vnicaudit.cli.wiring.platforms`): the audit itself
# knows none of them by name.


def _its_name(field: str) -> str:
    return field


class Platform(msgspec.Struct, frozen=True):
    """One platform that describes NICs, as far as reading is concerned. ``name``: as in
    :attr:`DomainConfig.platform`."""

    name: PlatformName
    files: tuple[FileKind, ...] = ()
    """The kinds of files that it reads, in the order in which to try them."""
    resolve: Resolver | None = None
    """Resolves declared settings into the settings that the guest gets; None: it describes no
    NICs."""
    titles: Mapping[Form, str] = {}
    """Titles for the layer of its definition, by the form of the definition."""
    targets: tuple[TargetKind, ...] = ()
    """The kinds of targets that it reads, beside files."""
    wordings: Mapping[str, Wording] = {}
    """Wordings of fixes for owners that the platform adds, by their names."""
    place_of: Callable[[str], str] = _its_name
    """Returns the place of a NIC's field in a description, relative to the NIC; a field without a
    place of its own is called by its name."""


class Platforms:
    """All platforms of a run. Raises ValueError if two have the same name."""

    def __init__(self, platforms: Iterable[Platform], unjudged: Unjudged) -> None:
        """``unjudged``: finds parts of files that no platform reads."""
        self.all = tuple(platforms)
        self._by_name = {platform.name: platform for platform in self.all}
        if len(self._by_name) < len(self.all):
            raise ValueError("two platforms of one name")
        files = tuple(kind for platform in self.all for kind in platform.files)
        self.files = FileKinds(files, unjudged)
        """Every kind of file, in the order in which to try them."""
        self.read_together = tuple(kind.together for kind in files if kind.together is not None)
        """The readers of files that one program reads together."""
        self.targets = tuple(kind for platform in self.all for kind in platform.targets)
        """Every kind of target except files."""
        own = (wording for platform in self.all for wording in platform.wordings.items())
        self.wordings = Wordings(dict(own))
        """The words of fixes for each owner."""

    def resolver(self, domain: DomainConfig) -> Resolver:
        """The resolver for the NICs of a domain. Raises KeyError if its platform is not among
        these."""
        found = self._by_name[domain.platform].resolve
        if found is None:
            raise KeyError(domain.platform)
        return found

    def kind_of(self, target: Target) -> TargetKind | None:
        """The kind of a target; None for files and standard input."""
        return next((kind for kind in self.targets if kind.kind == target.kind), None)

    def cloud(self, target: Target, live: LiveOptions) -> CloudReading:
        """Everything in a cloud. Raises KeyError for a target that is not a cloud."""
        kind = self.kind_of(target)
        if kind is None or kind.cloud is None:
            raise KeyError(target.kind)
        return kind.cloud(target.name, live)

    def read_live(self, name: str, live: LiveOptions) -> Iterator[HostItem]:
        """The domains, hosts and errors read at a live target. Raises KeyError for a target that is
        not read live, UsageError for an invalid one."""
        kind = self.kind_of(target_of(name, self.targets))
        if kind is None or kind.read is None:
            raise KeyError(name)
        return kind.read(name, live)

    def read_to_plan(self, name: str, live: LiveOptions) -> Iterator[PlannedItem]:
        """Everything that a plan needs of a live target: a host and the definitions on it, or its
        settings. Raises KeyError for a target that is not read live, UsageError for an invalid
        one."""
        kind = self.kind_of(target_of(name, self.targets))
        if kind is None or kind.definitions is None:
            return self.read_live(name, msgspec.structs.replace(live, window=_PLAN_WINDOW))
        return kind.definitions(name, live)

    def probe(self, name: str, live: LiveOptions) -> str:
        """A short description of the service that answers at a live target, such as its host name
        and version. Raises TargetError if there is no answer, KeyError for a target that cannot be
        probed."""
        kind = self.kind_of(target_of(name, self.targets))
        if kind is None or kind.probe is None:
            raise KeyError(name)
        return kind.probe(name, live)

    def place_of(self, field: str, domain: DomainConfig) -> str:
        """The place of a NIC's field in a definition, relative to the NIC."""
        return self._by_name[domain.platform].place_of(field)

    def title(self, domain: DomainConfig) -> str:
        """The title of the layer of a domain's definition."""
        return self._by_name[domain.platform].titles.get(domain.form, "")
