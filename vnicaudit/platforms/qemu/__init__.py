"""QEMU itself: what really runs, from command lines, logs and ``/proc``.

``options.py`` reads one option's value, ``arguments.py`` a list of arguments, ``words.py`` splits
shell text and ``ps`` output, ``commands.py`` finds command lines in a document. ``nics.py``
interprets the arguments of NICs, ``faults.py`` finds out whether some are missing, and
``refusals.py`` and ``properties.py`` whether QEMU refuses them. ``build.py`` makes a guest from all
of this, also of the arguments in a libvirt definition. ``read.py`` reads files and logs,
``proc.py`` processes, which it also combines with their definitions.

This module recognises files and ``/proc``; whatever reads them is imported on first use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from types import ModuleType

from vnicaudit.model.file_kind import FileKind, Item
from vnicaudit.model.fleet import LiveOptions
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


def _reader() -> ModuleType:
    """The module that reads them; loaded on first use."""
    from vnicaudit.platforms.qemu import read

    return read


def _why_not(head: bytes) -> str | None:
    found = _NAMED.search(head.replace(b"\xc2\xa0", b"  "))
    if found is None:
        return None
    line = head.count(b"\n", 0, found.start()) + 1
    return (
        f"names QEMU in line {line}, but its command line is cut off or in a form that is not "
        "read: save it whole, as the shell takes it (or ps -ww, libvirt's log, /proc/PID/cmdline)"
    )


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
    "QEMU log",
    "start of a QEMU",
    "log",
    lambda head: b"\0" not in head and _reader().is_log(head.decode("utf-8", "replace")),
    lambda content: _reader().read_content(content),
)
COMMANDS = FileKind(
    "QEMU command line or ps output",
    "QEMU",
    "words",
    lambda head: _reader().looks_like(head) is not None,
    lambda content: _reader().read_content(content),
    among_others=lambda head: _reader().is_for_commands(head),
    may_hold=lambda data: any(word in data for word in _MAY_HOLD),
    prepared=without_remarks,
    why_not=_why_not,
)
