"""Definitions that may be changed, and their sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.reading.files import MAX_BYTES, read_stream
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.reading.targets import Platforms, SeenFiles, Target
from vnicaudit.audit.workers import why_not_here
from vnicaudit.base.opening import NotRegularError, read_regular
from vnicaudit.errors import ActionError, RefusedError, TargetError, UsageError
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import FileKinds
from vnicaudit.model.finding import Change, Description, Finding
from vnicaudit.model.fleet import LiveDefinition
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic
from vnicaudit.model.report import NotJudged, PutAside, ReadError
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.platforms.domain_xml.write import rewritten
from vnicaudit.remedy.guest.agent import GuestAgent, by_mac
from vnicaudit.remedy.hypervisor import Adapters, Hypervisor
from vnicaudit.remedy.planning.run import PlanRequest
from vnicaudit.remedy.planning.subject import JudgedItem, is_decided, worst_first

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import PlannedItem

IsOfUse = Callable[[Description], bool]


class DomainSource(NamedTuple):
    """One domain. ``running``: its running form; ``domain``: its persistent definition; ``text``:
    that definition, or the file that contains it (empty: there is none)."""

    target: str
    running: Domain
    domain: Domain
    text: bytes
    host: HostConfig = HostConfig()
    file: str | None = None
    local: bool | None = None
    """For a live host: true if it is this machine, so that its devices could be inspected."""
    way_back: str = ""
    """A note on how the domain will be restored after the change, if not to the same text."""

    @property
    def name(self) -> str:
        """The title of its diff."""
        return self.file or self.domain.name or self.domain.uuid or ""

    @property
    def line(self) -> int | None:
        """Line of the file on which the definition begins; None where it is in no file."""
        return None if self.file is None else self.domain.location.line

    @property
    def alone(self) -> bool:
        """True if ``text`` is this definition and no other."""
        return bool(self.text) and self.domain.location.xpath == "/domain"


def sources(
    target: Target,
    options: RunOptions,
    platforms: Platforms,
    seen_files: SeenFiles,
    is_of_use: IsOfUse = lambda _item: False,
    on_files: Callable[[int], None] = lambda _number: None,
) -> Iterator[DomainSource | ReadError | NotJudged]:
    """Every domain of a target, except in ``seen_files``, which were read for another target.
    ``is_of_use`` is given each item of a file that is not a domain, and tells if another planner
    uses it. ``on_files`` is given the number of files read so far. Raises UsageError for a target
    whose NICs cannot be changed."""
    kind = platforms.kind_of(target)
    if kind is not None and kind.definitions is not None:
        yield from live_sources(target.name, kind.definitions(target.name, options.live))
    elif target.kind == "path":
        named = not os.path.isdir(target.name)
        for number, path in enumerate(seen_files.unread(target.name, options.selection), 1):
            if isinstance(path, ReadError):
                yield path
            else:
                yield from _file(path, target.name, platforms, is_of_use, named=named)
            on_files(number)
    else:
        raise UsageError("standard input cannot be changed: name a file or a libvirt URI")


def live_sources(uri: str, items: Iterator[PlannedItem]) -> Iterator[DomainSource | ReadError]:
    """Every domain of a live host."""
    try:
        for item in items:
            if isinstance(item, ReadError):
                yield item
            elif isinstance(item, LiveDefinition):
                yield DomainSource(
                    uri, item.running, item.domain, item.text, item.host, local=item.local,
                    way_back=item.way_back,
                )  # fmt: skip
    except TargetError as error:
        yield ReadError(error.message, error.file)


def _file(
    path: str, top: str, platforms: Platforms, is_of_use: IsOfUse, *, named: bool
) -> Iterator[DomainSource | ReadError | NotJudged]:
    try:
        data = read_regular(path, MAX_BYTES + 1)
    except OSError as error:
        if named or not isinstance(error, NotRegularError):
            yield ReadError(error.strerror or str(error), path)
        return
    if (fatal := why_not_here(data, path, platforms)) is not None:
        yield fatal
        return
    domains = other = False
    for item in read_stream(BytesIO(data), path, platforms.files, explicit=named):
        if isinstance(item, Domain):
            domains = True
            yield DomainSource(top, item, item, data, file=os.path.abspath(path))
        elif isinstance(item, ReadError | NotJudged):
            yield item
        elif not isinstance(item, PutAside) and is_of_use(item):
            named = False  # nova.conf of a compute node: used for a cloud's servers
        else:
            other = True  # a configuration, an image: it has no NICs
    if named and other and not domains:
        raise UsageError(
            f"{path}: it has no domain whose NICs could be changed; `vnicaudit audit` shows what "
            "is wrong with it, and --fix corrects a configuration"
        )


def with_actual_types(domain: Domain, known: Domain) -> Domain:
    """The domain with the actual types of its NICs' networks as ``known``, the same domain, has
    them."""
    if len(domain.nics) != len(known.nics):
        return domain
    nics = tuple(
        nic if nic.declared.type != old.declared.type
        else msgspec.structs.replace(
            nic,
            declared=msgspec.structs.replace(
                nic.declared, actual_type=old.declared.actual_type
            ),
        )
        for nic, old in zip(domain.nics, known.nics, strict=True)
    )  # fmt: skip
    return msgspec.structs.replace(domain, nics=nics)


# Names of interfaces in running guests, from their agents.


_SECONDS = 30.0
"""Time for all guests of a target together: a guest that does not answer costs a few seconds."""


AskNames = Callable[[DomainSource], Mapping[str, str]]
"""MAC -> name of the interface, from the guest's agent; empty if it was not asked."""


