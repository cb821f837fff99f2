"""The one object that registers it."""

from collections.abc import Iterator
from pathlib import Path

from tests.platforms.example.inventory import ENGINE, INVENTORY, NAME, PREFIX
from tests.platforms.example.wording import ENGINE_WORDING, WORDING
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.audit.reading.targets import Platform, TargetKind
from vnicaudit.cli.wiring.platforms import (
    PLATFORMS,
    PlatformRegistry,
)
from vnicaudit.model.file_kind import Content, Item
from vnicaudit.model.fleet import LiveOptions


def _name_of(name: str) -> str | None:
    return name if name.startswith(PREFIX) else None


def _read(name: str, options: LiveOptions) -> Iterator[Item]:
    del options
    path = name.removeprefix(PREFIX)
    yield from INVENTORY.read(Content(Path(path).read_bytes(), path, name))


def example() -> Platform:
    """The platform."""
    return Platform(
        NAME,
        (INVENTORY,),
        resolve,
        {"raw": "Inventory"},
        (TargetKind("inventory", _name_of, read=_read),),
        wordings={NAME: WORDING, ENGINE.name: ENGINE_WORDING},
    )


def with_example() -> PlatformRegistry:
    """What this program ships, and this one."""
    return PlatformRegistry((*PLATFORMS, example()))
