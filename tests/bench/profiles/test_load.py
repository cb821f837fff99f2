"""A profile's text -> what is measured, and what is said of mistakes in it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bench.profiles.conftest import Load
from vnicaudit.bench.profiles.load import amount, load_profile, short
from vnicaudit.bench.profiles.profile import EngineSetting, setting, with_options, with_seconds
from vnicaudit.errors import UsageError

MINIMAL = """\
title = "t"
[[workload]]
engine = "talk"
patterns = ["tcp"]
"""
FULL = '''\
title = "The web tier"
description = """
First.

[[workload]] in a text is none, # and this no comment
engine = 3
"""
sources = ["our own", "another"]
repeats = 6
designs = ["live-flip", "boots"]
guards = []
cooldown = 0.5
max-steal = 5
line-rate = "25G"
encapsulation = "vxlan"
margins = { goodput = 3, latency_p99 = 15 }

[states]
plain = "as shipped"
    "querylog+dsc" = "all on"

[[workload]]
engine = "talk"
patterns = ["tcp"]
directions = ["tx", "rx"]
connections = [1, 25]
sizes = [128, "64K"]
primary = ["*.tx.*.64k", "*.c25.128"]
seconds = 6
warmup = 1

[[workload]]
engine = "ask"
patterns = ["capacity"]
generators = [1, 2]
states = ["plain", "querylog+dsc"]
options = { name = "a. A" }

[[workload]]
engine = "ask"
patterns = ["rr"]
connections = [50]
rates = ["2.5k"]
decides = ["latency_p99", "target_cpu_per_transaction"]
primary = false
name = "busy"
'''


def test_everything_a_profile_can_say(load: Load) -> None:
    profile = load(FULL)
    assert profile.name == "p"
    assert profile.title == "The web tier"
    assert profile.description.startswith("First.\n\n[[workload]] in a text")
    assert profile.sources == ("our own", "another")
    assert (profile.looks, profile.alphas) == ((6,), (0.05,))
    assert (profile.line_rate, profile.encapsulation) == (25e9, "vxlan")
    assert profile.designs == ("live-flip", "boots")
    assert profile.guards == ()
    assert (profile.cooldown, profile.max_steal) == (0.5, 5.0)
    assert profile.states == {"plain": "as shipped", "querylog+dsc": "all on"}
    assert profile.margin("goodput") == 0.03
    assert profile.margin("latency_p99") == 0.15
    assert profile.margin("packet_rate") == 0.05


def test_lists_become_every_combination_with_readable_ids(load: Load) -> None:
    ids = {workload.id: workload.primary for workload in load(FULL).workloads}
    assert ids == {
        "talk.tcp.tx.c1.128": False,
        "talk.tcp.tx.c1.64k": True,
        "talk.tcp.tx.c25.128": True,
        "talk.tcp.tx.c25.64k": True,
        "talk.tcp.rx.c1.128": False,
        "talk.tcp.rx.c1.64k": False,
        "talk.tcp.rx.c25.128": True,
        "talk.tcp.rx.c25.64k": False,
        "ask.capacity.g1@plain": True,
        "ask.capacity.g1@querylog+dsc": True,
        "ask.capacity.g2@plain": True,
        "ask.capacity.g2@querylog+dsc": True,
        "ask.rr.c50.r2500.busy": False,
    }


def test_workloads_have_what_their_table_says(load: Load) -> None:
    found = {workload.id: workload for workload in load(FULL).workloads}
    one = found["talk.tcp.rx.c25.64k"]
    assert (one.engine, one.pattern, one.direction) == ("talk", "tcp", "rx")
    assert (one.connections, one.generators, one.size) == (25, 1, 65536)
    assert (one.seconds, one.warmup, one.rate) == (6.0, 1.0, None)
    assert one.decides == ("goodput",)
    two = found["ask.capacity.g2@plain"]
    assert (two.direction, two.connections, two.generators) == ("both", 2, 2)
    assert (two.state, two.options) == ("plain", {"name": "a. A"})


def test_what_a_minimal_profile_means(load: Load) -> None:
    profile = load(MINIMAL)
    (workload,) = profile.workloads
    assert workload.id == "talk.tcp.tx.c1"
    assert workload.primary
    assert (workload.seconds, workload.warmup) == (10.0, 2.0)
    assert (profile.looks, profile.alphas) == ((5, 10, 20), (0.01, 0.02, 0.02))
    assert profile.guards is None
    assert (profile.cooldown, profile.max_steal) == (2.0, 2.0)
    assert not profile.catastrophe_only


@pytest.mark.parametrize(
    ("keys", "looks", "alphas"),
    [
        ("repeats = 7", (7,), (0.05,)),
        ("", (5, 10, 20), (0.01, 0.02, 0.02)),
        ("repeats = 3\ncatastrophe-only = true", (3,), (0.05,)),
    ],
)
def test_when_it_is_judged(
    load: Load, keys: str, looks: tuple[int, ...], alphas: tuple[float, ...]
) -> None:
    profile = load(f"{keys}\n{MINIMAL}")
    assert (profile.looks, profile.alphas) == (looks, alphas)
    assert profile.catastrophe_only == ("catastrophe" in keys)


@pytest.mark.parametrize(
    ("lines", "comparisons", "turns"),
    [
        ("", 1, (2, 3, 5)),
        ("connections = [1, 2]", 2, (2, 3, 5)),
        ("connections = [1, 2, 3]", 3, (2, 3, 6)),
        (f"connections = {list(range(1, 10))}", 9, (2, 3, 6)),
        (f"connections = {list(range(1, 11))}", 10, (2, 3, 7)),
        (f"connections = {list(range(1, 36))}", 35, (2, 3, 8)),
        (f'connections = {list(range(1, 36))}\nprimary = ["*.c1"]', 1, (2, 3, 5)),
        ('directions = ["tx", "rx"]\ndecides = ["goodput", "target_cpu_per_gbit"]', 4, (2, 3, 6)),
    ],
)
def test_more_comparisons_take_more_turns(
    load: Load, lines: str, comparisons: int, turns: tuple[int, ...]
) -> None:
    """Only what is primary counts, and every metric of it."""
    profile = load(workload(lines))
    assert (profile.comparisons, profile.turns) == (comparisons, turns)


def workload(lines: str) -> str:
    return f'title = "t"\n[[workload]]\nengine = "talk"\npatterns = ["tcp"]\n{lines}\n'


def head(lines: str) -> str:
    return f"{lines}\n{MINIMAL}"


MISTAKES = {
    "syntax": ("title = \n", "not valid TOML: Invalid value"),
    "nothing": ("", "p.toml: title is missing"),
    "no workload": ('title = "t"\n', "p.toml: workload is missing"),
    "empty title": (MINIMAL.replace('"t"', '" "'), "title: expected text that matches"),
    "workload is no table": (
        'title = "t"\nworkload = [3]\n',
        "[[workload]] 1: expected a table, not a whole number",
    ),
    "workload is no list": (
        'title = "t"\n\n[workload]\nengine = "talk"\n',
        "workload: expected a list, not a table; for example workload = [{ engine",
    ),
    "no engine": (
        'title = "t"\n[[workload]]\npatterns = ["tcp"]\n',
        "[[workload]] 1: engine is missing",
    ),
    "second without patterns": (
        MINIMAL + '[[workload]]\nengine = "talk"\n',
        "[[workload]] 2: patterns is missing",
    ),
    "unknown key": (
        head("max_steal = 3"), "unknown key 'max_steal'; did you mean 'max-steal'?",
    ),
    "unknown key of a workload": (
        workload("size = 3"), "[[workload]] 1: unknown key 'size'; did you mean 'sizes'?",
    ),
    "pattern for patterns": (
        'title = "t"\n[[workload]]\nengine = "talk"\npattern = "tcp"\n',
        "[[workload]] 1: unknown key 'pattern'; did you mean 'patterns'?",
    ),
    "no list": (
        workload('directions = "tx"'),
        'directions: expected a list, not text; for example directions = ["tx", "rx"]',
    ),
    "empty list": (
        workload("connections = []"),
        "connections: expected a list with at least 1 in it; for example connections = [1, 25]",
    ),
    "no direction": (
        workload('directions = ["tx",\n "up"]'),
        "directions: 'up' is not one of its values; for example",
    ),
    "a speed that is none": (
        head('line-rate = "fast"'), "line-rate: 'fast' is not a speed",
    ),
    "no encapsulation": (
        head('encapsulation = "mpls"'),
        "encapsulation: 'mpls' is not one of its values; for example",
    ),
    "no design": (
        head('designs = ["boot"]'),
        "designs: 'boot' is not one of its values; for example",
    ),
    "no connections": (
        workload("connections = [0]"),
        "connections: expected a whole number of at least 1; for example connections = [1, 25]",
    ),
    "a size that is none": (
        workload('sizes = ["64Q"]'),
        "sizes: '64Q' is invalid; expected a value such as 1500 or \"64K\"",
    ),
    "a negative size": (
        workload("sizes = [-1]"), "sizes: -1 is invalid; expected a value such as 1500 or",
    ),
    "half a byte": (
        workload('sizes = ["1.5"]'), "sizes: '1.5' is invalid; expected a value such as",
    ),
    "a size of another type": (
        workload("sizes = [1.5]"), "sizes: expected a whole number or text, not a number",
    ),
    "a rate that is none": (
        workload("rates = [0]"),
        "rates: 0 is invalid; expected a value such as 5000 or \"2.5G\"",
    ),
    "an endless rate": (
        workload("rates = [inf]"), "rates: inf is invalid; expected a value such as",
    ),
    "not so long": (workload("seconds = nan"), "seconds: expected a number of at least 1; for"),
    "no engine of that name": (
        MINIMAL.replace("talk", "tolk"), "engine: no engine 'tolk'; did you mean 'talk'?",
    ),
    "no pattern of that name": (
        MINIMAL.replace('"tcp"', '"tcq"'),
        "patterns: talk has no pattern 'tcq'; did you mean 'tcp'?",
    ),
    "a pattern far from all": (
        MINIMAL.replace('"tcp"', '"x"'),
        "patterns: talk has no pattern 'x'; use tcp, udp-pps",
    ),
    "a metric it has not": (
        workload('decides = ["latency_p50"]'),
        "decides: 'tcp' cannot be judged by 'latency_p50'",
    ),
    "a metric that is none": (
        workload('decides = ["goodputt"]'),
        "decides: 'tcp' cannot be judged by 'goodputt'; did you mean 'goodput'?",
    ),
    "what its engine does not do": (
        workload("sizes = [70000]"),
        "talk.tcp.tx.c1.70000: messages of 70000 B: at most 65536",
    ),
    "the same twice": (
        workload("connections = [1, 1]"),
        "two workloads are talk.tcp.tx.c1: make them differ, or give one a name",
    ),
    "the same in two tables": (
        MINIMAL + '[[workload]]\nengine = "talk"\npatterns = ["tcp"]\nseconds = 3\n',
        "two workloads are talk.tcp.tx.c1",
    ),
    "too many": (
        workload(f"connections = {list(range(1, 102))}\nsizes = {list(range(1, 11))}"),
        "1010 workloads in one table; at most 1000",
    ),
    "primaries that match nothing": (
        workload('sizes = ["1K"]\nprimary = ["*.64k"]'),
        "primary: '*.64k' matches no id; the ids are talk.tcp.tx.c1.1k",
    ),
    "primary as a text": (
        workload('primary = "yes"'), "primary: expected true or false or a list, not text",
    ),
    "a state that is not declared": (
        workload('states = ["plain"]'), "states: not declared in [states]: 'plain'",
    ),
    "a state that nobody uses": (
        MINIMAL + '[states]\nplain = ""\n', "states: no workload is run in the state 'plain'",
    ),
    "a state with blanks": (
        MINIMAL + '[states]\n"a b" = ""\n',
        "states: expected text that matches",
    ),
    "a name with blanks": (workload('name = "a b"'), "name: expected text that matches"),
    "no metric": (
        MINIMAL + "[margins]\ngoodput = 3\nlatency_p98 = 3\n",
        "margins: no metric 'latency_p98'; did you mean 'latency_p99'?",
    ),
    "a share for per cent": (
        head("margins.goodput = 0.05"), "margins: expected a number of at least 0.5; for example",
    ),
    "no guard rail": (head('guards = ["pong"]'), "guards: no guard rail 'pong'"),
    "too few runs": (
        head("repeats = 3"),
        (
            "repeats: with 3 runs per arm, nothing can be shown at an error probability of "
            "0.05; it takes 4, or catastrophe-only = true"
        ),
    ),
    "steal of nothing": (head("max-steal = 0"), "max-steal: expected a number of more than 0; for"),
    "options that are no texts": (
        workload("options = { port = 53 }"), "options: expected text, not a whole number",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told_with_their_place(load: Load, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(text)
    assert str(caught.value).startswith("p.toml:")
    assert message.strip() in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("quik", "no profile 'quik'; did you mean 'quick'?"),
        ("web", "no profile 'web'; use "),
        ("./quick", "no profile './quick'; did you mean 'quick'?"),
        ("missing.toml", "missing.toml: No such file or directory"),
        ("folder.toml", "folder.toml: not a regular file"),
        ("bytes.toml", "bytes.toml:2: not UTF-8"),
    ],
)
def test_what_cannot_be_found_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.toml").mkdir()
    Path("bytes.toml").write_bytes(b"\n\xff")
    with pytest.raises(UsageError) as caught:
        load_profile(name)
    assert str(caught.value).startswith(message)


@pytest.mark.usefixtures("load")
def test_a_file_beside_may_be_called_as_a_shipped_profile() -> None:
    Path("quick.toml").write_text(MINIMAL, "utf-8")
    assert load_profile("quick.toml").title == "t"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cut=st.integers(0, len(FULL)), junk=st.text(max_size=3))
def test_damaged_text_is_a_usage_error_or_a_profile(load: Load, cut: int, junk: str) -> None:
    text = (FULL[:cut] + junk).encode("utf-8", "replace").decode()
    said = ""
    try:
        said = load(text).title
    except UsageError as error:
        said = str(error)
    assert said == "The web tier" or said.startswith("p.toml:")


# Amounts as people write them, and as ids show them.


@pytest.mark.parametrize(
    ("value", "base", "expected"),
    [
        ("64K", 1024, 65536),
        ("64k", 1024, 65536),
        ("1M", 1024, 1048576),
        ("16", 1024, 16),
        (" 13.4 G ", 1000, 13.4e9),
        ("100M", 1000, 100e6),
        (5000, 1000, 5000),
        (0.5, 1000, 0.5),
    ],
)
def test_an_amount(value: float | str, base: int, expected: float) -> None:
    assert amount(value, base) == expected


@pytest.mark.parametrize(
    "value", ["", "K", "-1", "1e9", "64KB", "1,5G", "٣", 0, -1, float("nan"), float("inf"), "0K"]
)
def test_what_is_none(value: float | str) -> None:
    assert amount(value, 1000) is None


@pytest.mark.parametrize(
    ("value", "base", "expected"),
    [
        (65536, 1024, "64k"),
        (1048576, 1024, "1m"),
        (1000, 1024, "1000"),
        (65507, 1024, "65507"),
        (1e8, 1000, "100m"),
        (13.4e9, 1000, "13400m"),
        (2500, 1000, "2500"),
        (0.5, 1000, "0.5"),
    ],
)
def test_the_short_form(value: float, base: int, expected: str) -> None:
    assert short(value, base) == expected


@given(value=st.integers(1, 2**40), base=st.sampled_from([1000, 1024]))
def test_the_short_form_says_the_same(value: int, base: int) -> None:
    assert amount(short(value, base), base) == value


# A profile with other options and other lengths than it says.


TWO = """\
title = "t"
[[workload]]
engine = "talk"
patterns = ["tcp"]
options = { window = "4M", port = "5201" }
[[workload]]
engine = "ask"
patterns = ["rr"]
"""


def test_an_option_goes_to_its_engine_only(load: Load) -> None:
    talk, ask = with_options(load(TWO), [EngineSetting("talk", "window", "8M")]).workloads
    assert talk.options == {"window": "8M", "port": "5201"}
    assert ask.options == {}


def test_an_empty_value_takes_an_option_away(load: Load) -> None:
    talk, _ = with_options(load(TWO), [EngineSetting("talk", "port", "")]).workloads
    assert talk.options == {"window": "4M"}


def test_runs_of_another_length_keep_their_ids(load: Load) -> None:
    profile = load(TWO)
    changed = with_seconds(profile, 30)
    assert [each.seconds for each in changed.workloads] == [30, 30]
    assert [each.id for each in changed.workloads] == [each.id for each in profile.workloads]


def test_nothing_said_changes_nothing(load: Load) -> None:
    profile = load(TWO)
    assert with_options(profile, ()) == profile


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dnsperf.name=www.example.org A", EngineSetting("dnsperf", "name", "www.example.org A")),
        ("iperf3.bind_dev=eth0=1", EngineSetting("iperf3", "bind_dev", "eth0=1")),
        ("dnsperf.name=", EngineSetting("dnsperf", "name", "")),
    ],
)
def test_a_setting(text: str, expected: EngineSetting) -> None:
    assert setting(text) == expected


@pytest.mark.parametrize("text", ["", "dnsperf", "dnsperf.name", "name=x", ".name=x", "a b.c=d"])
def test_what_is_no_setting(text: str) -> None:
    with pytest.raises(UsageError, match=r"expected ENGINE.OPTION=VALUE"):
        setting(text)


def test_an_engine_that_runs_nothing(load: Load) -> None:
    with pytest.raises(UsageError) as caught:
        with_options(load(TWO), [EngineSetting("tallk", "port", "1")])
    assert str(caught.value) == "profile p does not use engine 'tallk'; did you mean 'talk'?"


def test_what_the_engine_does_not_do_is_refused() -> None:
    with pytest.raises(UsageError, match=r"dnsperf\.capacity\.g1"):
        with_options(load_profile("dns"), [EngineSetting("dnsperf", "port", "no")])
    with pytest.raises(UsageError, match=r"iperf3 takes whole seconds"):
        with_seconds(load_profile("smoke"), 2.5)


def test_a_dns_server_is_asked_what_it_serves() -> None:
    given = [setting("dnsperf.name="), setting("dnsperf.queries=/root/queries")]
    for workload in with_options(load_profile("dns"), given).workloads:
        assert workload.options == {"queries": "/root/queries"}
