"""How a run reads its targets, and which servers of clouds it selects."""

from __future__ import annotations

import msgspec

from vnicaudit.audit.reading.selection import Selection
from vnicaudit.model.live import LiveOptions


class ServerFilter(msgspec.Struct, frozen=True):
    """The selected servers: for each kind with values, one of these values. Names or ids."""

    project: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    zone: tuple[str, ...] = ()
    aggregate: tuple[str, ...] = ()
    image: tuple[str, ...] = ()

    @property
    def values_by_kind(self) -> dict[str, tuple[str, ...]]:
        """Kind -> values, for the kinds that have some."""
        found: dict[str, tuple[str, ...]] = msgspec.structs.asdict(self)
        return {kind: values for kind, values in found.items() if values}

    @property
    def options(self) -> tuple[str, ...]:
        """The filter as command-line options, each with its value."""
        found = self.values_by_kind.items()
        return tuple(f"--{kind} {value}" for kind, values in found for value in values)

    def __str__(self) -> str:
        """The options on one line, with commas."""
        return ", ".join(self.options)


class RunOptions(msgspec.Struct, frozen=True):
    """``jobs``: worker processes for files (0: one per core); ``selection``: the selected files;
    ``servers``: the selected servers of clouds. ``nova_config``: files and folders that
    nova-compute reads together, in its order."""

    jobs: int = 0
    live: LiveOptions = LiveOptions()
    servers: ServerFilter = ServerFilter()
    selection: Selection = Selection()
    nova_config: tuple[str, ...] = ()
