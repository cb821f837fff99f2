"""One run of all generators of a dnsperf workload, and its results.

dnsperf processes that run at the same time, and the output of each.

One command at the peer starts all of them, so that only a fork separates their starts: over SSH,
separate commands would start a good part of a second apart, which is all of a short trial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Endpoint, Ends
from vnicaudit.bench.engines import _dnsperf_options as options
from vnicaudit.errors import MeasureError, NoTrafficError
from vnicaudit.model.measurement import Ran, Workload

# Output of dnsperf after a measurement: the ``Statistics:`` block.
#
# Formats are those of ``print_statistics`` in src/dnsperf.c: 2.10 has *Reconnections*, 2.11 adds
# the latency histogram, 2.14 says *Connection attempts*, followed by *Unexpected IDs*. Under
# *Connection Statistics* the queries' histogram is printed once more; that copy is skipped.


_USEFUL = ("NOERROR", "NXDOMAIN")

_COUNT = r"\d{1,18}"
_SECONDS = r"\d{1,12}\.\d{6}"
_SHARE = r" \((?:\d+\.\d\d|-?nan|inf)%\)"
_LATENCY = rf"  Average Latency \(s\):  {_SECONDS} \(min {_SECONDS}, max {_SECONDS}\)\n"
_DEVIATION = r"(?:  Latency StdDev \(s\):   -?(?:\d+\.\d+|nan|inf)\n)?"
_BUCKETS = rf"(?:  {_SECONDS} - {_SECONDS}:  {_COUNT}\n)*"

_BLOCK = re.compile(
    r"\[Status\] Testing complete \((?P<end>[a-z ]+)\)\n\n"
    r"Statistics:\n\n"
    rf"  Queries sent:         (?P<sent>{_COUNT})\n"
    rf"  Queries completed:    (?P<completed>{_COUNT}){_SHARE}\n"
    rf"  Queries lost:         (?P<lost>{_COUNT}){_SHARE}\n"
    rf"(?:  Queries interrupted:  \d+{_SHARE}\n)?"
    rf"(?:  Unexpected IDs:       {_COUNT}{_SHARE}\n)?"
    r"\n"
    r"  Response codes:       (?P<codes>[^\n]*)\n"
    r"  Average packet size:  request \d+, response \d+\n"
    rf"  Run time \(s\):         (?P<seconds>{_SECONDS})\n"
    rf"  Queries per second:   (?P<rate>{_SECONDS})\n"
    r"\n"
    rf"  Average Latency \(s\):  (?P<mean>{_SECONDS}) "
    rf"\(min (?P<least>{_SECONDS}), max (?P<most>{_SECONDS})\)\n{_DEVIATION}"
    rf"(?P<histogram>  Latency bucket \(s\):   answer count\n{_BUCKETS})?"
    r"\n"
    r"(?P<connections>Connection Statistics:\n\n"
    rf"  (?:Reconnections|Connection attempts): +{_COUNT}(?!\d)[^\n]*\n\n"
    rf"{_LATENCY}{_DEVIATION}"
    rf"(?:  Latency bucket \(s\):   connection count\n{_BUCKETS})?"
    r"\n)?\Z"
)
_CODE = re.compile(rf"(?<![A-Za-z0-9])([A-Za-z0-9]+) ({_COUNT}) \(\d+\.\d\d%\)")
_BUCKET = re.compile(rf"  ({_SECONDS}) - ({_SECONDS}):  ({_COUNT})\n")


class Bucket(NamedTuple):
    """Number of answers with a latency in this range. Microseconds, both ends included."""

    low: int
    high: int
    answers: int


class Statistics(NamedTuple):
    """One generator's run. Latencies are in microseconds, of answered queries."""

    sent: int
    completed: int
    lost_queries: int
    codes: dict[str, int]
    seconds: float
    """From the start to the end of sending, or to the last answer if that was later."""
    rate: float
    mean: float
    least: float
    most: float
    histogram: tuple[Bucket, ...]
    """Empty if it was not requested, or this build of dnsperf has none."""

    @property
    def useful(self) -> int:
        """Number of useful answers: NOERROR and NXDOMAIN."""
        return sum(self.codes.get(code, 0) for code in _USEFUL)


