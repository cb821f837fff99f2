"""A cluster's lists, as items of an audit."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.model.file_kind import Item
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.kubevirt.live.client import Cluster, Object
from vnicaudit.platforms.kubevirt.live.lists import Lists
from vnicaudit.platforms.kubevirt.read import read_bytes

_JUDGED = ("virtualmachines", "virtualmachineinstances")
"""Without the list of these, VMs were not judged: an error, and not a note."""


def read(target: str, live: LiveOptions) -> Iterator[Item]:
    """Everything in a cluster that has to do with NICs. Raises TargetError."""
    lists = Lists(Cluster(target, live))
    objects: list[Object] = []
    for _kind, page in lists.pages:
        objects += page
    data = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects})
    yield from read_bytes(data, target=target, file=None)
    yield from unread(lists, target)


def unread(lists: Lists, target: str) -> Iterator[ReadError | NotJudged]:
    """A sentence for each list that was not read, and for what else matters."""
    for plural, reason in lists.unread.items():
        yield ReadError(reason, target) if plural in _JUDGED else NotJudged(reason, target, 0)
    for note in lists.notes:
        yield NotJudged(note, target, 0)
