"""Read one report: the host, its facts, its guests, and what Nova is configured to do there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

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
from vnicaudit.platforms.host.readings import facts_from
from vnicaudit.platforms.host.sosreport import TreeReadings
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
    wanted = [path for fact in EVERY_FACT for path in (*fact.files, *fact.counters, *fact.present)]
    wanted += [path for fact in EVERY_FACT for excerpt in fact.excerpts for path in excerpt.files]
    wanted += [path for fact in EVERY_FACT for command in fact.commands for path in command.sos]
    wanted += [f"{folder}/{name}" for folder in _NOVA for name in _IN_NOVA]
    wanted += [
        "machineinfo.json",
        *STATUS,
        *DUMPED,
        *DEFINED,
        *LOGS,
        *PROCESSES,
        *_HOSTNAME,
        *_MODULES,
        _ZEROCOPY,
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
