"""What whoever keeps an inventory is told to do about a finding."""

from collections.abc import Iterator

from vnicaudit.knowledge.fixes.wording import POWER_CYCLE, OwnedNic, Wording, own_words
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


def _engine_words(fix: OwnersFix, _named: FixNames) -> str:
    if not isinstance(fix, SetField):
        raise TypeError(fix)
    return f"Set {fix.field} to {fix.value} in the engine."


def _engine_procedure(owned: OwnedNic) -> Iterator[str]:
    yield f"engine stop {owned.domain.name}"
    yield from own_words(owned.findings)
    yield f"engine start {owned.domain.name}"


ENGINE_WORDING = Wording(
    _edit, _engine_words, procedure=_engine_procedure, backends={"vdpa": "engine connect --vdpa"}
)
"""Of those that an engine writes anew."""
