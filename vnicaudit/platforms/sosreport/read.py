"""Read one report: the host, its facts, its guests, and what Nova is configured to do there.

sos names a file after its command: ``/`` becomes ``.``, a blank ``_``, and programs of a snap keep
its prefix (sos 4.2 ``_mangle_command`` in sos/report/plugins/__init__.py). A command that failed
has left its message there: that is unknown, and nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from msgspec.structs import replace

from vnicaudit.base.deadlines import FILE_SECONDS, OutOfTime, within
from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import LiveDomain
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.host.archive import ArchiveFiles
from vnicaudit.platforms.host.copied_tree import CopiedTree, FolderFiles
from vnicaudit.platforms.host.facts import EVERY_FACT
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings, facts_from
from vnicaudit.platforms.nova_conf.recognise import FILES, FOLDERS
from vnicaudit.platforms.nova_conf.siblings import read_together
from vnicaudit.platforms.sosreport.guests import (
    DEFINED,
    DUMPED,
    LOGS,
    PROCESSES,
    STATUS,
    read_guests,
)

Found = Host | HostFacts | LiveDomain | NovaConfig | ReadError | NotJudged

_NOVA = (
    "etc/nova", "etc/kolla/nova-compute", "var/snap/*/common/etc/nova",
    "var/lib/config-data/puppet-generated/nova*/etc/nova",
)  # fmt: skip
"""Folders of nova.conf on a host: of a package, Kolla, a snap, TripleO."""
_IN_NOVA = (*FILES, *(f"{each}/*.conf" for each in FOLDERS))
"""The files that Nova reads together there, in its order."""
_HOSTNAME = ("sos_commands/host/hostname", "hostname", "etc/hostname")
_MODULES = ("sos_commands/kernel/lsmod", "lsmod")
_ZEROCOPY = "sys/module/vhost_net/parameters/experimental_zcopytx"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,252}", re.ASCII)
_NO_HYPERVISOR = (
    "the copy of a host that is no hypervisor: no guest, and nothing that runs one; its links and "
    "CPUs were not judged"
)


def read(target: str) -> Iterator[Found]:
    """Everything in a report; an error at its end if reading took too long. Raises TargetError."""
    try:
        yield from within(FILE_SECONDS, _read(target))
    except OutOfTime:
        took = f"took more than {FILE_SECONDS:.0f} s of CPU time to read: given up"
        yield ReadError(f"{took}; unpack an archive, and name its folder", target)


def _read(target: str) -> Iterator[Found]:
    tree = tree_of(target)
    facts = replace(facts_from(TreeReadings(tree, EVERY_FACT), EVERY_FACT), source="sosreport")
    guests = read_guests(tree, target)
    config = _host_config(tree, facts)
    is_none = facts.hypervisor is False or (facts.hypervisor is None and bool(facts.container))
    if not is_none or guests.domains:
        yield Host(_name(tree, target), config)
        yield facts
    else:
        yield NotJudged(_NO_HYPERVISOR, target, 1)
    yield from guests.errors
    for domain in guests.domains:
        yield LiveDomain(domain, config)
        yield from domain.unread
    yield from _configs(tree, target)


def tree_of(target: str) -> CopiedTree:
    """The files of a report. Raises TargetError."""
    if os.path.isdir(target):
        return CopiedTree(FolderFiles(target), target)
    wanted = [
        *(pattern for fact in EVERY_FACT for pattern in fact.patterns()),
        *(f"{folder}/{name}" for folder in _NOVA for name in _IN_NOVA),
        *("machineinfo.json", _ZEROCOPY, *_HOSTNAME, *_MODULES),
        *(*STATUS, *DUMPED, *DEFINED, *LOGS, *PROCESSES),
    ]
    return CopiedTree(ArchiveFiles(target, wanted), target)


def _host_config(tree: CopiedTree, facts: HostFacts) -> HostConfig:
    """The facts of the host that rules on NICs need. Its devices cannot be seen: a module that is
    not loaded may load itself."""
    modules = next(filter(None, map(tree.text, _MODULES)), "")
    switch = (tree.text(_ZEROCOPY) or "").strip()
    return HostConfig(
        arch=facts.arch,
        kernel=facts.kernel,
        vhost_net=True if re.search(r"^vhost_net\s", modules, re.MULTILINE) else None,
        zerocopy_tx={"0": False, "1": True}.get(switch),
    )


def _name(tree: CopiedTree, target: str) -> str:
    """The host's name; of a must-gather, that of the folder or archive."""
    for path in _HOSTNAME:
        if _NAME.fullmatch(name := (tree.text(path) or "").strip()):
            return name
    path = os.path.abspath(target)
    if os.path.basename(path) == "sysinfo.tgz":
        path = os.path.dirname(path)
    return re.sub(r"\.(?:tgz|txz|tar(?:\.(?:gz|xz))?)\Z", "", os.path.basename(path))