def statistics(text: str, *, connected: bool) -> Statistics:
    """The block at the end of dnsperf's output; ``connected``: it ran over TCP. Raises MeasureError
    unless it is complete and the run reached its end."""
    found = _BLOCK.search(text)
    if found is None:
        said = one_line(text, last=True)
        last = f"; its last line: {said}" if said else ""
        raise MeasureError(f"dnsperf printed no statistics{last}")
    if found["end"] != "time limit":
        raise MeasureError(f"dnsperf ended early ({found['end']})")
    if connected and int(found["completed"]) and found["connections"] is None:
        raise MeasureError("dnsperf printed no connection statistics")
    read = Statistics(
        sent=int(found["sent"]),
        completed=int(found["completed"]),
        lost_queries=int(found["lost"]),
        codes={code: int(count) for code, count in _CODE.findall(found["codes"])},
        seconds=float(found["seconds"]),
        rate=float(found["rate"]),
        mean=_microseconds(found["mean"]),
        least=_microseconds(found["least"]),
        most=_microseconds(found["most"]),
        histogram=_buckets(found["histogram"] or ""),
    )
    if sum(read.codes.values()) != read.completed:
        raise MeasureError("dnsperf's response codes do not add up to the queries completed")
    if read.histogram and sum(bucket.answers for bucket in read.histogram) != read.completed:
        raise MeasureError("dnsperf's histogram does not add up to the queries completed")
    if not read.seconds:
        raise MeasureError("dnsperf reports a run time of zero")
    return read


def _buckets(text: str) -> tuple[Bucket, ...]:
    return tuple(
        Bucket(round(_microseconds(low)), round(_microseconds(high)), int(count))
        for low, high, count in _BUCKET.findall(text)
    )


def _microseconds(seconds: str) -> float:
    return round(float(seconds) * 1e6, 0)


def percentile(runs: Sequence[Statistics], share: float) -> float | None:
    """The latency that ``share`` (0.99) of all answers, of all generators together, did not exceed:
    the upper end of its bucket, which is about 3 % wide, or the largest of all if that is less.
    None: a generator has no histogram, or there are too few answers."""
    if not all(run.histogram for run in runs):
        return None
    answers = sorted((b.high, b.answers) for run in runs for b in run.histogram)
    total = sum(count for _, count in answers)
    if total * (1 - share) < 1:
        return None
    seen = 0
    for high, count in answers:
        seen += count
        if seen >= share * total:
            return min(float(high), max(run.most for run in runs))
    return None


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


class StuckError(NoTrafficError):
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


_HELD_BACK = 0.8
"""Share of the places that must be taken, on average, for waiting for answers to be what limited
dnsperf."""
_WRONG = 0.01
"""Share of error answers from which the server counts as not serving these names."""
_MESSAGES = ("-O", "suppress=timeouts,congestion,sendfailed,unexpected")
"""A line for each lost query would be work for the generator, and fill its output."""
HISTOGRAM = "latency-histogram"
"""The option of a dnsperf that reports percentiles."""
_MARGIN = 10.0
"""Seconds beyond the measured ones: to start, and to wait for the last answers. dnsperf does not
always end by itself: 2.10 was seen waiting for ever for answers that came late (its changelog says
that 2.11 no longer counts queries below zero), 2.14 on TCP connections that were refused."""


QueryCount = Literal["sent", "completed", "lost_queries", "useful"]
"""Counters of one generator."""


class DnsperfBatch(NamedTuple):
    """All generators of one run, together."""

    statistics: tuple[Statistics, ...]
    seconds: float
    """Time during which queries were sent."""
    places: int
    """Places of all generators together."""
    busiest: float | None

    def total(self, name: QueryCount) -> int:
        """The sum of a counter over all generators."""
        return sum(int(getattr(one, name)) for one in self.statistics)

    @property
    def share_taken(self) -> float:
        """Share of the places that were taken, on average."""
        answered = sum(one.completed * one.mean / 1e6 for one in self.statistics)
        lost = self.total("lost_queries") * min(options.TIMEOUT, self.seconds)
        return (answered + lost) / self.seconds / self.places

    @property
    def held_back(self) -> bool:
        """True if waiting for answers kept the generators from sending more."""
        return self.share_taken >= _HELD_BACK


def extended_options(peer: Endpoint) -> str:
    """dnsperf's help on its extended options (``-O``), of which older versions have fewer."""
    said = peer.run(("dnsperf", "-H"))
    return said.stdout + said.stderr


