"""Write docs/reference/profiles.md: the shipped profiles, the keys of a profile, and all engines
and metrics.

python docs/generate_profiles.py            write the page
python docs/generate_profiles.py --check    exit 1 if the page differs
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from vnicaudit.bench.engines import engine_names, load_engine
from vnicaudit.bench.facts.guards import GUARDS
from vnicaudit.bench.judging.effect import SHARE_MARGIN, is_share
from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.profiles.keys import Kind, ProfileTable, WorkloadTable, descriptions, toml
from vnicaudit.bench.profiles.load import load_profile, shipped_profiles
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.reports.bench.profiles import render_one, takes
from vnicaudit.reports.writers import Options

PAGE = Path(__file__).parent / "reference" / "profiles.md"

_PAGE = """\
# Profiles

This page is generated from the program. A profile says what `vnicaudit bench run` and `vnicaudit
apply --bench` measure, how often, and what the verdict rests on ([Measure a
change](../how-to/bench.md)). `--profile` takes the name of a shipped one, or the path of your own,
which ends in `.toml`. `vnicaudit bench profiles NAME` shows one with its workloads, its time and
what it was made from.

## Shipped profiles

| profile | what it answers | workloads | time |
|---|---|---|---|
{shipped}

Times are estimates, for two arms. Runs that are repeated, boots and flips come on top.

{details}

## A profile of your own

Save this as `web.toml`:

<!-- file: web.toml -->
```toml
{web}```

and have it checked; a mistake is named with its table and key:

<!-- run -->
```console
$ vnicaudit bench profiles web.toml
{example}
```

[Editors](../how-to/editors.md) check it as you type with the schema
[vnicaudit.profile.json](../schemas/vnicaudit.profile.json), which has examples of each key.

## Keys

| key | meaning | default |
|---|---|---|
{keys}

## Keys of `[[workload]]`

Lists are combined: two directions, three numbers of connections and four sizes are 24 workloads.

| key | meaning | default |
|---|---|---|
{workload_keys}

A workload is known by its id, the same in every profile: engine, pattern, direction, connections
(`c25`), generators (`g2`), size (`64k`), rate (`r100m`), name, and after an `@` the state of the
server: `iperf3.tcp.tx.c25.64k`, `dnsperf.capacity.g2@querylog`.

## Engines

Each is a program at the peer and, but for dnsperf, one at the target. Of rr, `rr1c-AxB` is a
request of A bytes and an answer of B over a connection that stays, with any sizes (`k` is 1024).
`latency_*` are `latency_mean`, `_p50`, `_p99`, `_p999` and `_max`.

{engines}

## Metrics

`decides` takes those of the pattern, and the CPU costs, which every engine has. A metric counts as
better or worse from its margin on. Higher is better: {higher}; for the others lower.

| metric | what it is | unit | margin |
|---|---|---|---|
{metrics}

## Guard rails

They hold whatever the throughput; one that the change broke is a veto. `guards` chooses among:
{guards}.
"""


_WEB = """\
title = "The web tier: many connections, small answers"
repeats = 7
max-steal = 1

[margins]
latency_p99 = 15

[[workload]]
engine = "rr"
patterns = ["rr1c-200x1000", "rr1c-200x30k"]
connections = [1, 50, 250]
decides = ["latency_p50", "latency_p99"]
primary = ["*.c50", "*.c250"]

[[workload]]
engine = "iperf3"
patterns = ["tcp"]
directions = ["tx", "rx"]
sizes = ["64K"]
"""


def page() -> str:
    """The whole page."""
    profiles = [load_profile(name) for name in shipped_profiles()]
    return _PAGE.format(
        shipped="\n".join(map(_row, profiles)),
        details="\n\n".join(map(_details, profiles)),
        web=_WEB,
        example=_example(),
        keys="\n".join(_keys(ProfileTable)),
        workload_keys="\n".join(_keys(WorkloadTable)),
        engines="\n\n".join(map(_engine, engine_names())),
        higher=", ".join(f"`{one.name}`" for one in METRICS.values() if one.better == "higher"),
        metrics="\n".join(_metrics()),
        guards=", ".join(f"`{name}`" for name in GUARDS),
    )


def _row(profile: Profile) -> str:
    time = takes(profile).replace("before and after together: ", "")
    return (
        f"| [`{profile.name}`](#{profile.name}) | {profile.title} | {len(profile.workloads)} "
        f"| {time} |"
    )


def _details(profile: Profile) -> str:
    sources = "; ".join(source.partition(" (")[0] for source in profile.sources)
    origin = f"\n\nFrom: {sources}." if sources else ""
    return f"### {profile.name}\n\n{profile.description}{origin}"


def _example() -> str:
    """Output of vnicaudit for the example."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "web.toml"
        path.write_text(_WEB, "utf-8")
        profile = load_profile(str(path))
    return "".join(render_one(profile, Options(width=100))).rstrip()


def _keys(kind: Kind) -> Iterator[str]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key, meaning in descriptions(kind).items():
        default = fields[key].default
        usual = "" if default in (msgspec.NODEFAULT, None, ()) else f"`{toml(default)}`"
        usual = "demanded" if fields[key].required else usual
        yield f"| `{key}` | {meaning.replace('|', chr(92) + '|')} | {usual} |"


def _engine(name: str) -> str:
    engine = load_engine(name)
    manual = inspect.cleandoc(engine.__doc__ or "").replace("``", "`")
    patterns = "\n".join(
        f"| `{pattern}` | {_metric_names(metrics)} |"
        for pattern, metrics in engine.PATTERNS.items()
    )
    head = "| pattern | metrics, the usual one first |\n|---|---|\n"
    return f"### {name}\n\n{manual}\n\n{head}{patterns}"


def _metric_names(metrics: Sequence[str]) -> str:
    """In their order, the latencies as one."""
    shown = ("latency_*" if name.startswith("latency_") else name for name in metrics)
    return ", ".join(f"`{name}`" for name in dict.fromkeys(shown))


def _metrics() -> Iterator[str]:
    for metric in METRICS.values():
        share = f"{SHARE_MARGIN:g} points"
        margin = share if is_share(metric) else f"{100 * metric.margin:g} %"
        yield f"| `{metric.name}` | {metric.title} | {metric.unit} | {margin} |"


def main(arguments: list[str]) -> int:
    """Write or check the page; returns the exit code: 1 if ``--check`` finds a difference."""
    if arguments != ["--check"]:
        PAGE.write_text(page(), "utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text("utf-8") == page():
        return 0
    sys.stderr.write("docs/reference/profiles.md differs: run python docs/generate_profiles.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
