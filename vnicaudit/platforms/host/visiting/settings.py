"""The settings of a host, a network namespace or this machine, to read and to set them; and a timer
there that sets them back by itself.

The timer's folder ``/run/vnicaudit/NAME`` holds the script ``undo`` and one file that tells its
state: ``armed``, ``disarmed``, ``undoing`` or ``undone``. The state changes by renaming that file,
so that of the timer and who disarms it exactly one is the first. /run is empty after a boot; where
one was disarmed, the next timer removes its folder from the next day on: no answer is waited for
any more.

Where systemd is PID 1, the timer is one of its own and outlives the session; by default it may be a
minute late (systemd.timer(5), *AccuracySec*). Else it is a shell that sleeps, which a manager of
sessions may end (elogind; logind.conf(5), *KillUserProcesses*). The script is run by a shell that
is named, as /run is mounted *noexec* by some systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from shlex import join, quote
from typing import cast

import msgspec

from vnicaudit.errors import ActionError, EndpointError, NoResponseError, TargetError
from vnicaudit.knowledge.host_settings import HostSetting, SettingValues, is_file, words_to_set
from vnicaudit.model.host import Section
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.measurement import Ran
from vnicaudit.model.runs import TimerState
from vnicaudit.platforms.host.facts import (
    containers,
    cpus,
    interrupts,
    kernel,
    links,
    management,
    ovs,
    owners,
    processes,
)
from vnicaudit.platforms.host.readings import SectionReadings, facts_from, script_for
from vnicaudit.platforms.host.visiting.visit import kind_of
from vnicaudit.reaching.opening import OpenPlace, open_place
from vnicaudit.reaching.sections import ask

_FACTS = (
    containers.FACT, kernel.FACT, cpus.FACT, interrupts.FACT, links.FACT, ovs.CONFIGURATION,
    processes.PROGRAMS, owners.FACT, management.FACT,
)  # fmt: skip
_SECTION_BYTES = 4 * 2**20
_MOST_BYTES = 96 * 2**10
"""Of what is set by one command, as quoted for a shell: it is one argument of at most 128 KiB
(MAX_ARG_STRLEN of Linux), with what reads the facts."""
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

    def facts(self) -> HostFacts:
        """Everything that is read of its settings. Raises NoResponseError if it does not answer,
        ActionError if it does not tell its links."""
        return self._facts_in(self._ask("", "", self._seconds))

    def is_of_container(self, facts: HostFacts) -> bool:
        """True if what was read is a container's view of a host. A network namespace that the user
        names has devices of its own, wherever it is."""
        return self._scheme != "netns" and bool(facts.container)

    def set(
        self, values: SettingValues, timer: str = ""
    ) -> tuple[HostFacts, dict[HostSetting, str]]:
        """Set them until the next boot, in this order, each if that timer (empty: none is needed)
        is armed, and read everything again. Returns the facts, and why some were not accepted.
        Raises NoResponseError if there is no answer or the timer was not armed, ActionError if it
        does not tell its links."""
        words = (join(words_to_set(*each)) for each in values)
        lines = [f"fact setting if_armed {command}" for command in words]
        ends = accumulate(map(_quoted_size, lines))
        most = max(sum(end <= _MOST_BYTES for end in ends), 1)
        if rest := values[most:]:
            _facts, refused = self.set(values[:most], timer)
            facts, others = self.set(rest, timer)
            return facts, refused | others
        script = "\n".join((_IF_ARMED, *lines, ""))
        sections = self._ask(script, timer, 2 * self._seconds + len(values))
        refused = {}
        for (setting, value), said in zip(values, sections, strict=False):
            if said.code == _NOT_ARMED and timer:
                raise NoResponseError(f"the timer ended before {setting.kind} was set to {value}")
            if said.code != 0:
                what, why = "the text" if is_file(setting) else value, _reason(said.text, said.code)
                refused[setting] = f"{what} was not accepted: {why}"
        return self._facts_in(sections[len(values) :]), refused

    def undo_script(self, timer: str, changed: SettingValues, everything: SettingValues) -> str:
        """The script by which a timer sets these values: first what is changed, then everything."""
        return _undo_script(timer, changed, everything)

    def arm(self, timer: str, script: str, digest: str, seconds: int) -> None:
        """Have the host run this script, of that SHA-256, by itself after so many seconds. Raises
        NoResponseError if there is no answer, ActionError if nothing would run it."""
        if _quoted_size(script) > _MOST_BYTES:
            raise ActionError(
                "the timer's script, which sets back all settings that belong together, is longer "
                f"than {_MOST_BYTES >> 10} KiB: the device has too many queues"
            )
        inside = ("ip", "netns", "exec", self._name) if self._scheme == "netns" else ()
        ran = self._run(_ARM, timer, str(seconds), digest, script, *inside)
        if ran.code != 0:
            raise ActionError(
                f"no timer could be started on the host: {_reason(ran.stderr, ran.code)}"
            )

    def disarm(self, timer: str) -> TimerState:
        """The state of a timer from now on: if disarmed, it does nothing any more. Raises
        NoResponseError."""
        ran = self._run(_DISARM, timer)
        if ran.code != 0:
            raise NoResponseError(
                f"no answer when asked for the timer: {_reason(ran.stderr, ran.code)}"
            )
        words = ran.stdout.split()
        return cast(TimerState, words[-1] if words else "")

    def reconnect(self) -> None:
        """Use a new connection from now on; what still runs on the old one may end there."""
        self._places.append(open_place(self._place.url))

    def how_to_confirm(self, timer: str) -> str:
        """The command by which a user confirms, on a new connection, that this host can be reached;
        empty: this program makes a connection of its own."""
        return "" if self._scheme == "ssh" else f"touch {quote(_confirmation(timer))}"

    def is_confirmed(self, timer: str) -> bool:
        """True if the user has done so, or need not. Raises NoResponseError."""
        if self._scheme == "ssh":
            return True
        return self._run('[ -e "$1" ]', _confirmation(timer)).code == 0

    def close(self) -> None:
        """Disconnect."""
        for place in self._places:
            place.close()

    @property
    def _place(self) -> OpenPlace:
        return self._places[-1]

    def _ask(self, script: str, timer: str, seconds: float) -> tuple[Section, ...]:
        """The sections of this script, and then those of the facts. Raises NoResponseError."""
        script += script_for(_FACTS)
        try:
            return ask(self._place, script, "0", timer, seconds=seconds, most=_SECTION_BYTES)
        except EndpointError as error:
            raise NoResponseError(str(error)) from None

    def _facts_in(self, sections: Sequence[Section]) -> HostFacts:
        facts = facts_from(SectionReadings(sections), _FACTS)
        if facts.links is None:
            raise ActionError("its links could not be read (is iproute2 installed there?)")
        if self._scheme == "netns" and facts.managed_by is None:  # nobody is reached through it
            return msgspec.structs.replace(facts, managed_by=())
        if self._scheme == "ssh" and not facts.managed_by:  # this is a session, so it is unknown
            return msgspec.structs.replace(facts, managed_by=None)
        return facts

    def _run(self, script: str, *arguments: str) -> Ran:
        """Raises NoResponseError if there is no answer."""
        words = ("sh", "-c", f"{_PATH}\n{script}", "sh", *arguments)
        try:
            ran = self._place.run(words, seconds=self._seconds)
        except EndpointError as error:
            raise NoResponseError(str(error)) from None
        if ran.code is None or (ran.code == _SSH_FAILED and self._scheme == "ssh"):
            raise NoResponseError(f"no answer: {_reason(ran.stderr, ran.code)}")
        return ran


def _quoted_size(text: str) -> int:
    return len(quote(text).encode())


def _reason(said: str, code: int | None) -> str:
    return " ".join(said.split())[:200] or f"exit code {code}"


# The timer: the texts that run on the host.


Words = Sequence[str]
_FOLDER = "/run/vnicaudit"
_NOT_ARMED = 75
"""Exit code of a change whose timer is not armed: nothing was changed (EX_TEMPFAIL)."""
_PAUSE = 1
"""Seconds between what was changed and everything: a setting that was just being set may come
later, and one that depends on others may not have been accepted."""

_UNDO = """\
#!/bin/sh
# By vnicaudit: sets back what {name} changed, unless it confirms in time that all is well.
folder={folder}
mv "$folder/armed" "$folder/undoing" 2>/dev/null || exit 0
LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH
set_back() {{
    said=$("$@" 2>&1 </dev/null)
    echo "exit code $?: $* ${{said:+($said)}}"
}}
exec >>"$folder/undoing"
{changed}
sleep {pause}
{everything}
mv "$folder/undoing" "$folder/undone"
"""

_ARM = f"""
name=$1 seconds=$2 digest=$3 text=$4
shift 4 # left: the words before a command in another network namespace
umask 077
base={_FOLDER}
folder=$base/$name
IFS=. read -r now _ </proc/uptime || exit
space=$(readlink /proc/self/ns/net)
for other in "$base"/*/armed; do
    [ -e "$other" ] && read -r end its <"$other" || continue
    if [ "$its" = "$space" ] && [ "$now" -le "$end" ]; then
        echo "another run has armed one: ${{other%/armed}}" >&2
        exit 1
    fi
done
for old in "$base"/*/disarmed; do # of yesterday
    [ -z "$(find "$old" -mtime +0 2>/dev/null)" ] || rm -rf "${{old%/disarmed}}"
