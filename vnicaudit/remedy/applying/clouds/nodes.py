"""Compute nodes whose libvirt can be reached: domains are read there, nothing is changed."""

from __future__ import annotations

import re
import threading
from contextlib import ExitStack
from typing import NamedTuple

from vnicaudit.errors import ActionError, TargetError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.remedy.hypervisor import ConnectHypervisor, Hypervisor, Machine

HOST = "{host}"
"""Placeholder for the node's name in the URI template; the template of a cloud with one node has
none."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,253}")


class NodeDomain(NamedTuple):
    """The domain of a server, and its host."""

    host: Hypervisor
    machine: Machine


class Nodes:
    """Compute nodes, connected to when they are needed, until ``stack`` is left. ``template``: the
    URI of a node's libvirt (``qemu+ssh://{host}/system``); empty: none can be reached. Any thread
    may use it."""

    def __init__(
        self, template: str, deadline: float, stack: ExitStack, connect: ConnectHypervisor
    ) -> None:
        self._template = template
        self._deadline = deadline
        self._stack = stack
        self._connect = connect
        self._lock = threading.Lock()
        self._open: dict[str, Hypervisor] = {}
        self._unreachable: dict[str, str] = {}

    def of(self, state: ServerState) -> NodeDomain:
        """The domain of a server. Raises ActionError with the reason if it cannot be read,
        SilentError if its host stopped answering."""
        if not self._template:
            raise ActionError("its domain cannot be reached from here: add --libvirt-of-host")
        if state.host is None:
            raise ActionError("Nova does not report its host")
        if _NAME.fullmatch(state.host) is None:
            raise ActionError("the name of its host is not a valid host name")
        host = self._host(state.host)
        return NodeDomain(host, host.machine(state.id))

    def _host(self, name: str) -> Hypervisor:
        """The node of that name. Each is tried once only, whether it can be reached or not."""
        with self._lock:
            if name in self._unreachable:
                raise ActionError(self._unreachable[name])
            if name not in self._open:
                self._open[name] = self._connected(name)
            return self._open[name]

    def _connected(self, name: str) -> Hypervisor:
        try:
            host = self._connect(self._template.replace(HOST, name), deadline=self._deadline)
        except TargetError as error:
            self._unreachable[name] = str(error)
            raise ActionError(str(error)) from None
        self._stack.callback(host.close)
        return host
