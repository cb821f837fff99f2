"""What is asked for: which design that is, and what makes no sense."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import Told, profile
from vnicaudit.bench import history
from vnicaudit.bench.endpoints.opening import parse_paths
from vnicaudit.bench.running.opening import ArmCommands
from vnicaudit.bench.running.run import (
    MeasurementRequest,
    measurement_terms_of,
    reporting_where_stored,
)
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import EndpointError, UsageError

ARMS = {"one": ArmCommands(("ethtool", "1")), "four": ArmCommands(("ethtool", "4"))}
STATES = {"plain": ("rndc", "off")}


def asked(*paths: str, **more: object) -> MeasurementRequest:
    made: dict[str, object] = {
        "profile": profile(), "paths": parse_paths(paths or ("local",)), "arms": {}, "states": {},
        "labels": {}, "seed": 7, "adapters": adapters,
    }  # fmt: skip
    return MeasurementRequest(**{**made, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "design", "arms"),
    [
        (asked("a=local"), "single", ("a",)),
        (asked("a=local", "b=netns://x", "c=netns://y"), "paths", ("a", "b", "c")),
        (asked("a=local", arms=ARMS), "live-flip", ("one", "four")),
    ],
)
def test_the_design(given: MeasurementRequest, design: str, arms: tuple[str, ...]) -> None:
    task = measurement_terms_of(given)
    assert (task.design, task.arms, task.seed) == (design, arms, 7)
    assert task.terms.acts is False


STATEFUL = profile(
    replace(TCP, id="p", state="plain"), replace(TCP, id="q", state="querylog"),
    states={"plain": "no log", "querylog": "all is logged"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            asked("a=local", "b=netns://x", arms=ARMS),
            "--arm needs exactly one path: several paths are arms themselves",
        ),
        (
            asked(arms={"one": ArmCommands(("x",))}),
            "a single --arm has nothing to compare with: add one for the present state",
        ),
        (asked(states=STATES), "profile made has no state 'plain'; its states: none"),
        (
            asked(profile=STATEFUL, states={"dsc": ("x",)}),
            "profile made has no state 'dsc'; its states: plain, querylog",
        ),
        (
            asked(profile=STATEFUL),
            (
                "profile made needs the commands that switch the server's state: --server "
                "plain=COMMAND --server querylog=COMMAND"
            ),
        ),
    ],
)
def test_what_makes_no_sense(given: MeasurementRequest, message: str) -> None:
    with pytest.raises(UsageError) as error:
        measurement_terms_of(given)
    assert str(error.value) == message


def test_states_without_a_command_are_left_out() -> None:
    task = measurement_terms_of(asked(profile=STATEFUL, states=STATES))
    assert [workload.id for workload in task.profile.workloads] == ["p"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, EndpointError])
def test_it_is_told_what_is_kept(tmp_path: Path, error: type[BaseException]) -> None:
    kept, listener = history.new_measurement(tmp_path), Told()
    with pytest.raises(error), reporting_where_stored(kept, listener):
        raise error
    assert listener.said == [
        f"the measurement so far is stored: vnicaudit bench show {kept.id} --state {tmp_path}"
    ]


def test_nothing_is_told_of_one_that_ends(tmp_path: Path) -> None:
    listener = Told()
    with reporting_where_stored(history.new_measurement(tmp_path), listener):
        pass
    assert listener.said == []
