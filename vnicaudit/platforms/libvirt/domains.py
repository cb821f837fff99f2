"""One domain of a live libvirt: fetched as text, read, and combined with its host's facts."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import TimeoutError, wait
from functools import partial

import msgspec
from lxml import etree

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain, DomainState, LiveFacts
from vnicaudit.model.finding import DefinitionForm, Location, Readiness
from vnicaudit.model.fleet import LiveDefinition
from vnicaudit.model.host import Network
from vnicaudit.model.report import LostRead, ReadError
from vnicaudit.platforms.domain_xml.definitions import on_way_back, pending
from vnicaudit.platforms.domain_xml.read import definition_root, domain_of
from vnicaudit.platforms.libvirt.connection import DomainListing, explain, libvirt, lost_connection
from vnicaudit.platforms.libvirt.workers import WorkerThreads, resolve_networks
from vnicaudit.text.targets import Uri

# Facts of the operating system that a guest's own agent reports.
#
# libvirt refuses every query to the agent on a read-only connection (measured with 9.0:
# ``virDomainGetGuestInfo``, ``virDomainInterfaceAddresses`` with the agent as source and
# ``virDomainQemuAgentCommand`` all end with "read only access prevents …"). A read-only connection
# does show whether an agent holds its channel open (``state='connected'`` in the live XML). So the
# operating system is queried only on request, through a second connection that is not read-only and
# is used only for ``virDomainGetGuestInfo``, which changes nothing.
#
# Guests cannot be trusted: one may not answer, or send a huge answer. All guests together get a few
# seconds, and only short printable words of an answer are kept.


CHANNEL = "org.qemu.guest_agent.0"
_THREADS = 8
_WORD_MAX = 64
_KERNEL = re.compile(r"(\d{1,3})\.")
_WINDOWS = "mswindows"
_LINUX = frozenset({
    "almalinux", "alpine", "amzn", "arch", "centos", "debian", "fedora", "linuxmint", "ol",
    "opensuse-leap", "opensuse-tumbleweed", "oracle", "raspbian", "rhel", "rocky", "sled", "sles",
    "ubuntu",
})  # fmt: skip
"""``ID`` in os-release of distributions whose kernels have virtio-net."""
_MODERN_KERNEL = 4


class GuestFacts(msgspec.Struct, frozen=True):
    """``guest-get-osinfo`` of one guest: ``debian 12`` and the kernel's release."""

    uuid: str
    os: str | None
    kernel: str | None


def channel_state(root: etree._Element) -> bool:
    """True if an agent in the guest holds its channel open, according to the live definition."""
    for target in root.iterfind("devices/channel/target"):
        if target.get("name") == CHANNEL:
            return target.get("state") == "connected"
    return False


def ask_guests(uri: Uri, uuids: Iterable[str], *, patience: float) -> dict[str, GuestFacts]:
    """UUID -> facts of the guests that answered; empty if libvirt does not allow the query.

    Takes little longer than ``patience`` seconds, whatever the guests do.
    """
    end = time.monotonic() + patience
    workers = WorkerThreads(_THREADS, lambda: None)
    try:
        connection = workers.call(lambda: libvirt.open(uri.dial)).result(patience)
        asked = [workers.call(partial(_ask, connection, uuid)) for uuid in uuids]
        done, _late = wait(asked, timeout=max(end - time.monotonic(), 0))
        workers.call(connection.close)
    except (libvirt.libvirtError, TimeoutError):
        return {}
    finally:
        workers.dismiss()
    answers = [answer.result() for answer in done if answer.exception() is None]
    return {facts.uuid: facts for facts in answers}


def _ask(connection: libvirt.virConnect, uuid: str) -> GuestFacts:
    handle = connection.lookupByUUIDString(uuid)
    return guest_facts(uuid, handle.guestInfo(libvirt.VIR_DOMAIN_GUEST_INFO_OS))


def guest_facts(uuid: str, info: Mapping[str, object]) -> GuestFacts:
    """The facts in ``virDomainGetGuestInfo``'s ``os.…`` parameters, as a guest reported them."""
    name, version = _word(info.get("os.id")), _word(info.get("os.version-id"))
    system = f"{name} {version}" if name and version else name
    return GuestFacts(uuid, system, _word(info.get("os.kernel-release")))


def _word(value: object) -> str | None:
    """The beginning of a guest's answer, if it is text, without unprintable characters."""
    if not isinstance(value, str):
        return None
    return "".join(letter for letter in value[:_WORD_MAX] if letter.isprintable()) or None


