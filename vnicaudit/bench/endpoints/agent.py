"""A guest of libvirt, through the QEMU guest agent in it: without network or ssh.

``guest-exec`` and ``guest-exec-status`` are described in qga/qapi-schema.json of QEMU. A program
counts as ended only when its output is closed too (qmp_guest_exec_status in qga/commands.c); its
output can be read only once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain, repeat

from vnicaudit.errors import (
    ActionError,
    EndpointError,
    GuestError,
    MissingExtraError,
    TargetError,
    UsageError,
)
from vnicaudit.model.fleet import DEADLINE
from vnicaudit.model.host import GuestInterface
from vnicaudit.reaching.process import EndpointUrl, Transport, TransportOutput, UrlForm
from vnicaudit.remedy.guest.agent import GuestAgent
from vnicaudit.remedy.hypervisor import ConnectHypervisor, Hypervisor, Machine
from vnicaudit.text.targets import is_uri

FORM = "agent://DOMAIN[?connect=LIBVIRT-URI]"
_URI = "qemu:///system"
_ASK_SECONDS = 10
_PAUSES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
_PAUSE = 0.5
_INSTALL = (
    "install and start qemu-guest-agent in the guest, and give the domain its channel"
    " (<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>)"
)
_ALLOW = (
    "its agent may not run programs: allow guest-exec and guest-exec-status (--allow-rpcs and "
    "--block-rpcs of qemu-ga; on Red Hat systems, see /etc/sysconfig/qemu-ga)"
)


def connect(where: EndpointUrl, hypervisor: ConnectHypervisor) -> Transport:
    """A transport that runs programs in that guest, as its agent's user, root."""
    if not where.name:
        raise UsageError(f"{where.url}: the domain is missing; expected {FORM}")
    uri = where.options.get("connect", _URI)
    if not is_uri(uri):
        raise UsageError(f"{where.url}: connect= must be a libvirt URI, such as {_URI}")
    try:
        host = hypervisor(uri, deadline=DEADLINE)
    except MissingExtraError:
        raise MissingExtraError("agent://", "libvirt") from None
    except (TargetError, ActionError) as error:
        raise EndpointError(f"{where.url}: {error}") from None
    try:
        return GuestTransport(host, _machine(host, where))
    except BaseException:
        host.close()
        raise


def _machine(host: Hypervisor, where: EndpointUrl) -> Machine:
    """The domain. Raises EndpointError if it does not exist, is off, or has no agent."""
    try:
        machine = host.find(where.name)
        if not machine.state().active:
            raise EndpointError(f"{where.url}: the domain is off: start it")
        machine.ask_agent("guest-ping", _ASK_SECONDS)
    except GuestError as error:
        raise EndpointError(f"{where.url}: {error}; {_INSTALL}") from None
    except ActionError as error:
        raise EndpointError(f"{where.url}: {error}") from None
    return machine


class GuestTransport:
    """The transport into one guest."""

    def __init__(self, host: Hypervisor, machine: Machine) -> None:
        self._host = host
        self._agent = GuestAgent(machine, time)

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        """Run a command to its end."""
        try:
            done = self._agent.execute(argv, seconds=seconds, pauses=chain(_PAUSES, repeat(_PAUSE)))
        except ActionError as error:
            hint = f"; {_ALLOW}" if "disabled" in str(error) else ""
            raise EndpointError(f"{error}{hint}") from None
        return TransportOutput(done.code, done.stdout, done.stderr)

    def interfaces(self) -> list[GuestInterface] | None:
        """The guest's interfaces, as its agent reports them."""
        try:
            return self._agent.interfaces()
        except ActionError as error:
            raise EndpointError(str(error)) from None

    def close(self) -> None:
        """Disconnect from libvirt."""
        self._host.close()


AGENT = UrlForm(FORM, ("connect",))
"""A guest, through its agent; opened with :func:`connect`."""
