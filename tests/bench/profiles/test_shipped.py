"""The shipped profiles: what they measure, how long they say they take, where they come from."""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from docs import generate_profiles
from tests.bench.profiles.test_load import FULL, MINIMAL, MISTAKES
from vnicaudit.bench.engines import engine_names, load_engine
from vnicaudit.bench.judging.terms import fewest_runs, turns_decide
from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.profiles.keys import Kind, ProfileTable, WorkloadTable, descriptions, examples
from vnicaudit.bench.profiles.load import FOLDER, load_profile, shipped_profiles
from vnicaudit.bench.profiles.profile import estimate, sample_seconds
from vnicaudit.reports.bench.profiles import takes

NAMES = (
    "dns", "ibm-z", "k8s-netperf", "line-100g", "loaded", "quick", "smoke", "switch-dns", "tcp-dns",
    "vduse",
)  # fmt: skip
FEW = (1, 10, 50, 250)


def ids(name: str, *, primary: bool | None = None) -> set[str]:
    found = load_profile(name).workloads
    return {one.id for one in found if primary is None or one.primary == primary}


def test_which_there_are() -> None:
    assert shipped_profiles() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_comments_say_how_long_two_arms_take(name: str) -> None:
    text = (Path(FOLDER) / f"{name}.toml").read_text("utf-8")
    comment = " ".join(text.partition("\ntitle")[0].replace("\n#", "").split())
    profile = load_profile(name)
    for span in takes(profile).partition(": ")[2].split(" to "):
        assert span in comment


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_is_for_and_decides_something(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert profile.description
    assert any(workload.primary for workload in profile.workloads)


@pytest.mark.parametrize("name", NAMES)
def test_each_can_tell_a_difference_from_chance(name: str) -> None:
    """Among all its primary comparisons, by its runs and by its turns."""
    profile = load_profile(name)
    needed = fewest_runs(profile.alphas[-1], profile.comparisons)
    assert profile.catastrophe_only or profile.looks[-1] >= needed
    assert turns_decide(profile.turns, profile.comparisons)


def test_smoke_takes_under_a_minute_and_both_directions() -> None:
    profile = load_profile("smoke")
    assert estimate(profile, 2) < 60
    assert profile.looks == (3,)
    assert profile.catastrophe_only
    assert ids("smoke") == {"iperf3.tcp.tx.c1.64k", "iperf3.tcp.rx.c1.64k"}


def test_quick_has_the_primaries_that_need_no_server() -> None:
    profile = load_profile("quick")
    assert 20 * 60 < estimate(profile, 2) < 35 * 60
    assert (profile.looks, profile.alphas) == ((8,), (0.05,))
    assert ids("quick", primary=True) == {
        "iperf3.tcp.tx.c1.64k",
        "iperf3.tcp.rx.c1.64k",
        "iperf3.tcp.tx.c25.64k",
        "iperf3.tcp.rx.c25.64k",
        "iperf3.tcp.tx.c10.256",
        "iperf3.udp-pps.rx.c1.128",
        "rr.rr1c-200x1000.c1",
        "rr.rr1c-200x1000.c50",
        "iperf3.tcp.tx.c1.64k.r100m",
    }


def test_the_matrix_of_k8s_netperf() -> None:
    profile = load_profile("k8s-netperf")
    assert profile.looks == (5,)
    assert {one.seconds for one in profile.workloads if one.pattern != "udp-pps"} == {60.0}
    assert ids("k8s-netperf", primary=True) == {
        f"{name}.c{connections}{size}"
        for name, size in (
            ("iperf3.tcp.rx", ".16k"),
            ("iperf3.udp-pps.rx", ".16k"),
            ("rr.rr1c-16kx16k", ""),
        )
        for connections in (1, 30)
    }


def test_one_has_the_table_of_the_case_study() -> None:
    """By ``apply --bench``, which sets no state of a server."""
    profile = load_profile("tcp-dns")
    assert not profile.states
    assert [one.decides for one in profile.workloads] == [
        ("goodput",), ("goodput",), ("query_rate",),
    ]  # fmt: skip


def test_dns_searches_with_one_and_two_generators() -> None:
    profile = load_profile("dns")
    assert ids("dns") == {"dnsperf.capacity.g1", "dnsperf.capacity.g2", "dnsperf.rate.g1.r5k"}
    assert (profile.looks, profile.alphas) == ((5, 10, 20), (0.01, 0.02, 0.02))


def test_switch_dns_has_the_dimensions_of_the_table() -> None:
    profile = load_profile("switch-dns")
    states = ("plain", "querylog", "querylog+dsc")
    cells = {f"dnsperf.capacity.g{n}@{state}" for n, state in product((1, 2), states)}
    assert ids("switch-dns") == {*cells, "iperf3.tcp.tx.c1"}
    assert ids("switch-dns", primary=True) == cells
    assert tuple(profile.states) == states
    (tcp,) = (workload for workload in profile.workloads if workload.engine == "iperf3")
    assert (tcp.seconds, tcp.connections) == (10, 1)


def test_ibm_z_has_three_patterns_at_four_numbers_of_connections() -> None:
    found = load_profile("ibm-z").workloads
    assert {(each.pattern, each.connections) for each in found} == set(
        product(("rr1c-200x1000", "rr1c-200x30k", "tcp"), FEW)
    )
    assert {each.seconds for each in found} == {300}
    assert {each.decides for each in found if each.pattern == "rr1c-200x1000"} == {
        ("latency_mean",)
    }
    assert {each.decides for each in found if each.pattern != "rr1c-200x1000"} == {("goodput",)}
    # IBM's str-writex30k: what the client writes goes to the target
    streams = [each for each in found if each.pattern == "tcp"]
    assert {(each.direction, each.size) for each in streams} == {("rx", 30 << 10)}


def test_vduse_sweeps_the_buffer_sizes() -> None:
    found = load_profile("vduse").workloads
    sizes = {each.size for each in found if each.pattern == "tcp" and each.direction == "tx"}
    assert sizes == {2**power for power in range(7, 17)}
    assert {"iperf3.udp-pps.rx.c1.18", "rr.rr1c-1x1.c1"} <= ids("vduse", primary=True)
    (asked,) = (each for each in found if each.engine == "rr")
    assert asked.decides == ("latency_mean", "latency_max")


def test_line_100g_has_one_stream_and_many() -> None:
    profile = load_profile("line-100g")
    streams = [each for each in profile.workloads if each.engine == "iperf3"]
    assert {(each.connections, each.size, each.seconds) for each in streams} == {
        (number, 16384, 60) for number in (1, 25, 30)
    }
    assert {each.direction for each in streams} == {"tx", "rx"}
    assert profile.looks == (6,)
    assert profile.designs == ("paths",)


def test_a_search_takes_its_own_time() -> None:
    quick = {workload.id: sample_seconds(workload) for workload in load_profile("quick").workloads}
    assert quick["iperf3.udp-pps.rx.c1.128"] == 41.5
    assert quick["iperf3.tcp.tx.c1.64k"] == 8.5


# The reference page is what the program says.


def text() -> str:
    return generate_profiles.PAGE.read_text("utf-8")


def test_it_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert (generate_profiles.main(["--check"]), capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize(
    ("kind", "heading"), [(ProfileTable, "Keys"), (WorkloadTable, "Keys of `[[workload]]`")]
)
def test_it_names_every_key(kind: Kind, heading: str) -> None:
    section = text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    for key, meaning in descriptions(kind).items():
        assert f"| `{key}` | {meaning} |" in section


def test_it_names_every_profile_engine_pattern_and_metric() -> None:
    page = text()
    for name in shipped_profiles():
        assert f"\n### {name}\n" in page
    for name in engine_names():
        section = page.partition(f"\n### {name}\n")[2].partition("\n## ")[0]
        assert all(f"| `{pattern}` |" in section for pattern in load_engine(name).PATTERNS)
    assert all(f"| `{metric}` |" in page for metric in METRICS)


def test_check_exits_1_when_it_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_profiles, "PAGE", tmp_path / "profiles.md")
    assert generate_profiles.main(["--check"]) == 1
    assert "docs/reference/profiles.md differs" in capsys.readouterr().err
    assert generate_profiles.main([]) == 0
    assert generate_profiles.main(["--check"]) == 0


# The published schema takes what the program takes, and refuses what it can know to be wrong.


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "docs/schemas/vnicaudit.profile.json").read_text("utf-8")
)
SHIPPED = {name: (Path(FOLDER) / f"{name}.toml").read_text("utf-8") for name in shipped_profiles()}
STRUCTURAL = (
    "nothing", "no workload", "empty title", "workload is no table", "workload is no list",
    "no engine", "second without patterns", "unknown key", "unknown key of a workload",
    "pattern for patterns", "no list", "empty list", "no direction", "no design",
    "no connections", "a size of another type", "primary as a text", "a state with blanks",
    "a name with blanks", "a share for per cent", "steal of nothing",
    "options that are no texts",
)  # fmt: skip
"""Mistakes that no engine has to be asked about."""


def accepts(document: dict[str, Any]) -> bool:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    return bool(jsonschema.Draft7Validator(SCHEMA).is_valid(document))


@pytest.mark.parametrize("text", [FULL, MINIMAL, *SHIPPED.values()], ids=["full", "less", *SHIPPED])
def test_what_the_program_takes_it_takes(text: str) -> None:
    assert accepts(tomllib.loads(text))


@pytest.mark.parametrize("name", STRUCTURAL)
def test_what_is_wrong_in_itself_it_refuses(name: str) -> None:
    assert not accepts(tomllib.loads(MISTAKES[name][0]))


@pytest.mark.parametrize("kind", [ProfileTable, WorkloadTable])
def test_it_takes_every_example_and_every_default(kind: Kind) -> None:
    minimal = tomllib.loads(MINIMAL)
    table = SCHEMA if kind is ProfileTable else SCHEMA["definitions"]["WorkloadTable"]
    for key, values in examples(kind).items():
        said = table["properties"][key]
        for value in (*values, *([said["default"]] if "default" in said else ())):
            changed = {key: value}
            if kind is WorkloadTable:
                changed = {"workload": [{**minimal["workload"][0], key: value}]}
            assert accepts({**minimal, **changed}), key
