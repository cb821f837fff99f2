"""Lists that a user may not be shown, and that are not missed then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from vnicaudit.errors import TargetError
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.calls import CallError
from vnicaudit.platforms.openstack.pages import Page, read_error

T = TypeVar("T")

REFUSED = frozenset({403, 404, 410})
"""Answers that mean a user is not shown a list, and not that the list could not be read: the policy
forbids it (403), hides it (404), or this release has it no more (410). Whatever else goes wrong, no
answer at all among it, is an error."""


def take_all(
    pages: Iterable[Page[T]], take: Callable[[T], None], errors: list[ReadError],
    refused: frozenset[int] = REFUSED,
) -> bool | None:  # fmt: skip
    """Have every item of a list taken, and whether this user is shown it; None: it could not be
    read. What went wrong is added to ``errors``."""
    try:
        for page in pages:
            errors += page.errors
            for item in page.items:
                take(item)
    except CallError as error:
        if error.status in refused:
            return False
        errors.append(read_error(error))
        return None
    except TargetError as error:
        errors.append(read_error(error))
        return None
    return True
