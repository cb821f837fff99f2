"""The results of k8s-netperf: what is taken over, what is not, and what is no result."""

import json
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.measurements import result, written
from tests.cli.inside import inside
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult, Workload
from vnicaudit.reports.bench.reading import from_file

TCP = {
    "uuid": "k8s-netperf", "timestamp": "2026-08-13T12:00:00Z", "hostNetwork": True,
    "driver": "netperf", "parallelism": 30, "profile": "TCP_STREAM", "duration": 60,
    "service": False, "local": False, "virt": False, "acrossAZ": False, "samples": 5,
    "messageSize": 16384, "burst": 0, "throughput": 94100.5, "latency": 12.5,
    "tputMetric": "Mb/s", "ltcyMetric": "usec", "tcpRetransmits": 4, "udpLossPercent": 0,
    "toolVersion": "v0.1", "metadata": {"mtu": 1400}, "serverCPU": {"idleCPU": 40, "stealCPU": 0.5},
    "serverCPUCollected": True, "serverPods": None, "clientCPU": {"idleCPU": 0, "stealCPU": 0},
    "clientCPUCollected": False, "confidence": [93000, 95000], "udnInfo": "",
}  # fmt: skip
"""A document as ``Doc`` of pkg/archive/archive.go writes it, without what is not read."""
CSV = """\
Driver,Profile,Same node,Host Network,VM mode,Service,External Server,Duration,Parallelism,\
# of Samples,Message Size,Burst,Confidence metric - low,Confidence metric - high,Avg Throughput,\
Throughput Metric,99%tile Observed Latency,Latency Metric
netperf,TCP_STREAM,true,false,false,false,false,10,1,3,1024,0,861.9,885.2,873.606667,Mb/s,3.3,usec
netperf,TCP_CRR,false,false,true,true,false,10,1,3,1024,0,1169.2,2954.3,2061.77,OP/s,4679.3,usec
"""


def read(tmp_path: Path, *documents: object, text: str | None = None) -> BenchResult:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(documents) if text is None else text)
    return from_file(file)


def fault(tmp_path: Path, *documents: object, text: str | None = None) -> str:
    with pytest.raises(UsageError) as error:
        read(tmp_path, *documents, text=text)
    return str(error.value).removeprefix(f"{tmp_path}/results.json: ")


def test_a_test_is_one_run_of_the_same_work_of_ours(tmp_path: Path) -> None:
    found = read(tmp_path, TCP)
    (workload,), (sample,) = found.workloads, found.samples
    assert (workload.id, workload.engine, workload.seconds) == (
        "iperf3.tcp.rx.c30.16k", "netperf", 60.0,
    )  # fmt: skip
    assert sample.values == {"goodput": 94100.5e6}  # the latency of a stream is that of a call
    assert sample.details == {"samples": 5, "confidence_low": 93e3, "confidence_high": 95e3}
    assert (found.arms, found.run.tool, found.run.version) == (
        ("hostnetwork",), "k8s-netperf", "v0.1",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "arm"),
    [
        ({}, "hostnetwork"),
        ({"local": True}, "hostnetwork-same"),
        ({"hostNetwork": False}, "pod-cross"),
        ({"hostNetwork": False, "acrossAZ": True}, "pod-cross-az"),
        ({"hostNetwork": False, "local": True, "service": True}, "pod-same-service"),
        ({"hostNetwork": False, "virt": True, "udnInfo": "layer2"}, "vm-cross-udn"),
        ({"hostNetwork": False, "macvlanInfo": "eno1\n\x1b[0m"}, "pod-cross-macvlan"),
    ],
)
def test_paths_are_named_as_those_of_a_cluster(
    tmp_path: Path, more: dict[str, object], arm: str
) -> None:
    assert read(tmp_path, TCP | more).arms == (arm,)


def test_each_of_several_drivers_has_paths_of_its_own(tmp_path: Path) -> None:
    found = read(tmp_path, TCP, TCP | {"driver": "iperf3"}, TCP | {"driver": "uperf"})
    assert found.arms == ("hostnetwork-netperf", "hostnetwork-iperf3", "hostnetwork-uperf")
    assert [(one.id, one.engine) for one in found.workloads] == [
        ("iperf3.tcp.rx.c30.16k", "k8s-netperf"),
    ]  # fmt: skip
    assert [one.arm for one in found.samples] == list(found.arms)


def test_a_burst_is_another_load(tmp_path: Path) -> None:
    rr = TCP | {"profile": "TCP_RR", "tputMetric": "OP/s"}
    found = read(tmp_path, rr, rr | {"burst": 16}, TCP | {"burst": 16})
    assert [one.workload for one in found.samples] == [
        "rr.rr1c-16kx16k.c30", "rr.rr1c-16kx16k.c30.burst16", "iperf3.tcp.rx.c30.16k",
    ]  # fmt: skip
    csv = CSV.replace("TCP_CRR", "TCP_RR").replace(",1024,0,1169.2", ",1024,4,1169.2")
    assert read(tmp_path, text=csv).samples[1].workload == "rr.rr1c-1kx1k.c1.burst4"


def test_a_throughput_of_0_was_not_measured(tmp_path: Path) -> None:
    note = "1 test with a throughput of 0 left out: k8s-netperf writes that if it measured none"
    failed = TCP | {"throughput": 0, "hostNetwork": False}
    found = read(tmp_path, TCP, failed)
    assert (found.arms, len(found.samples)) == (("hostnetwork",), 1)
    assert note in found.notes
    assert fault(tmp_path, failed) == note


