"""Clouds of one run that are one cloud under several names: the objects that were read before.

Nova gives a server its UUID, so two clouds with one server are one Nova, which has one list of
flavors and one Glance. If they share no server (two tenants), an image is the same if its whole
record is: Glance chooses an image's id unless the user does, and sets ``updated_at`` itself, so a
copy in another region differs. Ids of flavors may be chosen by users (``1``, ``m1``), and flavors
have no creation time: without a server in common they count as different.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Literal, NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.model.openstack import Flavor, Image

_Kind = Literal["server", "image", "flavor"]
_KINDS: tuple[_Kind, ...] = ("server", "image", "flavor")


ObjectKey = tuple[str, _Kind, str]
"""Cloud, kind and id."""


class SeenObjects:
    """Objects of the clouds read so far, by identity. Images and flavors wait until all clouds have
    been read: one user sees more of the servers that use them than another."""

    def __init__(self) -> None:
        self._servers: dict[str, str] = {}
        self._records: dict[tuple[object, ...], str] = {}
        self._same: dict[ObjectKey, ObjectKey] = {}
        self._waiting: dict[ObjectKey, _View] = {}
        self._again: dict[str, dict[str, Counter[_Kind]]] = defaultdict(dict)

    def server(self, uuid: str, target: str) -> bool:
        """True if the server with this UUID (bare; empty: it has none) was read before; a new one
        is recorded."""
        if not uuid:
            return False
        first = self._servers.get(uuid)
        if first is None:
            self._servers[uuid] = target
            return False
        if first != target:
            self._count(target, first, "server")
        return True

    def has_server(self, uuid: str) -> bool:
        """True if a server with this UUID (bare) was read in one of the clouds."""
        return uuid in self._servers

    def take(self, item: Image | Flavor, target: str, *, may_change: bool = True) -> None:
        """Keep an image or flavor. If it was read before, keep the better view of it: first that of
        a user who ``may_change`` it, then that of a user who sees more of it."""
        key = _key(item, target)
        kind = key[1]
        first = self._read_before(item, key)
        if first is not None and key not in self._same:
            self._count(target, first, kind)
        same = key if first is None else self._same[first, kind, key[2]]
        self._same[key] = same
        view = _View(may_change, item.complete, item.servers or 0, target, item)
        before = self._waiting.get(same)
        if before is None or view[:3] > before[:3]:
            self._waiting[same] = view

    def waiting(self) -> Iterator[tuple[str, Image | Flavor]]:
        """Each image and flavor once, with its cloud."""
        for view in self._waiting.values():
            yield view.target, view.item

    def first(self, key: ObjectKey) -> ObjectKey:
        """The key under which an image or flavor was first read: one for all its names."""
        return self._same.get(key, key)

    def notes(self, done: str) -> Iterator[tuple[str, str]]:
        """``(target, note)`` on each cloud with objects that were read before; ``done``: what
        happens to them only once (reported, planned)."""
        for target, others in self._again.items():
            for other, counts in others.items():
                yield target, _note(other, counts, done)

    def _read_before(self, item: Image | Flavor, key: ObjectKey) -> str | None:
        """The other cloud in which it was read: one that shares a server with this one, or has the
        same record of the image."""
        target, kind, identity = key
        for other, counts in self._again[target].items():
            if counts["server"] and (other, kind, identity) in self._same:
                return other
        if not isinstance(item, Image) or not item.updated:
            return None
        found = self._records.setdefault(_record(item), target)
        return None if found == target else found

    def _count(self, target: str, first: str, kind: _Kind) -> None:
        self._again[target].setdefault(first, Counter())[kind] += 1


class _View(NamedTuple):
    """An image or flavor as one user sees it; the fields that rank views come first."""

    may_change: bool
    complete: bool
    servers: int
    target: str
    item: Image | Flavor


def _key(item: Image | Flavor, target: str) -> ObjectKey:
    kind: _Kind = "image" if isinstance(item, Image) else "flavor"
    return target, kind, item.id or item.name


def _record(image: Image) -> tuple[object, ...]:
    """The record that Glance has of an image, independent of how it was read."""
    properties = tuple((each.name, each.value) for each in image.properties)
    return (image.id, image.name, image.updated, image.owner, image.disk_format, properties)


def _note(other: str, counts: Counter[_Kind], done: str) -> str:
    objects = ", ".join(count(counts[kind], kind) for kind in _KINDS if counts[kind])
    if counts["server"]:
        return f"the same cloud as {other}: {objects} are in both, {done} once"
    return (
        f"{objects} {'is' if counts.total() == 1 else 'are'} in {other} too, {done} once; this "
        f"may not be the same cloud, so flavors are {done} for both"
    )
