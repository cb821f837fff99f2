"""libvirtd stops answering (SIGSTOP), before a command and in the middle of it.

The command ends by its deadline and says so; when libvirtd goes on, it does what it had been asked
to do meanwhile, and the same command goes on from there.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import libvirt
import pytest

from tests.not_run import not_run
from tests.platforms.libvirt.private_daemon import PrivateDaemon, private_daemon
from tests.rig.domain_xml import MAC, Definition, Nic
from tests.rig.errors import Missing
from tests.rig.faults import QUIET_ROM, free, private
from tests.rig.hooks import Ended, Fault, command
from vnicaudit.remedy.applying.history import runs

pytestmark = pytest.mark.rig

DEADLINE = 1  # all of it is waited for in vain
# while it answers: what it is asked for may take a while on a busy machine
PATIENCE = 600


class Case:
    """A domain of that daemon, a plan for it, and a state folder."""

    def __init__(self, daemon: PrivateDaemon, domain: Any, folder: Path) -> None:
        self.daemon, self.domain = daemon, domain
        self.state, self.plan = folder / "state", folder / "plan.json"
        made = command("plan", daemon.uri, "--domain", domain.name(), "-o", self.plan)
        assert made.code == 0, made.said

    def apply(
        self, mode: str = "next-boot", fault: Fault | None = None, deadline: int = PATIENCE
    ) -> Ended:
        """Apply the plan."""
        return self._do("apply", self.plan, "--mode", mode, fault=fault, deadline=deadline)

    def rollback(self) -> Ended:
        """Take the only run back."""
        (run,) = runs(str(self.state))
        return self._do("rollback", run.id)

    def definition(self) -> str:
        """The persistent one."""
        flags = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE
        return str(self.domain.XMLDesc(flags))

    def stop_at(self, place: str, number: int) -> Fault:
        """The daemon stops when that place is passed, and is not waited for longer than that."""
        return Fault(place, number, self.daemon.process.pid, signal.SIGSTOP, DEADLINE)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The daemon has stopped, or will; it goes on at the end."""
        try:
            yield
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)

    def _do(
        self, *words: str | Path, fault: Fault | None = None, deadline: int = PATIENCE
    ) -> Ended:
        options = ("--yes", "--quiet", "--state", self.state, f"VNICAUDIT_DEADLINE={deadline}")
        force = ("--force-off", "VNICAUDIT_GUEST_DEADLINE=1")
        # its socket is named in the URI, which a plan and a run are not believed
        trust = ("--trust-uri", self.daemon.uri)
        return command(*words, *options, *force, *trust, fault=fault)


@pytest.fixture(scope="module")
def daemon() -> Iterator[PrivateDaemon]:
    try:
        with private_daemon() as running:
            yield running
    except Missing as error:
        not_run("rig", str(error))


@pytest.fixture(scope="module", autouse=True)
def meanwhile(request: pytest.FixtureRequest) -> None:
    """Guests that are waited for in vain, where there are tests of them: these wait as well."""
    if any("unwilling" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("unwilling")


@contextmanager
def a_case(daemon: PrivateDaemon, folder: Path, *, on: bool) -> Iterator[Case]:
    """Whether its guest, which stays in its firmware, is on."""
    nic = Nic("e1000", mac=MAC, kind="user", source="", extra=QUIET_ROM)
    name = f"vnicaudit-stopped-{os.getpid()}"
    connection = libvirt.open(daemon.uri)
    domain = connection.defineXML(Definition(name, "", (nic,), memory_mib=32).xml())
    try:
        if on:
            domain.create()
        yield Case(daemon, domain, folder)
    finally:
        if domain.isActive():
            domain.destroy()
        domain.undefine()
        connection.close()


def test_before_the_command_it_cannot_be_reached(daemon: PrivateDaemon, tmp_path: Path) -> None:
    with a_case(daemon, tmp_path, on=False) as case:
        before = case.definition()
        with case.stopped():
            os.kill(daemon.process.pid, signal.SIGSTOP)
            ended = case.apply(deadline=DEADLINE)
        assert ended.code == 4, ended
        assert (
            f"Error: {daemon.uri}: libvirt did not answer within {DEADLINE} s when asked to "
            "connect\n" in ended.said
        )
        assert ended.seconds < PATIENCE
        assert case.definition() == before
        assert runs(str(case.state)) == []
        assert case.apply().code == 0


@pytest.mark.parametrize(
    ("mode", "place", "number", "asked", "resume"),
    [
        ("next-boot", "behind line", 2, "read the persistent definition", "rollback"),
        ("next-boot", "before call", 1, "define the domain", "apply"),
        ("next-boot", "before call", 1, "define the domain", "rollback"),
        ("next-boot", "behind call", 1, "read the persistent definition", "apply"),
        ("restart", "before call", 2, "shut down the guest with its power button", "rollback"),
        ("restart", "before call", 3, "power the domain off", "rollback"),
        ("restart", "before call", 4, "start the domain", "apply"),
        ("restart", "before call", 4, "start the domain", "rollback"),
        ("restart", "behind call", 4, "report the domain's state", "apply"),
    ],
)
def test_in_the_middle_the_run_is_unfinished_and_goes_on_later(
    daemon: PrivateDaemon,
    tmp_path: Path,
    mode: str,
    place: str,
    number: int,
    asked: str,
    resume: str,
) -> None:
    with a_case(daemon, tmp_path, on=mode == "restart") as case:
        before = case.definition()
        goal = before.replace("<model type='e1000'/>", "<model type='virtio'/>")
        with case.stopped():
            ended = case.apply(mode, case.stop_at(place, number))
            assert ended.code == 5, ended
            silent = f"Stopped: libvirt did not answer within {DEADLINE} s when asked to {asked}"
            assert silent in ended.said
            assert "is unfinished: repeat the command to resume it" in ended.said
            assert ended.seconds < PATIENCE
            (run,) = runs(str(case.state))
            assert (run.outcome, run.steps[0].outcome) == ("unfinished", "unfinished")
            private(case.state)
            free(case.state)

        assert case.definition() in (before, goal)  # what was under way may be done by now
        ended = case.apply(mode) if resume == "apply" else case.rollback()
        # of a guest in its firmware nothing proves that it is back
        assert ended.code == (5 if mode == "restart" and resume == "apply" else 0), ended
        assert case.definition() == (goal if resume == "apply" else before)
        assert bool(case.domain.isActive()) == (mode == "restart")
        (run,) = runs(str(case.state))
        assert run.steps[0].outcome == ("applied" if resume == "apply" else "rolled-back")


def test_what_was_asked_for_is_done_late(daemon: PrivateDaemon, tmp_path: Path) -> None:
    """The definition is made while nobody waits for it any more; it is known as this run's own."""
    with a_case(daemon, tmp_path, on=False) as case:
        before = case.definition()
        with case.stopped():
            assert case.apply(fault=case.stop_at("before call", 1)).code == 5
        goal = before.replace("<model type='e1000'/>", "<model type='virtio'/>")
        case.domain.connect().defineXML(goal)
        ended = case.apply()
        assert ended.code == 0, ended
        assert ended.times("behind call", "define") == 0
        assert case.rollback().code == 0
        assert case.definition() == before
