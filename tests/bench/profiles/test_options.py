"""A profile with other options and other lengths than it says."""

import pytest

from tests.bench.profiles.conftest import Load
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.profiles.profile import EngineSetting, setting, with_options, with_seconds
from vnicaudit.errors import UsageError

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
