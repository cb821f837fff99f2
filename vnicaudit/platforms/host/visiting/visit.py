"""One visit to a host, a container or a network namespace: everything that its facts need is asked
in one round trip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import NamedTuple

import msgspec

from vnicaudit.errors import EndpointError, MissingExtraError, TargetError, UsageError
from vnicaudit.model.fleet import LiveDomain, LiveOptions
from vnicaudit.model.host import Host, Section
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.nic import RunningQemu
from vnicaudit.model.report import FailureKind, ReadError
from vnicaudit.platforms.host.facts import EVERY_FACT
from vnicaudit.platforms.host.readings import SectionReadings, facts_from, script_for
from vnicaudit.platforms.host.visiting.answered import DEVICES, host_in
from vnicaudit.platforms.host.visiting.processes import guests_in, seen_qemus
from vnicaudit.platforms.host.visiting.recording import read_recording, write_recording
from vnicaudit.reaching.failures import advised, failure_in, reason_in
from vnicaudit.reaching.opening import FORMS, open_place, parse_url
from vnicaudit.reaching.sections import ask

_SECTION_BYTES = 4 * 2**20
"""Bytes of one section: what is longer was cut off, and is not used."""
_LATE = re.compile(r"got no answer within|did not end in time")
_CONTAINERS = ("docker", "podman", "kubectl")


def place_of(url: str) -> str:
    """The URL of a place, once it is checked. Raises UsageError for an invalid one,
    MissingExtraError without testinfra where that is needed."""
    place = parse_url(url, FORMS)
    if place.scheme != "local" and not place.name:
        raise UsageError(f"{url}: no name; expected {FORMS[place.scheme].form}")
    if place.scheme not in ("local", "netns") and find_spec("testinfra") is None:
        raise MissingExtraError(f"{place.scheme}://", "hosts")
    return url


def read_visit(
    url: str, options: LiveOptions
) -> Iterator[Host | HostFacts | LiveDomain | ReadError]:
    """A host, its facts, and the guests of the QEMU processes there. Raises TargetError if it
    cannot be reached or does not answer."""
    yield from _items(visit(url, options), url, url)


def read_recorded(
    path: str, options: LiveOptions
) -> Iterator[Host | HostFacts | LiveDomain | ReadError]:
    """The items of a recorded visit. Raises TargetError if it cannot be read."""
    del options
    recording = read_recording(path)
    yield from _items(SectionReadings(recording.sections), recording.place, path)


def _items(
    readings: SectionReadings, url: str, target: str
) -> Iterator[Host | HostFacts | LiveDomain | ReadError]:
    kind, name = kind_of(url)
    facts = facts_of(readings, kind)
    host = host_in(readings, whole=facts.container in ("", "netns"))
    if host is None:
        raise TargetError("its answer has no name of a host", file=target, failure="broken")
    if kind == "netns":  # its links are not those of the host, whose name it shares
        host = msgspec.structs.replace(host, name=f"{host.name}/{name}")
    yield host
    yield facts if target == url else msgspec.structs.replace(facts, source="recording")
    for item in guests_in(readings, target, elsewhere=kind != "netns"):
        yield item if isinstance(item, ReadError) else LiveDomain(item, host.declared)


class HostVisit(NamedTuple):
    """A host that was visited beside its libvirt: what it is, its facts, and its QEMUs."""

    host: Host
    facts: HostFacts
    qemus: tuple[RunningQemu, ...]


def visit_beside(url: str, target: str, options: LiveOptions) -> HostVisit:
    """The host of a libvirt (``target``), reached by that URL. Raises TargetError."""
    try:
        readings = visit(url, options)
    except TargetError as error:
        text = f"the host's facts were not read: {error.message}"
        raise TargetError(text, file=target) from None
    facts = facts_of(readings, kind_of(url)[0])
    host = host_in(readings, whole=not facts.container)
    if host is None:
        text = "the host's facts were not read: its answer has no name of a host"
        raise TargetError(text, file=target, failure="broken")
    found = seen_qemus(readings, target, elsewhere=True)
    qemus = tuple(seen.qemu for seen in found if not isinstance(seen, ReadError))
    return HostVisit(host, facts, qemus)


def facts_of(readings: SectionReadings, kind: str) -> HostFacts:
    """The facts that were read at a place of that kind (a scheme)."""
    facts = facts_from(readings, EVERY_FACT)
    if kind in (*_CONTAINERS, "netns") and not facts.container:
        return msgspec.structs.replace(facts, container=kind)
    return facts


def probe(url: str, options: LiveOptions) -> str:
    """The name of the host and its kernel. Raises TargetError."""
    facts = (DEVICES,)
    readings = SectionReadings(_sections_of(url, script_for(facts), options.deadline, window=0))
    host = host_in(readings, whole=True)
    if host is None:
        raise TargetError("its answer has no name of a host", file=url, failure="broken")
    return f"{host.name}, Linux {host.declared.kernel}"


def visit(url: str, options: LiveOptions) -> SectionReadings:
    """Everything that is read there, and recorded if that is asked for. Raises TargetError."""
    script = script_for((*EVERY_FACT, DEVICES))
    sections = _sections_of(url, script, options.deadline, options.window)
    if options.record:
        write_recording(options.record, url.partition("?")[0], sections)
    return SectionReadings(sections)


def kind_of(url: str) -> tuple[str, str]:
    """The scheme of a place's URL, and the name in it."""
    scheme, _, rest = url.partition("?")[0].partition("://")
    return scheme, rest


def _sections_of(url: str, script: str, seconds: float, window: float) -> list[Section]:
    try:
        with closing(open_place(url)) as place:
            sections = ask(
                place, script, f"{window:g}", seconds=seconds + window, most=_SECTION_BYTES
            )
    except (EndpointError, UsageError) as error:  # a value in its URL concerns this place alone
        said = reason_in(str(error)).removeprefix(f"{url}: ")
        message = said.removeprefix(f"facts of {url} could not be read: ")
        failure: FailureKind = "deadline" if _LATE.search(message) else failure_in(message)
        raise TargetError(advised(message), file=url, failure=failure) from None
    return [each for each in sections if not _is_cut(each)]


def _is_cut(section: Section) -> bool:
    """True for a section that had more bytes than are read: how its command ended was cut off."""
    return section.code is None and len(section.text.encode()) >= _SECTION_BYTES
