"""Output of netperf with ``-k``: one KEY=VALUE per line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vnicaudit.bench.engines._netperf.command import SELECTORS, TESTS, burst
from vnicaudit.bench.readable import one_line
from vnicaudit.errors import MeasureError, SilenceError
from vnicaudit.model.measurement import Workload

_NUMBER = re.compile(r"\d{1,18}(\.\d{1,9})?", re.ASCII)
_UNKNOWN = re.compile(r"-1(\.0+)?", re.ASCII)
_UNITS = "10^3bits/s"
_AGREE = 0.05
"""Share by which a rate and its bytes may differ: netperf rounds the time to 10 ms."""
_ANSWERED = 0.9
"""Minimum share of the time that the requests must take in total."""


class NetperfOutput:
    """The selectors' values. Reading one raises MeasureError if it is not a number."""

    def __init__(self, text: str) -> None:
        self.texts = _texts(text)

    def number(self, name: str) -> float:
        """The value of that name."""
        text = self.texts[name]
        if _NUMBER.fullmatch(text) is None:
            raise MeasureError(f"netperf's {name} is {text[:40]!r}")
        return float(text)

    def measured(self, name: str) -> float | None:
        """The value of that name; None if netperf does not have it, and writes -1."""
        return None if _UNKNOWN.fullmatch(self.texts[name]) else self.number(name)


def parse_output(text: str, workload: Workload) -> NetperfOutput:
    """Parse the output of a test. Raises MeasureError if it is incomplete, is of another test, or
    contradicts itself."""
    output = NetperfOutput(text)
    test = TESTS[workload.pattern]
    said = (output.texts["PROTOCOL"], output.texts["DIRECTION"], output.texts["THROUGHPUT_UNITS"])
    if said != (test.protocol, test.says, _UNITS):
        raise MeasureError(f"netperf ran another test: {' '.join(said)[:80]}")
    if output.number("ELAPSED_TIME") <= 0:
        raise MeasureError("netperf reports a run time of zero")
    if test.direction == "both":
        _check_requests(output, workload)
    else:
        _check_stream(output, test.received)
    return output


def _texts(text: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and name in SELECTORS:
            if name in found:
                raise MeasureError(f"netperf printed {name} twice")
            found[name] = value.strip()
    missing = next((name for name in SELECTORS if name not in found), None)
    if missing is not None or not text.endswith("\n"):
        raise MeasureError(f"netperf's result is incomplete{_last(text, missing)}")
    return found


def _last(text: str, missing: str | None) -> str:
    """Last message of netperf, as the end of a sentence; else the name of the ``missing`` value."""
    lines = [line for line in text.splitlines() if "=" not in line]
    said = one_line("\n".join(lines), last=True)
    return f": {said}" if said else f": no {missing}" if missing else ""


def _check_stream(output: NetperfOutput, received: str) -> None:
    rate = output.number(f"{received}_RECV_THROUGHPUT") * 1000
    carried = output.number(f"{received}_BYTES_RECVD") * 8 / output.number("ELAPSED_TIME")
    if rate <= 0 or carried <= 0:
        raise SilenceError("netperf: nothing was received")
    if abs(rate - carried) > _AGREE * rate:
        raise MeasureError("netperf's rate does not match its bytes and time")


def _check_requests(output: NetperfOutput, workload: Workload) -> None:
    """Raises MeasureError if UDP_RR stalled: a lost datagram stops it for good, and the printed
    rate is over the whole time."""
    if output.number("BURST_SIZE") != burst(workload):
        raise MeasureError("netperf was built without --enable-burst")
    rate = output.number("TRANSACTION_RATE")
    if rate <= 0 or output.number("MEAN_LATENCY") <= 0:
        raise SilenceError("netperf: no request was answered")
    if rate * output.number("MEAN_LATENCY") / 1e6 < _ANSWERED * (burst(workload) + 1):
        raise MeasureError("netperf waited for an answer that did not come")
