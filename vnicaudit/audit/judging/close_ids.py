"""The rule id that the user probably meant, for messages on unknown ids."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches

LISTS_RULES = "; `vnicaudit rules` lists them"

_DIGITS = "0123456789"
_LOOK_ALIKE = str.maketrans("LIO", "110")


def id_hint(word: str, ids: Sequence[str]) -> str:
    """``; did you mean '…'?``, or how to list the rules if no id is close."""
    return close_hint(word, ids) or LISTS_RULES


def close_hint(word: str, ids: Sequence[str]) -> str:
    """``; did you mean '…'?``; empty if no id is close."""
    close = closest_id(word, ids)
    return f"; did you mean {close!r}?" if close else ""


def has_known_prefix(word: str, ids: Sequence[str]) -> bool:
    """True for a known prefix with an unknown number (``VNIC999``): the user means some other
    rule."""
    prefix = word.upper().rstrip(_DIGITS)
    return any(one.rstrip(_DIGITS) == prefix for one in ids)


def closest_id(word: str, ids: Sequence[str]) -> str:
    """The one id that the user probably meant; empty if none is close, if several are equally
    close, or if its number would be another one."""
    word = _digits_for_look_alikes(word.upper().replace("-", ""), ids)
    if word in ids:
        return word
    same_number = [one for one in ids if _without_zeros(one) == _without_zeros(word)]
    if len(same_number) == 1 and not any(one.startswith(word) for one in ids):
        return same_number[0]
    if has_known_prefix(word, ids):
        return ""
    number = word[len(word.rstrip(_DIGITS)) :]
    return _closest(word, [one for one in ids if one.endswith(number)])


def _without_zeros(word: str) -> str:
    """``VNIC1`` for ``VNIC001`` and ``VNIC0001``."""
    prefix = word.rstrip(_DIGITS)
    return prefix + word[len(prefix) :].lstrip("0")


def _closest(word: str, ids: Sequence[str]) -> str:
    near = get_close_matches(word, ids, 2)
    likeness = [SequenceMatcher(None, one, word).ratio() for one in near]
    return "" if not near or likeness[1:] == likeness[:1] else near[0]


def _digits_for_look_alikes(word: str, ids: Sequence[str]) -> str:
    """The word with letters in its number replaced by the digits they resemble (``VNIC0O1``)."""
    for prefix in {one.rstrip(_DIGITS) for one in ids}:
        if word.startswith(prefix):
            return prefix + word[len(prefix) :].translate(_LOOK_ALIKE)
    return word
