"""A guest or a tool that printed a number of 5,000 digits, ``1.1.1`` or ``²`` ended a measurement
with an internal error: nine parsers took any digits there were."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.bench.engines.here import Here
from tests.bench.running.fakes import Engine, plugins
from tests.cli.command import vnicaudit
from tests.not_run import not_run
from vnicaudit.bench.contract import Ends, Measured
from vnicaudit.bench.endpoints.ip_output import held_addresses, interfaces, next_hops, routes
from vnicaudit.bench.endpoints.ip_output import nic_in as nic_of
from vnicaudit.bench.endpoints.session import status_in
from vnicaudit.bench.engines._dnsperf_batch import busiest, generators, statistics
from vnicaudit.bench.engines._iperf3_command import version_of
from vnicaudit.bench.engines._iperf3_report import parse as iperf3_report
from vnicaudit.bench.engines._rr_command import pattern_of, report_of
from vnicaudit.bench.facts.cpu import clock, throttled_seconds, ticks
from vnicaudit.bench.facts.guards import ping_summary
from vnicaudit.bench.facts.guest_process import process
from vnicaudit.bench.facts.setup import ethtool_values
from vnicaudit.bench.profiles.load import FOLDER
from vnicaudit.bench.running.collector import run_once
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import Ran, Workload
from vnicaudit.reaching.sections import split

BENCH = Path(__file__).parents[2] / "bench"
GUARDS, FACTS, ENGINES = (BENCH / part / "data" for part in ("guards", "facts", "engines"))

NUMBERS = (
    "9" * 5000, "9" * 400, "1.1.1", "...", "²", "٣", "NaN", "-nan", "inf", "-1", "1e999", "0x10",
    "1_0", "", " ", "\0", "\x1b[2J", "\u2028", "0" * 20_000, "18446744073709551615",
)  # fmt: skip
"""In the place of a number."""
WHOLE = ("", "\0", "\n" * 1000, "9" * 5000, "x" * 200_000, "\x1b]0;x\x07", "²", "[" * 5000)
"""In the place of all that was printed."""


def _dnsperf(text: str) -> object:
    return statistics(text, connected="Connection Statistics" in text)


def _together(text: str) -> object:
    return generators(Ran((), 0, text, "", 1.0, "e"), ("dnsperf",), 1)


def _clock(text: str) -> object:
    return clock((Section("uptime", text), Section("ticks", text), Section("boot", text)))


def _rr(text: str) -> object:
    pattern = pattern_of("rr1c-1x1")
    assert pattern is not None
    return report_of(text, pattern)


def _data(folder: Path, pattern: str) -> str:
    return sorted(folder.glob(pattern))[0].read_text("utf-8")


_IP = _data(GUARDS, "ip/addr.json")
_STAT = _data(FACTS, "proc/kthreadd.stat")
_RUN = "a\n== threads\n1 (x) S" + " 7" * 30 + "\n\n== ended 0\nx\n== stderr\ny\n== end\n"
_SIDE = '{"bytes": 2, "transactions": 1, "cpu": 0.5, "wait": 0.1, "late": 0, "sum": 5}'

PARSERS: dict[str, tuple[Callable[[str], object], str]] = {
    "ping": (ping_summary, _data(GUARDS, "ping/iputils*-ok.txt")),
    "ping-busybox": (ping_summary, _data(GUARDS, "ping/busybox*-ok.txt")),
    "interfaces": (interfaces, _IP),
    "nic": (lambda text: nic_of(text, "192.0.2.1"), _IP),
    "held": (held_addresses, _IP),
    "routes": (routes, _data(GUARDS, "ip/route4.json")),
    "next-hops": (
        lambda text: next_hops(text, ["192.0.2.2"]),
        '[{"dst":"192.0.2.2","dev":"eth0","flags":[],"cache":[]}]',
    ),
    "dnsperf": (_dnsperf, _data(ENGINES, "dnsperf/2.14.0/histogram.txt")),
    "dnsperf-tcp": (_dnsperf, _data(ENGINES, "dnsperf/2.14.0/histogram-tcp.txt")),
    "dnsperf-together": (_together, _RUN),
    "dnsperf-threads": (lambda text: busiest(text, 1), "1 (x) S" + " 7" * 30 + "\n"),
    "sections": (lambda text: split(text, "s"), "s a\nb\ns code 0\ns end\n"),
    "clock": (_clock, "12.34 56.78\n"),
    "ticks": (ticks, "cpu  1 2 3 4 5 6 7 8 9 10\n"),
    "throttled": (throttled_seconds, "usage_usec 1\nthrottled_usec 7\n"),
    "process": (process, _STAT),
    "ethtool": (partial(ethtool_values, "g"), _data(FACTS, "ethtool/5.9/e1000.g.txt")),
    "supervisor": (
        lambda text: status_in(text.encode()),
        "\nvnicaudit-supervisor ended 0 1 2\nabc",
    ),
    "iperf3-version": (version_of, "iperf 3.12 (cJSON 1.7.15)\n"),
    "rr": (_rr, f'{{"error": "", "counts": [[1, 1]], "client": [{_SIDE}], "server": [{_SIDE}]}}\n'),
}  # fmt: skip


SAY_NOTHING = {
    "nic", "held", "next-hops", "supervisor", "throttled", "dnsperf-threads", "ethtool",
    "iperf3-ports", "iperf3-version",
}  # fmt: skip
"""Parsers that find nothing where there is nothing."""


def _answers(text: str) -> Iterator[str]:
    yield from WHOLE
    places = [found.span() for found in re.finditer(r"\d+(?:\.\d+)*", text)][:60]
    for start, end in places:
        for number in NUMBERS:
            yield text[:start] + number + text[end:]
    for number in NUMBERS:
        yield re.sub(r"\d+", lambda _found, put=number: put, text)  # type: ignore[misc]
    for part in range(1, 24):
        yield text[: len(text) * part // 24]
        yield text[: len(text) * part // 24] + "\0\x07" + text[len(text) * part // 24 :]
    yield text * 50
    yield text.replace("\n", "")


@pytest.mark.parametrize("name", PARSERS)
def test_no_parser_raises_anything_but_that_it_cannot_read(name: str) -> None:
    parse, text = PARSERS[name]
    parse(text)
    refused = 0
    for answer in _answers(text):
        try:
            parse(answer)
        except (MeasureError, EndpointError):
            refused += 1
    assert refused or name in SAY_NOTHING


def test_iperf3_reports_either_are_read_or_are_not() -> None:
    text = (ENGINES / "iperf3" / "3.12" / "tcp.client.json").read_text("utf-8")
    iperf3_report(text)
    odd = [re.sub(r"\d+", number, text) for number in ("9" * 400, "1.1.1", "NaN", "-1")]
    for answer in (*WHOLE, *odd):
        with pytest.raises(MeasureError):
            iperf3_report(answer)


class _Odd(Engine):
    """An engine whose parser meets what nobody thought of."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def measure(self, _workload: Workload, _ends: Ends) -> Measured:
        raise self.error


