"""The keys of a profile, with their descriptions for the reference page (docs/generate_profiles.py)
and the published JSON Schema; and a profile's text, decoded by them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, NamedTuple, get_type_hints

import msgspec

from vnicaudit.base.wording import close_to, operator_words, reason_at, shortened
from vnicaudit.bench.line_rate import Encapsulation
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted
from vnicaudit.model.measurement import Design, Direction

COOLDOWN = 2.0
MAX_STEAL = 2.0
MAX_CPU_WAIT = 60.0
RUNS_PER_TURN = 3
SECONDS = 10.0
WARMUP = 2.0
MOST_RUNS = 100
"""More runs of one workload would take days, and their exact statistics a lot of memory."""

_NAME = r"^[a-z0-9][a-z0-9+_-]*$"
_TEXT = r"\S"


def _key(description: str, *examples: object, **limits: float) -> msgspec.Meta:
    """Description of a key, with examples of its values; ``limits`` are msgspec's."""
    meta: Callable[..., msgspec.Meta] = msgspec.Meta
    return meta(description=description, extra_json_schema={"examples": list(examples)}, **limits)


Text = Annotated[str, msgspec.Meta(pattern=_TEXT)]
Name = Annotated[str, msgspec.Meta(pattern=_NAME)]
Runs = Annotated[int, msgspec.Meta(ge=1, le=MOST_RUNS)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Percent = Annotated[float, msgspec.Meta(ge=0.5, le=50)]


class WorkloadTable(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """Workloads: one for every combination of the lists in it."""

    engine: Annotated[str, _key("The generator.", "iperf3", "dnsperf", "rr")]
    patterns: Annotated[
        tuple[str, ...],
        _key(
            "What it does: names that its engine knows.", ["tcp"], ["rr1c-200x1000"], min_length=1
        ),
    ]
    directions: Annotated[
        tuple[Direction, ...],
        _key(
            "Seen from the target: `tx`, it sends; `rx`, it receives; `both`, at once. Without it "
            "that of the pattern: `both` where requests are answered, `tx` where either is "
            "possible.",
            ["tx", "rx"],
            min_length=1,
        ),
    ] = ()
    connections: Annotated[
        tuple[Count, ...],
        _key(
            "Streams, connections or sockets, over all generators. Without it as many as there "
            "are generators.",
            [1, 25],
            min_length=1,
        ),
    ] = ()
    generators: Annotated[
        tuple[Count, ...],
        _key("Number of generator processes on the peer.", [1, 2], min_length=1),
    ] = (1,)
    sizes: Annotated[
        tuple[int | str, ...],
        _key(
            "Bytes of a message: a number, or a text with `K` (1024) or `M`. Without it the "
            "engine's own.",
            [128, "64K"],
            min_length=1,
        ),
    ] = ()
    rates: Annotated[
        tuple[int | float | str, ...],
        _key(
            "Offered load, bit/s of streams or 1/s of requests and packets: a number, or a text "
            "with `k`, `M` or `G` (powers of 1000). Without it as fast as possible.",
            ["100M"],
            [5000],
            min_length=1,
        ),
    ] = ()
    states: Annotated[
        tuple[Name, ...],
        _key(
            "States of the server, each declared in `[states]`. Without it as found.",
            ["plain", "querylog"],
            min_length=1,
        ),
    ] = ()
    seconds: Annotated[
        float, _key("How long a run is measured; a search takes its own time.", 10, ge=1, le=86_400)
    ] = SECONDS
    warmup: Annotated[float, _key("Seconds before that, which do not count.", 2, ge=0, le=3600)] = (
        WARMUP
    )
    primary: Annotated[
        bool | tuple[Text, ...],
        _key(
            "Whether the verdict rests on these workloads: all, none (they are only shown), or "
            "those whose id matches a pattern with `*`, `?` and `[…]`.",
            True,
            ["*.tx.*.64k"],
        ),
    ] = True
    decides: Annotated[
        tuple[str, ...],
        _key(
            "Metrics that are judged. Without it the usual one of the pattern.",
            ["latency_p50", "latency_p99"],
            min_length=1,
        ),
    ] = ()
    name: Annotated[
        Name | None,
        _key("Added to the ids, where two would be the same.", "dnssec"),
    ] = None
    options: Annotated[dict[str, str], _key("The engine's own settings.", {"window": "4M"})] = {}


class ProfileTable(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """A profile for `vnicaudit bench run --profile FILE`."""

    title: Annotated[Text, _key("What it answers, in one line.", "The web tier's NICs")]
    description: Annotated[
        str, _key("More about it: what it is for, what it needs.", "Needs nginx in the guest.")
    ] = ""
    sources: Annotated[
        tuple[Text, ...], _key("Where its workloads come from.", ["our load test of 2027"])
    ] = ()
    repeats: Annotated[
        Runs | None,
        _key(
            "Runs that count, per arm and workload, judged once at the end. Without it judged "
            "after 5, 10 and 20 runs: it ends as soon as the answer is clear.",
            7,
        ),
    ] = None
    runs_per_turn: Annotated[
        int, _key("Runs of each workload in a turn; their mean is one value.", 3, ge=1, le=20)
    ] = RUNS_PER_TURN
    catastrophe_only: Annotated[
        bool,
        _key(
            "Only a catastrophe or a broken guard rail decides: for runs too few for a statistical "
            "answer.",
            True,
        ),
    ] = False
    designs: Annotated[
        tuple[Design, ...],
        _key(
            "Ways to mix the arms that suit it, the best first. `apply --bench` takes turns "
            "(`flips` or `boots`, as its mode is) unless `single-flip` comes before them, which "
            "shows numbers and judges nothing; others are shown by `bench profiles`.",
            ["live-flip", "boots"],
            min_length=1,
        ),
    ] = ()
    guards: Annotated[
        tuple[Name, ...] | None,
        _key("Guard rails that are watched; `[]` is none. Without it all there are.", ["ping"]),
    ] = None
    cooldown: Annotated[float, _key("Seconds between two runs.", 2, ge=0, le=3600)] = COOLDOWN
    max_steal: Annotated[
        float,
        _key(
            "Per cent of a run's time that others may take from the CPUs of its ends (steal, "
            "waiting vCPUs, CPU quotas); with more it does not count, and is repeated.",
            2,
            gt=0,
            le=100,
        ),
    ] = MAX_STEAL
    max_cpu_wait: Annotated[
        float,
        _key(
            "Per cent of a run that a thread of a generator, a vhost worker or QEMU's main loop "
            "may be ready to run and have no CPU; with more it does not count, and is repeated.",
            60,
            gt=0,
            le=100,
        ),
    ] = MAX_CPU_WAIT
    line_rate: Annotated[
        Text | None,
        _key(
            "Speed of the slowest physical link of the path, unless `--line-rate` says it. Results "
            "are then also shown as a percentage of what it can carry.",
            "25G",
        ),
    ] = None
    encapsulation: Annotated[
        Encapsulation, _key("Encapsulation of the packets on that link.", "vxlan")
    ] = "none"
    margins: Annotated[
        dict[str, Percent],
        _key(
            "Metric, and by how many per cent it has to be better or worse to count, instead of "
            "its own margin.",
            {"goodput": 3, "latency_p99": 15},
        ),
    ] = {}
    states: Annotated[
        dict[Name, str],
        _key(
            "States of the server: name, and what it means. The command that brings one about is "
            "given with the run.",
            {"querylog": "rndc querylog on"},
        ),
    ] = {}
    workload: Annotated[
        tuple[WorkloadTable, ...],
        _key(
            "What is run; any number of tables.",
            [{"engine": "iperf3", "patterns": ["tcp"]}],
            min_length=1,
        ),
    ]


class TablePlace(NamedTuple):
    """One table of the file: the file's own, or the nth ``[[workload]]``, from 1."""

    file: str
    workload: int = 0

    def error(self, message: str) -> UsageError:
        """A usage error with the file and the table."""
        where = f"[[workload]] {self.workload}: " if self.workload else ""
        return UsageError(f"{self.file}: {where}{message}")


Kind = type[ProfileTable] | type[WorkloadTable]


def descriptions(kind: Kind) -> dict[str, str]:
    """Key -> its meaning, in Markdown."""
    return {key: said.description or "" for key, said in _descriptions(kind).items()}


def examples(kind: Kind) -> dict[str, list[object]]:
    """Key -> example values."""
    return {
        key: (said.extra_json_schema or {})["examples"] for key, said in _descriptions(kind).items()
    }


def toml(value: object) -> str:
    """A value in TOML notation."""
    if isinstance(value, dict):
        pairs = (f"{key} = {toml(item)}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


@cache
def _descriptions(kind: Kind) -> dict[str, msgspec.Meta]:
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for field in msgspec.structs.fields(kind):
        metas = (part for part in hints[field.name].__metadata__ if isinstance(part, msgspec.Meta))
        found[field.encode_name] = next(meta for meta in metas if meta.description)
    return found


_ENTRY = re.compile(r"(?:workload\[(\d+)\]\.?)?([\w-]+)?")


def checked_table(table: dict[str, object], file: str) -> ProfileTable:
    """The keys of a file. Raises UsageError for the first mistake, unknown keys before others."""
    for problem in _unknown(table, file):
        raise problem
    try:
        return converted(table, ProfileTable)
    except msgspec.ValidationError as error:
        what, path = reason_at(error)
        entry, key = ((match := _ENTRY.match(path)) and match.groups()) or (None, None)
        place = TablePlace(file, 0 if entry is None else int(entry) + 1)
        kind: Kind = ProfileTable if entry is None else WorkloadTable
        example = f"; for example {key} = {toml(examples(kind)[key][0])}" if key else ""
        said = operator_words(what)
        raise place.error(f"{key + ': ' if key else ''}{said}{example}") from None


def _unknown(table: dict[str, object], file: str) -> Iterator[UsageError]:
    """Unknown keys, with the one that was probably meant."""
    entries = table.get("workload")
    tables: list[tuple[object, Kind, TablePlace]] = [(table, ProfileTable, TablePlace(file))]
    for number, entry in enumerate(entries if isinstance(entries, list) else (), 1):
        tables.append((entry, WorkloadTable, TablePlace(file, number)))
    for one, kind, place in tables:
        known = [field.encode_name for field in msgspec.structs.fields(kind)]
        for key in one if isinstance(one, dict) else ():
            if key not in known:
                hint = close_to(shortened(key), known)
                yield place.error(f"unknown key {shortened(key)!r}{hint}")
