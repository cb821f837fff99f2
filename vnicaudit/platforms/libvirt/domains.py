"""One domain of a live libvirt: fetched as text, read, and joined with what its host knows.

Where definitions have shapes in common, the thread that fetched one reads it at once: meanwhile the
host works on what the others asked for. A thread of its own that read them all would hold the
interpreter's lock, and those that have an answer would wait for it. Where they have not, one thread
parses all: several that do take half as much CPU time again, for lxml gives the lock up each time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import DefinitionForm, Domain, DomainState, LiveFacts, PendingChanges
from vnicaudit.model.host import Network
from vnicaudit.model.location import Location
from vnicaudit.model.report import LostRead, ReadError
from vnicaudit.platforms.domain_xml.likeness import on_way_back
from vnicaudit.platforms.domain_xml.read import (
    definition_root,
    domain_of,
    parsed_root,
    process_shapes,
)
from vnicaudit.platforms.domain_xml.shapes import Shapes
from vnicaudit.platforms.domain_xml.xml_element import XmlElement
from vnicaudit.platforms.libvirt.agent import GuestFacts, channel_state, with_agent
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.connection import explain
from vnicaudit.platforms.libvirt.failures import lost_connection
from vnicaudit.platforms.libvirt.networks import resolve_networks
from vnicaudit.platforms.libvirt.staged import coming, staged
from vnicaudit.platforms.libvirt.state import DomainListing
from vnicaudit.text.libvirt_uri import Uri


class Fetched(msgspec.Struct, frozen=True):
    """The definitions and the state of one domain. ``definition`` is the running one of an active
    domain, ``persistent`` the one beside it, None where there is none."""

    definition: str
    state: DomainState
    persistent: str | None = None
    again: str | None = None
    """What the persistent one would be if it were defined again; None: not asked."""
    needs_parsing: bool = False
    """The definitions have to be parsed: their shapes were looked up, and one is not known."""


class ReadDomain(msgspec.Struct, frozen=True):
    """A domain as its definitions have it, before its networks are looked up. ``persistent`` is its
    other definition while it runs, None where there is none; ``connected``: an agent in the guest
    holds its channel open."""

    domain: Domain
    persistent: Domain | None = None
    connected: bool = False


class Surroundings(msgspec.Struct, frozen=True):
    """Facts that the domains of one host share."""

    uri: Uri
    networks: Mapping[str, Network]
    guests: Mapping[str, GuestFacts]


class JudgedDefinition(msgspec.Struct, frozen=True):
    """A domain as it is judged, and its persistent definition: ``text`` as libvirt hands it out,
    without passwords, and ``domain``, what it says. Of a transient domain ``text`` is empty."""

    running: Domain
    domain: Domain
    text: bytes
    way_back: str = ""
    """What it comes back as once it was changed, where that is not the same text."""


def fetch(
    handle: libvirt.virDomain, listing: DomainListing, *, again: bool = False
) -> Fetched | ReadError | None:
    """The definitions and the state of one domain now; a ReadError where libvirt fails; None where
    the domain has gone since it was listed. ``again``: also its definition as it would be if it
    were defined again.

    Passwords are never asked for (no VIR_DOMAIN_XML_SECURE).
    """
    try:
        definition = handle.XMLDesc()
        state = listing.state(handle, active=is_running(definition))
        read_anew = _read_anew(handle) if again and state.persistent is not False else None
        if not (state.active and state.persistent):
            return Fetched(definition, state, again=read_anew)
        persistent = handle.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)
        return Fetched(definition, state, persistent, read_anew)
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            return None
        return _unread(handle, error)


def _unread(handle: libvirt.virDomain, error: libvirt.libvirtError) -> ReadError:
    text = f"domain {handle.name()!r}: {explain(error)}"
    lost = lost_connection(error)
    return ReadError(text) if lost is None else LostRead(text, failure=lost)


def _read_anew(handle: libvirt.virDomain) -> str | None:
    """The persistent definition, written and read once more by libvirt, without any change on the
    host: with VIR_DOMAIN_XML_UPDATE_CPU it hands out a copy (qemuDomainDefFormatBufInternal in
    qemu_domain.c), which is made by virDomainDefCopy. Measured with 9.0: equal to what defining the
    text again comes to, but for the CPU. None where the driver has no such flag, or where the
    host's CPU is another."""
    flags = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_UPDATE_CPU
    try:
        return str(handle.XMLDesc(flags))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            raise
        return None


