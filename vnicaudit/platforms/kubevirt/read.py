"""Manifests -> domains and preferences."""

from __future__ import annotations

import os
from collections.abc import Iterator

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.kubevirt import preferences
from vnicaudit.platforms.kubevirt.duplicates import ambiguous
from vnicaudit.platforms.kubevirt.machines import domain_of
from vnicaudit.platforms.kubevirt.objects import MACHINE_GROUPS, VMI_SPEC, Object, objects_of
from vnicaudit.platforms.kubevirt.references import Referred, in_folder


def read_bytes(
    data: bytes, *, target: str, file: str | None
) -> Iterator[Domain | Preference | ReadError | NotJudged]:
    """Every virtual machine and every preference of a file, in order, and what of it could not be
    read. Raises TargetError where that is all of it."""
    name = file or target
    here = Referred({}, {}, {})
    found: list[Object] = []
    for item in objects_of(data, name):
        if isinstance(item, TargetError):
            yield ReadError(item.message, name, item.line)
            continue
        if isinstance(item, NotJudged):
            yield item
            continue
        here.add(item, target)
        found.append(item)
    for item in found:
        is_preference = item.kind in preferences.KINDS and item.group == preferences.GROUP
        is_machine = item.kind in VMI_SPEC and item.group in MACHINE_GROUPS
        if is_preference or is_machine:
            yield from (ReadError(each.message, name, each.line) for each in ambiguous(item))
        if is_preference:
            yield preferences.preference_of(item, target)
        elif is_machine:
            domain = domain_of(item, _known(here, name), target)
            if domain is not None:
                yield domain


def _known(here: Referred, file: str) -> list[Referred]:
    """What the file defines, then what its folder does."""
    if not os.path.isfile(file):
        return [here]
    return [here, in_folder(os.path.dirname(os.path.abspath(file)))]
