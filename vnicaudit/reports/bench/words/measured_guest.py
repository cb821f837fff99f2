"""Names of the measured guest and of the change."""

from __future__ import annotations

from vnicaudit.model.measurement import BenchResult, Path

_CHANGES = ("flips", "boots", "single-flip")


def guest_of(path: Path) -> str:
    """The name by which an operator knows a path's target."""
    if path.guest:
        return path.guest
    scheme, _, rest = path.target.partition("://")
    return rest.partition("?")[0].rpartition("@")[2] or scheme


def nic_of(result: BenchResult, arm: str) -> str | None:
    """The NIC in that arm; None if it is not known."""
    return next((path.nic for path in result.paths if path.name == arm), None)


def change_words(result: BenchResult, arm: str) -> str:
    """``rtl8139 → virtio``; ``four against one`` if arms have names of their own."""
    first = result.arms[0]
    nics = nic_of(result, first), nic_of(result, arm)
    if result.run.design in _CHANGES and None not in nics and nics[0] != nics[1]:
        return f"{nics[0]} → {nics[1]}"
    return f"{arm} against {first}"
