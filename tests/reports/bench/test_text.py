"""A measurement for people."""

import re

import pytest
from msgspec.structs import replace

from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import (
    ALL,
    applied,
    hostile,
    one_arm,
    side_by_side,
    single_flip,
    switch_dns,
    two_arms,
)
from vnicaudit.model.measurement import BenchResult, Decision
from vnicaudit.reports.bench.formats import tables
from vnicaudit.reports.safe import width_of
from vnicaudit.reports.writers import Options


@pytest.mark.parametrize(
    ("name", "result", "width"),
    [
        ("two-arms.80.txt", two_arms(), 80),
        ("two-arms.130.txt", two_arms(), 130),
        ("single-flip.60.txt", single_flip(), 60),
        ("side-by-side.100.txt", side_by_side(), 100),
        ("one-arm.80.txt", one_arm(), 80),
        ("switch-dns.80.txt", switch_dns("2"), 80),
        ("applied.80.txt", applied(), 80),
    ],
)
def test_the_whole_report(name: str, result: BenchResult, width: int) -> None:
    assert written("text", result, Options(width=width)) == expected(name)


def test_a_single_flip_is_called_one_and_what_that_means_is_said() -> None:
    text = " ".join(written("text", single_flip()).split())
    assert (
        "design single flip: all runs before the change, then all after it: drift and the "
        "difference between two boots are part of every number, so they are not judged"
    ) in text


def test_the_drop_between_paths_is_said() -> None:
    text = written("text", side_by_side(), Options(width=160))
    assert "Where it drops\n  at vm → pod: goodput 30.6 Gb/s → 22.1 Gb/s, worse by 27." in text


def test_paths_that_are_alike_have_no_drop() -> None:
    result = side_by_side()
    alike = replace(
        result, arms=("node", "vm"), results=tuple(r for r in result.results if r.after_arm == "vm")
    )
    text = written("text", alike)
    assert "Where it drops\n  nowhere by more than the margin\n" in text


def test_two_measurements_make_one_table_by_vcpus_options_and_generators() -> None:
    text = "".join(tables([switch_dns("1"), switch_dns("2")], Options(width=80), markdown=False))
    assert text == (
        "  dnsperf max: DNS queries answered, q/s, 1 / 2 generators\n"
        "                           as found         querylog     querylog+dsc\n"
        "  emulated, 1 vCPU  21,100 / 21,100  16,100 / 16,100  10,000 / 10,000\n"
        "  emulated, 2 vCPU  18,100 / 18,100  15,100 / 15,100  10,000 / 10,000\n"
        "  virtio, 1 vCPU    24,000 / 27,100  16,300 / 17,800  10,700 / 11,600\n"
        "  virtio, 2 vCPU    46,000 / 49,000  28,600 / 29,600  19,600 / 19,600\n"
        "\n"
        "  dnsperf max: DNS queries answered, q/s per vCPU, 1 / 2 generators\n"
        "                           as found         querylog     querylog+dsc\n"
        "  emulated, 1 vCPU  21,100 / 21,100  16,100 / 16,100  10,000 / 10,000\n"
        "  emulated, 2 vCPU    9,040 / 9,040    7,530 / 7,530    5,020 / 5,020\n"
        "  virtio, 1 vCPU    24,000 / 27,100  16,300 / 17,800  10,700 / 11,600\n"
        "  virtio, 2 vCPU    23,000 / 24,500  14,300 / 14,800    9,790 / 9,790\n"
        "\n"
    )


def test_quiet_leaves_the_verdict_the_tables_and_what_is_broken() -> None:
    text = written("text", single_flip(), Options(width=60, quiet=True))
    assert text.startswith("WORSE  web-01: after against before\n")
    assert "failed: retransmits" in text
    assert "seed" not in text
    assert "  guard rail retransmits is broken\n" in text
    assert "guard rails" not in written("text", side_by_side(), Options(quiet=True))


def test_verbose_lists_guard_rails_and_what_was_found_at_the_endpoints() -> None:
    text = written("text", two_arms(), Options(verbose=True))
    assert "  qdisc     unknown: tc is not installed (package iproute2)\n" in text
    assert "  ok: reachable, before\n" in text
    assert "reachable, before" not in written("text", two_arms())


def test_what_was_done_is_said_once_it_is_done() -> None:
    decision = Decision(verdict="regressed", action="roll-back", done="rolled-back")
    text = written("text", replace(two_arms(), decision=decision))
    assert "; the change was rolled back\n" in text


def test_what_did_not_end_says_so() -> None:
    result = two_arms()
    text = written("text", replace(result, run=replace(result.run, finished=None)))
    assert "time      2026-11-21T10:15:00Z to not finished: it ended early" in text


