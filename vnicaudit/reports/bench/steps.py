"""Where paths lose speed: the step, by how much, and what was seen there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.judging.steps import JudgedStep, lone_paths
from vnicaudit.bench.judging.stored_comparison import judged_steps_of
from vnicaudit.bench.judging.verdict import effect_unit
from vnicaudit.bench.metrics import digits, quantity
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult, Comparison, End, Path, Sample, Setup
from vnicaudit.reports.bench.cpu import parts_of
from vnicaudit.reports.bench.labels import STYLES, metric_words, percent
from vnicaudit.reports.bench.rows import NOT_MEASURED, effect_parts
from vnicaudit.reports.model import Cell, Part, ReportSection, Row, Table

_OUTCOMES = {
    "loses": Part("loses", style=STYLES["regressed"], strong=True),
    "holds": Part("no loss", style=STYLES["equivalent"], strong=True),
    "undecided": Part("undecided", style=STYLES["inconclusive"], strong=True),
    "not-measured": Part("not measured", style=STYLES["invalid"], strong=True),
}
_NODES = ("host", "hostnetwork")
"""Paths whose ends are the nodes themselves, or see their network devices."""
_ON_NODES = ("ssh://", "local")
_LEAST_SECONDS = 10.0
"""Of shorter runs too little of the time between two readings is load."""
_FULL = 90.0
"""Per cent of a CPU in softirqs from which it is full of them; the others must have half of it at
most."""


def drop_section(result: BenchResult) -> ReportSection:
    """The step that loses most, a row for each step, and what was seen at the ends of those that
    lose."""
    title = "Where it drops"
    try:
        judged = judged_steps_of(result)
    except UsageError as error:
        return ReportSection(title=title, lead=f"not judged: {error}")
    losing = sorted(
        (each for each in judged if each.lost_rows), key=lambda each: _rank(each.lost_rows[0])
    )
    return ReportSection(
        title=title,
        lead=_lead(losing, judged),
        tables=(_table(judged),) if judged else (),
        items=(
            *(sight for each in losing for sight in _sights(result, each)),
            *(
                f"{path} was not compared: that takes the path {' or '.join(above)}"
                for path, above in lone_paths(result.arms).items()
            ),
        ),
    )


def _rank(row: Comparison) -> tuple[bool, float]:
    return row.better != "higher", 0.0 if row.effect is None else row.effect.percent


def _lead(losing: Sequence[JudgedStep], judged: Sequence[JudgedStep]) -> str:
    if losing:
        return "; ".join(
            f"{'most ' if not at and len(losing) > 1 else ''}at {_name(each)}: "
            f"{_loss_words(each.lost_rows[0])}"
            for at, each in enumerate(losing)
        )
    if not judged:
        return "not judged: none of these paths is compared with another"
    if any(each.outcome == "undecided" for each in judged):
        return "no step loses speed beyond chance; some are undecided"
    held, others = (
        [each for each in judged if (each.outcome == "holds") == holds] for holds in (True, False)
    )
    if held and others:
        return f"nowhere by more than the margin, but not measured: {', '.join(map(_name, others))}"
    return "nowhere by more than the margin" if held else "not measured"


def _name(judged: JudgedStep) -> str:
    """``pod-same → pod-cross (same node → across nodes)``."""
    row = judged.rows[0] if judged.rows else None
    upper = row.before_arm if row is not None else judged.step.uppers[0]
    title = f" ({judged.title})" if judged.title else ""
    return f"{upper} → {judged.step.lower}{title}"


def _loss_words(row: Comparison) -> str:
    """``goodput 10.0 Gb/s → 2.79 Gb/s, worse by 72.1 % (69.0 to 74.2), in iperf3.tcp.rx.c1``."""
    sides = " → ".join(_value(row, at) for at in (0, 1))
    said = f"{metric_words(row.metric)} {sides}"
    if (effect := row.effect) is not None:
        least, most = digits(-effect.high95), digits(-effect.low95)
        said += f", worse by {digits(-effect.percent)} {effect_unit(row.unit)} ({least} to {most})"
    return f"{said}, in {row.workload}"


def _value(row: Comparison, at: int) -> str:
    side = (row.before, row.after)[at]
    effect = row.effect
    centre = None if effect is None else (effect.before, effect.after)[at]
    if centre is None and side is not None:
        centre = side.median
    return NOT_MEASURED if centre is None else quantity(centre, row.metric, row.unit)


def _table(judged: Sequence[JudgedStep]) -> Table:
    """A row for each step: its greatest loss, or what is nearest to one."""
    rows = []
    for each in judged:
        row = each.rows[0] if each.rows else None
        cells: tuple[Cell, ...] = ("", NOT_MEASURED, NOT_MEASURED, NOT_MEASURED)
        if row is not None:
            work = (Part(row.workload), Part(metric_words(row.metric), "aside"))
            cells = (work, _value(row, 0), _value(row, 1), effect_parts(row))
        outcome = _OUTCOMES[each.outcome]
        chance = row is not None and row.verdict == "regressed" and not each.lost_rows
        notes = [f"too few valid runs of {path}: it was not measured" for path in each.short]
        if chance:
            notes.append(
                f"worse, but among so many steps it may be chance (adjusted p {each.p:.3f})"
            )
        rows.append(Row((_name(each), *cells, (outcome, *(Part(note, "note") for note in notes)))))
    heads = ("step", "most affected", "from", "to", "change (95 %)", "")
    return Table("", heads, tuple(rows))


# What was seen at the ends of a step that loses: facts, of which each may be the cause.


def _sights(result: BenchResult, judged: JudgedStep) -> Iterator[str]:
    row = judged.lost_rows[0]
    paths = {path.name: path for path in result.paths}
    here = [path for name in (row.before_arm, row.after_arm) if (path := paths.get(name))]
    crosses = not row.after_arm.endswith(_ON_ONE_NODE)
    near = [*here, *(paths[name] for name in _NODES if name in paths and paths[name] not in here)]
    if not crosses:  # packets do not leave the node: its NIC and its tunnels are not on the way
        near = [path for path in here if path.name not in _NODES]
    ends = dict.fromkeys(end for path in near for end in (path.target, path.peer))
    setups = [setup for setup in result.environment if setup.endpoint in ends]
    places: dict[str, list[str]] = {}
    for setup in setups:
        for sight in _settings(setup):
            places.setdefault(sight, []).append(_place(setup.endpoint))
    found = [
        *_mtus(here),
        *(f"{sight} at {', '.join(there)}" for sight, there in places.items()),
        *_softirqs(result, row),
    ]
    name = f"{row.before_arm} → {row.after_arm}"
    yield from (f"seen at {name}: {sight}" for sight in found)
    nodes = {end for path in near if path.name in _NODES for end in (path.target, path.peer)}
    read = [s for s in setups if s.endpoint in nodes or s.endpoint.startswith(_ON_NODES)]
    if not read:
        missing = "a path between them (host=ssh://NODE1,ssh://NODE2) and " if crosses else ""
        yield (
            f"nothing was seen on the nodes of {name}, whose own part of the way was not read: "
            f"{missing}`vnicaudit audit ssh://NODE` would tell"
        )
    elif not found:
        yield _nothing(name, read)


_ON_ONE_NODE = "-same"
_LOOKED_AT = {
    "tunnels": "no tunnel",
    "nic.mtu": "no smaller MTU",
    "nic.offload.generic-receive-offload": "no offload that is off",
    "nic.channels.combined": "no single queue",
}
"""Fact -> what is not there, if the fact is known and nothing was seen."""


def _nothing(name: str, read: Sequence[Setup]) -> str:
    known = [fact for fact in _LOOKED_AT if all(fact in setup.facts for setup in read)]
    where = ", ".join(_place(setup.endpoint) for setup in read)
    said = ", ".join(_LOOKED_AT[fact] for fact in known) or "nothing there could be read"
    unknown = ", ".join(fact for fact in _LOOKED_AT if fact not in known)
    return (
        f"nothing was seen on the nodes of {name} ({where}): {said}"
        f"{f'; not known: {unknown}' if unknown else ''}; `vnicaudit audit ssh://NODE` reads more"
    )


def _place(endpoint: str) -> str:
    """The endpoint without its options."""
    return endpoint.partition("?")[0]


def _mtus(here: Sequence[Path]) -> Iterator[str]:
    if len(here) == 2:
        upper, lower = here
        if upper.mtu is not None and lower.mtu is not None and lower.mtu < upper.mtu:
            yield f"MTU {lower.mtu} on {lower.name}, {upper.mtu} on {upper.name}"


_OFFLOADS = (
    "tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload",
    "tx-checksumming", "rx-checksumming", "scatter-gather",
)  # fmt: skip
_OFF_ON_VETH = ("generic-receive-offload",)
"""Off on a new veth (ethtool -k on Linux 6.12 and 6.18), so it is no sight."""
_TUNNEL_OFFLOADS = ("tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation")


def _settings(setup: Setup) -> Iterator[str]:
    facts = setup.facts
    nic = facts.get("nic", "its NIC")
    tunnels = facts.get("tunnels", "").removeprefix("none")
    if tunnels:
        yield f"encapsulation by {tunnels}"
    usual = _OFF_ON_VETH if facts.get("nic.driver") == "veth" else ()
    for name in (*_OFFLOADS, *(_TUNNEL_OFFLOADS if tunnels else ())):
        if facts.get(f"nic.offload.{name}", "").startswith("off") and name not in usual:
            yield f"{name} is off on {nic}"
    cpus = facts.get("cpus", "")
    if facts.get("nic.channels.combined") == "1" and cpus not in ("", "1"):
        yield f"1 queue for {cpus} CPUs on {nic}"


def _softirqs(result: BenchResult, row: Comparison) -> Iterator[str]:
    """An end where one CPU was full of softirqs while the others were not."""
    runs = [
        sample
        for sample in result.samples
        if sample.valid and (sample.workload, sample.arm) == (row.workload, row.after_arm)
    ]
    path = next((path for path in result.paths if path.name == row.after_arm), None)
    cpus = {setup.endpoint: setup.facts.get("cpus", "") for setup in result.environment}
    ends: dict[End, str] = {"target": path.target, "peer": path.peer} if path else {}
    for end, url in ends.items():
        number = cpus.get(url, "")
        shares = [share for run in runs if (share := _shares(run, end)) is not None]
        if not shares or not number.isdecimal() or not 1 < int(number) < 100_000:
            continue
        most = median([busiest for busiest, _all in shares])
        others = median([max(0.0, all_ - one) for one, all_ in shares]) / (int(number) - 1)
        if most >= _FULL and others <= most / 2:
            yield (
                f"one CPU was {percent(most)} in softirqs, the other {int(number) - 1} "
                f"{digits(others)} %, at {_place(url)}"
            )


def _shares(run: Sample, end: End) -> tuple[float, float] | None:
    """Per cent of a CPU in softirqs: of the busiest one, and of all together."""
    parts, seconds = parts_of(run, end), run.covariates.seconds
    if parts.softirq is None or parts.softirq_of_busiest is None:
        return None
    if seconds is None or seconds < _LEAST_SECONDS:
        return None
    each = 1e4 * seconds
    return parts.softirq_of_busiest / each, parts.softirq / each
