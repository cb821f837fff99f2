"""Facts of the operating system that a guest's own agent reports.

libvirt refuses every query to the agent on a read-only connection (measured with 9.0:
``virDomainGetGuestInfo``, ``virDomainInterfaceAddresses`` with the agent as source and
``virDomainQemuAgentCommand`` all end with "read only access prevents …"). A read-only connection
does show whether an agent holds its channel open (``state='connected'`` in the live XML). So the
operating system is queried only on request, through a second connection that is not read-only and
is used only for ``virDomainGetGuestInfo``, which changes nothing.

Guests cannot be trusted: one may not answer, or send a huge answer. All guests together get a few
seconds, and only short printable words of an answer are kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import TimeoutError, wait
from functools import partial

import msgspec
from lxml import etree

from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.guest_words import Readiness
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.workers import WorkerThreads
from vnicaudit.text.libvirt_uri import Uri

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
