"""Fixes for an owner that rewrites definitions and has no wordings of its own."""

from __future__ import annotations

from vnicaudit.knowledge.fixes.wording import Wording
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import OwnersFix, SetField
from vnicaudit.model.names import FixNames


def kept_by(name: str) -> Wording:
    """The wording for an owner with that name."""

    def words(fix: OwnersFix, _named: FixNames) -> str:
        what = f" ({fix.field})" if isinstance(fix, SetField) else ""
        return f"The definition is {name}'s, which rewrites it: change it there{what}."

    return Wording(_edit, words, in_arguments=SetField("arguments", None), behind=_unset)


def _edit(change: Change) -> SetField:
    return SetField(change.field, change.new)


def _unset(field: str) -> SetField:
    return SetField(field or "setting", None)
