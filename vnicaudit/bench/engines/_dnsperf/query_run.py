"""dnsperf processes that run at the same time, and the output of each.

One command at the peer starts all of them, so that only a fork separates their starts: over SSH,
separate commands would start a good part of a second apart, which is all of a short trial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from vnicaudit.bench.readable import one_line
from vnicaudit.errors import MeasureError, SilenceError
from vnicaudit.model.measurement import Ran

_SCRIPT = """\
out=$1 count=$2 look=$3
shift 3
ids= i=0
while [ $i -lt $count ]; do
    "$@" </dev/null >"$out.$i" 2>"$out.$i.err" &
    ids="$ids $!" i=$((i + 1))
done
printf '\\n== threads\\n'
if [ $look -gt 0 ]; then
    sleep $look
    for id in $ids; do cat /proc/$id/task/*/stat 2>/dev/null; done
fi
i=0
for id in $ids; do
    wait $id
    printf '\\n== ended %s\\n' $?
    tail -c 262144 "$out.$i"
    printf '\\n== stderr\\n'
    tail -c 4096 "$out.$i.err"
    rm -f "$out.$i" "$out.$i.err"
    i=$((i + 1))
done
printf '\\n== end\\n'
"""
"""Arguments: a path for their output, their number, when to observe their threads (whole seconds,
as every ``sleep`` accepts; 0: never), and the command. Each command's output is kept separately and
cut at the front, as its last part is the result."""

_FEWEST = 5
"""Minimum number of sections: the text before the first, threads, two for a generator, the end."""
_ENDED = re.compile(r"ended (\d{1,3})\n(.*)\Z", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,20}")
_TICKS = 100
"""USER_HZ of every architecture that vnicaudit supports (include/asm-generic/param.h)."""


class StuckError(SilenceError):
    """A generator did not end and had to be stopped: it waits for answers."""


class Generators(NamedTuple):
    """The generators of a run. ``busiest``: per cent of one CPU that the busiest thread used; None:
    not observed."""

    runs: tuple[Ran, ...]
    busiest: float | None


def concurrent_command(
    argv: Sequence[str], *, count: int, output: str, observe_after: int
) -> tuple[str, ...]:
    """A command that runs another one ``count`` times at once. Their output is kept at ``output``,
    a path there, until all have ended; ``observe_after``: seconds after which to record how busy
    their threads are."""
    return ("sh", "-c", _SCRIPT, "dnsperf", output, str(count), str(observe_after), *argv)


def generators(ran: Ran, argv: Sequence[str], observe_after: int) -> Generators:
    """The runs in the output of :func:`concurrent_command`. Raises MeasureError if some are
    missing, StuckError if that is because time was over."""
    if ran.code is None:
        raise StuckError(f"dnsperf did not end by itself{_error_output(ran)}")
    sections = ran.stdout.split("\n== ")
    if ran.code != 0 or sections[-1] != "end\n" or len(sections) < _FEWEST:
        raise MeasureError(f"dnsperf did not finish{_error_output(ran)}")
    threads = sections[1].removeprefix("threads\n")
    return Generators(tuple(_runs(sections[2:-1], argv, ran)), busiest(threads, observe_after))


def _error_output(ran: Ran) -> str:
    said = one_line(ran.stderr)
    return f": {said}" if said else ""


def _runs(sections: list[str], argv: Sequence[str], ran: Ran) -> Iterator[Ran]:
    for ended, stderr in zip_longest(sections[::2], sections[1::2], fillvalue=""):
        found = _ENDED.match(ended)
        if found is None or not stderr.startswith("stderr\n"):
            raise MeasureError("what the generators printed cannot be told apart")
        said = stderr.removeprefix("stderr\n")
        yield Ran(
            tuple(argv), int(found[1]), found[2], said, ran.seconds, ran.endpoint, ran.cpu_wait
        )


def busiest(stats: str, seconds: int) -> float | None:
    """Per cent of one CPU, from lines of ``/proc/PID/task/TID/stat`` (proc(5): fields 14 and 15,
    user and system time) ``seconds`` after the start. None: there is no such line."""
    ticks = [_ticks(line) for line in stats.splitlines() if ") " in line]
    return 100 * max(ticks) / _TICKS / seconds if seconds and ticks else None


def _ticks(line: str) -> int:
    # the name in parentheses may contain anything, so fields are counted after it
    fields = line.rpartition(") ")[2].split()
    numbers = fields[11:13]
    return sum(int(number) for number in numbers if _NUMBER.fullmatch(number))
