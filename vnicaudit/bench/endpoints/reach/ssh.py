"""The transport to a host over ssh: keys, agent and configuration are those of the user's ssh."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from vnicaudit.bench.endpoints.reach.hosts import TestinfraHost
from vnicaudit.bench.endpoints.reach.process import run_here
from vnicaudit.bench.endpoints.reach.transport import (
    EndpointUrl,
    Scheme,
    Transport,
    TransportOutput,
)
from vnicaudit.errors import EndpointError
from vnicaudit.remedy.hypervisor import ConnectHypervisor

_FORM = "ssh://[USER@]HOST[:PORT]"
_NAME = r"(\w[\w.+-]*@)?(\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?"
_ALONE = "-o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=3"
"""ssh asks for nothing, and notices within 15 s that the other side is gone."""
_SHARED = "-o ControlMaster=auto -o ControlPersist=60 -o ControlPath="
_PATH_MAX = 90
"""Maximum length of the path, of 108 for a socket (unix(7)): ssh first creates it under a longer
name (mux.c)."""
_CLOSE_SECONDS = 5


class SshConnection:
    """One connection for all commands: ssh keeps it open between them, and for a minute after the
    last one if this process is killed."""

    def __init__(self, host: TestinfraHost) -> None:
        self._host = host
        self._folder = tempfile.mkdtemp(prefix="vnicaudit-ssh-")
        self._socket = f"{self._folder}/s"
        host.arguments["ssh_extra_args"] = f"{_ALONE} {self._sharing()}"

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        """Run a command to its end."""
        return self._host.run(argv, seconds)

    def close(self) -> None:
        """End the connection."""
        if self._sharing():
            words = ("ssh", "-F", "/dev/null", "-S", self._socket, "-O", "exit", "endpoint")
            with suppress(EndpointError):
                run_here(words, _CLOSE_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _sharing(self) -> str:
        if len(self._socket) > _PATH_MAX or "%" in self._socket:  # ssh expands %
            return "-o ControlMaster=no"
        return _SHARED + shlex.quote(self._socket)


def _connect(where: EndpointUrl, _hypervisor: ConnectHypervisor) -> Transport:
    return SshConnection(TestinfraHost(where, _FORM, _NAME))


SSH = Scheme(_FORM, ("ssh_config", "ssh_identity_file", "sudo", "sudo_user"), _connect)
"""A host, as a user."""
