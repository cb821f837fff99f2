"""What is asked for: which design that is, and what makes no sense."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import Engine, Told, opened, plugins, profile
from tests.bench.two_links import TwoLinks, two_links
from vnicaudit.bench import history
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.endpoints.opening import parse_paths
from vnicaudit.bench.running import opening
from vnicaudit.bench.running.opening import ArmCommands, OpenedEndpoints, prepare_engines
from vnicaudit.bench.running.run import (
    MeasurementRequest,
    bench,
    measurement_terms_of,
    reporting_where_stored,
)
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.measurement import BenchResult, Workload

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


# What engines bring to the ends before the first run.


def test_each_workload_is_prepared_at_the_ends_of_all_arms_and_a_remark_is_told_once() -> None:
    seen: list[tuple[str, int]] = []

    class Bringing(Engine):
        def prepare(self, workload: Workload, ends: Sequence[Ends]) -> str:
            seen.append((workload.id, len(ends)))
            return "it is not measured"

    told, other = Told(), replace(TCP, id="other")
    prepare_engines(profile(TCP, other), [opened("a"), opened("b")], told, plugins(Bringing()))
    assert seen == [(TCP.id, 2), ("other", 2)]
    assert told.said == ["it is not measured"]


# Links that change beside what is measured, between real network namespaces.


@pytest.fixture(scope="module")
def links() -> Iterator[TwoLinks]:
    with two_links() as made:
        yield made


def measured(
    links: TwoLinks, state: Path, arms: dict[str, tuple[str, ...]], engine: Engine | None = None
) -> BenchResult:
    told = Told()
    commands = {name: ArmCommands(argv) for name, argv in arms.items()}
    path = f"{links.target.url}?address=192.0.2.1,{links.peer.url}"
    request = MeasurementRequest(
        profile=profile(TCP, runs=2, max_steal=100.0, max_cpu_wait=100.0),
        paths=parse_paths((path,)), arms=commands, states={}, labels={}, seed=0,
        adapters=adapters, plugins=plugins(engine),
    )  # fmt: skip
    result, kept = bench(request, state, told)
    assert all(note in told.said for note in result.notes)
    assert kept.head().notes == result.notes
    return result


def test_the_link_of_an_arm(links: TwoLinks, tmp_path: Path) -> None:
    mtu = "ip link set eth0 mtu"
    found = measured(
        links, tmp_path,
        {"a": tuple(f"{mtu} 1500".split()), "b": tuple(f"{mtu} 1400".split())},
    )  # fmt: skip
    (note,) = found.notes
    target = f"netns://{links.names[0]}?address=192.0.2.1"
    assert note == f"at {target}, between a and b: nic.mtu changed from 1500 to 1400"
    assert found.decision is not None
    assert note in found.decision.reasons


def test_the_peers_link_while_it_is_measured(links: TwoLinks, tmp_path: Path) -> None:
    def outcome(_workload: Workload, _ends: Ends, number: int) -> float:
        links.at_peer(f"link set eth0 mtu {1500 if number < 3 else 1300}")
        return 1e9

    (note,) = measured(links, tmp_path, {}, Engine(outcome)).notes
    assert note == (
        f"at netns://{links.names[1]}, during the measurement: nic.mtu changed from 1500 to 1300"
    )


def test_nothing_changed(links: TwoLinks, tmp_path: Path) -> None:
    links.at_peer("link set eth0 mtu 1500")
    assert measured(links, tmp_path, {"a": ("true",), "b": ("true", "x")}).notes == ()


# A place is locked once by a measurement, however many endpoints of it are there.


def test_a_place_that_is_locked_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node, and a pod in its network, which does not see whose lock it is."""
    locked: list[str] = []
    places: dict[Any, tuple[str, ...]] = {"node": ("b", "n1"), "pod": ("b", "n1"), "x": ("b", "n2")}
    monkeypatch.setattr(opening, "place_of", places.__getitem__)
    monkeypatch.setattr(
        opening, "wait_for_turns", lambda ends, *_words: locked.extend(each for _, each in ends)
    )
    with ExitStack() as stack:
        opened: Any = OpenedEndpoints(stack, lambda: pytest.fail("not needed"))
        opened._take_turns(["node", "x"])
        opened._take_turns(["pod", "x"])
    assert locked == ["node", "x"]
