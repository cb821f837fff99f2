"""Replacing the content of a file, and the small contracts around it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from vnicaudit.base.files import BACKUP, is_in_run_folder, sync_folder
from vnicaudit.base.opening import open_regular
from vnicaudit.errors import RefusedError
from vnicaudit.model.file_kind import Item
from vnicaudit.model.finding import Change, Location, Ref
from vnicaudit.model.plan import RefusalCode, Step
from vnicaudit.platforms.domain_xml.source import text_of
from vnicaudit.text.edits import NO_NEWLINE, Edit, hunks, lines_of
from vnicaudit.text.targets import unsafe_parts

# Why the change of a unit is not started.


class UnitRefusedError(RefusedError):
    """The change of a unit is not started. The message says why; ``codes`` give the reasons to
    programs."""

    def __init__(self, message: str, *codes: RefusalCode) -> None:
        super().__init__(message)
        self.codes = codes


def codes_of(error: RefusedError) -> tuple[str, ...]:
    """The reasons, for programs; ``other`` if the error has no code."""
    other: RefusalCode = "other"
    return error.codes or (other,)


# Read a file, and replace its content: completely or not at all, and without changing anything else
# about the file.
#
# The content is written beside the file and moved over it, so that a reader finds the old or the
# new one and a full disk does no damage. A link is followed: the file it leads to is replaced.


def replace_file(path: str, before: bytes, after: bytes, *, backup: bool = False) -> str:
    """Give ``path`` the content ``after``, with its previous owner, mode and extended attributes.
    Returns the name of the copy of the old file; empty without ``backup``.

    Raises RefusedError, with the file unchanged, if its content is no longer ``before``, it may not
    be written, has other names (hard links, which would keep the old content), is an original that
    a run saved, or an attribute cannot be kept.
    """
    real = os.path.realpath(path)
    if is_in_run_folder(real):
        raise RefusedError(
            "the file belongs to a run of vnicaudit, which may have to restore it: copy it, and "
            "change the copy"
        )
    try:
        status = os.stat(real)
        _check(real, status)
        with contextlib.ExitStack() as at_end, contextlib.ExitStack() as on_failure:
            copy = _backup(real, before, status) if backup else ""
            on_failure.callback(_remove, copy)
            part = _written_beside(real, after, status)
            at_end.callback(_remove, part)  # no file has this name once it is moved
            _check_unchanged(real, before, status)
            on_failure.pop_all()  # before the move: what interrupts after it must leave the copy
            _move(part, real, copy)
        with contextlib.suppress(OSError):  # the content is on disk; the new name costs no more
            sync_folder(Path(os.path.dirname(real)))
    except OSError as error:
        raise RefusedError(f"the file cannot be written: {error.strerror or error}") from None
    return copy


def _move(part: str, real: str, copy: str) -> None:
    """Move ``part`` over the file; if that fails, ``copy`` is removed."""
    try:
        os.replace(part, real)
    except OSError:
        _remove(copy)
        raise


def _remove(name: str) -> None:
    if name:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _backup(real: str, before: bytes, status: os.stat_result) -> str:
    """The name of a copy beside the file, with the same attributes; older copies are never
    overwritten."""
    name, number = f"{real}{BACKUP}", 1
    while os.path.lexists(name):
        number += 1
        name = f"{real}{BACKUP}{number}"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    _fill(descriptor, name, before, real, status)
    return name


def _check(real: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError("not a regular file")
    if not os.access(real, os.W_OK):
        raise RefusedError("the file is read-only")
    if status.st_nlink > 1:
        raise RefusedError(
            f"the file has {status.st_nlink} names (hard links): the others would keep the old "
            "content"
        )


def _written_beside(real: str, after: bytes, status: os.stat_result) -> str:
    """The name of a new file with that content, and all other attributes of the old one."""
    descriptor, part = tempfile.mkstemp(prefix=".vnicaudit-", dir=os.path.dirname(real))
    _fill(descriptor, part, after, real, status)
    return part


def _fill(descriptor: int, name: str, content: bytes, real: str, status: os.stat_result) -> None:
    """Write a new file with all attributes of the old one except its content; it is removed if that
    fails."""
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            _made_alike(stream.fileno(), real, status)
            os.fsync(stream.fileno())
    except BaseException:
        _remove(name)
        raise


def _made_alike(descriptor: int, real: str, status: os.stat_result) -> None:
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except OSError as error:
            raise RefusedError(f"the file's owner cannot be preserved: {error.strerror}") from None
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))  # after fchown, which drops set-id bits
    names = _attributes(real)
    for name in names:
        _keep_attribute(descriptor, real, name)
    for name in set(_attributes(descriptor)) - set(names):
        with contextlib.suppress(OSError):
            os.removexattr(descriptor, name)


def _attributes(file: str | int) -> list[str]:
    """The names of the extended attributes; none on a file system without them."""
    try:
        return os.listxattr(file)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


def _keep_attribute(descriptor: int, real: str, name: str) -> None:
    """Copy one extended attribute: an access control list, a security label, a user's own."""
    value = os.getxattr(real, name)
    with contextlib.suppress(OSError):
        if os.getxattr(descriptor, name) == value:
            return
    try:
        os.setxattr(descriptor, name, value)
    except OSError as error:
        reason = f"its extended attribute {name} cannot be preserved: {error.strerror}"
        raise RefusedError(reason) from None