done
mkdir -p "$base" && mkdir "$folder" && printf %s "$text" >"$folder/undo" &&
    chmod 0700 "$folder/undo" && echo "$digest  $folder/undo" | sha256sum -c >/dev/null &&
    echo "$((now + seconds + 5)) $space" >"$folder/armed" || {{
    echo "its script cannot be stored in $folder (is /run full?)" >&2
    exit 1
}}
if [ -d /run/systemd/system ]; then
    systemd-run --on-active="$seconds" --timer-property=AccuracySec=100ms \\
        --unit="vnicaudit-$name" "$@" /bin/sh "$folder/undo" >&2 && exit
elif [ -d /etc/elogind ] && ! grep -qsEi \\
    '^[[:space:]]*KillUserProcesses[[:space:]]*=[[:space:]]*(no|false|off|0)' \\
    /etc/elogind/logind.conf /etc/elogind/logind.conf.d/*.conf; then
    echo 'elogind ends the processes of a session with it (KillUserProcesses=)' >&2
elif command -v setsid >/dev/null; then
    exec </dev/null >/dev/null 2>&1
    setsid sh -c 'sleep "$1"; exec sh "$2"' sh "$seconds" "$folder/undo" &
    exit 0
else
    echo 'systemd is not PID 1, and there is no setsid' >&2
fi
mv "$folder/armed" "$folder/disarmed"
exit 1
"""
"""Arguments: the timer's name, seconds, the digest and the text of its script, and words to put
before a program. Fails if nothing will set back."""

_DISARM = f"""
folder={_FOLDER}/$1
if mv "$folder/armed" "$folder/disarmed" 2>/dev/null && [ -d /run/systemd/system ]; then
    systemctl stop "vnicaudit-$1.timer" >/dev/null 2>&1
fi
for state in disarmed undoing undone; do
    [ ! -e "$folder/$state" ] || echo "$state"
done
"""
"""Argument: the timer's name. Prints its state from now on, nothing if there is no such timer."""

_IF_ARMED = f"""
timer=$2
if_armed() {{
    [ -z "$timer" ] || [ -e "{_FOLDER}/$timer/armed" ] || return {_NOT_ARMED}
    "$@"
}}
"""
"""Defines what runs a command if the timer (the second argument; empty: none is needed) is
armed."""


def _confirmation(name: str) -> str:
    """The file by which a user confirms that the host can be reached."""
    return f"{_FOLDER}/{name}/confirmed"


def _undo_script(name: str, changed: SettingValues, everything: SettingValues) -> str:
    """The script of a timer, which sets first what is changed, then everything that may change
    along."""
    first, second = (
        "\n".join(f"set_back {join(words_to_set(*each))}" for each in values)
        for values in (changed, everything)
    )
    folder = quote(f"{_FOLDER}/{name}")
    return _UNDO.format(name=name, folder=folder, changed=first, pause=_PAUSE, everything=second)
