"""The settings of a host, a network namespace or this machine, to read and to set them."""

from __future__ import annotations

from collections.abc import Sequence

from vnicaudit.errors import ActionError, EndpointError, GoneError, NoResponseError, TargetError
from vnicaudit.knowledge.host_settings import HostSetting, words_to_set
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.measurement import Ran
from vnicaudit.platforms.host.facts import containers, cpus, kernel, links, owners, processes
from vnicaudit.platforms.host.readings import SectionReadings, facts_from, script_for
from vnicaudit.platforms.host.visiting.visit import kind_of
from vnicaudit.reaching.opening import open_place
from vnicaudit.reaching.sections import ask

_FACTS = (containers.FACT, kernel.FACT, cpus.FACT, links.FACT, processes.PROGRAMS, owners.FACT)
_SECTION_BYTES = 4 * 2**20
_FOUND = 'LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH; exec "$@"'
"""Programs of the system's administrator are found; the words to run are arguments."""
_IDENTITY = "cat /proc/sys/kernel/random/boot_id && readlink /proc/self/ns/net"
_SSH_FAILED = 255


class SettingsPlace:
    """One place with settings. Threads may share it."""

    def __init__(self, url: str, seconds: float) -> None:
        self._place = open_place(url)
        self._scheme = kind_of(url)[0]
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
        if device and facts.link(device) is None:
            raise GoneError(f"{device} is no longer there")
        return facts

    def is_of_container(self, facts: HostFacts) -> bool:
        """True if what was read is a container's view of a host. A network namespace that the user
        names has devices of its own, wherever it is."""
        return self._scheme != "netns" and bool(facts.container)

    def set(self, setting: HostSetting, value: str) -> None:
        """Set it until the next boot. Raises NoResponseError if there is no answer, ActionError if
        it is not accepted."""
        words = words_to_set(setting, value)
        ran = self._run(words)
        if ran.code is None or (ran.code == _SSH_FAILED and self._scheme == "ssh"):
            raise NoResponseError(f"no answer when asked to set {setting.kind} to {value}")
        if ran.code != 0:
            said = " ".join(ran.stderr.split())[:200] or f"exit code {ran.code}"
            raise ActionError(f"{value} was not accepted: {said}")

    def close(self) -> None:
        """Disconnect."""
        self._place.close()

    def _run(self, words: Sequence[str]) -> Ran:
        try:
            return self._place.run(("sh", "-c", _FOUND, "sh", *words), seconds=self._seconds)
        except EndpointError as error:
            raise NoResponseError(str(error)) from None