class DnsperfJob:
    """One measurement: its parameters, and the outputs it keeps."""

    def __init__(self, workload: Workload, ends: Ends) -> None:
        self.workload, self.ends = workload, ends
        self.options = options.options_of(workload)
        self.raw: list[Ran] = []
        self.details: dict[str, str | float | int | bool | None] = {}
        self.completed = 0
        self._queries = options.query_file(self.options, ends)
        self._output = ends.peer.put_file("dnsperf-output", b"")
        self._has = extended_options(ends.peer)

    def run(self, load: options.Load, *, observed: bool) -> DnsperfBatch:
        """Run all generators; with ``observed``, record how busy they are and, if this dnsperf can,
        how long each answer took. A stuck run is repeated once. Raises MeasureError if a generator
        did not measure."""
        try:
            return self._run(load, observed=observed)
        except StuckError:
            return self._run(load, observed=observed)

    def _run(self, load: options.Load, *, observed: bool) -> DnsperfBatch:
        count = self.workload.generators
        argv = self.command(load, self._extra(observed=observed))
        # every sleep(1) accepts whole seconds
        after = max(int(load.seconds) - 1, 0) if observed else 0
        script = concurrent_command(argv, count=count, output=self._output, observe_after=after)
        found = self._generators(
            self.ends.peer.run(script, seconds=load.seconds + _MARGIN), argv, after
        )
        connected = self.options.transport == "tcp"
        each = tuple(_statistics_of(ran, connected=connected) for ran in found.runs)
        batch = DnsperfBatch(each, load.seconds, count * load.places, found.busiest)
        self.completed += batch.total("completed")
        return batch

    def command(self, load: options.Load, extra: tuple[str, ...]) -> tuple[str, ...]:
        """dnsperf's command line; ``extra``: options that not every version has."""
        read, workload = self.options, self.workload
        return (
            *("dnsperf", "-s", self.ends.address, "-p", str(read.port), "-m", read.transport),
            *("-d", self._queries, "-l", f"{load.seconds:g}", "-t", str(options.TIMEOUT)),
            *("-c", str(workload.connections // workload.generators), "-T", str(read.threads)),
            *("-q", str(load.places)),
            *(("-Q", str(load.rate)) if load.rate is not None else ()),
            *extra,
        )

    def _extra(self, *, observed: bool) -> tuple[str, ...]:
        histogram = observed and HISTOGRAM in self._has
        messages = _MESSAGES if "suppress" in self._has else ()
        return (*messages, *(("-O", HISTOGRAM) if histogram else ()))

    def _generators(self, ran: Ran, argv: tuple[str, ...], observe_after: int) -> Generators:
        try:
            found = generators(ran, argv, observe_after)
        except MeasureError:
            self.raw.append(ran)
            raise
        self.raw.extend(found.runs)
        return found


def _statistics_of(ran: Ran, *, connected: bool) -> Statistics:
    """Statistics that one generator measured. Raises MeasureError if it did not start; otherwise
    its exit code is always 0."""
    if ran.code != 0:
        said = one_line(ran.stderr.strip() or ran.stdout)
        raise MeasureError(f"dnsperf ended with exit code {ran.code}: {said}")
    return statistics(ran.stdout, connected=connected)


def must_answer(batch: DnsperfBatch, job: DnsperfJob) -> None:
    """Raises MeasureError if the server does not answer, or answers with errors."""
    where = f"{job.ends.address} port {job.options.port} ({job.options.transport})"
    completed = batch.total("completed")
    if not completed:
        raise NoTrafficError(f"no query was answered: is there a DNS server at {where}?")
    shares = _shares(batch)
    job.details |= {f"rcode_{code}": share for code, share in shares.items()}
    if batch.total("useful") < (1 - _WRONG) * completed:
        said = ", ".join(f"{code} {share:.0f} %" for code, share in shares.items())
        names = job.options.queries or ", ".join(job.options.lines)
        raise MeasureError(f"the server at {where} answers {said}: does it serve {names}?")


def _shares(batch: DnsperfBatch) -> dict[str, float]:
    """Response code -> per cent of all answers."""
    completed = batch.total("completed")
    codes = dict.fromkeys(code for one in batch.statistics for code in one.codes)
    return {
        code: round(100 * sum(one.codes.get(code, 0) for one in batch.statistics) / completed, 2)
        for code in codes
    }
