"""QEMU itself: what really runs, from command lines, logs and ``/proc``.

``options.py`` reads one option's value, ``arguments.py`` a list of arguments, ``words.py`` splits
shell text and ``ps`` output, ``commands.py`` finds command lines in a document. ``machine.py`` and
``nics.py`` interpret the arguments, ``faults.py`` finds out whether some are missing,
``refusals.py`` whether QEMU refuses them. ``build.py`` makes a domain from all of this, also of the
arguments in a libvirt definition; ``read.py`` reads files and logs, ``proc.py`` processes, and
``joining.py`` combines what runs with its definition.

This module recognises files and ``/proc``; whatever reads them is imported on first use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.report import NotJudged
from vnicaudit.text.beginning import without_remarks

NOT_PLANNED = (
    "a running QEMU cannot be changed on its own; name the libvirt URI it belongs to, for example "
    "qemu:///system"
)
"""The reason why there is no plan for processes."""
_MAY_HOLD = (b"qemu-system-", b"-device", b"-netdev", b"-nic")
_NAMED = re.compile(
    rb"(?<![\w.-])(?:qemu-system-[a-z0-9_]{1,40}|qemu-kvm|kvm(?=[\"' \t]))"
    rb" *(?=[\s\\\"',n\[\]]+-|\"?\$|\s*\Z)"
)
"""QEMU's program before an option, a variable, or nothing more."""


def _looks_like_log(head: bytes) -> bool:
    from vnicaudit.platforms.qemu.read import is_log

    return b"\0" not in head and is_log(head.decode("utf-8", "replace"))


def _tail(descriptor: int, size: int) -> tuple[bytes, int | None]:
    """The end of a log, which contains its last start."""
    from vnicaudit.platforms.qemu.read import lines_before, read_tail

    data = read_tail(descriptor, size)
    return data, lines_before(descriptor, size - len(data))


def _looks_like_command(head: bytes) -> bool:
    from vnicaudit.platforms.qemu.read import looks_like

    return looks_like(head) is not None


def _is_for_commands(head: bytes) -> bool:
    from vnicaudit.platforms.qemu.read import is_for_commands

    return is_for_commands(head)


def _why_not(head: bytes) -> str | None:
    found = _NAMED.search(head.replace(b"\xc2\xa0", b"  "))
    if found is None:
        return None
    line = head.count(b"\n", 0, found.start()) + 1
    return (
        f"names QEMU in line {line}, but its command line is cut off or in a form that is not "
        "read: save it whole, as the shell takes it (or ps -ww, libvirt's log, /proc/PID/cmdline)"
    )


def _read_content(content: Content) -> Iterator[Item]:
    from vnicaudit.model.domain import Marked
    from vnicaudit.platforms.qemu.proc import domain_of
    from vnicaudit.platforms.qemu.read import read_parts

    number = 0
    data, before = content.data, content.before
    for qemu in read_parts(data, target=content.target, file=content.path, before=before):
        if isinstance(qemu, NotJudged):
            yield qemu
            continue
        number += 1
        mark = f"#{number}" if qemu.name is None else qemu.name
        domain = replace(domain_of(qemu, content.target), known_by=Marked(mark))
        yield domain
        yield from domain.unread


def proc_of(name: str) -> str | None:
    """A proc file system, or one process in it; None if the target is neither."""
    one = os.path.isfile(os.path.join(name, "cmdline")) and os.path.isdir(os.path.join(name, "fd"))
    return name if one or os.path.isfile(os.path.join(name, "self", "cmdline")) else None


def read_processes(name: str, options: LiveOptions) -> Iterator[Item]:
    """The QEMU processes below a proc file system."""
    from vnicaudit.platforms.qemu import proc

    del options
    return proc.read_processes(name)


QEMU_LOG = FileKind(
    "QEMU log", "start of a QEMU", "log", _looks_like_log, _read_content, tail=_tail
)
COMMANDS = FileKind(
    "QEMU command line or ps output",
    "QEMU",
    "words",
    _looks_like_command,
    _read_content,
    among_others=_is_for_commands,
    may_hold=lambda data: any(word in data for word in _MAY_HOLD),
    prepared=without_remarks,
    why_not=_why_not,
)
