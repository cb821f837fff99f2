"""One domain of a live libvirt: fetched as text, read, and combined with its host's facts."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec
from lxml import etree

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain, DomainState, LiveFacts, PendingChanges
from vnicaudit.model.guest_words import DefinitionForm
from vnicaudit.model.host import Network
from vnicaudit.model.location import Location
from vnicaudit.model.report import LostRead, ReadError
from vnicaudit.platforms.domain_xml.likeness import on_way_back
from vnicaudit.platforms.domain_xml.read import definition_root, domain_of
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
    domain, ``persistent`` its other one, None if there is none."""

    definition: str
    state: DomainState
    persistent: str | None = None
    again: str | None = None
    """The persistent definition as it would be if it were defined again; None: not requested."""


class ReadDomain(msgspec.Struct, frozen=True):
    """A domain according to its definitions, before its networks are resolved. ``persistent`` is
    its other definition while it runs, None if there is none; ``connected``: an agent in the guest
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
    """A domain as it is judged, and its persistent definition: ``text`` as libvirt returns it,
    without passwords, and ``domain``, the record read from it. For a transient domain ``text`` is
    empty."""

    running: Domain
    domain: Domain
    text: bytes
    way_back: str = ""
    """How libvirt would alter the definition when it is restored after a change; empty: not at
    all."""


def fetch(
    handle: libvirt.virDomain, listing: DomainListing, *, again: bool = False
) -> Fetched | ReadError | None:
    """The definitions and the state of one domain now; a ReadError if libvirt fails; None if the
    domain has disappeared since it was listed. ``again``: also its definition as it would be if it
    were defined again.

    Passwords are never requested (no VIR_DOMAIN_XML_SECURE).
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
    """The persistent definition, formatted and parsed again by libvirt, without any change on
    the host: with VIR_DOMAIN_XML_UPDATE_CPU libvirt returns a copy
    (qemuDomainDefFormatBufInternal in qemu_domain.c), made by virDomainDefCopy. Measured with
    9.0: equal to the result of defining the text again, except for the CPU. None if the driver
    has no such flag, or the host's CPU differs."""
    flags = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_UPDATE_CPU
    try:
        return str(handle.XMLDesc(flags))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            raise
        return None


def is_running(definition: str) -> bool:
    """True for a running definition: libvirt writes ``id=`` on ``<domain>`` only while the domain
    is active."""
    return " id='" in definition[: definition.find(">")]


def read_fetched(fetched: Fetched, uri: Uri) -> ReadDomain | ReadError:
    """The domain according to its definitions, read without calling libvirt."""
    try:
        later = None if fetched.persistent is None else definition_root(fetched.persistent)
        return _read(fetched.state, definition_root(fetched.definition), later, uri)
    except TargetError as error:
        return _not_read(error)


def _read(
    state: DomainState, root: etree._Element, later: etree._Element | None, uri: Uri
) -> ReadDomain:
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
    """The domain with its host's facts, judged by its running definition if it runs."""
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
    """The domain and its persistent definition, to be changed; made without calling libvirt."""
    try:
        root = definition_root(fetched.definition)
        beside = None if fetched.persistent is None else definition_root(fetched.persistent)
        running = domain_from(_read(fetched.state, root, beside, around.uri), around)
        if fetched.persistent is not None and beside is not None:
            text, written = fetched.persistent, beside
        elif not fetched.state.active:
            text, written = fetched.definition, root
        else:
            return JudgedDefinition(running, running, b"")
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
    root: etree._Element,
    uri: Uri,
    state: DomainState | None,
    *,
    form: DefinitionForm,
    xpath: str | None = None,
) -> Domain:
    """The domain according to one definition, before its networks are resolved."""
    # the test driver fills in no defaults (measured with 9.0: a missing model stays missing)
    form = "raw" if uri.driver == "test" else form
    domain = domain_of(root, Location(uri.text, xpath=xpath), 0, form=form)
    declared = domain.declared
    # libvirt's client connects root to the system daemon, whatever the path
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
