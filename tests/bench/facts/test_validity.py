"""What makes a run not count, in which words."""

import pytest

from vnicaudit.bench.facts.covariates import ValidityLimits, bytes_words, doubts
from vnicaudit.model.measurement import Covariates, NicBytes, Workload

WORK = Workload(id="w", engine="iperf3", pattern="tcp", seconds=10.0)
DEFAULT = ValidityLimits()


def words(covariates: Covariates, limits: ValidityLimits = DEFAULT) -> str:
    return "; ".join(doubt.words for doubt in doubts(covariates, WORK, limits))


def codes(covariates: Covariates, limits: ValidityLimits = DEFAULT) -> list[str]:
    return [doubt.by for doubt in doubts(covariates, WORK, limits)]


@pytest.mark.parametrize(
    ("covariates", "why"),
    [
        (Covariates(), ""),
        (
            Covariates(
                target_steal=2.0, peer_steal=2.0, vcpu_delay=2.0, throttled=1.0, seconds=9.5
            ),
            "",
        ),
        (
            Covariates(target_steal=3.456),
            "the hypervisor under the target took 3.46 % of its CPU time (steal), more than 2 %",
        ),
        (
            Covariates(peer_steal=2.01),
            "the hypervisor under the peer took 2.01 % of its CPU time (steal), more than 2 %",
        ),
        (
            Covariates(vcpu_delay=12.0),
            "a vCPU of the target waited 12 % of the run for a CPU of its host, more than 2 %",
        ),
        (
            Covariates(throttled=1.5),
            "a CPU quota (cgroup) throttled an end for 1.5 % of the run, more than 1 %",
        ),
        (
            Covariates(seconds=7.25),
            "only 7.25 of 10 seconds were measured, less than 95 %",
        ),
        (
            Covariates(target_steal=5.0, seconds=0.0),
            "the hypervisor under the target took 5 % of its CPU time (steal), more than 2 %; "
            "only 0 of 10 seconds were measured, less than 95 %",
        ),
        (Covariates(generator_limited=True), ""),
    ],
)
def test_why_a_run_does_not_count(covariates: Covariates, why: str) -> None:
    assert words(covariates) == why


def test_limits_can_be_changed() -> None:
    noisy = Covariates(target_steal=20.0, peer_steal=20.0, vcpu_delay=20.0)
    assert words(noisy, ValidityLimits(steal=25.0)) == ""
    short = Covariates(seconds=5.0, throttled=30.0)
    assert words(short, ValidityLimits(seconds=50.0, throttled=30.0)) == ""


def test_zero_steal_allowed_means_none() -> None:
    assert words(Covariates(target_steal=0.0), ValidityLimits(steal=0.0)) == ""
    assert "0.1 %" in words(Covariates(target_steal=0.1), ValidityLimits(steal=0.0))


def test_the_record_is_frozen() -> None:
    with pytest.raises(AttributeError):
        ValidityLimits().steal = 3.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("covariates", "code", "text"),
    [
        (
            Covariates(target_wait=60.5, peer_wait=60.0),
            ["cpu-wait"],
            "the generator at the target waited 60.5 % of the run for a CPU, more than 60 %",
        ),
        (Covariates(peer_wait=60.0, host_wait=60.0), [], ""),
        (Covariates(peer_wait=0.0, peer_pressure=100.0), [], ""),  # others wait, it does not
        (
            Covariates(peer_pressure=80.1, target_pressure=80.0),
            ["cpu-pressure"],
            "threads queued for the CPUs of the peer 80.1 % of the run (PSI), more than 80 %",
        ),
        (
            Covariates(host_wait=70.0),
            ["cpu-wait"],
            "a vhost worker or the main loop of the target's QEMU waited 70 % of the run for a "
            "CPU, more than 60 %",
        ),
    ],
)
def test_the_generator_had_no_cpu(covariates: Covariates, code: list[str], text: str) -> None:
    assert codes(covariates) == code
    assert words(covariates) == text
    everything = ValidityLimits(cpu_wait=100.0)
    assert codes(covariates, everything) == []


OWN = NicBytes("target", "vgt0", 2_600)
OTHER = NicBytes("target", "vgt1", 803_000_000, is_subject=False)
PEER = NicBytes("peer", "eth0", 810_000_000)


def test_the_payload_took_another_nic() -> None:
    found = Covariates(payload=800e6, nics=(OWN, OTHER, PEER))
    assert codes(found) == ["wrong-path"]
    assert words(found) == (
        "the payload of 800 MB went through another NIC of the target: vgt1 803 MB, but only "
        "2.6 kB through vgt0, which the result is about"
    )
    at_the_peer = NicBytes("peer", "lo", 805_000_000, is_subject=False)
    both = Covariates(payload=800e6, nics=(OWN, OTHER, PEER, at_the_peer))
    assert codes(both) == ["wrong-path", "wrong-path"]
    assert codes(Covariates(payload=800e6, nics=(OWN, PEER))) == []  # nothing carried it


@pytest.mark.parametrize(
    ("covariates", "code"),
    [
        (Covariates(peer_steal=3.0), "steal"),
        (Covariates(vcpu_delay=3.0), "vcpu-delay"),
        (Covariates(throttled=3.0), "throttled"),
        (Covariates(seconds=1.0), "short"),
    ],
)
def test_each_reason_has_a_code(covariates: Covariates, code: str) -> None:
    assert codes(covariates) == [code]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (2600, "2.6 kB"), (999_700, "1 MB"), (4.2e9, "4.2 GB"),
     (5e12, "5 TB")],
)  # fmt: skip
def test_bytes_as_people_read_them(count: float, text: str) -> None:
    assert bytes_words(count) == text
