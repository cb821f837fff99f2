"""Connections of the commands to the outside world: one record in production, another one in tests.

Each field is a function, called by a command when it is needed, so that nothing is loaded
unnecessarily.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import click
import msgspec

from vnicaudit.cli.wiring.platforms import PlatformRegistry, every_platform, named_cluster
from vnicaudit.model.fleet import LiveOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from vnicaudit.bench.pods.cluster import PodCluster
    from vnicaudit.cli.wiring.adapters import Controller
    from vnicaudit.history.place import HistoryPlace
    from vnicaudit.model.fleet import AuditSink
    from vnicaudit.model.scenario import Scenario
    from vnicaudit.remedy.hypervisor import Adapters

    ClusterScenario = Callable[[str, float, Scenario], tuple[Scenario, tuple[str, ...]]]

P = ParamSpec("P")
R = TypeVar("R")


def shipped_adapters() -> Adapters:
    """The platform functions for changes and measurements."""
    from vnicaudit.cli.wiring.adapters import adapters

    return adapters()


def open_controller(url: str, command: tuple[str, ...], seconds: float) -> Controller:
    """Access to nova-manage at an endpoint."""
    from vnicaudit.bench.endpoints.opening import open_endpoint
    from vnicaudit.cli.wiring.adapters import Controller, connect

    return Controller(url, command, seconds, partial(open_endpoint, connect=connect))


def generator_cluster(target: str, deadline: float) -> PodCluster:
    """A cluster in which generator pods are started. Raises UsageError for another target,
    TargetError if it cannot be reached."""
    from vnicaudit.platforms.kubevirt.live.generators import GeneratorCluster

    return GeneratorCluster(named_cluster(target), deadline)


def remembered(place: HistoryPlace, is_named: bool, quiet: bool) -> AuditSink | None:
    """The sink that stores audits of fleets in a history; None if a library for it is missing and
    the place was not named explicitly."""
    from vnicaudit.cli.wiring.adapters import history_sink

    return history_sink(place, is_named=is_named, quiet=quiet)


def cluster_scenario(
    target: str, deadline: float, given: Scenario
) -> tuple[Scenario, tuple[str, ...]]:
    """A scenario with the facts that a cluster knows as well, and notes about what it says
    otherwise. Raises TargetError, UsageError, MissingExtraError."""
    from vnicaudit.platforms.kubevirt.live.scenario import scenario_of_cluster

    return scenario_of_cluster(named_cluster(target), LiveOptions(deadline=deadline), given)


class Wiring(msgspec.Struct, frozen=True):
    """``adapters``: platform functions for changes and measurements. ``controller``: nova-manage at
    an endpoint, by its command line, with a timeout in seconds for each call; raises UsageError for
    an invalid endpoint. ``platforms``: all that is read, planned and changed. ``sink``: stores
    audits of fleets in a history; None: they are not stored. ``cluster_scenario``: completes a
    scenario from a cluster. ``pods``: a cluster for generator pods, by its target and the timeout
    of one call in seconds."""

    adapters: Callable[[], Adapters] = shipped_adapters
    controller: Callable[[str, tuple[str, ...], float], Controller] = open_controller
    platforms: Callable[[], PlatformRegistry] = every_platform
    sink: Callable[[HistoryPlace, bool, bool], AuditSink | None] = remembered
    cluster_scenario: ClusterScenario = cluster_scenario
    pods: Callable[[str, float], PodCluster] = generator_cluster


def pass_wiring(function: Callable[Concatenate[Wiring, P], R]) -> Callable[P, R]:
    """Pass a command the record given to :func:`vnicaudit.cli.main.run`."""
    return click.make_pass_decorator(Wiring, ensure=True)(function)
