"""Connections of the commands to the outside world. The program has one such record; a test hands
in another.

Each field is a function, which a command calls when it needs the thing: what is not needed is not
loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from vnicaudit.cli.wiring.adapters import adapters, connect

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.controller import Controller
    from vnicaudit.cli.wiring.platforms import PlatformRegistry
    from vnicaudit.fleet.sink import ReadingSink
    from vnicaudit.history.place import HistoryPlace
    from vnicaudit.remedy.adapters import Adapters


def open_controller(url: str, command: tuple[str, ...], seconds: float) -> Controller:
    """nova-manage at an endpoint."""
    from vnicaudit.bench.endpoints.opening import open_endpoint
    from vnicaudit.cli.wiring.controller import Controller

    return Controller(url, command, seconds, partial(open_endpoint, connect=connect))


def every_platform() -> PlatformRegistry:
    """All platforms of this program."""
    from vnicaudit.cli.wiring.platforms import every_platform as shipped

    return shipped()


def remembered(place: HistoryPlace, is_named: bool, quiet: bool) -> ReadingSink | None:
    """The history at a place, which takes the audits of a fleet; None where a library for it is
    missing and nobody named the place."""
    from vnicaudit.cli.wiring.history_sink import history_sink

    return history_sink(place, is_named=is_named, quiet=quiet)


class Wiring(NamedTuple):
    """``adapters``: what platforms do for the remedy and the lab. ``controller``: nova-manage at an
    endpoint, by its command line, each run of which may take so many seconds; raises UsageError for
    what is no endpoint. ``platforms``: what is read, planned and changed. ``sink``: what takes the
    audits of a fleet, by the place of the history; None: nothing."""

    adapters: Callable[[], Adapters] = adapters
    controller: Callable[[str, tuple[str, ...], float], Controller] = open_controller
    platforms: Callable[[], PlatformRegistry] = every_platform
    sink: Callable[[HistoryPlace, bool, bool], ReadingSink | None] = remembered


pass_wiring = click.make_pass_decorator(Wiring, ensure=True)
"""Hands a command the record that :func:`vnicaudit.cli.main.run` was given."""
