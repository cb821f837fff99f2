"""Transports that pytest-testinfra provides, to hosts and into containers: it knows their programs,
and how to quote for each.

Added here: limits on time and on output, and running commands on this machine without a shell (its
``run_local`` starts one, in which kubectl's ``--context="%s"`` would be interpreted twice). Its
backends are created for each command, as they hold no state; so threads never share one.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from vnicaudit.errors import EndpointError, MissingExtraError, UsageError
from vnicaudit.reaching.process import (
    EndpointUrl,
    Scheme,
    Transport,
    TransportOutput,
    UrlForm,
    run_here,
)

if TYPE_CHECKING:
    from testinfra.backend.base import BaseBackend, CommandResult

_CONTAINER = r"(\w[\w.-]*@)?\w[\w.-]*"
_POD = r"\w[\w.-]*"
_PLAIN = re.compile(r"[A-Za-z0-9_./~:@+=,][A-Za-z0-9_./~:@+=,-]*")
"""Text that may be passed on from a URL: nothing that a shell or testinfra's templates would
change, and nothing that begins like an option."""


class TestinfraHost:
    """A host as testinfra reaches it, if its name matches the pattern. Raises UsageError if it does
    not, MissingExtraError without testinfra."""

    def __init__(self, where: EndpointUrl, form: str, pattern: str) -> None:
        if re.fullmatch(pattern, where.name, re.ASCII) is None:
            raise UsageError(f"{where.url}: not an endpoint; expected {form}")
        self._spec = f"{where.scheme}://{where.name}"
        self.arguments = _arguments(where)
        """The arguments of testinfra's backend."""
        _needed(where)

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        """Run a command to its end."""
        backend = self._backend(seconds)
        try:
            result = backend.run(shlex.join(argv))
        except RuntimeError as error:  # testinfra's ssh backend does so if ssh itself fails
            result = error.args[0]
        return TransportOutput(result.exit_status, result.stdout_bytes, result.stderr_bytes)

    def close(self) -> None:
        """Do nothing: there is no connection to close."""

    def _backend(self, seconds: float) -> BaseBackend:
        from testinfra.backend import get_backend

        backend = get_backend(self._spec, **self.arguments)

        def run_local(command: str, *args: str) -> CommandResult:
            values = iter(args)
            words = [
                word % tuple(islice(values, word.replace("%%", "").count("%s"))) if args else word
                for word in shlex.split(command)  # before a long script is in it
            ]
            answer = run_here(words, seconds)
            return backend.result(answer.code, b"", answer.stdout, answer.stderr)

        backend.run_local = run_local
        backend.encode = _encode  # testinfra's own asks the host for its encoding
        return backend


def _into(form: str, pattern: str, *options: str) -> Scheme:
    """A transport into containers: ``docker exec`` and the like. ``pattern``: of their names."""

    def connect(where: EndpointUrl) -> Transport:
        return TestinfraHost(where, form, pattern)

    return Scheme(UrlForm(form, (*options, "sudo", "sudo_user")), connect)


CONTAINERS = {
    "docker": _into("docker://[USER@]CONTAINER", _CONTAINER),
    "kubectl": _into(
        "kubectl://POD[?container=C&namespace=N&context=X]",
        _POD, "container", "namespace", "context", "kubeconfig",
    ),
    "podman": _into("podman://[USER@]CONTAINER", _CONTAINER),
}  # fmt: skip


def _needed(where: EndpointUrl) -> None:
    try:
        import testinfra.backend  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"{where.scheme}://", "hosts") from None


def _arguments(where: EndpointUrl) -> dict[str, object]:
    for option, value in where.options.items():
        if _PLAIN.fullmatch(value) is None:
            raise UsageError(f"{where.url}: {option}= has a character that is not allowed")
    arguments: dict[str, object] = {
        option: os.path.expanduser(value) for option, value in where.options.items()
    }
    return arguments | {"sudo": where.flag("sudo")}


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# The transport to a host over ssh: keys, agent and configuration are those of the user's ssh.


_FORM = "ssh://[USER@]HOST[:PORT]"
_NAME = r"(\w[\w.+-]*@)?(\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?"
_ALONE = "-o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=10 -o ServerAliveCountMax=3"
"""ssh asks for nothing, and notices within 30 s that the other side is gone, or does not come. The
exchange of keys counts too (ssh_config(5)), for which testinfra's 10 s were too short on a host
whose CPUs are taken; sshd answers nothing while it opens a session, which may wait for PAM and the
user's own systemd."""
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
        known = host.arguments.pop("known_hosts", None)
        keys = "" if known is None else f" -o UserKnownHostsFile={known}"
        host.arguments["ssh_extra_args"] = f"{_ALONE}{keys} {self._sharing()}"

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        """Run a command to its end."""
        return self._host.run(argv, seconds)

    def close(self) -> None:
        """End the connection."""
        words = ("ssh", "-F", "/dev/null", "-S", self._socket, "-O", "exit", "endpoint")
        try:
            with suppress(EndpointError):
                run_here(words, _CLOSE_SECONDS)
        finally:  # also when another Ctrl-C comes now
            shutil.rmtree(self._folder, ignore_errors=True)

    def _sharing(self) -> str:
        if len(self._socket) > _PATH_MAX or "%" in self._socket:  # ssh expands %
            return "-o ControlMaster=no -o ControlPath=none"  # nor one of the user's own
        return _SHARED + shlex.quote(self._socket)


def _connect(where: EndpointUrl) -> Transport:
    return SshConnection(TestinfraHost(where, _FORM, _NAME))


SSH = Scheme(
    UrlForm(_FORM, ("known_hosts", "ssh_config", "ssh_identity_file", "sudo", "sudo_user")),
    _connect,
)
"""A host, as a user."""
