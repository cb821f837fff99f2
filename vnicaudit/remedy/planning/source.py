"""Definitions that may be changed, and where they come from."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple

import msgspec

from vnicaudit.audit.files import MAX_BYTES, read_stream
from vnicaudit.audit.live import LiveDefinition, read_live_definitions
from vnicaudit.audit.options import RunOptions
from vnicaudit.audit.targets import Target, walk
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged, ReadError


class Source(NamedTuple):
    """One domain. ``running``: as it is; ``domain``: what its persistent definition says;
    ``text``: that definition, or the file it stands in (empty: there is none)."""

    target: str
    running: Domain
    domain: Domain
    text: bytes
    host: HostConfig = HostConfig()
    file: str | None = None
    local: bool | None = None
    """Of a live host: whether it is this machine, so that its devices could be looked at."""
    way_back: str = ""
    """What it comes back as once it was changed, where that is not the same text."""

    @property
    def name(self) -> str:
        """What its diff calls it."""
        return self.file or self.domain.name or self.domain.uuid or ""

    @property
    def alone(self) -> bool:
        """Whether ``text`` is this definition and no other."""
        return bool(self.text) and self.domain.location.xpath == "/domain"


def sources(
    target: Target, options: RunOptions, configs: list[NovaConfig] | None = None
) -> Iterator[Source | ReadError | NotJudged]:
    """Every domain of a target. ``configs``: where configurations of Nova go that are met on the
    way; None: nobody wants them. Raises UsageError for a target whose NICs cannot be changed."""
    if target.kind == "libvirt":
        yield from _live(target.name, options)
    elif target.kind == "path":
        yield from _files(target.name, options, configs)
    elif target.kind == "proc":
        raise UsageError(
            f"{target.name}: what runs is not changed by itself; give the libvirt URI it belongs "
            "to, for example qemu:///system"
        )
    else:
        raise UsageError("standard input cannot be changed: give a file, or a libvirt URI")


def error_text(error: ReadError | NotJudged, target: Target) -> str:
    """What could not be read or was not judged, and where."""
    place = error.file or target.name
    where = place if error.line is None else f"{place}:{error.line}"
    return f"{where}: {error.message}"


def _live(uri: str, options: RunOptions) -> Iterator[Source | ReadError | NotJudged]:
    try:
        for item in read_live_definitions(uri, options.live):
            if isinstance(item, ReadError):
                yield item
            elif isinstance(item, LiveDefinition):
                yield Source(
                    uri, item.running, item.domain, item.text, item.host, local=item.local,
                    way_back=item.way_back,
                )  # fmt: skip
    except TargetError as error:
        yield ReadError(error.message, error.file)


def _files(
    top: str, options: RunOptions, configs: list[NovaConfig] | None
) -> Iterator[Source | ReadError | NotJudged]:
    named = not os.path.isdir(top)
    for path in walk(top, options.selection.leaves_out):
        if isinstance(path, ReadError):
            yield path
        elif options.selection.wants(path, named=named):
            yield from _file(path, top, configs, named=named)


def _file(
    path: str, top: str, configs: list[NovaConfig] | None, *, named: bool
) -> Iterator[Source | ReadError | NotJudged]:
    try:
        data = _content(path)
    except OSError as error:
        yield ReadError(error.strerror or str(error), path)
        return
    if data is None:
        if named:
            yield ReadError("not a regular file", path)
        return
    yield from _described(data, path, top, configs, named=named)


def _described(
    data: bytes, path: str, top: str, configs: list[NovaConfig] | None, *, named: bool
) -> Iterator[Source | ReadError | NotJudged]:
    domains = other = False
    errors: list[ReadError] = []
    for item in read_stream(BytesIO(data), path):
        if isinstance(item, Domain):
            domains = True
            yield Source(top, item, item, data, file=os.path.abspath(path))
        elif configs is not None and isinstance(item, NovaConfig):
            named = False  # it is there for the servers of a cloud
            configs.append(item)
        elif isinstance(item, ReadError):
            errors.append(item)
        elif isinstance(item, NotJudged):
            yield item
        else:
            other = True  # a configuration, an image: nothing of it is a NIC
    if named or domains or other:
        yield from errors
    if named and other and not domains:
        raise UsageError(
            f"{path}: there is no domain in it whose NICs could be changed; `vnicaudit audit` says "
            "what is wrong with it, and --fix puts a configuration right"
        )


def _content(path: str) -> bytes | None:
    """All of a file, and one byte more than is read of any; None for what is no regular one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return stream.read(MAX_BYTES + 1)


def with_actual_types(domain: Domain, known: Domain) -> Domain:
    """The domain with what ``known``, the same one, knows of the networks its NICs are on."""
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