def test_the_loss_that_is_always_0_is_not_taken_over(tmp_path: Path) -> None:
    udp = TCP | {"profile": "UDP_STREAM", "udpLossPercent": 0.5}
    found = read(tmp_path, udp, udp | {"driver": "iperf3", "udpLossPercent": 0})
    assert [sample.values.get("loss") for sample in found.samples] == [0.5, None]
    assert "UDP loss of its driver iperf3 is always 0 there, and is not taken over" in found.notes


def test_requests_have_their_latency_with_a_remark(tmp_path: Path) -> None:
    found = read(tmp_path, TCP | {"profile": "TCP_RR", "tputMetric": "OP/s", "latency": 700})
    assert found.workloads[0].id == "rr.rr1c-16kx16k.c30"
    assert found.samples[0].values == {"transaction_rate": 94100.5, "latency_p99": 700.0}
    assert "latency p99 with several processes is the mean of their percentiles" in found.notes


def test_other_loads_are_counted(tmp_path: Path) -> None:
    others = [TCP | {"profile": "UDP_RR"}, TCP | {"profile": "UDP_STREAM", "driver": "uperf"}]
    found = read(tmp_path, TCP, *others)
    assert len(found.samples) == 1
    assert "2 tests of other profiles or drivers left out" in found.notes
    assert fault(tmp_path, *others).startswith("no test of k8s-netperf that can be compared")


def test_the_csv(tmp_path: Path) -> None:
    found = read(tmp_path, text=CSV)
    assert [(one.workload, one.arm, one.values) for one in found.samples] == [
        ("iperf3.tcp.rx.c1.1k", "pod-same", {"goodput": 873606667.0}),
        (
            "rr.crr-1kx1k.c1",
            "vm-cross-service",
            {"connection_rate": 2061.77, "latency_p99": 4679.3},
        ),
    ]
    assert found.samples[0].details["confidence_low"] == 861.9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "no test of k8s-netperf that can be compared"),
        ("[1]", "not the results of k8s-netperf: [0]: Expected `object`, got `int`"),
        ('[{"driver": 5}]', "not the results of k8s-netperf: [0].driver: Expected `str`"),
        ("[{", "not the results of k8s-netperf: Input data was truncated"),
        ("[" * 100_000, "not the results of k8s-netperf: "),
        (CSV.replace(",873.606667,", ",much,"), "not the results of k8s-netperf: throughput"),
        (CSV.replace(",873.606667,", ",nan,"), "test 0 of those that are read: a number is"),
        (CSV.replace("Driver,Profile,", "Driver,Profile,\udc80").encode("utf-8", "replace")
         .decode().replace("Duration", "Time"), "not the results of k8s-netperf: "),
    ],
)  # fmt: skip
def test_what_is_no_result(tmp_path: Path, text: str, message: str) -> None:
    assert fault(tmp_path, text=text).startswith(message)


@pytest.mark.parametrize(
    "more",
    [
        {"throughput": -1}, {"throughput": 1e300}, {"latency": -5}, {"parallelism": 0},
        {"messageSize": -1}, {"messageSize": 10**12}, {"duration": 1e30},
    ],
)  # fmt: skip
def test_numbers_that_no_test_has(tmp_path: Path, more: dict[str, object]) -> None:
    assert fault(tmp_path, TCP | more).startswith("test 0 of those that are read: ")


def test_a_list_without_end_costs_little(tmp_path: Path) -> None:
    began = time.monotonic()
    assert fault(tmp_path, *[TCP] * 20_000) == "20,000 tests; at most 10,000 are read"
    assert time.monotonic() - began < 20


OURS = Workload(
    id="iperf3.tcp.rx.c30.16k", engine="iperf3", pattern="tcp", direction="rx", connections=30,
    size=16384, seconds=60.0, decides=("goodput",),
)  # fmt: skip


def ours(tmp_path: Path, level: float) -> Path:
    made = result("1", {"pod-cross": level})
    samples = tuple(replace(one, workload=OURS.id) for one in made.samples)
    made = replace(made, workloads=(OURS,), samples=samples)
    return written(made, tmp_path / "ours.json")


@pytest.mark.parametrize("level", [68e9, 6e9])
def test_it_is_compared_with_ours_and_not_judged(tmp_path: Path, level: float) -> None:
    """However far apart both are: it may be the generators."""
    theirs = tmp_path / "theirs.json"
    rr = TCP | {"hostNetwork": False, "profile": "TCP_RR", "tputMetric": "OP/s"}
    theirs.write_text(json.dumps([TCP, TCP | {"hostNetwork": False}, rr]))
    done = inside("bench", "compare", theirs, ours(tmp_path, level), "--arms",
                  "pod-cross,pod-cross")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NOT JUDGED  ")
    assert "94.1 Gb/s" in done.stdout
    assert "Note: measured by k8s-netperf and vnicaudit: generators, ends and the" in done.stderr
    assert "Note: only the first has rr.rr1c-16kx16k.c30; it is left out" in done.stderr


def test_two_paths_of_one_file_are_shown_and_not_judged(tmp_path: Path) -> None:
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps([TCP, TCP | {"hostNetwork": False, "throughput": 20000}]))
    done = inside("bench", "compare", file, file, "--arms", "hostnetwork,pod-cross")
    assert (done.returncode, done.stdout[:10]) == (0, "NOT JUDGED"), done.stderr
    assert "-79 %" in done.stdout


def test_it_is_shown_and_becomes_a_measurement_file(tmp_path: Path) -> None:
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps([TCP]))
    done = inside("bench", "show", file, "-o", tmp_path / "ours.json")
    assert done.returncode == 0, done.stderr
    assert "hostnetwork" in done.stdout
    assert "seed" not in done.stdout
    assert from_file(tmp_path / "ours.json").samples[0].values == {"goodput": 94100.5e6}