def is_running(definition: str) -> bool:
    """libvirt writes ``id=`` on ``<domain>`` while the domain is active, and only then."""
    return " id='" in definition[: definition.find(">")]


def read_if_known(
    fetched: Fetched, uri: Uri, shapes: Shapes = process_shapes
) -> ReadDomain | Fetched | ReadError:
    """The domain as its definitions have it, where they are of known shapes; else the definitions,
    still to be read."""
    if not shapes.are_common:
        return fetched
    root, later = shapes.root(fetched.definition), None
    if fetched.persistent is not None and root is not None:
        later = shapes.root(fetched.persistent)
    if root is None or (fetched.persistent is not None and later is None):
        return msgspec.structs.replace(fetched, needs_parsing=True)
    try:
        return _read(fetched.state, root, later, uri)
    except TargetError as error:
        return _not_read(error)


def read_fetched(fetched: Fetched, uri: Uri) -> ReadDomain | ReadError:
    """The domain as its definitions have it. No libvirt is asked."""
    root_of = parsed_root if fetched.needs_parsing else definition_root
    try:
        later = None if fetched.persistent is None else root_of(fetched.persistent)
        return _read(fetched.state, root_of(fetched.definition), later, uri)
    except TargetError as error:
        return _not_read(error)


def _read(state: DomainState, root: XmlElement, later: XmlElement | None, uri: Uri) -> ReadDomain:
    if not state.active:
        return ReadDomain(_domain(root, uri, state, form="dump"))
    return ReadDomain(
        _domain(root, uri, state, form="live"),
        None if later is None else _domain(later, uri, None, form="dump"),
        connected=channel_state(root),
    )


def _not_read(error: TargetError) -> ReadError:
    return ReadError(f"a domain's definition: {error.message}")


def domain_from(item: ReadDomain, around: Surroundings) -> Domain:
    """The domain with what its host knows of it, judged by its running definition where it runs."""
    domain = resolve_networks(item.domain, around.networks)
    state = domain.state
    if state is None or not state.active:
        return domain
    if item.persistent is not None:
        later = resolve_networks(item.persistent, around.networks)
        domain = msgspec.structs.replace(
            domain,
            live=LiveFacts(state, PendingChanges(staged(domain, later), coming(domain, later))),
            unread=domain.unread or later.unread,
        )
    facts = around.guests.get(domain.uuid or "")
    return with_agent(domain, connected=item.connected, facts=facts)


def definition_from(fetched: Fetched, around: Surroundings) -> JudgedDefinition | ReadError:
    """The domain and its persistent definition, to be changed. No libvirt is asked."""
    try:
        root = definition_root(fetched.definition)
        beside = None if fetched.persistent is None else definition_root(fetched.persistent)
        running = domain_from(_read(fetched.state, root, beside, around.uri), around)
        text = fetched.persistent
        if text is None:
            text = "" if fetched.state.active else fetched.definition
        if not text:
            return JudgedDefinition(running, running, b"")
        written = definition_root(text)
        later = _domain(written, around.uri, fetched.state, form="dump", xpath="/domain")
    except TargetError as error:
        return _not_read(error)
    later = resolve_networks(later, around.networks)
    declared = msgspec.structs.replace(later.declared, readiness=running.declared.readiness)
    later = msgspec.structs.replace(
        later, declared=declared, suppressions=running.suppressions
    ).with_state(running.state)
    way_back = on_way_back(text.encode(), fetched.again.encode()) if fetched.again else ""
    return JudgedDefinition(running, later, text.encode(), way_back)


def _domain(
    root: XmlElement,
    uri: Uri,
    state: DomainState | None,
    *,
    form: DefinitionForm,
    xpath: str | None = None,
) -> Domain:
    """The domain as one definition has it, its networks not looked up yet."""
    # the test driver fills in no defaults (measured with 9.0: a missing model stays missing)
    form = "raw" if uri.driver == "test" else form
    domain = domain_of(root, Location(uri.text, xpath=xpath), 0, form=form)
    declared = domain.declared
    # libvirt's client takes the system daemon for root, whatever the path says
    if uri.session and os.geteuid() != 0:
        declared = msgspec.structs.replace(declared, session=True)
    return msgspec.structs.replace(
        domain,
        declared=declared,
        unread=tuple(
            [ReadError(f"domain {domain.name!r}: {error.message}") for error in domain.unread]
        ),
        live=None if state is None else LiveFacts(state),
    )
