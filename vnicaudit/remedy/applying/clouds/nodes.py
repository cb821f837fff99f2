"""Compute nodes whose libvirt can be reached: what runs there is looked at, nothing is changed."""

from __future__ import annotations

import re
import threading
from contextlib import ExitStack
from typing import NamedTuple

from vnicaudit.errors import ActionError, SilentError, TargetError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.remedy.hypervisor import Hypervisor, Machine, connect

HOST = "{host}"
"""What stands for the node's name in the template of an address; a cloud of one node has none."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,253}")


class Node(NamedTuple):
    """A server's domain, and the host it is on."""

    host: Hypervisor
    machine: Machine


class Nodes:
    """Connected when they are needed, until ``stack`` is left. ``template``: how to reach one
    (``qemu+ssh://{host}/system``); empty: none can be. Any thread may use it."""

    def __init__(self, template: str, deadline: float, stack: ExitStack) -> None:
        self._template = template
        self._deadline = deadline
        self._stack = stack
        self._lock = threading.Lock()
        self._open: dict[str, Hypervisor | str] = {}

    def of(self, state: ServerState) -> Node | str:
        """The domain of a server; why it cannot be looked at, where it cannot. Raises SilentError
        where its host stopped answering."""
        if not self._template:
            return "its domain cannot be looked at from here: say where with --libvirt-of-host"
        if state.host is None:
            return "Nova does not say on which host it is"
        if _NAME.fullmatch(state.host) is None:
            return "its host has a name that is none"
        found = self._host(state.host)
        if isinstance(found, str):
            return found
        try:
            return Node(found, found.machine(state.id))
        except SilentError:
            raise
        except ActionError as error:
            return str(error)

    def _host(self, name: str) -> Hypervisor | str:
        with self._lock:
            if name not in self._open:
                self._open[name] = self._connected(self._template.replace(HOST, name))
            return self._open[name]

    def _connected(self, uri: str) -> Hypervisor | str:
        try:
            host = connect(uri, deadline=self._deadline)
        except TargetError as error:
            return str(error)
        self._stack.callback(host.close)
        return host