class AgentNames:
    """Asks guests of live hosts. libvirt does not allow that on a read-only connection, so a second
    connection is opened for it; a host that refuses that one has no names."""

    def __init__(self, adapters: Adapters, deadline: float) -> None:
        self._connect = adapters.connect
        self._clock = adapters.clock
        self._deadline = deadline
        self._hosts: dict[str, Hypervisor | None] = {}
        self._left: dict[str, float] = {}
        self._last: tuple[DomainSource | None, Mapping[str, str]] = (None, {})

    def __call__(self, source: DomainSource) -> Mapping[str, str]:
        """MAC -> name; empty if the guest does not run, or does not answer. Each guest is asked
        once for all its NICs, one guest after the other."""
        if self._last[0] is not source:
            self._last = (source, self._ask(source))
        return self._last[1]

    def _ask(self, source: DomainSource) -> Mapping[str, str]:
        state = source.running.state
        uuid = source.domain.uuid
        if state is None or not state.active or not state.agent or uuid is None:
            return {}
        host = self._host(source.target)
        if host is None or self._left.setdefault(source.target, _SECONDS) <= 0:
            return {}
        began = self._clock.monotonic()
        try:
            found = by_mac(GuestAgent(host.machine(uuid), self._clock).interfaces())
        except ActionError:
            return {}
        finally:
            self._left[source.target] -= self._clock.monotonic() - began
        return {mac: interface.name for mac, interface in found.items()}

    def close(self) -> None:
        """Disconnect from all hosts."""
        for host in self._hosts.values():
            if host is not None:
                host.close()

    def _host(self, target: str) -> Hypervisor | None:
        if target not in self._hosts:
            try:
                self._hosts[target] = self._connect(target, deadline=self._deadline)
            except (ActionError, TargetError):
                self._hosts[target] = None
        return self._hosts[target]


def no_names(source: DomainSource) -> Mapping[str, str]:
    """No names."""
    del source
    return {}


# A domain, judged as it is, and as it would be with its definition changed and read again.


class _ChangedNic(NamedTuple):
    """Changes of a NIC, and their result."""

    nic: Nic
    changes: tuple[Change, ...]
    text: bytes
    domain: Domain


