"""The words for a change of a plan."""

from __future__ import annotations

from vnicaudit.model.finding import Change


def change_text(change: Change) -> str:
    """``1 → 4``, ``not set → virtio``."""
    old = "not set" if change.old is None else change.old
    return f"{old} → {'removed' if change.new is None else change.new}"


def field_and_change(change: Change, most: int | None = None) -> str:
    """``queues 1 → 4``; of several settings ``irq of eth0 39, 40: 0 → 1, 2``. ``most``: of each
    only so many are shown."""
    fields, old, new = ((text or "").split(" ") for text in (change.field, change.old, change.new))
    if len(fields) == 1 or not len(fields) == len(old) == len(new):
        return f"{change.field} {change_text(change)}"
    groups = {field.rpartition(":")[0] for field in fields}
    kind, colon, device = groups.pop().partition(":") if len(groups) == 1 else ("", "", "")
    what = f"{kind} of {device} " if device else f"{kind} " if colon else ""
    if colon:
        fields = [field.rpartition(":")[2] for field in fields]
    return f"{what}{_some(fields, most)}: {_values(old, most)} → {_values(new, most)}"


def _values(values: list[str], most: int | None) -> str:
    """Values of several settings; one if all are equal."""
    said = [value or "none" for value in values]
    return _some(said[:1] if len(set(said)) == 1 else said, most)


def _some(words: list[str], most: int | None) -> str:
    return ", ".join(words if most is None else [*words[:most], *["…"] * (len(words) > most)])
