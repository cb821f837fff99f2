"""Selects servers of clouds; reads several live hosts side by side."""

from __future__ import annotations

import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec.structs import replace

from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.audit.reading.selection import ServerFilter
from vnicaudit.base.deadlines import next_of
from vnicaudit.base.wording import bare_uuid, closest, count
from vnicaudit.model.domain import Server
from vnicaudit.model.fleet import CloudItem
from vnicaudit.model.openstack import CloudServer, Flavor, Image
from vnicaudit.model.report import ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem, Platforms, Target
    from vnicaudit.model.fleet import LiveOptions

# Select some servers of clouds: those of a project, a host, an availability zone, a host aggregate,
# or an image. Servers left out are counted, and a name that matches nothing is an error: nothing
# that was not checked is reported as clean.
#
# All servers are read, and selected here. Nova's own filters mean something else: with any filter
# Nova skips the servers of a cell that is down (``_is_cell_down_supported`` in
# nova/api/openstack/compute/servers.py), it treats a zone as a regular expression
# (``exact_match_filter_names`` in nova/db/main/api.py; Nova 34.0.0), and the number of servers of
# an image would be unknown.


_CELL_DOWN = "UNKNOWN"
"""Status of a server whose cell does not answer: Nova reports little about it."""
_HINTS = 20_000
"""Maximum number of names remembered for suggestions."""

_IDS = 5
"""Maximum number of ids in a message."""
_VOLUME = "volume"
"""``image_state`` of a server that boots from a volume, for which Nova names no image."""

_WHAT = {
    "project": "belongs to a project with that name or id",
    "host": "is on a host with that name",
    "zone": "is in an availability zone with that name",
    "aggregate": "is on a host in an aggregate with that name",
    "image": "was created from an image with that name or id",
}


class ServerSelection:
    """The servers of all clouds of a run that a filter selects. ``remember``: there are other
    targets, in which servers that were left out may appear as domains."""

    def __init__(self, wanted: ServerFilter, *, remember: bool) -> None:
        self._wanted = wanted.values_by_kind
        self._words = str(wanted)
        self._remember = remember
        self._met: set[tuple[str, str]] = set()
        self._known: dict[str, set[str]] = {kind: set() for kind in self._wanted}
        self._out: set[str] = set()
        self._projects: dict[tuple[str, str], set[str]] = {}
        """Cloud and requested name -> ids of the projects of that name."""
        self._any = False
        self._refused = False

    def selected(
        self, target: str, items: Iterable[CloudItem], notes: list[str]
    ) -> Iterator[CloudItem]:
        """The selected items of one cloud; at its end, a sentence on those left out is added to
        ``notes``."""
        if not self._wanted:
            yield from items
            return
        here = _CloudSelection(self._wanted)
        for item in items:
            if isinstance(item, Server):
                if hidden := self._hidden(item):
                    self._refused = True
                    yield ReadError(hidden, target)
                    return
                self._note_project(item.cloud, target)
                if here.counted(item, self._takes(item)):
                    yield item
                elif self._remember:
                    self._note_left_out(item.uuid)
            elif not isinstance(item, Image | Flavor) or here.is_selected(item):
                yield item
                self._note_image(item)
        notes.append(here.sentence(self._words))

    def _note_left_out(self, uuid: str) -> None:
        self._out.add(bare_uuid(uuid))

    def is_left_out(self, uuid: str | None) -> bool:
        """True for the domain of a server that was not selected."""
        if not self._out:
            return False
        return bare_uuid(uuid or "") in self._out

    def missing(self) -> list[str]:
        """A sentence for each requested name that matched nothing; empty if this user cannot see
        hosts at all."""
        if not self._wanted or self._refused:
            return []
        found = [
            (
                f"--{kind} {value}: no server visible to this user "
                f"{_WHAT[kind]}{self._suggestion(kind, value)}"
            )
            for kind, values in self._wanted.items()
            for value in values
            if (kind, value) not in self._met
        ]
        if not found and not self._any:
            found.append(f"{self._words}: no server matches all of these")
        return found

    def ambiguous(self) -> list[str]:
        """Names that several projects of one cloud have, one sentence each: Keystone allows a
        project of that name in each domain, and they may belong to different customers."""
        return [
            (
                f"--project {name}: {target} has {len(ids)} projects with that name and "
                f"with visible servers ({_some_ids(ids)}): name the ones you mean by "
                "their ids"
            )
            for (target, name), ids in self._projects.items()
            if len(ids) > 1
        ]

    def _note_project(self, ref: CloudServer, target: str) -> None:
        names = self._wanted.get("project", ())
        if ref.project_name in names and ref.project not in names:
            self._projects.setdefault((target, ref.project_name), set()).add(ref.project)

    def _takes(self, server: Server) -> bool:
        chosen, facts = True, _facts(server)
        down = server.config.status == _CELL_DOWN
        for kind, values in self._wanted.items():
            there = facts[kind]
            if len(self._known[kind]) < _HINTS:
                self._known[kind].update(there)
            met = [value for value in values if value in there]
            self._met.update((kind, value) for value in met)
            if not met and not (down and not there):
                chosen = False
        self._any = self._any or (chosen and not down)
        return chosen

    def _note_image(self, item: CloudItem) -> None:
        """A requested image counts as found, with or without servers."""
        if isinstance(item, Image) and list(self._wanted) == ["image"]:
            met = [value for value in self._wanted["image"] if value in (item.id, item.name)]
            self._met.update(("image", value) for value in met)
            self._any = self._any or bool(met)

    def _hidden(self, server: Server) -> str:
        """Why the server cannot be selected by its host; empty: it can. A running server has a
        host."""
        ref = server.cloud
        if ref.host or ref.vm_state != "active":
            return ""
        kinds = " and ".join(f"--{one}" for one in ("host", "aggregate") if one in self._wanted)
        if not kinds:
            return ""
        return (
            f"only an admin can see the hosts of servers, and this user cannot: {kinds} cannot be "
            "used"
        )

    def _suggestion(self, kind: str, value: str) -> str:
        if close := closest(value, sorted(self._known[kind])):
            return f"; did you mean {close}?"
        return " (only an admin can see aggregates)" if kind == "aggregate" else ""