@pytest.mark.parametrize(
    "error", [ValueError("digits"), OverflowError("inf"), KeyError("x"), RecursionError("deep")]
)
def test_what_an_engine_stumbles_over_is_not_measured(
    error: Exception,
) -> None:
    with Here("target") as here:
        workload = Workload(id="w", engine="rr", pattern="rr1c-1x1")
        found = run_once(workload, Ends(here, here, "127.0.0.1"), plugins(_Odd(error)))
    assert found.values == {}
    assert found.error.startswith(f"what rr printed cannot be read ({type(error).__name__}: ")


FAKE = """#!/bin/sh
printf -- '--- x ping statistics ---\\n{digits} packets transmitted, 1 received, 0% packet loss\\n'
"""


def test_a_whole_measurement_of_a_hostile_end_is_one_without_that_rail(tmp_path: Path) -> None:
    if shutil.which("iperf3") is None:
        not_run("tests/regressions/hostile_input", "iperf3 is not installed")
    programs = tmp_path / "bin"
    programs.mkdir()
    fake = programs / "ping"
    fake.write_text(FAKE.format(digits="9" * 5000))
    fake.chmod(0o755)
    profile = tmp_path / "smoke.toml"
    shipped = (Path(FOLDER) / profile.name).read_text("utf-8")
    profile.write_text(f"max-steal = 100\n{shipped}")
    done = vnicaudit(
        "bench", "run", "local?address=127.0.0.1,local", "--profile", profile, "--seconds", "1",
        "--repeats", "1", "--state", tmp_path / "state", "-o",
        tmp_path / "x.json", env={"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode in (0, 1, 4), done.stderr
    assert "internal error" not in done.stderr
    found: dict[str, Any] = json.loads((tmp_path / "x.json").read_text())
    rails = {one["name"]: one for one in found["guard_rails"]}
    assert rails["ping"]["verdict"] == "unknown"