def test_a_measurement_of_which_nothing_counts() -> None:
    result = two_arms()
    spoiled = tuple(replace(one, valid=False, reason="steal") for one in result.samples)
    text = written("text", replace(result, samples=spoiled, results=(), guard_rails=()))
    assert "runs      n = 0 per arm, 63 of 63 runs do not count" in text
    assert "32 runs of after: steal\n" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_every_width_is_kept(width: int) -> None:
    for result in ALL:
        if result.run.id == hostile().run.id:
            continue  # a name that is wider than the terminal stands alone on its line
        for line in written("text", result, Options(width=width)).splitlines():
            assert width_of(line) <= width or " " not in line.strip(), line


def test_verdicts_are_coloured() -> None:
    colored = written("text", two_arms(), Options(width=80, color=True))
    assert colored.startswith("\x1b[1;32mBETTER\x1b[0m  web-01")
    assert "\x1b[2m(better)\x1b[0m" in colored


def test_colour_says_worse() -> None:
    colored = written("text", side_by_side(), Options(width=120, color=True))
    assert "\x1b[1;31mworse\x1b[0m\n" in colored


def test_an_arm_that_was_not_measured_has_a_dash() -> None:
    result = one_arm()
    text = written("text", replace(result, arms=("now", "later")))
    assert re.search(r"  goodput +7\.84 Gb/s \(7\.72 to 7\.93\) 83\.3 % of line +-\n", text)
    assert "n = 0 to 5 per arm" in text


def test_one_run_has_neither_interval_nor_spread() -> None:
    result = one_arm()
    text = written("text", replace(result, samples=result.samples[:1]))
    assert re.search(r"  goodput +7\.84 Gb/s 83\.3 % of line\n", text)
    assert "7.84 Gb/s (" not in text


def test_an_effect_that_cannot_be_estimated_has_a_dash_and_its_verdict() -> None:
    result = single_flip()
    (one,) = result.results
    unknown = replace(one, effect=None, verdict="invalid")
    text = written("text", replace(result, results=(unknown,)), Options(width=130))
    assert re.search(r"4\.12 Gb/s \(.*\) .* +4\.30 Gb/s \(.*\) .* of line +- +too few runs", text)


def test_many_reasons_are_cut_short_unless_all_are_asked_for() -> None:
    result = one_arm()
    (first, *_) = result.samples
    spoiled = tuple(replace(first, valid=False, reason=f"steal {at} %") for at in range(25))
    text = written("text", replace(result, samples=spoiled))
    assert "  … 5 more reasons (--verbose shows them)\n" in text
    assert "steal 24 %" not in text
    assert "steal 24 %" in written("text", replace(result, samples=spoiled), Options(verbose=True))


def test_where_it_was_measured_is_said_as_far_as_it_is_known() -> None:
    result = one_arm()
    (path,) = result.paths
    bare = replace(path, mtu=None, line_rate=None, same_host=None)
    text = written("text", replace(result, paths=(bare,)))
    assert "  path      web-01: ssh://root@gen1 to agent://web-01 at 192.0.2.10\n" in text
    near = replace(path, same_host=True, encapsulation="vxlan")
    text = " ".join(written("text", replace(result, paths=(near,))).split())
    assert "line rate 10.0 Gb/s, vxlan, same host" in text


def test_the_limit_of_steal_and_the_margins_of_a_profile_are_said() -> None:
    result = two_arms()
    run = replace(result.run, max_steal=2.0, margins={"goodput": 0.02})
    text = " ".join(written("text", replace(result, run=run)).split())
    assert "none counts with more than 2 % steal, seed 1234" in text
    assert "margins goodput 2 %; queries, requests 5 %; latency p99 10 %" in text


def test_what_was_offered_is_said_in_its_unit() -> None:
    result = one_arm()
    (workload,) = result.workloads
    offered = replace(workload, rate=4e9, generators=2, state="querylog")
    text = " ".join(written("text", replace(result, workloads=(offered,))).split())
    assert "2 generators, 64 KiB, offered 4.00 Gb/s, server querylog" in text
    offered = replace(workload, pattern="udp-pps", rate=4e5)
    text = " ".join(written("text", replace(result, workloads=(offered,))).split())
    assert "offered 400k 1/s" in text


def test_a_table_of_dimensions_that_is_too_wide_is_said_in_sentences() -> None:
    text = written("text", switch_dns("2"), Options(width=40, quiet=True))
    assert (
        "  virtio, 2 vCPU\n"
        "    as found 46,000 / 49,000\n"
        "    querylog 28,600 / 29,600\n"
        "    querylog+dsc 19,600 / 19,600\n"
    ) in text
