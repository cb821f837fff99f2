"""uperf 1.0.7 or newer: IBM's patterns, by the program they were made for.

The slave runs at the target, the master at the peer; which way a stream goes: ``_patterns.py``.
A transaction of rr1c is two operations, a write and a read. Its mean latency is Little's law:
connections x time / transactions, as one request is on its way on each connection at any time;
uperf has no percentiles, the engine rr has. Of str-write, the sender counts, once its buffers are
full. The slave serves whoever knows its port while it runs.

Option: ``port`` (of the slave).
"""

from __future__ import annotations

import re

from vnicaudit.bench.contract import Ends, Measured, Needs, Tool
from vnicaudit.bench.engines._listening import ports, start_server
from vnicaudit.bench.engines._patterns import Pattern, Patterns
from vnicaudit.bench.engines._uperf.checks import checked
from vnicaudit.bench.engines._uperf.output import Window, window
from vnicaudit.bench.engines._uperf.profile import duration, profile
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran, Workload

PATTERNS = Patterns(rr=("transaction_rate", "latency_mean", "goodput"), stream=("goodput",))

_UPERF = Tool("uperf", {"dnf": "uperf", "zypper": "uperf"})
"""Fedora, EPEL 8 and 9, openSUSE Tumbleweed; neither Debian nor Ubuntu have it."""
_PROFILE = "vnicaudit-uperf.xml"
_SLACK = 30.0
"""Seconds beside those of a run, after which it is given up."""
_OPERATIONS = 2
"""Of a transaction of rr1c."""


def needs(workload: Workload) -> Needs:  # noqa: ARG001
    """uperf at both ends."""
    return Needs(target=(_UPERF,), peer=(_UPERF,))


def check(workload: Workload) -> None:
    """Raises UsageError where this cannot be run as written."""
    checked(workload)


def measure(workload: Workload, ends: Ends) -> Measured:
    """One run."""
    pattern = checked(workload)
    raw: list[Ran] = []
    try:
        _run(workload, pattern, ends, raw)
        return measured(workload, pattern, raw[-1].stdout, tuple(raw))
    except MeasureError as error:
        return Measured(error=str(error), raw=tuple(raw))


def measured(workload: Workload, pattern: Pattern, text: str, raw: tuple[Ran, ...]) -> Measured:
    """What the master printed, in the metrics' units."""
    found = window(
        text,
        warmup=workload.warmup,
        seconds=workload.seconds,
        duration=duration(workload),
    )
    if not found.operations or not found.bytes:
        raise MeasureError("uperf: nothing came or went in the time that counts")
    transactions = found.operations / _OPERATIONS if pattern.mode == "rr" else None
    return Measured(
        values=_values(workload, found, transactions),
        details={"operations": found.operations},
        seconds=found.seconds,
        bytes=found.bytes,
        transactions=transactions,
        raw=raw,
    )


def _values(workload: Workload, found: Window, transactions: float | None) -> dict[str, float]:
    values = {"goodput": found.bytes * 8 / found.seconds}
    if transactions:
        values["transaction_rate"] = transactions / found.seconds
        values["latency_mean"] = 1e6 * workload.connections * found.seconds / transactions
    return values


def _run(workload: Workload, pattern: Pattern, ends: Ends, raw: list[Ran]) -> None:
    """Run it; the last of ``raw`` is the master's output."""
    if re.fullmatch(r"[A-Za-z0-9.:_%-]+", ends.address) is None:
        raise MeasureError(f"uperf cannot be given the address {ends.address!r}")
    path = ends.peer.put(_PROFILE, profile(workload, pattern, ends.address).encode())
    life = duration(workload) + _SLACK
    slave, port = start_server(
        ends.target,
        lambda port: (("uperf", "-s", "-P", str(port)),),
        ports(ends.seed, workload.options.get("port", "")),
        seconds=life + _SLACK,
    )
    try:
        argv = ("uperf", "-m", path, "-a", "-R", "-i", "1", "-P", str(port))
        raw.append(ends.peer.run(argv, seconds=life))
        _require_success(raw[-1])
    finally:
        slave.stop()


def _require_success(ran: Ran) -> None:
    if ran.code is None:
        raise MeasureError("uperf did not end in time")
    if ran.code != 0:
        said = (ran.stderr.strip() or ran.stdout.strip()).splitlines()
        raise MeasureError(f"uperf failed: {said[-1][:200] if said else f'exit {ran.code}'}")