def _check_unchanged(real: str, before: bytes, status: os.stat_result) -> None:
    with open(real, "rb") as stream:
        now = os.fstat(stream.fileno())
        same = (now.st_dev, now.st_ino) == (status.st_dev, status.st_ino)
        if not same or stream.read(len(before) + 1) != before:
            raise UnitRefusedError("the file was changed meanwhile: run this again", "edited")


def read_file(path: str, size: int) -> bytes:
    """At most ``size`` bytes of a file. Raises RefusedError if it cannot be read."""
    try:
        with open_regular(path) as stream:  # it may be a FIFO by now, which must not be waited for
            return stream.read(size)
    except OSError as error:
        raise UnitRefusedError(f"it cannot be read: {error.strerror}", "unreadable") from None


# Digests of definitions: two definitions are the same if their bytes are.


def digest(data: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def short_digest(data: bytes, digits: int) -> str:
    """The first hexadecimal digits alone, for use in a name or a line."""
    return hashlib.sha256(data).hexdigest()[:digits]


def step_digest(source: str, about: Ref, place: str | None = None) -> str:
    """The digest of a step: ``source``, that of the definition it was made from, and a short one of
    what the step is about in it (``place``: XPath of a NIC in a file). A step that somebody edited
    to be about another NIC no longer matches."""
    part = msgspec.json.encode((about, place), order="deterministic")
    return f"{source}-{short_digest(part, 8)}"


def is_of_source(step: Step, source: str) -> bool:
    """True if a step on a definition was made from the one with that digest."""
    return step.digest.partition("-")[0] == source


def check_about(step: Step, place: str | None = None) -> None:
    """Raises RefusedError for a step on a definition that is about another NIC than it was made
    for."""
    source = step.digest.partition("-")[0]
    if step.digest != step_digest(source, step.about, place):
        nic = step.about.mac or f"NIC {step.about.index}"
        raise UnitRefusedError(
            f"step {step.id}: it was made for another NIC than {nic} of "
            f"{step.about.name or step.about.id}, and edited since: make a new plan",
            "plan",
        )


def check_diff(step: Step, diff: str, made_from: str | None = None) -> None:
    """Raises RefusedError if a step's diff does not show its change, whose ``diff`` was made again,
    or it was not ``made_from`` the source with that digest."""
    if step.diff != diff or step.digest != (made_from or step.digest):
        raise UnitRefusedError(
            f"step {step.id}: the change does not match its diff: make a new plan", "plan"
        )


def kept_digest(kind: str, id: str | None, old: Mapping[str, str | None]) -> str:
    """The digest of the object that a cloud step was made from: a server, image or flavor
    (``kind``), and its values for the properties that the step changes (None: not set). It is
    independent of whether a server runs, so it can be computed again from the output of
    ``nova-manage image_property show``."""
    made_from = {"id": id, "kind": kind, "old": dict(old)}
    return digest(msgspec.json.encode(made_from, order="deterministic"))


_AROUND = 16
"""Lines compared on both sides of a difference: more than a diff shows."""


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """A unified diff of two definitions; undecodable bytes as escapes, what may be secret as stars.
    Empty if they are equal.

    Of two long texts only the part that differs is compared, with some lines around it: a file may
    hold a thousand definitions, and each of their steps changes a line.
    """
    old, new = _text(before), _text(after)
    start, old_end, new_end = _differing(old, new)
    lines, changed = lines_of(old[start:old_end]), lines_of(new[start:new_end])
    shown = "".join(_unified(lines, changed, old.count("\n", 0, start)))
    return f"--- {name}\n+++ {name}\n{shown}" if shown else ""


@lru_cache(maxsize=2)  # all steps of one definition or file start with the same text
def _text(data: bytes) -> str:
    return text_of(data).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _differing(old: str, new: str) -> tuple[int, int, int]:
    """The part in which the texts differ, with whole lines around it: where it starts in both, at
    the beginning of a line, and where it ends in each."""
    most = min(len(old), len(new))
    same = _longest(most, lambda low, high: old[low:high] == new[low:high])
    old_last, new_last = len(old), len(new)
    behind = _longest(
        most - same,
        lambda low, high: (
            old[old_last - high : old_last - low] == new[new_last - high : new_last - low]
        ),
    )
    start, end = same, old_last - behind
    for _ in range(_AROUND):
        start = max(0, old.rfind("\n", 0, start))
        end = old.find("\n", end) + 1 or old_last
    start = old.rfind("\n", 0, start) + 1
    return start, end, end + new_last - old_last


def _longest(most: int, alike: Callable[[int, int], bool]) -> int:
    """The largest number of characters, up to ``most``, that two texts have in common; ``alike``
    compares them from one position to another. It compares slices: a loop over characters takes a
    hundred times as long."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if alike(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _unified(old: Sequence[str], new: Sequence[str], above: int) -> Iterator[str]:
    """The hunks of a part of a text with ``above`` lines before it."""
    for hunk in hunks(old, new):
        for mark, line in hunk.lines(old, new, above):
            yield line if mark == "@" else f"{mark}{line}"
            if not line.endswith("\n"):
                yield f"\n{NO_NEWLINE}"


# The libvirt URIs that may be dialled although they come from a file.
#
# A URI that the user types is trusted; a plan, or the record of a run, may have been written by
# somebody else (:func:`vnicaudit.text.targets.unsafe_parts`).


ALL = "all"
"""Given instead of URIs: whatever URI the plan or the run names."""


def check_uri(uri: str, trusted: Container[str] = ()) -> None:
    """Raises RefusedError for a URI from a file that does more than name a host, unless the user
    named the same URI, or :data:`ALL`."""
    parts = unsafe_parts(uri)
    if parts and uri not in trusted and ALL not in trusted:
        raise RefusedError(
            f"{uri} comes from a file, and {', '.join(parts)} may start a program here or switch "
            "off a check: it was not contacted; if it is your own, pass the same URI with "
            "--trust-uri (`all`: every URI in it)"
        )


# The interface to a platform for fixing files in place: a module ``write`` in its folder.


class PlatformWriter(Protocol):
    """Writes changes into descriptions of one kind."""

    @property
    def ENTAILED(self) -> Mapping[str, tuple[str, ...]]:
        """Field -> other fields that change with it, because they make no sense without it."""

    @property
    def SHARED(self) -> frozenset[str]:
        """Fields that one setting decides for all NICs of a domain."""

    @property
    def OWNER_REWRITES(self) -> bool:
        """True if these definitions may be written by an owner that regenerates them (Nova,
        KubeVirt, oVirt): they then follow from the owner's own description and are left as they
        are."""

    def edits_for(self, data: bytes, place: Location, change: Change) -> list[Edit]:
        """The edits of a file's bytes that make ``change`` at ``place``, as a finding names it.
        Raises OwnedElsewhereError if the owner regenerates that text, RefusedError if the change
        cannot be written there."""

    def text_of(self, data: bytes) -> str:
        """The file's text, for display; undecodable bytes as surrogates."""


Writers = Callable[[Item], PlatformWriter | None]
"""The platform of a description -> its writer; None: such descriptions cannot be changed in files
(QEMU command lines, images, flavors)."""


@runtime_checkable
class Remembering(Protocol):
    """A writer whose platform caches files that others refer to."""

    def note_replaced(self, before: bytes, after: bytes) -> None:
        """Called when a file's content has changed."""