def _configs(tree: CopiedTree, target: str) -> Iterator[NovaConfig | ReadError]:
    for pattern in _NOVA:
        for folder in tree.matching(pattern):
            files = {
                tree.place(path): path
                for name in _IN_NOVA
                for path in tree.matching(f"{folder}/{name}")
            }

            def content(file: str, paths: dict[str, str] = files) -> bytes:
                data = tree.content(paths[file])
                if data is None:
                    raise TargetError("cannot be read, or is too large", file=file)
                return data

            yield from read_together(tuple(files), target, content)


# Its files, and what commands printed, by name.


_HEAD = 2000
"""Characters of the first two lines, in which a message of failure is looked for."""
_FAILED = re.compile(
    r"^(?:timeout: (?:failed to run command|sending signal)|usage: |netlink error: |Object \""
    r"|(?:\S{1,80}: ){0,2}(?:unrecognized|unknown|invalid) (?:option|command|argument)"
    r"|Option \"[^\"\n]{0,80}\" is unknown|Command line is not complete"
    r"|(?:\S{1,80}: ){1,2}command not found|\S{1,80}: (?:[^\n]{0,120}: (?:server returned an error"
    r"|database connection failed|No such file or directory|Permission denied"
    r"|Connection refused|cannot connect to))|Device \"[^\"\n]{0,80}\" does not exist)",
    re.IGNORECASE | re.MULTILINE,
)


class TreeReadings:
    """The readings in a tree. Counters were read once."""

    window: float | None = None

    def __init__(self, tree: CopiedTree, facts: Iterable[HostFact]) -> None:
        self._tree = tree
        self._commands = {command.name: command for fact in facts for command in fact.commands}

    def text(self, path: str) -> str | None:
        """The content of a file."""
        return self._tree.text(path)

    def texts(self, pattern: str) -> Mapping[str, str]:
        """The files that match a pattern."""
        found = ((path, self._tree.text(path)) for path in self._tree.matching(pattern))
        return {path: text for path, text in found if text is not None}

    def output(self, command: str) -> str | None:
        """The output of a command: the first that succeeded. Of one for all devices at once, the
        outputs for each of them, as they stand in it behind one another."""
        known = self._commands.get(command)
        if known is None:
            return None
        if "'*'" in command:
            return "\n".join(text for _path, text in self._printed(known, "*")) or None
        return next((text for _path, text in self._printed(known, "")), None)

    def outputs(self, command: str) -> Mapping[str, str]:
        """The outputs of a command for each device."""
        known = self._commands.get(command)
        if known is None:
            return {}
        found: dict[str, str] = {}
        for pattern in known.sos:
            for path, text in self._printed(known._replace(sos=(pattern,)), "*"):
                found.setdefault(_device(os.path.basename(path), os.path.basename(pattern)), text)
        return found

    def later(self) -> HostReadings:
        """There is no second reading."""
        return self

    def _printed(self, command: HostCommand, ending: str) -> Iterator[tuple[str, str]]:
        """Path and text of the files of a command, by its patterns with that ending (``*``: one
        file for each device), in which it did not fail."""
        for pattern in command.sos:
            if pattern.endswith("*") != (ending == "*"):
                continue
            for path in self._tree.matching(pattern):
                text = self._tree.text(path)
                if text and (pattern.startswith("var/log") or not is_failure(text)):
                    yield path, text


def is_failure(text: str) -> bool:
    """True for what a command prints that cannot be run, or does not know its arguments."""
    return _FAILED.search("\n".join(text[:_HEAD].split("\n", 2)[:2])) is not None


def _device(name: str, pattern: str) -> str:
    """The part of a name for which the last ``*`` of a pattern stands, with a class before it."""
    before = re.sub(r"\[[^\]]*\]\*\Z|\*\Z", "", pattern)
    ends = (end for end in range(len(name) + 1) if fnmatchcase(name[:end], before))
    return name[next(ends, 0) :]
