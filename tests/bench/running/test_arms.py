"""Arms and states: brought about where that is needed, and left as they were found."""

import pytest

from tests.bench.running.fakes import End, opened
from vnicaudit.bench.running.opening import ArmCommands, Switch, failure_words
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Ran

STATES: dict[str, tuple[str, ...]] = {
    "plain": ("rndc", "querylog", "off"),
    "querylog": ("rndc", "querylog", "on"),
}


def test_a_command_is_run_only_where_it_is_not_so_already() -> None:
    end, switch = End(), Switch({})
    one, four = opened("one", end, "ethtool", "1"), opened("four", end, "ethtool", "4")
    for each in (one, one, four, four, one):
        switch.arm(each)
    assert end.ran == ["ethtool 1", "ethtool 4", "ethtool 1"]


def test_an_arm_is_brought_about_at_both_ends_and_left_as_it_was_found() -> None:
    end, switch = End(), Switch({})
    arms = [
        one._replace(enter=ArmCommands(("mtu", size), ("far", size)))
        for size in ("1500", "9000")
        for one in [opened(size, end)]
    ]
    far = End("netns://peer")
    arms = [each._replace(ends=each.ends._replace(peer=far)) for each in arms]
    for each in (arms[0], arms[1]):
        switch.arm(each)
    switch.back(arms)
    assert end.ran == ["mtu 1500", "mtu 9000", "mtu 1500"]
    assert far.ran == ["far 1500", "far 9000", "far 1500"]


def test_an_arm_that_is_a_path_needs_none() -> None:
    end = End()
    Switch({}).arm(opened("vm", end))
    assert end.ran == []


def test_states_and_arms_do_not_meet() -> None:
    end, switch = End(), Switch(STATES)
    one = opened("one", end, "ethtool", "1")
    for state in ("plain", "", "plain", "querylog"):
        switch.arm(one)
        switch.state(one, state)
    assert end.ran == ["ethtool 1", "rndc querylog off", "rndc querylog on"]


def test_each_target_has_its_own_state() -> None:
    ends = End("netns://a"), End("netns://b")
    switch = Switch(STATES)
    for end in (*ends, *ends):
        switch.state(opened(end.url, end), "querylog")
    assert [end.ran for end in ends] == [["rndc querylog on"]] * 2


def test_a_command_that_fails_is_named_and_run_again() -> None:
    end, switch = End("netns://a"), Switch({})
    end.fails["ethtool"] = 2
    one = opened("one", end, "ethtool", "-L", "eth0")
    for _ in range(2):
        with pytest.raises(EndpointError) as error:
            switch.arm(one)
        assert str(error.value) == (
            "arm one could not be set: `ethtool -L eth0` at netns://a ended with exit code "
            "2: no such device"
        )
    assert len(end.ran) == 2


def test_a_state_that_fails_is_named() -> None:
    end = End("netns://a")
    end.fails["rndc"] = None
    with pytest.raises(EndpointError) as error:
        Switch(STATES).state(opened("a", end), "querylog")
    assert str(error.value) == (
        "state querylog could not be set: `rndc querylog on` at netns://a was killed: no "
        "such device"
    )


def test_a_failure_is_one_line() -> None:
    ran = Ran(("x",), 1, "out", "first\n  second\n" + "y" * 400)
    assert failure_words(ran) == "`x` ended with exit code 1: first"
    assert failure_words(Ran(("x",), 1, " out \n")) == "`x` ended with exit code 1: out"


def test_all_is_left_as_it_was_found() -> None:
    end, switch = End(), Switch(STATES)
    one, four = opened("one", end, "ethtool", "1"), opened("four", end, "ethtool", "4")
    switch.arm(four)
    switch.state(four, "querylog")
    end.ran.clear()
    switch.back([one, four])
    assert sorted(end.ran) == ["ethtool 1", "rndc querylog off"]


def test_what_is_as_it_was_found_is_left_alone() -> None:
    end, switch = End(), Switch(STATES)
    one, four = opened("one", end, "ethtool", "1"), opened("four", end, "ethtool", "4")
    switch.back([one, four])
    assert end.ran == []
    switch.arm(one)
    switch.back([one, four])
    assert end.ran == ["ethtool 1"]


def test_every_target_is_left_as_it_was_found() -> None:
    ends = End("netns://a"), End("netns://b")
    switch = Switch(STATES)
    paths = [opened(end.url, end) for end in ends]
    for each in paths:
        switch.state(each, "querylog")
    switch.back(paths)
    assert [end.ran for end in ends] == [["rndc querylog on", "rndc querylog off"]] * 2


def test_one_that_fails_keeps_no_other_from_being_tried() -> None:
    end, switch = End(), Switch(STATES)
    one, four = opened("one", end, "ethtool", "1"), opened("four", end, "ethtool", "4")
    switch.arm(four)
    switch.state(four, "querylog")
    end.fails["ethtool"] = 1
    with pytest.raises(EndpointError, match=r"^arm one could not be set"):
        switch.back([one, four])
    assert end.ran[-2:] in (["ethtool 1", "rndc querylog off"], ["rndc querylog off", "ethtool 1"])