class _CloudSelection:
    """Counts of the servers, images and flavors selected from one cloud."""

    def __init__(self, wanted: dict[str, tuple[str, ...]]) -> None:
        self._named = wanted["image"] if list(wanted) == ["image"] else ()
        self._by_image = "image" in wanted
        self._volumes = 0
        self._seen: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._down = 0
        self._images: set[str] = set()
        self._flavors: set[str] = set()
        self._all_flavors = False

    def counted(self, server: Server, chosen: bool) -> bool:
        """Count a server and, where it is ``chosen``, select its image and flavor; True if it is
        chosen."""
        self._seen["server"] += 1
        kept, ref = server.config, server.cloud
        if not chosen:
            self._volumes += kept.image_state == _VOLUME
            return False
        self._taken["server"] += 1
        self._down += kept.status == _CELL_DOWN
        if ref.image:
            self._images.add(ref.image)
        if kept.image is not None and kept.image.id:
            self._images.add(kept.image.id)
        if kept.flavor is None:
            self._all_flavors = True  # its flavor is unknown: rather one too many
        else:
            self._flavors.update(filter(None, (kept.flavor.id, kept.flavor.name)))
        return True

    def is_selected(self, item: Image | Flavor) -> bool:
        """True if a selected server uses this image or flavor, or the user named the image
        itself."""
        if isinstance(item, Image):
            kind, taken = (
                "image",
                item.id in self._images or bool({item.id, item.name}.intersection(self._named)),
            )
        else:
            taken = self._all_flavors or bool({item.id, item.name} & self._flavors)
            kind = "flavor"
        self._seen[kind] += 1
        self._taken[kind] += taken
        return taken

    def sentence(self, words: str) -> str:
        """Sentence on how many of all servers, images and flavors were judged."""
        parts = [
            f"{self._taken[kind]:,} of {count(self._seen[kind], kind)}"
            for kind in ("server", "image", "flavor")
        ]
        down = ""
        if self._down:
            down = f"; {self._down:,} of them could not be checked, because their cell is down"
        if self._by_image and self._volumes:
            down += (
                f"; {self._volumes:,} of those left out boot from a volume, for which Nova names "
                "no image"
            )
        return f"{words}: {', '.join(parts)}; the others were left out and not judged{down}"


def _some_ids(ids: set[str]) -> str:
    more = ", …" if len(ids) > _IDS else ""
    return ", ".join(sorted(ids)[:_IDS]) + more


