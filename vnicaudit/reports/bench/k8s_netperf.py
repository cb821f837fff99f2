"""Reads the results of k8s-netperf, to be shown and compared: what ``--json`` prints, and
``result-*.csv``.

Source: ``Doc`` and ``WriteCSVResult`` in pkg/archive/archive.go of cloud-bulldozer/k8s-netperf,
commit fb9a2ec1091d. Of each test they have the mean of its samples only, so a test is one run here,
and nothing can be told from chance. Zero is what that program writes for anything that it did not
measure. Not taken over:

* the UDP loss of its driver iperf3, which is always 0: its parser takes the branch of TCP whenever
  ``sum_received`` is there (pkg/drivers/iperf.go), as in every report of iperf3 since 3.1x;
* the latency of streams, which is that of a call and not of a message; the 99th percentile of
  several netperf processes, which is the mean of theirs (containers/super-netperf), is taken with
  that remark;
* profiles for which there is no such load here (UDP_RR, TCP_STREAM_LAT, ib_write_bw), and UDP of
  uperf, which counts what was sent.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from vnicaudit.base.wording import count, one_line
from vnicaudit.bench.profiles.load import identity, short
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted, json_as, mismatch
from vnicaudit.model.measurement import BenchResult, BenchRun, Covariates, Path, Sample, Workload

TOOL = "k8s-netperf"
_MOST = 10_000
"""Tests of one file."""
_MAX_BYTES = 64 << 20
_LONGEST = 100
_CSV = b"Driver,Profile,"
_COLUMNS = {
    "Driver": "driver", "Profile": "profile", "Same node": "local", "Host Network": "hostNetwork",
    "VM mode": "virt", "Service": "service", "External Server": "externalServer",
    "UDN Info": "udnInfo", "Bridge Info": "bridgeInfo", "SR-IOV Info": "sriovInfo",
    "Macvlan Info": "macvlanInfo", "Localnet Info": "localnetInfo", "Duration": "duration",
    "Parallelism": "parallelism", "# of Samples": "samples", "Message Size": "messageSize",
    "Burst": "burst", "Confidence metric - low": "low", "Confidence metric - high": "high",
    "Avg Throughput": "throughput", "Throughput Metric": "tputMetric",
    "99%tile Observed Latency": "latency",
}  # fmt: skip
"""Column of the CSV -> key of the JSON document."""


class _Test(msgspec.Struct, frozen=True, rename="camel"):
    """One document, or one line; other keys are ignored."""

    driver: str
    profile: str
    parallelism: int
    duration: float
    message_size: int
    throughput: float
    tput_metric: str
    samples: int = 1
    burst: int = 0
    latency: float = 0.0
    host_network: bool = False
    local: bool = False
    across_az: bool = msgspec.field(default=False, name="acrossAZ")
    virt: bool = False
    service: bool = False
    external_server: bool = False
    udp_loss_percent: float = 0.0
    udn_info: str = ""
    bridge_info: str = ""
    sriov_info: str = ""
    macvlan_info: str = ""
    localnet_info: str = ""
    timestamp: str = ""
    tool_version: str = ""
    confidence: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None


class _Load(NamedTuple):
    """The load here that a profile is. ``unit``: of its throughput there; ``factor``: from that to
    ours."""

    engine: str
    pattern: str
    metric: str
    unit: str
    factor: float


_LOADS = {
    "TCP_STREAM": _Load("iperf3", "tcp", "goodput", "Mb/s", 1e6),
    "UDP_STREAM": _Load("iperf3", "udp", "goodput", "Mb/s", 1e6),
    "TCP_RR": _Load("rr", "rr1c-{0}x{0}", "transaction_rate", "OP/s", 1.0),
    "TCP_CRR": _Load("rr", "crr-{0}x{0}", "connection_rate", "OP/s", 1.0),
}


def is_of_k8s_netperf(beginning: bytes) -> bool:
    """True for a list, which no measurement of ours is, and for the heads of its CSV."""
    text = beginning.lstrip()
    return text[:1] == b"[" or text.startswith(_CSV)


def from_k8s_netperf(data: bytes, name: str) -> BenchResult:
    """The results as a measurement with a path for each kind of endpoints. Raises UsageError with
    the place for anything else."""
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{name}: larger than {_MAX_BYTES >> 20} MiB: not of {TOOL}")
    tests = list(_tests(data, name))
    if len(tests) > _MOST:
        raise UsageError(f"{name}: {len(tests):,} tests; at most {_MOST:,} are read")
    alike = [test for test in tests if _is_taken(test)]
    known = [test for test in alike if test.throughput]
    if alike and not known:
        raise UsageError(f"{name}: {_NOTHING.format(count(len(alike), 'test'))}")
    if not known:
        raise UsageError(f"{name}: no test of {TOOL} that can be compared ({', '.join(_LOADS)})")
    for number, test in enumerate(known):
        _check(test, f"{name}: test {number} of those that are read")
    drivers = {test.driver for test in known}
    workloads = {(one := _workload(test, drivers)).id: one for test in known}
    arms = tuple(dict.fromkeys(_path_name(test, drivers) for test in known))
    first = known[0]
    return BenchResult(
        run=BenchRun(
            # the uuid of --json is the same in every file
            id=f"{TOOL}-{hashlib.sha256(data).hexdigest()[:12]}", started=_text(first.timestamp),
            finished="not recorded", tool=TOOL, version=_text(first.tool_version), profile=TOOL,
            design="single", seed=0, looks=(1,), alphas=(0.05,),
        ),
        arms=arms,
        paths=tuple(
            Path(name=arm, target=f"server of {arm}", peer=f"client of {arm}", address="")
            for arm in arms
        ),
        workloads=tuple(workloads.values()),
        samples=tuple(_sample(number, test, drivers) for number, test in enumerate(known)),
        notes=tuple(_notes(tests, alike, known)),
    )  # fmt: skip


def _tests(data: bytes, name: str) -> Iterator[_Test]:
    try:
        if data.lstrip().startswith(_CSV):
            for row in csv.DictReader(io.StringIO(data.decode(), newline="")):
                keys = {_COLUMNS[head]: cell for head, cell in row.items() if head in _COLUMNS}
                yield converted(keys, _Test, strict=False)
        else:
            yield from json_as(data, tuple[_Test, ...])
    except msgspec.DecodeError as error:
        raise UsageError(f"{name}: not the results of {TOOL}: {mismatch(error)}") from None
    except (UnicodeDecodeError, RecursionError, csv.Error) as error:
        raise UsageError(f"{name}: not the results of {TOOL}: {error}") from None


def _is_taken(test: _Test) -> bool:
    load = _LOADS.get(test.profile)
    is_sent = test.driver == "uperf" and test.profile.startswith("UDP")
    return load is not None and load.unit == test.tput_metric and not is_sent


def _check(test: _Test, place: str) -> None:
    numbers = (test.throughput, test.latency, test.duration, test.udp_loss_percent)
    if not all(math.isfinite(number) and 0 <= number < 1e12 for number in numbers):
        raise UsageError(f"{place}: a number is negative or too large")
    if not (0 < test.parallelism < 1e6 and 0 < test.message_size < 1e9):
        raise UsageError(f"{place}: parallelism or messageSize is out of range")


def _text(value: str) -> str:
    return one_line(value)[:_LONGEST]


def _path_name(test: _Test, drivers: Collection[str]) -> str:
    """``pod-cross``, ``pod-same-service``, ``vm-cross-udn``: as paths of a cluster are named. If
    there are several ``drivers``, each has paths of its own, as they are different programs."""
    place = "hostnetwork" if test.host_network else "vm" if test.virt else "pod"
    near = "external" if test.external_server else "same" if test.local else "cross"
    parts = ["hostnetwork"] if (place, near) == ("hostnetwork", "cross") else [place, near]
    networks = {
        "udn": test.udn_info, "bridge": test.bridge_info, "sriov": test.sriov_info,
        "macvlan": test.macvlan_info, "localnet": test.localnet_info,
    }  # fmt: skip
    parts += ["az"] if test.across_az else []
    parts += ["service"] if test.service else []
    parts += [name for name, told in networks.items() if told]
    return "-".join([*parts, *([_text(test.driver)] if len(drivers) > 1 else [])])


def _workload(test: _Test, drivers: Collection[str]) -> Workload:
    """A workload of ours with the work of a test, and with its id; the generator is another. Ours
    have no burst (requests under way at a time in each connection), so it is part of the id."""
    load = _LOADS[test.profile]
    streams = load.engine == "iperf3"
    made = Workload(
        id="", engine=load.engine, pattern=load.pattern.format(short(test.message_size, 1024)),
        direction="rx" if streams else "both", connections=test.parallelism,
        size=test.message_size if streams else None, seconds=test.duration,
        warmup=0.0, decides=(load.metric,),
    )  # fmt: skip
    burst = f"burst{test.burst}" if test.burst and test.profile == "TCP_RR" else None
    name = identity(made, ("goodput",) if streams else (load.metric,), burst)
    engine = _text(test.driver) if len(drivers) == 1 else TOOL
    return msgspec.structs.replace(made, id=name, engine=engine)


def _sample(number: int, test: _Test, drivers: Collection[str]) -> Sample:
    load = _LOADS[test.profile]
    values = {load.metric: test.throughput * load.factor}
    if load.engine == "rr" and test.latency > 0:
        values["latency_p99"] = test.latency
    if test.profile == "UDP_STREAM" and test.driver == "netperf":
        values["loss"] = test.udp_loss_percent
    low, high = test.confidence if len(test.confidence) == 2 else (test.low, test.high)
    return Sample(
        workload=_workload(test, drivers).id, arm=_path_name(test, drivers), block=number,
        order=number, started=_text(test.timestamp), values=values,
        details={"samples": test.samples, "confidence_low": low, "confidence_high": high},
        covariates=Covariates(seconds=test.duration),
    )  # fmt: skip


_NOTHING = "{} with a throughput of 0 left out: k8s-netperf writes that if it measured none"


def _notes(tests: Sequence[_Test], alike: Sequence[_Test], known: Sequence[_Test]) -> Iterator[str]:
    """``alike``: tests of loads that are known here; ``known``: those that were measured."""
    yield f"{TOOL} records the mean of its samples only: nothing is told from chance"
    if any(test.driver == "iperf3" and test.profile == "UDP_STREAM" for test in known):
        yield "UDP loss of its driver iperf3 is always 0 there, and is not taken over"
    if any(test.latency > 0 and test.parallelism > 1 for test in known if "RR" in test.profile):
        yield "latency p99 with several processes is the mean of their percentiles"
    if nothing := len(alike) - len(known):
        yield _NOTHING.format(count(nothing, "test"))
    if left := len(tests) - len(alike):
        yield f"{count(left, 'test')} of other profiles or drivers left out"
