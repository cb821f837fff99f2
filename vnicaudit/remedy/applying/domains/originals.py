"""The original text of a unit, saved before a run changed the unit."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from vnicaudit.errors import KeptError
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DomainTransaction,
    FileTransaction,
)
from vnicaudit.remedy.applying.journal.events import Defined
from vnicaudit.remedy.applying.journal.kept_texts import KeptTexts
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.journal.transaction import NicChanges, transaction_of
from vnicaudit.remedy.definitions import Likeness
from vnicaudit.remedy.digests import digest

TextTransaction = TypeVar("TextTransaction", DomainTransaction, FileTransaction)


def original_of(run: PastRun, transaction: DomainTransaction | FileTransaction) -> bytes:
    """The text as it was when the run started. Raises KeptError if the saved text is missing or
    damaged."""
    return KeptTexts(run.folder, transaction.key).get(
        "before", transaction.before, transaction.by_hand()
    )


def kept_original(
    run: PastRun, unit: UnitRequest, kind: type[TextTransaction]
) -> tuple[TextTransaction | None, bytes]:
    """The transaction, where it is known, and the saved original text, which may be all that is
    left."""
    begin, texts = run.begin(unit.key), KeptTexts(run.folder, unit.key)
    if begin is None:
        return None, texts.get("before", None)
    transaction = transaction_of(begin, kind)
    return transaction, texts.get("before", transaction.before, transaction.by_hand())


def reversed_transaction(
    transaction: TextTransaction, wanted: tuple[NicChanges, ...], before: bytes, goal: bytes
) -> TextTransaction:
    """The transaction that undoes the changes of these NICs."""
    back = tuple(one.inverse() for one in reversed(wanted))
    return replace(transaction, nic_changes=back, before=digest(before), goal=digest(goal))


def is_made_by(found: PastRun, key: str, current: bytes, likeness: Likeness) -> bool:
    """True if ``current`` is the definition that the run made for this domain."""
    lines = (entry.event for entry in found.of(key))
    made = [event.settled for event in lines if isinstance(event, Defined)]
    if not made or digest(current) in made:
        return bool(made)
    with suppress(KeptError):  # libvirt may return the saved text in a different order
        settled = KeptTexts(found.folder, key).get("settled", made[-1])
        return likeness.equal_but_controllers(current, settled)
    return False
