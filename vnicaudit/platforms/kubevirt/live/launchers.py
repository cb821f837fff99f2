"""Ask the launchers of running VMs for their domains: ``virsh dumpxml``, and the arguments of QEMU,
by exec in the container compute. Only on request (``--exec``), as it needs a right of its own.

No shell: three commands that only read. Their output is read up to a limit, and nothing of it is
kept but the settings of NICs; their messages are not shown.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote

from kubernetes.client.rest import ApiException
from kubernetes.stream.ws_client import websocket_call
from websocket import ABNF, WebSocket, WebSocketException

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.base.wording import kubernetes_word
from vnicaudit.errors import TargetError
from vnicaudit.model.cluster import ClusterGuest, LaunchedDomain
from vnicaudit.model.domain import ClusterDomain
from vnicaudit.model.file_kind import Item
from vnicaudit.platforms.kubevirt.launched import launched_of, with_launched
from vnicaudit.platforms.kubevirt.live.client import Cluster, decoded

_CONTAINER = "compute"
_AT_ONCE = 8
"""Launchers that are asked at the same time."""
_MOST_BYTES = 1 << 20
"""Of one command: a domain of KubeVirt has some 20 KiB."""
_PID_FILES = ("/run/libvirt/qemu/run/{}.pid", "/run/libvirt/qemu/{}.pid")
"""Where libvirt keeps the number of QEMU's process, as an unprivileged user and as root
(``pidDir`` in KubeVirt's cmd/virt-launcher/virt-launcher.go)."""
_STDOUT, _ERROR = b"\1", b"\3"
"""Channels of exec."""
_REFUSED = re.compile(r"Handshake status (\d{3})\b")
"""How websocket-client words an answer other than 101; the client gives nothing else of it."""


class _Pending(NamedTuple):
    item: Item
    call: DaemonCall[LaunchedDomain] | None = None


class Launchers:
    """The launchers of one cluster. ``only``: the guest of interest, by name or UID; empty: all."""

    def __init__(self, cluster: Cluster, only: str) -> None:
        self._cluster = cluster
        self._only = only

    def joined(self, items: Iterator[Item]) -> Iterator[Item]:
        """All items, running VMs with what their launchers say. A few are asked ahead."""
        ahead: deque[_Pending] = deque()
        for item in items:
            ahead.append(_Pending(item, self._call(item)))
            if len(ahead) >= _AT_ONCE:
                yield self._answered(ahead.popleft())
        yield from map(self._answered, ahead)

    def _call(self, item: Item) -> DaemonCall[LaunchedDomain] | None:
        if not isinstance(item, ClusterDomain) or not item.guest.runs:
            return None
        if self._only not in ("", item.name, item.uuid):
            return None
        guest = item.guest
        return DaemonCall(f"exec {guest.name}", lambda: self._launched(guest))

    def _answered(self, pending: _Pending) -> Item:
        item, call = pending
        if call is None or not isinstance(item, ClusterDomain):
            return item
        try:
            found = call.result(self._cluster.deadline)
        except TimeUpError:
            found = LaunchedDomain(unread=f"no answer within {self._cluster.deadline:g} s")
        return with_launched(item, found)

    def _launched(self, guest: ClusterGuest) -> LaunchedDomain:
        if not guest.launcher:
            return LaunchedDomain(unread="the pod of its launcher (right: list pods)")
        if self._cluster.is_over():
            return LaunchedDomain(unread="the time for one cluster is over")
        name = f"{guest.namespace}_{guest.name}"
        paths = [each.format(name) for each in _PID_FILES]
        try:
            definition = self._output(guest, "virsh", "dumpxml", name)
            number = re.match(rb"\d{1,9}", self._output(guest, "cat", *paths, fails=True))
            command = b""
            if number is not None:
                path = f"/proc/{number[0].decode()}/cmdline"
                command = self._output(guest, "cat", path, fails=True)
        except TargetError as error:
            return LaunchedDomain(unread=error.message)
        return launched_of(definition, command, guest)

    def _output(self, guest: ClusterGuest, *words: str, fails: bool = False) -> bytes:
        """The output of a command. ``fails``: it may fail. Raises TargetError."""
        found = self._cluster.configuration
        space, pod = (quote(each, safe="") for each in (guest.namespace, guest.launcher))
        query = [*(("command", word) for word in words), ("container", _CONTAINER)]
        try:
            running = websocket_call(
                found,
                "GET",
                f"{found.host}/api/v1/namespaces/{space}/pods/{pod}/exec",
                query_params=[*query, ("stdout", "true")],
                headers=self._cluster.credentials,
                binary=True,
                _preload_content=False,
            )
        except ApiException as error:
            raise self._refusal(error, guest) from None
        try:
            data, told = self._received(running.sock)
        finally:
            running.sock.shutdown()
        if len(data) > _MOST_BYTES:
            raise self._cluster.error(f"{words[0]} printed more than 1 MiB", "broken")
        if not fails and (decoded(told) or {}).get("status") != "Success":
            raise self._cluster.error(f"{words[0]} failed in {guest.launcher}", "broken")
        return data

    def _received(self, socket: WebSocket) -> tuple[bytes, bytes]:
        """The bytes from the channels for output and for errors, up to a limit; frame by frame, as
        the client itself would read all that comes."""
        until = time.monotonic() + self._cluster.deadline
        socket.settimeout(self._cluster.deadline)
        came = {_STDOUT: bytearray(), _ERROR: bytearray()}
        with suppress(WebSocketException):  # it went away: there is no success on _ERROR then
            while sum(map(len, came.values())) <= _MOST_BYTES and time.monotonic() < until:
                code, frame = socket.recv_data_frame(True)
                if code == ABNF.OPCODE_CLOSE:
                    break
                if frame.data[:1] in came:
                    came[frame.data[:1]] += frame.data[1:]
        return bytes(came[_STDOUT]), bytes(came[_ERROR])

    def _refusal(self, error: ApiException, guest: ClusterGuest) -> TargetError:
        """Without the answer's text, which the client gives together with all headers."""
        status = _REFUSED.search(str(error.reason))
        space = kubernetes_word(guest.namespace, "NAMESPACE")
        if status is None:
            return self._cluster.error(f"exec in {guest.launcher} was not possible", "unreachable")
        if status[1] == "403":
            reason = (
                f"the right to exec in namespace {space}: "
                f"{self._cluster.kubectl} auth can-i create pods/exec -n {space}"
            )
            return self._cluster.error(reason, "refused")
        return self._cluster.error(f"exec in {guest.launcher}: status {status[1]}", "broken")
