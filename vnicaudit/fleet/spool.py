"""One audit of a fleet on disk, host by host, so that finished work survives any end of the
program.

``STATE/fleet/audits/ID/``: ``audit.json``, and in ``hosts/`` one file for each host read, named by
its place in the audit. A file is a line of JSON with the main facts, followed by the reading
(MessagePack, compressed). Each appears complete or not at all; a file damaged nevertheless (power
failure) is treated as missing. Folders have mode 0700, files 0600.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec.structs import replace

from vnicaudit.base.files import make_private, write_private, write_private_quickly
from vnicaudit.base.opening import read_regular
from vnicaudit.base.wording import TIME_ID, time_id
from vnicaudit.errors import JournalError, UsageError
from vnicaudit.model.decoding import json_as, msgpack_decoder
from vnicaudit.model.fleet import FailureKind, FleetAudit, HostReading, HostStatus, KeptReading
from vnicaudit.model.report import Audited

_KEEP = 3
"""Number of newest audits that stay in the spool."""
_FASTEST = 1
_LINE_MAX = 64 << 10
_FILE_MAX = 256 << 20
_UNPACKED_MAX = 1 << 30
_ENCODER = msgspec.msgpack.Encoder()


class HostSummary(msgspec.Struct, frozen=True):
    """The first line of a host's file: the main facts of its reading, and the length and checksum
    of the rest."""

    host: str
    status: HostStatus
    failure: FailureKind | None
    tries: int
    domains: int
    nics: int
    findings: int
    digest: str
    finished: str
    length: int
    checksum: int


class SpooledHost:
    """One host's file."""

    def __init__(self, path: Path, summary: HostSummary) -> None:
        self._path = path
        self.summary = summary
        self.host = summary.host

    def reading(self) -> HostReading:
        """The reading, unpacked at each call. Raises JournalError if the file was damaged after it
        was opened."""
        try:
            _head, _newline, body = read_regular(self._path, _FILE_MAX).partition(b"\n")
            return _unpacked(body)
        except (OSError, ValueError, zlib.error) as error:
            raise JournalError(f"{self._path}: damaged ({type(error).__name__})") from None

    def compared(self, shared: tuple[Audited, ...]) -> KeptReading:
        """The reading, with the findings on what it has in common with other hosts added."""
        one = self.summary
        if not shared:
            return KeptReading(one.host, one.status, one.digest, one.finished, self.reading)
        digest = blake2b(one.digest.encode() + _ENCODER.encode(shared), digest_size=16).hexdigest()

        def reading() -> HostReading:
            read = self.reading()
            return replace(read, audited=(*read.audited, *shared), digest=digest)

        return KeptReading(one.host, one.status, digest, one.finished, reading)


class AuditSpool:
    """The folder of one audit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._hosts = folder / "hosts"

    def write_audit(self, audit: FleetAudit) -> None:
        """Store the facts about the audit itself. Raises JournalError."""
        write_private(self.folder / "audit.json", msgspec.json.encode(audit))

    def audit(self) -> FleetAudit:
        """The stored facts about the audit. Raises UsageError if they cannot be read."""
        path = self.folder / "audit.json"
        try:
            return json_as(read_regular(path, _FILE_MAX), FleetAudit)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: cannot be read: {error}") from None

    def add(self, place: int, reading: HostReading) -> HostSummary:
        """Store a reading. ``place``: position of its host in the audit. Raises JournalError."""
        body = zlib.compress(_ENCODER.encode(reading), _FASTEST)
        summary = HostSummary(
            reading.host.name, reading.status, reading.failure, reading.tries,
            reading.result.domains, reading.result.nics,
            sum(len(one.findings) for one in reading.audited),
            reading.digest, reading.finished, len(body), zlib.crc32(body),
        )  # fmt: skip
        data = msgspec.json.encode(summary) + b"\n" + body
        write_private_quickly(self._path(place), data)
        return summary

    def host(self, place: int) -> SpooledHost | None:
        """The host at a position; None if it is not stored, or incomplete."""
        path = self._path(place)
        try:
            with open(path, "rb") as stream:
                summary = json_as(stream.readline(_LINE_MAX), HostSummary)
                body = stream.read(summary.length + 1)
        except (OSError, ValueError):
            return None
        whole = len(body) == summary.length and zlib.crc32(body) == summary.checksum
        return SpooledHost(path, summary) if whole else None

    def host_count(self) -> int:
        """Number of hosts that are stored."""
        return sum(not name.endswith(".part") for name in os.listdir(self._hosts))

    def drop_host(self, place: int) -> None:
        """Remove the file of one host, if there is one."""
        self._path(place).unlink(missing_ok=True)

    def drop_hosts(self) -> None:
        """Remove the files of the hosts and the audit: its contents are stored elsewhere, or are
        old."""
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
        """A new spool. Raises JournalError if it cannot be created."""
        spool = AuditSpool(self._folder / audit_id)
        make_private(spool.folder / "hosts")
        return spool

    def unfinished(self) -> AuditSpool | None:
        """The newest audit, if it is unfinished; None otherwise. Audits that cannot be read (ended
        at their start, or written by another version) cannot be resumed and are ignored."""
        for spool in self._newest_first():
            try:
                finished = spool.audit().finished
            except UsageError:
                continue
            return spool if finished is None else None
        return None

    def finished(self) -> AuditSpool | None:
        """The newest finished audit."""
        for spool in self._newest_first():
            if spool.audit().finished is not None:
                return spool
        return None

    def finished_audit(self, audit_id: str) -> AuditSpool | None:
        """A stored and finished audit; None: there is none with that id."""
        if TIME_ID.fullmatch(audit_id) is None:
            return None
        spool = AuditSpool(self._folder / audit_id)
        try:
            return None if spool.audit().finished is None else spool
        except UsageError:
            return None

    def drop_old(self) -> None:
        """Remove all but the newest audits."""
        for spool in list(self._newest_first())[_KEEP:]:
            spool.drop_hosts()

    def _newest_first(self) -> Iterator[AuditSpool]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return
        present = time_id(datetime.now(timezone.utc))
        # those that a clock in the future has dated come last
        for name in sorted(
            filter(TIME_ID.fullmatch, names), key=lambda name: (name <= present, name), reverse=True
        ):
            yield AuditSpool(self._folder / name)


def _unpacked(body: bytes) -> HostReading:
    """Unpack a reading. Raises ValueError and zlib.error."""
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(body, _UNPACKED_MAX)
    if unpacker.unconsumed_tail:
        raise ValueError("too large")
    return msgpack_decoder(HostReading).decode(data)


def finished_spool(state: Path) -> AuditSpool:
    """The newest finished audit of a fleet in a state directory. Raises UsageError if there is
    none."""
    spool = SpoolFolder(state).finished()
    if spool is None:
        raise UsageError(
            f"{state}: no audit of a fleet is stored there; run `vnicaudit audit -i` first"
        )
    return spool
