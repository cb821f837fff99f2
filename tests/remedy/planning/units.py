"""What a step changes, as the kind of thing it must be."""

from collections.abc import Iterable
from typing import TypeGuard

from vnicaudit.model.plan import CloudUnit, FileUnit, FlavorUnit, ServerUnit, Step, UnitStep


def file_of(step: Step) -> FileUnit:
    """The file that a step changes."""
    assert isinstance(step.unit, FileUnit)
    return step.unit


def cloud_of(step: Step) -> CloudUnit:
    """The server, image or flavor that a step changes."""
    assert isinstance(step.unit, CloudUnit)
    return step.unit


def server_of(step: Step) -> ServerUnit:
    """The server that a step changes."""
    assert isinstance(step.unit, ServerUnit)
    return step.unit


def flavor_of(step: Step) -> FlavorUnit:
    """The flavor that a step changes."""
    assert isinstance(step.unit, FlavorUnit)
    return step.unit


def on_files(steps: Iterable[Step]) -> tuple[UnitStep[FileUnit], ...]:
    """Those of the steps that change files."""
    return tuple(step for step in steps if _is_on_file(step))


def _is_on_file(step: Step) -> TypeGuard[UnitStep[FileUnit]]:
    return isinstance(step.unit, FileUnit)
