"""The part of a fleet that an audit covered."""

from __future__ import annotations

import msgspec


class Coverage(msgspec.Struct, frozen=True):
    """The part of a fleet that an audit checked; for the rest, the earlier state is kept.

    ``rules``: ids of the rules that were checked; ``limit``: the pattern that chose hosts (empty:
    all); ``host_share`` and ``nic_share``: parts of a sample (1.0: all of them) drawn with
    ``seed``. ``hosts``: how many were to be read, of ``inventory``.
    """

    rules: tuple[str, ...]
    limit: str = ""
    host_share: float = 1.0
    nic_share: float = 1.0
    seed: int | None = None
    hosts: int = 0
    inventory: int = 0

    @property
    def is_whole(self) -> bool:
        """True if every host and NIC of the inventory was to be checked."""
        return not self.limit and not self.is_sample

    @property
    def is_sample(self) -> bool:
        """True if only some hosts or NICs were drawn."""
        return not self.host_share == self.nic_share == 1.0
