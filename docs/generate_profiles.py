"""Write docs/reference/profiles.md: the shipped profiles, the keys of a profile, and all engines
and metrics.

python docs/generate_profiles.py            write the page
python docs/generate_profiles.py --check    exit 1 if the page differs
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.profiles.keys import ProfileTable, WorkloadTable
from vnicaudit.bench.profiles.load import load_profile, shipped_profiles
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.profiles.registry import ENGINES, GUARDS
from vnicaudit.bench.profiles.table import Kind, descriptions, examples, toml
from vnicaudit.reports.profiles.text import render_one, takes
from vnicaudit.reports.writer import Options

PAGE = Path(__file__).parent / "reference" / "profiles.md"

_PAGE = """\
# Profiles

This page is generated from the program. A profile says what `vnicaudit bench run` and `vnicaudit
apply --bench` measure, how often, and what the verdict rests on. `--profile` takes the name of a
shipped one, or the path of your own, which ends in `.toml`. `vnicaudit bench profiles` lists them,
`vnicaudit bench profiles NAME` shows one with its workloads and its time, and with a path it
checks the file: a mistake is told with its line.

How to use them is in [Measure a change](../how-to/bench.md).

## Shipped profiles

| profile | what it answers | workloads | time |
|---|---|---|---|
{shipped}

Times are estimates: measured seconds and warm-up of each run, 40 s for a search, 1.5 s to start
both ends, and the pause between runs. Runs that do not count and are repeated, boots and flips
come on top.

{details}

## A profile of your own

Save this as `web.toml`:

<!-- file: web.toml -->
```toml
{web}```

and have it checked:

<!-- run -->
```console
$ vnicaudit bench profiles web.toml
{example}
```

Editors that know TOML check it as you type with the schema
[vnicaudit.profile.json](../schemas/vnicaudit.profile.json); [In an editor](../how-to/editors.md)
says how.

## Keys

| key | meaning | for example | default |
|---|---|---|---|
{keys}

## Keys of `[[workload]]`

Lists are combined: two directions, three numbers of connections and four sizes are 24 workloads.

| key | meaning | for example | default |
|---|---|---|---|
{workload_keys}

A workload is known by its id: engine, pattern, direction, connections (`c25`), generators (`g2`),
size (`64k`), rate (`r100m`), name, and after an `@` the state of the server:
`iperf3.tcp.tx.c25.64k`, `dnsperf.capacity.g2@querylog`. What goes without saying of a pattern is
left out. The same work has the same id in every profile, so that measurements can be compared.

## Engines

Each is a program at the peer and, but for dnsperf, one at the target. Of rr, `rr1c-AxB` is a
request of A bytes and an answer of B over a connection that stays, with any sizes (`k` is 1024);
in `str-readxN` the target sends (`tx`), in `str-writexN` it receives (`rx`), in messages of N
bytes.

{engines}

## Metrics

`decides` takes those of the pattern, and the CPU costs, which are worked out for every engine: per
Gbit or per request, of the hypervisor (`host_…`), the target and the peer. A metric counts as
better or worse from its margin on.

| metric | what it is | unit | better | margin |
|---|---|---|---|---|
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
        engines="\n\n".join(map(_engine, ENGINES.names())),
        metrics="\n".join(_metrics()),
        guards=", ".join(f"`{name}`" for name in GUARDS.names()),
    )


def _row(profile: Profile) -> str:
    time = takes(profile).replace("two arms take ", "")
    return (
        f"| [`{profile.name}`](#{profile.name}) | {profile.title} | {len(profile.workloads)} "
        f"| two arms: {time} |"
    )


def _details(profile: Profile) -> str:
    sources = "".join(f"\n* {source}" for source in profile.sources)
    origin = f"\n\nFrom:\n{sources}" if sources else ""
    return f"### {profile.name}\n\n{profile.description}{origin}"


def _example() -> str:
    """Output of vnicaudit for the example."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "web.toml"
        path.write_text(_WEB, "utf-8")
        profile = load_profile(str(path))
    return "".join(render_one(profile, Options(width=100))).rstrip()


def _keys(kind: Kind) -> Iterator[str]:
    shown = examples(kind)
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key, meaning in descriptions(kind).items():
        default = fields[key].default
        usual = "" if default in (msgspec.NODEFAULT, None, ()) else f"`{toml(default)}`"
        usual = "demanded" if fields[key].required else usual
        example = "" if key == "workload" else f"`{key} = {toml(shown[key][0])}`"
        yield f"| `{key}` | {meaning.replace('|', chr(92) + '|')} | {example} | {usual} |"


def _engine(name: str) -> str:
    engine = ENGINES.load(name)
    manual = inspect.cleandoc(engine.__doc__ or "").replace("``", "`")
    patterns = "\n".join(
        f"| `{pattern}` | {', '.join(f'`{metric}`' for metric in metrics)} |"
        for pattern, metrics in engine.PATTERNS.items()
    )
    head = "| pattern | metrics, the usual one first |\n|---|---|\n"
    return f"### {name}\n\n{manual}\n\n{head}{patterns}"


def _metrics() -> Iterator[str]:
    for metric in METRICS.values():
        margin = f"{100 * metric.margin:g} %"
        yield f"| `{metric.name}` | {metric.title} | {metric.unit} | {metric.better} | {margin} |"


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