def with_agent(domain: Domain, *, connected: bool, facts: GuestFacts | None) -> Domain:
    """The domain with the agent's facts in its state, and its readiness updated accordingly."""
    state = msgspec.structs.replace(
        domain.state or DomainState(),
        agent=connected,
        guest_os=facts.os if facts else None,
        guest_kernel=facts.kernel if facts else None,
    )
    readiness = upgraded_readiness(domain.declared.readiness, state)
    declared = domain.declared
    if readiness != declared.readiness:
        declared = msgspec.structs.replace(declared, readiness=readiness)
    return msgspec.structs.replace(domain, declared=declared).with_state(state)


def upgraded_readiness(readiness: Readiness, state: DomainState) -> Readiness:
    """The readiness by the definition, corrected by the agent's facts about the running system.

    A Linux distribution with a kernel of version 4 or later drives virtio 1.0, and any system but
    Windows that has a virtio disk drives virtio. Windows needs a driver, unless the definition
    proves that it has one.
    """
    name = (state.guest_os or "").partition(" ")[0]
    if name == _WINDOWS:
        return "needs-driver" if readiness in ("unknown", "likely-ready") else readiness
    if name and readiness == "likely-ready":
        return "ready"
    kernel = _KERNEL.match(state.guest_kernel or "")
    modern = kernel is not None and int(kernel.group(1)) >= _MODERN_KERNEL
    return "ready" if name in _LINUX and modern else readiness


class Fetched(msgspec.Struct, frozen=True):
    """The definitions and the state of one domain. ``definition`` is the running one of an active
    domain, ``persistent`` its other one, None if there is none."""

    definition: str
    state: DomainState
    persistent: str | None = None
    again: str | None = None
    """The persistent definition as it would be if it were defined again; None: not requested."""


class Surroundings(msgspec.Struct, frozen=True):
    """Facts that the domains of one host share."""

    uri: Uri
    networks: Mapping[str, Network]
    guests: Mapping[str, GuestFacts]


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
        text, lost = f"domain {handle.name()!r}: {explain(error)}", lost_connection(error)
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


def domain_from(fetched: Fetched, around: Surroundings) -> Domain | ReadError:
    """The domain with its host's facts, judged by its running definition if it runs; made without
    calling libvirt."""
    try:
        later = None if fetched.persistent is None else definition_root(fetched.persistent)
        return _with_its_host(fetched.state, definition_root(fetched.definition), later, around)
    except TargetError as error:
        return _not_read(error)


def _with_its_host(
    state: DomainState, root: etree._Element, later: etree._Element | None, around: Surroundings
) -> Domain:
    form: DefinitionForm = "live" if state.active else "dump"
    domain = resolve_networks(_domain(root, around.uri, state, form=form), around.networks)
    if not state.active:
        return domain
    if later is not None:
        next_one = _domain(later, around.uri, None, form="dump")
        next_one = resolve_networks(next_one, around.networks)
        domain = msgspec.structs.replace(
            domain,
            live=LiveFacts(state, pending(domain, next_one)),
            unread=domain.unread or next_one.unread,
        )
    facts = around.guests.get(domain.uuid or "")
    return with_agent(domain, connected=channel_state(root), facts=facts)


def _not_read(error: TargetError) -> ReadError:
    return ReadError(f"a domain's definition: {error.message}")


def definition_from(fetched: Fetched, around: Surroundings) -> LiveDefinition | ReadError:
    """The domain and its persistent definition, to be changed, without facts of its host; made
    without calling libvirt."""
    try:
        root = definition_root(fetched.definition)
        beside = None if fetched.persistent is None else definition_root(fetched.persistent)
        running = _with_its_host(fetched.state, root, beside, around)
        if fetched.persistent is not None and beside is not None:
            text, written = fetched.persistent, beside
        elif not fetched.state.active:
            text, written = fetched.definition, root
        else:
            return LiveDefinition(running, running, b"")
        later = _domain(written, around.uri, fetched.state, form="dump", xpath="/domain")
    except TargetError as error:
        return _not_read(error)
    later = resolve_networks(later, around.networks)
    declared = msgspec.structs.replace(later.declared, readiness=running.declared.readiness)
    later = msgspec.structs.replace(
        later, declared=declared, suppressions=running.suppressions
    ).with_state(running.state)
    way_back = on_way_back(text.encode(), fetched.again.encode()) if fetched.again else ""
    return LiveDefinition(running, later, text.encode(), way_back=way_back)


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