def _facts(server: Server) -> dict[str, frozenset[str]]:
    """Kind -> the server's names and ids of that kind."""
    ref, image = server.cloud, server.config.image
    found = {
        "project": (ref.project, ref.project_name),
        "host": (ref.host,),
        "zone": (ref.zone,),
        "aggregate": tuple(one.name for one in ref.aggregates),
        "image": (ref.image, *(() if image is None else (image.id, image.name))),
    }
    return {kind: frozenset(filter(None, values)) for kind, values in found.items()}


# Read several live hosts side by side, and hand on their items in order.
#
# Reading a host is mostly waiting: threads read the next hosts while the items of the first are
# judged. The order, and so the report, is that of the targets, whichever answers first.


T = TypeVar("T")

MOST_AT_ONCE = 16
"""Maximum number of hosts that are read at once."""
CALLS = 8
"""Concurrent calls to one host, if several hosts are read: they hide its round trips, and 32 hosts
have 256 of them."""
_WAITING_MAX = 256
"""Maximum number of items of one host that are kept for its turn: the others are read later."""
_ROOM_SECONDS = 1.0
"""How often a thread that waits for room checks if anybody still reads."""


def read_ahead(
    readings: Sequence[Callable[[], Iterator[T]]], most: int = MOST_AT_ONCE
) -> Iterator[Iterator[T]]:
    """The items of each reading, in the order of the readings, ``most`` of which are in progress at
    once; the items of one reading come before those of the next. An error of a reading is raised at
    its place in the order. A single reading needs no thread."""
    if len(readings) < 2:
        yield from (read() for read in readings)
        return
    later = iter(readings)
    under_way = deque(map(_Reading, islice(later, most)))
    try:
        while under_way:
            yield under_way[0].items()
            under_way.popleft().abandon()
            under_way.extend(map(_Reading, islice(later, 1)))
    finally:
        for reading in under_way:
            reading.abandon()


class _EndOfItems:
    """The end of the items; ``error`` is the exception that ended them, if there was one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Reading(Generic[T]):
    """One reading, in its own thread."""

    def __init__(self, read: Callable[[], Iterator[T]]) -> None:
        self._queue: queue.Queue[T | _EndOfItems] = queue.Queue(_WAITING_MAX)
        self._abandoned = threading.Event()
        self._read = read
        threading.Thread(target=self._run, name="read ahead", daemon=True).start()

    def items(self) -> Iterator[T]:
        """The items, as they arrive."""
        while not isinstance(item := next_of(self._queue), _EndOfItems):
            yield item
        if item.error is not None:
            raise item.error

    def abandon(self) -> None:
        """Stop: nobody takes further items."""
        self._abandoned.set()

    def _run(self) -> None:
        end = _EndOfItems()
        try:
            for item in self._read():
                if not self._put(item):
                    return
        except BaseException as error:  # raised in the thread that takes the items
            end = _EndOfItems(error)
        self._put(end)

    def _put(self, item: T | _EndOfItems) -> bool:
        """Pass an item on; False if nobody takes it any more."""
        while not self._abandoned.is_set():
            try:
                self._queue.put(item, timeout=_ROOM_SECONDS)
            except queue.Full:
                continue
            return True
        return False


# The live hosts of a run. Hosts that have to be waited for are read ahead, side by side.


class Machines:
    """Reads what runs on live hosts."""

    def __init__(self, hosts: Iterable[Target], platforms: Platforms, options: LiveOptions) -> None:
        self._platforms = platforms
        self._options = options
        self._ahead = [host for host in hosts if self._waits(host)]
        self._read_ahead: Iterator[Iterator[HostItem]] | None = None

    def items(self, target: Target) -> Iterator[HostItem]:
        """The items of one live target. Ask for them in the order of ``hosts``."""
        if target not in self._ahead:
            return self._reading(target)()
        if self._read_ahead is None:
            self._read_ahead = read_ahead([self._reading(each) for each in self._ahead])
        return next(self._read_ahead)

    def _waits(self, target: Target) -> bool:
        kind = self._platforms.kind_of(target)
        return kind is not None and kind.waits(target.name)

    def _reading(self, target: Target) -> Callable[[], Iterator[HostItem]]:
        """Reads the domains that run at a target, once it is called."""
        kind = self._platforms.kind_of(target)
        if kind is None or kind.read is None:
            raise KeyError(target.kind)
        read, options = kind.read, self._options
        if len(self._ahead) > 1:
            options = replace(options, calls=options.calls or CALLS)
        return lambda: guarded(target.name, read(target.name, options))
