"""Links that change beside what is measured, between real network namespaces."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import Engine, Told, plugins, profile
from tests.bench.two_links import TwoLinks, two_links
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.endpoints.opening import parse_paths
from vnicaudit.bench.running.opening import ArmCommands
from vnicaudit.bench.running.run import MeasurementRequest, bench
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.measurement import BenchResult, Workload


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
