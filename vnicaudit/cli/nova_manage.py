"""``--nova-manage`` and ``--libvirt-of-host``: what there is beside a cloud's API."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.options import Number, together
from vnicaudit.errors import ActionError, EndpointError, UsageError
from vnicaudit.remedy.cloud import MANAGE_JOBS
from vnicaudit.text.shell import word

if TYPE_CHECKING:
    from vnicaudit.bench.endpoints.session import Session
    from vnicaudit.model.measurement import Ran
    from vnicaudit.remedy.cloud import Reach, Said

_TEXT_MAX = 4096
"""Characters of what it says: the last ones, for the logs come first."""
_SECONDS = 60.0
_COMMAND = "nova-manage"

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
        default=_COMMAND,
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
        "--nova-manage-jobs",
        envvar="VNICAUDIT_NOVA_MANAGE_JOBS",
        type=click.IntRange(min=1, max=64),
        default=MANAGE_JOBS,
        show_default=True,
        metavar="N",
        help="How many nova-manage run at a time, where --batch lets as many servers be changed at "
        "once. Each takes 170 MB, a core and two connections to databases for some seconds.",
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
    return Reach(controller, template, jobs=given["nova_manage_jobs"])


def given_for(given: dict[str, Any]) -> str:
    """Those of these options that were given, as a later command on the same servers needs them."""
    names = ("nova_manage", "nova_manage_command", "libvirt_of_host")
    said = [(name, given.get(name)) for name in names]
    return "".join(
        f" --{name.replace('_', '-')} {word(value)}"
        for name, value in said if value not in (None, _COMMAND)
    )  # fmt: skip


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
    """Where nova-manage is. Any thread may call it, each with a connection of its own, which is
    made when it is first needed, and anew after it was lost. ``seconds``: how long one run of it
    may take."""

    def __init__(self, url: str, command: tuple[str, ...], seconds: float) -> None:
        from vnicaudit.bench.endpoints.opening import parse

        parse(url)
        self._url = url
        self._command = command
        self._seconds = seconds
        self._turn = threading.Condition()
        self._idle: list[Session] = []
        self._busy = 0
        self._closed = False

    def __call__(self, arguments: Sequence[str]) -> Said:
        """Raises ActionError where it could not be run, or where its end was not seen."""
        from vnicaudit.remedy.cloud import Said

        try:
            ran = self._ran((*self._command, *arguments))
        except EndpointError as error:
            raise ActionError(f"nova-manage cannot be run: {error}") from None
        if ran.code is None:
            raise ActionError(
                f"nova-manage at {self._url} was ended, or took over {self._seconds:g} s "
                "(--nova-manage-timeout)"
            )
        return Said(ran.code, ran.stdout[-_TEXT_MAX:], ran.stderr[-_TEXT_MAX:])

    def close(self) -> None:
        """Leave, when what runs has ended: one that was cut off would be in doubt."""
        with self._turn:
            self._closed = True
            self._turn.wait_for(lambda: not self._busy)
        self._leave_idle()

    def _ran(self, words: Sequence[str]) -> Ran:
        """A connection that was lost since it was used last is made anew, once: to set a property
        twice is to set it."""
        session = self._begun()
        try:
            if session is not None:
                try:
                    return session.run(words, seconds=self._seconds)
                except EndpointError:
                    lost, session = session, None
                    lost.close()
                    self._leave_idle()  # they may have gone the same way
            session = self._opened()
            return session.run(words, seconds=self._seconds)
        except EndpointError:
            if session is not None:
                lost, session = session, None
                lost.close()
            raise
        finally:
            self._ended(session)

    def _begun(self) -> Session | None:
        """A connection that nobody uses; None: there is none."""
        with self._turn:
            if self._closed:
                raise EndpointError(f"{self._url}: it was left")
            self._busy += 1
            return self._idle.pop() if self._idle else None

    def _opened(self) -> Session:
        from vnicaudit.bench.endpoints.opening import open_endpoint

        return open_endpoint(self._url)

    def _ended(self, session: Session | None) -> None:
        """One is not used any more; None: it was lost."""
        with self._turn:
            self._busy -= 1
            if session is not None:
                self._idle.append(session)
            self._turn.notify_all()

    def _leave_idle(self) -> None:
        with self._turn:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()


def _command(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--nova-manage-command {text!r}: {error}") from None
    if not words:
        raise UsageError("--nova-manage-command: there is nothing in it")
    return words
