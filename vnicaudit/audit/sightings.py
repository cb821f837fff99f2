"""Clouds of one run that are one cloud under several names: what was read of them before.

Nova gives a server its UUID, so two clouds with one server are one Nova, which has one list of
flavors and one Glance. Where they share no server (two tenants), an image is the same when all of
its record is: Glance gives an image its id unless somebody chose it, and sets ``updated_at``
itself, so a copy in another region differs. Ids of flavors may be chosen (``1``, ``m1``), and
nothing says when one was made: without a server in common they count as different.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Literal

from vnicaudit.model.openstack import Flavor, Image

_Kind = Literal["server", "image", "flavor"]
_KINDS: tuple[_Kind, ...] = ("server", "image", "flavor")


_Key = tuple[str, _Kind, str]
"""Cloud, kind and id."""


class Sightings:
    """What was read of the clouds so far, by what tells it apart. Images and flavors wait until all
    clouds were read: one user sees more of the servers they are used by than another."""

    def __init__(self) -> None:
        self._servers: dict[str, str] = {}
        self._records: dict[tuple[object, ...], str] = {}
        self._same: dict[_Key, _Key] = {}
        self._waiting: dict[_Key, tuple[str, Image | Flavor]] = {}
        self._again: dict[str, dict[str, Counter[_Kind]]] = defaultdict(dict)

    def server(self, uuid: str, target: str) -> bool:
        """Whether this server was read before."""
        first = self._servers.get(uuid)
        if first is None:
            self._servers[uuid] = target
            return False
        if first != target:
            self._count(target, first, "server")
        return True

    def take(self, item: Image | Flavor, target: str) -> None:
        """Keep an image or flavor; of one that was read before, the better view of the two."""
        kind: _Kind = "image" if isinstance(item, Image) else "flavor"
        key = (target, kind, item.id or item.name)
        first = self._read_before(item, key)
        if first is not None and key not in self._same:
            self._count(target, first, kind)
        same = key if first is None else self._same[first, kind, key[2]]
        self._same[key] = same
        before = self._waiting.get(same)
        if before is None or _seen(item) > _seen(before[1]):
            self._waiting[same] = (target, item)

    def left(self) -> Iterator[tuple[str, Image | Flavor]]:
        """Each image and flavor once, with the cloud it is of."""
        yield from self._waiting.values()

    def notes(self) -> Iterator[tuple[str, str]]:
        """``(target, note)`` on each cloud of which something was read before."""
        for target, others in self._again.items():
            for other, counts in others.items():
                yield target, _note(other, counts)

    def _read_before(self, item: Image | Flavor, key: _Key) -> str | None:
        """The other cloud in which it was read: one Nova with this one, or one with its record."""
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


def _seen(item: Image | Flavor) -> tuple[bool, int]:
    """How much of it this user sees."""
    return item.complete, item.servers or 0


def _record(image: Image) -> tuple[object, ...]:
    """All that Glance says of an image, and not how it was read."""
    properties = tuple((each.name, each.value) for each in image.properties)
    return (image.id, image.name, image.updated, image.owner, image.disk_format, properties)


def _note(other: str, counts: Counter[_Kind]) -> str:
    said = ", ".join(
        f"{counts[kind]:,} {kind}{'' if counts[kind] == 1 else 's'}"
        for kind in _KINDS
        if counts[kind]
    )
    if counts["server"]:
        return f"the same cloud as {other}: {said} are in both, reported once"
    return (
        f"{said} {'is' if counts.total() == 1 else 'are'} in {other} too, reported once; whether "
        "it is the same cloud is not known for certain, so flavors are reported of both"
    )
