"""Definitions that may be changed, and their sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import NamedTuple

import msgspec

from vnicaudit.audit.pool import why_not_here
from vnicaudit.audit.reading.files import MAX_BYTES, read_stream
from vnicaudit.audit.reading.options import RunOptions
from vnicaudit.audit.reading.platform import Platforms
from vnicaudit.audit.reading.seen_files import SeenFiles
from vnicaudit.audit.reading.targets import Target
from vnicaudit.base.opening import NotRegularError, read_regular
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Item
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.live import LiveDefinition
from vnicaudit.model.location import Description
from vnicaudit.model.report import NotJudged, PutAside, ReadError

IsOfUse = Callable[[Description], bool]


class Source(NamedTuple):
    """One domain. ``running``: its running form; ``domain``: its persistent definition; ``text``:
    that definition, or the file that contains it (empty: there is none)."""

    target: str
    running: Domain
    domain: Domain
    text: bytes
    host: HostConfig = HostConfig()
    file: str | None = None
    local: bool | None = None
    """For a live host: true if it is this machine, so that its devices could be inspected."""
    way_back: str = ""
    """A note on how the domain will be restored after the change, if not to the same text."""

    @property
    def name(self) -> str:
        """The title of its diff."""
        return self.file or self.domain.name or self.domain.uuid or ""

    @property
    def line(self) -> int | None:
        """Line of the file on which the definition begins; None where it is in no file."""
        return None if self.file is None else self.domain.location.line

    @property
    def alone(self) -> bool:
        """True if ``text`` is this definition and no other."""
        return bool(self.text) and self.domain.location.xpath == "/domain"


def sources(
    target: Target,
    options: RunOptions,
    platforms: Platforms,
    seen_files: SeenFiles,
    is_of_use: IsOfUse = lambda _item: False,
    on_files: Callable[[int], None] = lambda _number: None,
) -> Iterator[Source | ReadError | NotJudged]:
    """Every domain of a target, except in ``seen_files``, which were read for another target.
    ``is_of_use`` is given each item of a file that is not a domain, and tells if another planner
    uses it. ``on_files`` is given the number of files read so far. Raises UsageError for a target
    whose NICs cannot be changed."""
    kind = platforms.kind_of(target)
    if kind is not None and kind.definitions is not None:
        yield from live_sources(target.name, kind.definitions(target.name, options.live))
    elif target.kind == "path":
        named = not os.path.isdir(target.name)
        for number, path in enumerate(seen_files.unread(target.name, options.selection), 1):
            if isinstance(path, ReadError):
                yield path
            else:
                yield from _file(path, target.name, platforms, is_of_use, named=named)
            on_files(number)
    else:
        raise UsageError("standard input cannot be changed: name a file or a libvirt URI")


def live_sources(
    uri: str, items: Iterator[Host | LiveDefinition | ReadError]
) -> Iterator[Source | ReadError]:
    """Every domain of a live host."""
    try:
        for item in items:
            if isinstance(item, ReadError):
                yield item
            elif isinstance(item, LiveDefinition):
                yield Source(
                    uri, item.running, item.domain, item.text, item.host, local=item.local,
                    way_back=item.way_back,
                )  # fmt: skip
    except TargetError as error:
        yield ReadError(error.message, error.file)


def _file(
    path: str, top: str, platforms: Platforms, is_of_use: IsOfUse, *, named: bool
) -> Iterator[Source | ReadError | NotJudged]:
    try:
        data = read_regular(path, MAX_BYTES + 1)
    except OSError as error:
        if named or not isinstance(error, NotRegularError):
            yield ReadError(error.strerror or str(error), path)
        return
    if (fatal := why_not_here(data, path, platforms)) is not None:
        yield fatal
        return
    items = read_stream(BytesIO(data), path, platforms.files, explicit=named)
    yield from _described(items, data, path, top, is_of_use, named=named)


def _described(
    items: Iterator[Item],
    data: bytes,
    path: str,
    top: str,
    is_of_use: IsOfUse,
    *,
    named: bool,
) -> Iterator[Source | ReadError | NotJudged]:
    domains = other = False
    for item in items:
        if isinstance(item, Domain):
            domains = True
            yield Source(top, item, item, data, file=os.path.abspath(path))
        elif isinstance(item, ReadError | NotJudged):
            yield item
        elif not isinstance(item, PutAside) and is_of_use(item):
            named = False  # nova.conf of a compute node: used for a cloud's servers
        else:
            other = True  # a configuration, an image: it has no NICs
    if named and other and not domains:
        raise UsageError(
            f"{path}: it has no domain whose NICs could be changed; `vnicaudit audit` shows what "
            "is wrong with it, and --fix corrects a configuration"
        )


def with_actual_types(domain: Domain, known: Domain) -> Domain:
    """The domain with the actual types of its NICs' networks as ``known``, the same domain, has
    them."""
    if len(domain.nics) != len(known.nics):
        return domain
    nics = tuple(
        nic if nic.declared.type != old.declared.type
        else msgspec.structs.replace(
            nic,
            declared=msgspec.structs.replace(
                nic.declared, actual_type=old.declared.actual_type
            ),
        )
        for nic, old in zip(domain.nics, known.nics, strict=True)
    )  # fmt: skip
    return msgspec.structs.replace(domain, nics=nics)
