"""Owner -> how fixes are worded for it. A new owner is a file here and a row in ``shipped.py``, or
is brought by a platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from vnicaudit.knowledge.fixes.shipped import WORDINGS
from vnicaudit.knowledge.fixes.wording import Wording, sentence
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.fix import Advice, EditArgument, Fix, OwnersFix
from vnicaudit.model.names import NO_NAMES, FixNames
from vnicaudit.model.owner import REWRITTEN_BY, Keeper, Owner, name_of


class WordedFix(NamedTuple):
    """A fix of a finding, as values and in words."""

    values: tuple[Fix, ...]
    text: str
    """The values as sentences; and why the change is unsafe, where it is."""


class Wordings:
    """How fixes are worded, by the names of owners; one that there is none of is spoken to as
    libvirt."""

    def __init__(self, by_owner: Mapping[str, Wording]) -> None:
        self._by_owner = by_owner
        self._remembered = lru_cache(maxsize=4096)(self._say)
        """Names of one server are not worth remembering."""

    def of(self, owner: Keeper) -> Wording:
        """How fixes are worded for an owner."""
        return self._by_owner.get(name_of(owner)) or WORDINGS["libvirt"]

    def worded(
        self,
        change: Change | None,
        advice: str | Fix,
        owner: Keeper,
        named: FixNames = NO_NAMES,
        *,
        in_arguments: bool = False,
    ) -> WordedFix:
        """Advice to an owner on a problem, as values and in words.

        ``advice`` is what the rule says: all of it where no change can be made in model terms,
        added to it where one can. ``in_arguments``: the NIC is one that ``<qemu:commandline>``
        adds.
        """
        say = self._say if named.target else self._remembered
        return say(change, advice, owner, named, in_arguments)

    def said_for(self, finding: Finding, named: FixNames) -> str:
        """Fix of a finding on a server or an image, in words that use these names."""
        edits = any(isinstance(fix, OwnersFix) for fix in finding.fixes)
        change = finding.change if edits else None  # else its rule worded all of it
        behind = any(
            isinstance(fix, EditArgument) and fix.where == "definition" for fix in finding.fixes
        )
        wording = self._wording(finding.owner, in_arguments=behind)
        return _text(finding.fixes, change, wording, named)

    def _say(
        self,
        change: Change | None,
        advice: str | Fix,
        owner: Keeper,
        named: FixNames,
        in_arguments: bool,
    ) -> WordedFix:
        wording = self._wording(owner, in_arguments=in_arguments)
        if change is not None and in_arguments and wording.in_arguments is not None:
            # who keeps the definition did not write that, and has no setting for it
            fixes: tuple[Fix, ...] = (wording.in_arguments,)
        else:
            fixes = tuple(_fixes(change, advice, wording))
        return WordedFix(fixes, _text(fixes, change, wording, named))

    def _wording(self, owner: Keeper, *, in_arguments: bool) -> Wording:
        wording = self.of(owner)
        if not in_arguments or wording.in_arguments is not None:
            return wording
        from vnicaudit.knowledge.fixes.qemu import ARGUMENTS

        return ARGUMENTS


SHIPPED = Wordings(WORDINGS)
worded = SHIPPED.worded
wording_of = SHIPPED.of


def backend_procedure(owner: Owner, backend: str) -> str:
    """How a NIC of a guest that this owner keeps comes to another ``backend`` (``vdpa``,
    ``vhostuser``)."""
    other = f"{REWRITTEN_BY[owner]} decides what its NICs are connected to: change it there."
    return wording_of(owner).backends.get(backend, other)


def _text(fixes: tuple[Fix, ...], change: Change | None, wording: Wording, named: FixNames) -> str:
    sentences = [sentence(fix, wording, named) for fix in fixes]
    edits = fixes != (wording.in_arguments,)
    if edits and change is not None and not change.safe and change.reason:
        sentences.append(f"Unsafe: {change.reason}.")
    return " ".join(sentences)


def _fixes(change: Change | None, advice: str | Fix, wording: Wording) -> Iterator[Fix]:
    if change is not None:
        yield wording.edit(change)
    if not isinstance(advice, str):
        yield advice
    elif advice:
        yield Advice((advice,))
