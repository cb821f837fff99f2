"""The settings of a host, a network namespace or this machine, to read and to set them."""

from __future__ import annotations

from hashlib import sha256
from shlex import quote
from typing import cast

import msgspec

from vnicaudit.errors import ActionError, EndpointError, GoneError, NoResponseError, TargetError
from vnicaudit.knowledge.host_setting_values import is_there
from vnicaudit.knowledge.host_settings import (
    HostSetting,
    SettingValues,
    is_file,
    words_to_set,
)
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.measurement import Ran
from vnicaudit.model.runs import TimerState
from vnicaudit.platforms.host.facts import (
    containers,
    cpus,
    kernel,
    links,
    management,
    ovs,
    owners,
    processes,
)
from vnicaudit.platforms.host.readings import SectionReadings, facts_from, script_for
from vnicaudit.platforms.host.visiting import undo_timer
from vnicaudit.platforms.host.visiting.visit import kind_of
from vnicaudit.reaching.opening import OpenPlace, open_place
from vnicaudit.reaching.sections import ask

_FACTS = (
    containers.FACT, kernel.FACT, cpus.FACT, links.FACT, ovs.CONFIGURATION, processes.PROGRAMS,
    owners.FACT, management.FACT,
)  # fmt: skip
_SECTION_BYTES = 4 * 2**20
_PATH = "LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH"
"""Programs of the system's administrator are found; the words to run are arguments."""
_IDENTITY = "cat /proc/sys/kernel/random/boot_id && readlink /proc/self/ns/net"
_SSH_FAILED = 255


class SettingsPlace:
    """One place with settings. Threads may share it."""

    def __init__(self, url: str, seconds: float) -> None:
        self._places = [open_place(url)]
        self._scheme, self._name = kind_of(url)
        self._seconds = seconds

    def identity(self) -> str:
        """A text that is the same however this place is reached, until it is started again. Raises
        TargetError."""
        try:
            ran = self._place.run(("sh", "-c", _IDENTITY), seconds=self._seconds)
        except EndpointError as error:
            raise TargetError(str(error), file=self._place.url, failure="unreachable") from None
        if ran.code != 0:
            reason = " ".join(ran.stderr.split())[:200] or f"sh ended with exit code {ran.code}"
            raise TargetError(reason, file=self._place.url, failure="unreachable")
        return " ".join(ran.stdout.split())

    def facts(self, device: str) -> HostFacts:
        """Everything that is read of its settings. Raises NoResponseError if it does not answer,
        ActionError if it does not tell its links, GoneError if ``device`` (empty: the host itself)
        is not among them."""
        try:
            script = script_for(_FACTS)
            sections = ask(self._place, script, "0", seconds=self._seconds, most=_SECTION_BYTES)
        except EndpointError as error:
            raise NoResponseError(str(error)) from None
        facts = facts_from(SectionReadings(sections), _FACTS)
        if facts.links is None:
            raise ActionError("its links could not be read (is iproute2 installed there?)")
        if device and not is_there(facts, device):
            raise GoneError(f"{device} is no longer there")
        if self._scheme == "netns" and facts.managed_by is None:  # nobody is reached through it
            return msgspec.structs.replace(facts, managed_by=())
        if self._scheme == "ssh" and not facts.managed_by:  # this is a session, so it is unknown
            return msgspec.structs.replace(facts, managed_by=None)
        return facts

    def is_of_container(self, facts: HostFacts) -> bool:
        """True if what was read is a container's view of a host. A network namespace that the user
        names has devices of its own, wherever it is."""
        return self._scheme != "netns" and bool(facts.container)

    def set(self, setting: HostSetting, value: str, timer: str = "") -> None:
        """Set it until the next boot, if that timer (empty: none is needed) is armed. Raises
        NoResponseError if there is no answer or the timer is not armed, ActionError if it is not
        accepted."""
        ran = self._run(undo_timer.IF_ARMED, timer, *words_to_set(setting, value))
        if ran.code == undo_timer.NOT_ARMED and timer:
            raise NoResponseError(f"the timer ended before {setting.kind} was set to {value}")
        if ran.code != 0:
            what = "the text" if is_file(setting) else value
            raise ActionError(f"{what} was not accepted: {_reason(ran)}")

    def undo_script(self, timer: str, changed: SettingValues, everything: SettingValues) -> str:
        """The script by which a timer sets these values: first what is changed, then everything."""
        first, second = (
            [words_to_set(*each) for each in values] for values in (changed, everything)
        )
        return undo_timer.undo_script(timer, first, second)

    def arm(self, timer: str, script: str, seconds: int) -> None:
        """Have the host run this script by itself after so many seconds. Raises NoResponseError if
        there is no answer, ActionError if nothing would run it."""
        digest = sha256(script.encode()).hexdigest()
        inside = ("ip", "netns", "exec", self._name) if self._scheme == "netns" else ()
        ran = self._run(undo_timer.ARM, timer, str(seconds), digest, script, *inside)
        if ran.code != 0:
            raise ActionError(f"no timer could be started on the host: {_reason(ran)}")

    def disarm(self, timer: str) -> TimerState:
        """The state of a timer from now on: if disarmed, it does nothing any more. Raises
        NoResponseError."""
        ran = self._run(undo_timer.DISARM, timer)
        if ran.code != 0:
            raise NoResponseError(f"no answer when asked for the timer: {_reason(ran)}")
        words = ran.stdout.split()
        return cast(TimerState, words[-1] if words else "")

    def reconnect(self) -> None:
        """Use a new connection from now on; what still runs on the old one may end there."""
        self._places.append(open_place(self._place.url))

    def how_to_confirm(self, timer: str) -> str:
        """The command by which a user confirms, on a new connection, that this host can be reached;
        empty: this program makes a connection of its own."""
        return "" if self._scheme == "ssh" else f"touch {quote(undo_timer.confirmation(timer))}"

    def is_confirmed(self, timer: str) -> bool:
        """True if the user has done so, or need not. Raises NoResponseError."""
        if self._scheme == "ssh":
            return True
        return self._run('[ -e "$1" ]', undo_timer.confirmation(timer)).code == 0

    def close(self) -> None:
        """Disconnect."""
        for place in self._places:
            place.close()

    @property
    def _place(self) -> OpenPlace:
        return self._places[-1]

    def _run(self, script: str, *arguments: str) -> Ran:
        """Raises NoResponseError if there is no answer."""
        words = ("sh", "-c", f"{_PATH}\n{script}", "sh", *arguments)
        try:
            ran = self._place.run(words, seconds=self._seconds)
        except EndpointError as error:
            raise NoResponseError(str(error)) from None
        if ran.code is None or (ran.code == _SSH_FAILED and self._scheme == "ssh"):
            raise NoResponseError(f"no answer: {_reason(ran)}")
        return ran


def _reason(ran: Ran) -> str:
    return " ".join(ran.stderr.split())[:200] or f"exit code {ran.code}"
