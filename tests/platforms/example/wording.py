"""What whoever keeps an inventory is told to do about a finding."""

from __future__ import annotations

from vnicaudit.knowledge.fixes.wording import POWER_CYCLE, Wording
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import Advice, OwnersFix, SetField
from vnicaudit.model.names import FixNames


def _edit(change: Change) -> SetField:
    return SetField(change.field, change.new)


def _words(fix: OwnersFix, named: FixNames) -> str:
    if not isinstance(fix, SetField):
        raise TypeError(fix)
    if fix.field != "model":
        return f"An inventory has no setting for {fix.field}."
    server = f" --server {named.uuid}" if named.server_id else ""
    return f"Run nicctl{server} FILE MAC {fix.value}, {POWER_CYCLE}"


WORDING = Wording(_edit, _words, {"one-model": Advice(("Give all NICs one model with nicctl.",))})
