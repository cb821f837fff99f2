"""A measurement from its first run to its verdict, however it ends."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import End, Engine, Guard, Outcome, Told, opened, plugins, profile
from vnicaudit.bench import history
from vnicaudit.bench.contract import Ends, RailCheck
from vnicaudit.bench.facts.guards import troubles
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.running.collector import MeasurementTerms
from vnicaudit.bench.running.measuring import Measuring
from vnicaudit.bench.running.opening import OpenedArm
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import BenchResult, Design, GuardRail, Setup, Workload
from vnicaudit.model.measurement import Path as PathOf

STATES: dict[str, tuple[str, ...]] = {"plain": ("rndc", "off"), "querylog": ("rndc", "on")}


def task(design: Design, arms: Sequence[str], runs: int = 2, **more: object) -> MeasurementTerms:
    terms = Terms(looks=(runs,), alphas=(0.05,), design=design, acts=False)
    made: dict[str, object] = {
        "profile": profile(runs=runs), "arms": tuple(arms), "seed": 7,
        "terms": terms, "plugins": plugins(),
    }  # fmt: skip
    return MeasurementTerms(**{**made, **more})  # type: ignore[arg-type]


def looking(guard: Guard, design: Design, *arms: str) -> MeasurementTerms:
    """One with that guard rail."""
    return task(design, arms, profile=profile(guards=("ping",)), plugins=plugins(guard=guard))


def two_arms(end: End) -> list[OpenedArm]:
    return [opened("one", end, "ethtool", "1"), opened("four", end, "ethtool", "4")]


def measured(
    state: Path, one: MeasurementTerms, arms: Sequence[OpenedArm], told: Told
) -> BenchResult:
    return Measuring(one, history.new_measurement(state), told).interleaved(arms)


def kept(state: Path) -> BenchResult:
    (only,) = history.measurement_ids(state)
    return history.stored_measurement(state, only).result()


def test_one_path(tmp_path: Path) -> None:
    result = measured(tmp_path, task("single", ["a"]), [opened("a")], Told())
    assert (len(result.samples), result.results, result.decision) == (2, (), None)
    assert result.run.finished is not None
    assert kept(tmp_path) == result


def test_arms_are_compared_and_nothing_is_to_be_done(tmp_path: Path) -> None:
    end = End()

    def outcome(_workload: Workload, _ends: Ends, _number: int) -> float:
        return 1e9 if end.ran[-1] == "ethtool 1" else 2e9

    given = plugins(Engine(outcome))
    one = task("live-flip", ["one", "four"], runs=5, plugins=given)
    result = measured(tmp_path, one, two_arms(end), Told())
    assert result.decision is not None
    assert (result.decision.verdict, result.decision.action) == ("improved", "none")
    (only,) = result.results
    assert only.effect is not None
    assert only.effect.percent == pytest.approx(100)
    assert (only.before_arm, only.after_arm) == ("one", "four")
    assert end.ran[-1] == "ethtool 1"
    assert kept(tmp_path) == result


def test_nothing_is_said_to_be_taken_back_that_was_not_changed(tmp_path: Path) -> None:
    result = measured(tmp_path, task("live-flip", ["one", "four"]), two_arms(End()), Told())
    assert result.decision is not None
    assert not [reason for reason in result.decision.reasons if "rolled back" in reason]


def test_guard_rails_are_looked_at_before_and_in_each_arm_after(tmp_path: Path) -> None:
    guard, end = Guard(broken=["four"]), End()
    one = looking(guard, "live-flip", "one", "four")
    result = measured(tmp_path, one, two_arms(end), Told())
    assert guard.asked == [
        "before one", "after one, as in one", "after four, as in one", "after four, as in one",
    ]  # fmt: skip
    assert result.decision is not None
    assert result.decision.verdict == "regressed"
    assert result.decision.reasons[0] == "guard rail ping failed (four): lost"


def test_each_path_is_compared_with_itself(tmp_path: Path) -> None:
    guard = Guard()
    paths = [opened("a", End("netns://a")), opened("b", End("netns://b"))]
    one = looking(guard, "paths", "a", "b")
    measured(tmp_path, one, paths, Told())
    assert guard.asked == [
        "before a", "before b", "after a, as in a", "after b, as in b",
    ]  # fmt: skip


class ShakyGuard(Guard):
    """Breaks, and not when it is looked at again. ``lost``: since an end does not answer."""

    def __init__(self, *, lost: bool = False) -> None:
        super().__init__()
        self.lost = lost

    def after(self, ends: Ends, path: PathOf, before: str) -> RailCheck:
        self.broken = [] if self.asked[-1].startswith("after") else [path.name]
        found = super().after(ends, path, before)
        if self.lost and self.broken:
            raise EndpointError("gone")
        return found


@pytest.mark.parametrize("lost", [False, True])
def test_a_guard_rail_that_failed_is_looked_at_again(tmp_path: Path, lost: bool) -> None:
    guard = ShakyGuard(lost=lost)
    one = looking(guard, "single", "a")
    result = measured(tmp_path, one, [opened("a")], Told())
    assert guard.asked == ["before a", "after a, as in a", "after a, as in a"]
    assert result.guard_rails == (GuardRail("ping", "a", "ok"),)


class LooksGuard(Guard):
    """Looks that end one after the other as listed; ``lost``: an end does not answer."""

    def __init__(self, looks: str) -> None:
        super().__init__()
        self._looks = iter(looks.split())

    def after(self, ends: Ends, path: PathOf, before: str) -> RailCheck:
        look = next(self._looks)
        self.broken = [path.name] if look == "failed" else []
        found = super().after(ends, path, before)
        if look == "lost":
            raise EndpointError("gone")
        return RailCheck("unknown", "no tool") if look == "unknown" else found


ONCE = "it failed once (lost), and could not be checked again: "


@pytest.mark.parametrize(
    ("looks", "verdict", "detail"),
    [
        ("ok", "ok", ""),
        ("unknown", "unknown", "no tool"),
        ("failed failed", "failed", "lost"),
        ("failed ok", "ok", ""),
        ("lost ok", "ok", ""),
        ("lost lost", "unknown", "gone"),
        ("failed lost failed", "failed", "lost"),
        ("lost failed failed", "failed", "lost"),
        ("failed lost ok", "ok", ""),
        ("lost failed ok", "ok", ""),
        ("failed lost lost", "unknown", f"{ONCE}gone"),
        ("lost failed lost", "unknown", f"{ONCE}gone"),
        ("failed unknown unknown", "unknown", f"{ONCE}no tool"),
    ],
)
def test_a_look_that_does_not_get_through_does_not_count(
    tmp_path: Path, looks: str, verdict: str, detail: str
) -> None:
    guard = LooksGuard(looks)
    result = measured(tmp_path, looking(guard, "single", "a"), [opened("a")], Told())
    assert [(rail.verdict, rail.detail) for rail in result.guard_rails] == [(verdict, detail)]
    assert len(guard.asked) == 1 + len(looks.split())


def test_an_end_that_does_not_answer_breaks_no_guard_rail(tmp_path: Path) -> None:
    class Gone(Guard):
        """Loses an end in the arm that is compared."""

        def after(self, ends: Ends, path: PathOf, before: str) -> RailCheck:
            found = super().after(ends, path, before)
            if path.name == "four":
                raise EndpointError("ssh://gen1: gone")
            return found

    guard = Gone()
    result = measured(tmp_path, looking(guard, "live-flip", "one", "four"), two_arms(End()), Told())
    assert guard.asked[-2:] == ["after four, as in one"] * 2
    assert result.guard_rails[-1] == GuardRail("ping", "four", "unknown", "ssh://gen1: gone")
    assert result.decision is not None
    assert result.decision.verdict != "regressed"


class LostGuard(Guard):
    """Cannot look before."""

    def before(self, ends: Ends, path: object) -> str:
        del ends, path
        raise EndpointError("gone")


def test_what_could_not_be_looked_at_before_is_not_known(tmp_path: Path) -> None:
    one = looking(LostGuard(), "single", "a")
    result = measured(tmp_path, one, [opened("a")], Told())
    (rail,) = result.guard_rails
    assert (rail.verdict, rail.detail) == ("unknown", "it could not be checked before")


def test_what_was_wrong_before_the_first_run_is_told() -> None:
    guard = Guard()
    guard.troubles = {"": "nothing was read", "as in one": "1500 B: none passed"}
    states = {"addresses": "", "path_mtu": "as in one", "ping": "as in four"}
    assert list(troubles(dict.fromkeys(["another", *states], guard), states)) == [
        "guard rail path_mtu, before the first run: 1500 B: none passed"
    ]


def failing(error: BaseException, at: int) -> Outcome:
    def outcome(_workload: Workload, _ends: Ends, number: int) -> float:
        if number >= at:
            raise error
        return 1e9

    return outcome


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143), EndpointError("gone")])
@pytest.mark.parametrize("at", [1, 2, 4])
def test_the_target_is_left_as_it_was_found(tmp_path: Path, error: BaseException, at: int) -> None:
    """The first run is that of warming up."""
    end = End()
    logged = replace(TCP, state="querylog")
    one = task(
        "live-flip", ["one", "four"], profile=profile(logged, runs=3), states=STATES,
        plugins=plugins(Engine(failing(error, at))),
    )  # fmt: skip
    with pytest.raises(type(error)) as raised:
        measured(tmp_path, one, two_arms(end), Told())
    assert raised.value is error
    assert [ran for ran in end.ran if ran.startswith("ethtool")][-1] == "ethtool 1"
    assert [ran for ran in end.ran if ran.startswith("rndc")][-1] == "rndc off"


def test_an_error_is_not_hidden_by_one_of_leaving(tmp_path: Path) -> None:
    end, told = End(), Told()

    def outcome(_workload: Workload, _ends: Ends, _number: int) -> float:
        if end.ran[-1] == "ethtool 4":
            end.fails["ethtool"] = 1
            raise KeyboardInterrupt
        return 1e9

    one = task("live-flip", ["one", "four"], runs=9, plugins=plugins(Engine(outcome)))
    with pytest.raises(KeyboardInterrupt):
        measured(tmp_path, one, two_arms(end), told)
    assert told.said == [
        (
            "the target could not be restored to its initial state: arm one could not be set: "
            "`ethtool 1` at local ended with exit code 1: no such device"
        )
    ]


def test_a_measurement_that_was_interrupted_is_unfinished(tmp_path: Path) -> None:
    killed = plugins(Engine(failing(KeyboardInterrupt(), 4)))
    place = history.new_measurement(tmp_path)
    measuring = Measuring(task("live-flip", ["one", "four"], plugins=killed), place, Told())
    arms = two_arms(End())
    measuring.note_setups(arms, [Setup("local", {"kernel": "6.1"})], {})
    with pytest.raises(KeyboardInterrupt):
        measuring.interleaved(arms)
    left = kept(tmp_path)
    assert (left.run.finished, left.decision, len(left.samples)) == (None, None, 1)
    assert [path.name for path in left.paths] == ["one", "four"]
    assert left.environment == (Setup("local", {"kernel": "6.1"}),)


def test_what_differs_in_a_later_arm_stands_beside_it(tmp_path: Path) -> None:
    measuring = Measuring(
        task("flips", ["before", "after"]), history.new_measurement(tmp_path), Told()
    )
    measuring.note_setups(
        [opened("before")], [Setup("local", {"nic.driver": "e1000", "nic.mtu": "1500"})], {}
    )
    later = Setup("local", {"nic.driver": "virtio_net", "nic.mtu": "1500", "iperf3": "3.12"})
    measuring.note_setups([opened("after")], [later], {})
    measuring.note_setups([opened("after")], [later], {})
    assert measuring.result().environment == (
        Setup(
            "local",
            {
                "nic.driver": "e1000",
                "nic.mtu": "1500",
                "nic.driver (after)": "virtio_net",
                "iperf3": "3.12",
            },
        ),
    )


def test_labels_that_were_given_or_noted_before_go_first(tmp_path: Path) -> None:
    given = replace(task("flips", ["before", "after"]), labels={"of": "mine", "vcpus": "3"})
    measuring = Measuring(given, history.new_measurement(tmp_path), Told())
    measuring.note_setups([opened("before")], [], {"vcpus": "2"})
    assert measuring.result().run.labels == {"of": "mine", "vcpus": "3"}
    other = Measuring(
        replace(given, labels={}), history.new_measurement(tmp_path), Told(), measuring.result()
    )
    other.note_setups([opened("after")], [], {"vcpus": "4"})
    assert other.result().run.labels == {"of": "mine", "vcpus": "3"}
