"""Documents of k8s-netperf's index."""

import json
from statistics import mean

import pytest
from msgspec.structs import replace

from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import (
    TCP_RX,
    one_arm,
    side_by_side,
    switch_dns,
    two_arms,
)

KEYS = {
    "uuid", "timestamp", "hostNetwork", "driver", "parallelism", "profile", "duration", "service",
    "local", "virt", "acrossAZ", "samples", "messageSize", "burst", "throughput", "latency",
    "tputMetric", "ltcyMetric", "tcpRetransmits", "udpLossPercent", "toolVersion", "toolGitCommit",
    "metadata", "serverCPU", "serverPods", "serverPodsMem", "clientCPU", "clientPods",
    "clientPodsMem", "confidence", "serverNodeInfo", "clientNodeInfo", "serverVswtichCpu",
    "serverVswitchMem", "clientVswtichCpu", "clientVswitchMem", "serverCPUCollected",
    "clientCPUCollected",
}  # fmt: skip
"""Of ``Doc`` (k8s-netperf, pkg/archive/archive.go), spelt as there, and of its later versions."""


def documents(text: str) -> list[dict[str, object]]:
    found = json.loads(text)
    assert isinstance(found, list)
    return found


def test_the_whole_document() -> None:
    assert written("k8s_netperf", two_arms()) == expected("two-arms.k8s-netperf.json")


def test_every_key_is_one_of_the_index_or_under_our_name() -> None:
    for document in documents(written("k8s_netperf", two_arms())):
        assert document.keys() - KEYS == {"vnicaudit"}


def test_throughput_is_the_mean_and_its_confidence_holds_it() -> None:
    before, *_ = documents(written("k8s_netperf", two_arms()))
    values = [
        one.values["goodput"] / 1e6
        for one in two_arms().samples
        if one.valid and one.arm == "before" and "goodput" in one.values
    ]
    assert before["throughput"] == pytest.approx(mean(values))
    # Student's t for 9 degrees of freedom: 2.262
    assert before["confidence"] == pytest.approx([246.297, 250.149], abs=0.001)
    assert (before["tputMetric"], before["samples"]) == ("Mb/s", 10)


def test_requests_are_operations_and_latency_is_the_99th_percentile() -> None:
    document = documents(written("k8s_netperf", two_arms()))[-1]
    assert (document["profile"], document["tputMetric"]) == ("TCP_RR", "OP/s")
    assert document["latency"] == pytest.approx(608.9, abs=0.1)
    assert document["ltcyMetric"] == "usec"


def test_the_client_is_who_sends() -> None:
    (sends,) = documents(written("k8s_netperf", one_arm()))
    assert sends["clientNodeInfo"] == {"ip": "192.0.2.10", "nodeName": "agent://web-01"}
    assert sends["serverNodeInfo"] == {"nodeName": "ssh://root@gen1"}
    result = one_arm()
    samples = tuple(replace(one, workload=TCP_RX.id) for one in result.samples)
    receiving = replace(result, workloads=(TCP_RX,), samples=samples)
    (receives,) = documents(written("k8s_netperf", receiving))
    assert receives["serverNodeInfo"] == {"ip": "192.0.2.10", "nodeName": "agent://web-01"}


def test_an_arm_that_is_a_path_has_its_own_place() -> None:
    places = [
        (document["vnicaudit"]["arm"], document["metadata"])  # type: ignore[index]
        for document in documents(written("k8s_netperf", side_by_side()))[:3]
    ]
    assert places == [("node", {"mtu": 1500}), ("vm", {"mtu": 1500}), ("pod", {"mtu": 1400})]


def test_loss_makes_a_udp_document_and_what_was_not_measured_is_not_said() -> None:
    result = one_arm()
    workload = replace(result.workloads[0], pattern="udp")
    samples = tuple(replace(one, values={**one.values, "loss": 0.5}) for one in result.samples)
    (document,) = documents(
        written("k8s_netperf", replace(result, workloads=(workload,), samples=samples))
    )
    assert (document["profile"], document["udpLossPercent"]) == ("UDP_STREAM", 0.5)
    (tcp,) = documents(written("k8s_netperf", one_arm()))
    assert "udpLossPercent" not in tcp
    assert "latency" not in tcp


def test_one_run_has_no_confidence() -> None:
    result = one_arm()
    (document,) = documents(written("k8s_netperf", replace(result, samples=result.samples[:1])))
    assert "confidence" not in document


def test_dns_has_no_profile_there() -> None:
    assert written("k8s_netperf", switch_dns("2")) == "[]\n"