class JudgedDomain(JudgedItem[Domain]):
    """One domain of a target, before anything is changed."""

    def __init__(self, source: DomainSource, request: PlanRequest) -> None:
        """Judge the domain. Raises RefusedError if a rule crashes."""
        self.source = source
        self._kinds = request.work.platforms.files
        self._last_changed: _ChangedNic | None = None
        """Planning a step asks for the same changes several times."""
        super().__init__(
            source.domain, request, lambda work, one: work.domain(one, source.host, source.target)
        )

    def findings_of(self, nic: Nic) -> tuple[Finding, ...]:
        """The findings on one NIC."""
        return tuple(found for found in self.findings if found.about.index == nic.index)

    def with_changes(self, nic: Nic, changes: Iterable[Change]) -> tuple[bytes, Domain]:
        """The text with these changes of a NIC, and the domain it describes. Raises RefusedError if
        they cannot be made. For the same NIC and equal changes as in the last call, it is the same
        domain object: ``JudgedItem`` judges each object once."""
        changes, last = tuple(changes), self._last_changed
        if last is None or last.nic is not nic or last.changes != changes:
            text = rewritten(self.source.text, nic.location.xpath or "", changes)
            last = self._last_changed = _ChangedNic(nic, changes, text, self._read_again(text))
        return last.text, last.domain

    def findings_to_plan(self, nic: Nic, changes: Iterable[Change]) -> list[Finding]:
        """The findings on the NIC that propose changes once these are made, the most severe first;
        without those that the policy decides."""
        changes = tuple(changes)
        after = self.with_changes(nic, changes)[1] if changes else self.item
        mine = (one for one in self.findings_after(after) if one.about.index == nic.index)
        return worst_first(filter(is_decided, mine))

    def _read_again(self, text: bytes) -> Domain:
        source = self.source
        found = self._of_file(text) if source.file is not None else with_actual_types(
            definitions.definition_of(text, source.target), source.domain
        )  # fmt: skip
        declared = replace(found.declared, readiness=source.domain.declared.readiness)
        return replace(
            found, declared=declared, live=source.domain.live,
            suppressions=source.domain.suppressions, location=source.domain.location,
        )  # fmt: skip

    def _of_file(self, text: bytes) -> Domain:
        place, own = self.source.domain.location, self._own
        if own is None:
            found = _domain_in(text, place.target, self._kinds, place.xpath)
        else:
            end = len(text) - (len(self.source.text) - own.stop)
            found = self._alone(text[own.start : end])
        if found is None:
            raise RefusedError("the changed file could not be read again")
        return found

    @cached_property
    def _own(self) -> slice | None:
        """The place of the domain's document in a file with several, if it reads the same alone:
        then only that part is read again for each change, and not all the others."""
        text, domain = self.source.text, self.source.domain
        found = definitions.document_at(text, domain.location.xpath or "")
        own = None if found is None else slice(*found)
        return None if own is None or self._alone(text[own]) != domain else own

    def _alone(self, text: bytes) -> Domain | None:
        """The domain of a document, with the places that its NICs have in the whole file."""
        domain = self.source.domain
        found = _domain_in(text, domain.location.target, self._kinds)
        if found is None or len(found.nics) != len(domain.nics):
            return None
        nics = tuple(
            replace(nic, location=known.location, lines=known.lines)
            for nic, known in zip(found.nics, domain.nics, strict=True)
        )
        return replace(found, location=domain.location, nics=nics)


def _domain_in(
    text: bytes, target: str, kinds: FileKinds, xpath: str | None = None
) -> Domain | None:
    """The domain at a path in a text; without a path the only one. None if it is not there."""
    found = [
        item for item in read_stream(BytesIO(text), target, kinds)
        if isinstance(item, Domain) and xpath in (None, item.location.xpath)
    ]  # fmt: skip
    return found[0] if len(found) == 1 or (found and xpath is not None) else None
