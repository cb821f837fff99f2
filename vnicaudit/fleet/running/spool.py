"""One audit of a fleet on disk, host by host: what is done is kept, whatever ends the program.

``STATE/fleet/audits/ID/``: ``audit.json``, and in ``hosts/`` one file for each host that was read,
named after its place in the audit. A file is a line of JSON, which tells the most of it, and the
reading (MessagePack, compressed). Each appears whole or not at all; one that is damaged all the
same (the power failed) is as if it were not there. Folders are 0700 and files 0600.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from vnicaudit.base.identifiers import TIME_ID
from vnicaudit.base.opening import read_regular
from vnicaudit.base.private_files import make_private, write_private, write_private_quickly
from vnicaudit.errors import JournalError, UsageError
from vnicaudit.model.decoding import json_as, msgpack_decoder
from vnicaudit.model.fleet import FailureKind, FleetAudit, HostReading, HostStatus
from vnicaudit.model.report import Audited

_KEEP = 3
"""Audits that stay in the spool, the newest ones."""
_FASTEST = 1
_LINE_MAX = 64 << 10
_FILE_MAX = 256 << 20
_UNPACKED_MAX = 1 << 30
_ENCODER = msgspec.msgpack.Encoder()


class HostSummary(msgspec.Struct, frozen=True):
    """The first line of a host's file: the most important things of its reading, and the length and
    checksum of what follows."""

    host: str
    status: HostStatus
    failure: FailureKind | None
    tries: int
    domains: int
    nics: int
    findings: int
    digest: str
    length: int
    checksum: int


class SpooledHost:
    """One host's file (:class:`vnicaudit.model.fleet.KeptReading`)."""

    def __init__(self, path: Path, summary: HostSummary) -> None:
        self._path = path
        self.summary = summary

    @property
    def host(self) -> str:
        """Name of the host in the inventory."""
        return self.summary.host

    @property
    def status(self) -> HostStatus:
        """As of the reading."""
        return self.summary.status

    @property
    def digest(self) -> str:
        """Of all that was judged of it."""
        return self.summary.digest

    def reading(self) -> HostReading:
        """The reading, unpacked anew each time. Raises JournalError where the file was damaged
        since it was looked at."""
        try:
            _head, _newline, body = read_regular(self._path, _FILE_MAX).partition(b"\n")
            return _unpacked(body)
        except (OSError, ValueError, zlib.error) as error:
            raise JournalError(f"{self._path}: damaged ({type(error).__name__})") from None


class ComparedHost:
    """One host's file, and the findings on what it has in common with others
    (:class:`vnicaudit.model.fleet.KeptReading`)."""

    def __init__(self, kept: SpooledHost, shared: tuple[Audited, ...]) -> None:
        self._kept = kept
        self._shared = shared
        self.host = kept.host
        self.status = kept.status
        self.digest = kept.digest
        if shared:
            data = kept.digest.encode() + _ENCODER.encode(shared)
            self.digest = blake2b(data, digest_size=16).hexdigest()

    def reading(self) -> HostReading:
        """As of the file."""
        one = self._kept.reading()
        audited = (*one.audited, *self._shared)
        return msgspec.structs.replace(one, audited=audited, digest=self.digest)


class AuditSpool:
    """The folder of one audit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._hosts = folder / "hosts"

    def write_audit(self, audit: FleetAudit) -> None:
        """Write down what is known of the audit itself. Raises JournalError."""
        write_private(self.folder / "audit.json", msgspec.json.encode(audit))

    def audit(self) -> FleetAudit:
        """The audit as it was last written down. Raises UsageError where it cannot be read."""
        path = self.folder / "audit.json"
        try:
            return json_as(read_regular(path, _FILE_MAX), FleetAudit)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: cannot be read: {error}") from None

    def add(self, place: int, reading: HostReading) -> HostSummary:
        """Keep a reading; its place is that of its host in the audit. Raises JournalError."""
        body = zlib.compress(_ENCODER.encode(reading), _FASTEST)
        summary = HostSummary(
            reading.host.name, reading.status, reading.failure, reading.tries,
            reading.result.domains, reading.result.nics,
            sum(len(one.findings) for one in reading.audited),
            reading.digest, len(body), zlib.crc32(body),
        )  # fmt: skip
        data = msgspec.json.encode(summary) + b"\n" + body
        write_private_quickly(self._path(place), data)
        return summary

    def host(self, place: int) -> SpooledHost | None:
        """The host at a place; None where it is not kept, or not whole."""
        path = self._path(place)
        try:
            with open(path, "rb") as stream:
                summary = json_as(stream.readline(_LINE_MAX), HostSummary)
                body = stream.read(summary.length + 1)
        except (OSError, ValueError):
            return None
        whole = len(body) == summary.length and zlib.crc32(body) == summary.checksum
        return SpooledHost(path, summary) if whole else None

    def drop_hosts(self) -> None:
        """Remove the hosts' files and the audit: what it knew is elsewhere, or old."""
        for folder in (self._hosts, self.folder):
            for name in os.listdir(folder) if folder.is_dir() else ():
                if not (folder / name).is_dir():
                    os.unlink(folder / name)
            with suppress(OSError):
                folder.rmdir()

    def _path(self, place: int) -> Path:
        return self._hosts / f"{place:06d}"


class SpoolFolder:
    """All audits in a state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "fleet" / "audits"

    def new(self, audit_id: str) -> AuditSpool:
        """A new spool. Raises JournalError where it cannot be made."""
        spool = AuditSpool(self._folder / audit_id)
        make_private(spool.folder / "hosts")
        return spool

    def unfinished(self) -> AuditSpool | None:
        """The newest audit that was not brought to its end, unless one was since. One that was
        ended as it began, or is of another version, has nothing to go on with: it is passed
        over."""
        for spool in self._newest_first():
            try:
                finished = spool.audit().finished
            except UsageError:
                continue
            return spool if finished is None else None
        return None

    def finished(self) -> AuditSpool | None:
        """The newest audit that was brought to its end."""
        for spool in self._newest_first():
            if spool.audit().finished is not None:
                return spool
        return None

    def finished_audit(self, audit_id: str) -> AuditSpool | None:
        """An audit that is kept and was brought to its end; None: it is not there."""
        if TIME_ID.fullmatch(audit_id) is None:
            return None
        spool = AuditSpool(self._folder / audit_id)
        try:
            return None if spool.audit().finished is None else spool
        except UsageError:
            return None

    def drop_old(self) -> None:
        """Remove all but the newest ones."""
        for spool in list(self._newest_first())[_KEEP:]:
            spool.drop_hosts()

    def _newest_first(self) -> Iterator[AuditSpool]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return
        for name in sorted(filter(TIME_ID.fullmatch, names), reverse=True):
            yield AuditSpool(self._folder / name)


def _unpacked(body: bytes) -> HostReading:
    """Raises ValueError and zlib.error."""
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(body, _UNPACKED_MAX)
    if unpacker.unconsumed_tail:
        raise ValueError("too large")
    return msgpack_decoder(HostReading).decode(data)


def finished_spool(state: Path) -> AuditSpool:
    """The newest audit of a fleet in a state folder that was brought to its end. Raises UsageError
    where there is none."""
    spool = SpoolFolder(state).finished()
    if spool is None:
        raise UsageError(
            f"{state}: no fleet audit is stored there; run `vnicaudit fleet audit` first"
        )
    return spool
