"""``--nova-manage`` and ``--libvirt-of-host``: what there is beside a cloud's API."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.options import Number, together
from vnicaudit.errors import ActionError, EndpointError, UsageError

if TYPE_CHECKING:
    from vnicaudit.bench.endpoints.session import Session
    from vnicaudit.model.measurement import Ran
    from vnicaudit.remedy.cloud import Reach, Said

_TEXT_MAX = 4096
"""Characters of what it says: the last ones, for the logs come first."""
_SECONDS = 60.0

cloud_options = together(
    click.option(
        "--nova-manage",
        envvar="VNICAUDIT_NOVA_MANAGE",
        metavar="WHERE",
        help="The controller of the cloud whose servers are changed, as an endpoint: local, "
        "ssh://controller, docker://nova_api, podman://nova_api, kubectl://POD.",
    ),
    click.option(
        "--nova-manage-command",
        envvar="VNICAUDIT_NOVA_MANAGE_COMMAND",
        metavar="COMMAND",
        default="nova-manage",
        show_default=True,
        help="What nova-manage is called there: 'sudo docker exec nova_api nova-manage'. It is run "
        "without a shell.",
    ),
    click.option(
        "--nova-manage-timeout",
        envvar="VNICAUDIT_NOVA_MANAGE_TIMEOUT",
        type=Number(min=5, max=3600),
        default=_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="How long one run of nova-manage may take: a server is off meanwhile. It takes about "
        "four seconds. One whose end was not seen is given as long to come late.",
    ),
    click.option(
        "--libvirt-of-host",
        envvar="VNICAUDIT_LIBVIRT_OF_HOST",
        metavar="URI",
        help="Where the libvirt of a compute node is (qemu+ssh://{host}/system): servers are then "
        "also verified by their definition, QEMU and the guest's agent.",
    ),
)
"""Of the commands that change servers."""


def reach_of(given: dict[str, Any]) -> Reach:
    """What is asked for. What is connected is left when the command ends. Raises UsageError for
    what is no endpoint."""
    from vnicaudit.remedy.cloud import Reach

    template = given["libvirt_of_host"] or ""
    if given["nova_manage"] is None:
        return Reach(None, template)
    command = _command(given["nova_manage_command"])
    controller = Controller(given["nova_manage"], command, given["nova_manage_timeout"])
    click.get_current_context().call_on_close(controller.close)
    return Reach(controller, template)


def check_reach(reach: Reach, servers: Iterable[str]) -> None:
    """Raises UsageError where servers of these targets are to be changed, and it is not known where
    nova-manage is, or there would have to be several."""
    targets = sorted(set(servers))
    if not targets:
        return
    if len(targets) > 1:
        raise UsageError(
            f"servers of several clouds ({', '.join(targets)}) have several controllers: make a "
            "plan for each"
        )
    if reach.manage is None:
        raise UsageError(
            f"what Nova keeps for servers of {targets[0]} is changed by nova-manage, on a "
            "controller: say where with --nova-manage (local, ssh://controller, docker://nova_api, "
            "kubectl://POD), and with --nova-manage-command what it is called there ('sudo docker "
            "exec nova_api nova-manage' with kolla, 'sudo lxc-attach -n NAME -- nova-manage' with "
            "openstack-ansible)"
        )


class Controller:
    """Where nova-manage is. Connected when it is first needed, and again after it was lost.
    ``seconds``: how long one run of it may take."""

    def __init__(self, url: str, command: tuple[str, ...], seconds: float) -> None:
        from vnicaudit.bench.endpoints.opening import parse

        parse(url)
        self._url = url
        self._command = command
        self._seconds = seconds
        self._lock = threading.Lock()
        self._session: Session | None = None

    def __call__(self, arguments: Sequence[str]) -> Said:
        """One at a time. Raises ActionError where it could not be run, or where its end was not
        seen."""
        from vnicaudit.remedy.cloud import Said

        words = (*self._command, *arguments)
        with self._lock:
            try:
                ran = self._ran(words)
            except EndpointError as error:
                raise ActionError(f"nova-manage cannot be run: {error}") from None
        if ran.code is None:
            raise ActionError(
                f"nova-manage at {self._url} was ended, or took over {self._seconds:g} s "
                "(--nova-manage-timeout)"
            )
        return Said(ran.code, ran.stdout[-_TEXT_MAX:], ran.stderr[-_TEXT_MAX:])

    def _ran(self, words: Sequence[str]) -> Ran:
        """A connection that was lost since it was used last is made anew, once: to set a property
        twice is to set it."""
        again = self._session is not None
        try:
            return self._opened().run(words, seconds=self._seconds)
        except EndpointError:
            self._leave()
            if not again:
                raise
        return self._ran(words)

    def close(self) -> None:
        """Leave."""
        with self._lock:
            self._leave()

    def _opened(self) -> Session:
        from vnicaudit.bench.endpoints.opening import open_endpoint

        if self._session is None:
            self._session = open_endpoint(self._url)
        return self._session

    def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()


def _command(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--nova-manage-command {text!r}: {error}") from None
    if not words:
        raise UsageError("--nova-manage-command: there is nothing in it")
    return words
