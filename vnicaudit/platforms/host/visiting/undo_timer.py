"""A timer on a host that sets settings back by itself: the texts that run there.

Its folder ``/run/vnicaudit/NAME`` holds the script ``undo`` and one file that tells its state:
``armed``, ``disarmed``, ``undoing`` or ``undone``. The state changes by renaming that file, so that
of the timer and who disarms it exactly one is the first. /run is empty after a boot; where one was
disarmed, the next timer removes its folder from the next day on: no answer is waited for any more.

Where systemd is PID 1, the timer is one of its own and outlives the session; by default it may be a
minute late (systemd.timer(5), *AccuracySec*). Else it is a shell that sleeps, which a manager of
sessions may end (elogind; logind.conf(5), *KillUserProcesses*). The script is run by a shell that
is named, as /run is mounted *noexec* by some systems.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

Words = Sequence[str]
FOLDER = "/run/vnicaudit"
NOT_ARMED = 75
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

ARM = f"""
name=$1 seconds=$2 digest=$3 text=$4
shift 4 # left: the words before a command in another network namespace
umask 077
base={FOLDER}
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

DISARM = f"""
folder={FOLDER}/$1
if mv "$folder/armed" "$folder/disarmed" 2>/dev/null && [ -d /run/systemd/system ]; then
    systemctl stop "vnicaudit-$1.timer" >/dev/null 2>&1
fi
for state in disarmed undoing undone; do
    [ ! -e "$folder/$state" ] || echo "$state"
done
"""
"""Argument: the timer's name. Prints its state from now on, nothing if there is no such timer."""

IF_ARMED = f"""
timer=$2
if_armed() {{
    [ -z "$timer" ] || [ -e "{FOLDER}/$timer/armed" ] || return {NOT_ARMED}
    "$@"
}}
"""
"""Defines what runs a command if the timer (the second argument; empty: none is needed) is
armed."""


def confirmation(name: str) -> str:
    """The file by which a user confirms that the host can be reached."""
    return f"{FOLDER}/{name}/confirmed"


def undo_script(name: str, changed: Iterable[Words], everything: Iterable[Words]) -> str:
    """The script of a timer, which runs first the commands for what is changed, then those for
    everything that may change along."""
    first, second = (
        "\n".join(f"set_back {shlex.join(command)}" for command in commands)
        for commands in (changed, everything)
    )
    folder = shlex.quote(f"{FOLDER}/{name}")
    return _UNDO.format(name=name, folder=folder, changed=first, pause=_PAUSE, everything=second)
