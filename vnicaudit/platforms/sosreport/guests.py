"""The guests of a report: each once, from its definitions, its process and its log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from vnicaudit.base.wording import bare_uuid
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain, DomainState, LiveFacts
from vnicaudit.model.nic import RunningQemu
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.definitions import pending
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.host.copied_tree import CopiedTree
from vnicaudit.platforms.qemu.proc import domain_of, find, join, with_log
from vnicaudit.platforms.qemu.read import read_text

T = TypeVar("T")

STATUS = ("run/libvirt/qemu/*.xml", "var/run/libvirt/qemu/*.xml")
"""What libvirt keeps of guests while they run (``<domstatus>``)."""
_PAUSED = re.compile(rb"<domstatus state=['\"](?:paused|pmsuspended)['\"]")
"""States of theirs: virDomainState in src/conf/domain_conf.c of libvirt."""
DUMPED = ("sos_commands/virsh/virsh_-r_dumpxml_*",)
"""Of guests that run and of others (sos/report/plugins/virsh.py, sos 4)."""
DEFINED = ("etc/libvirt/qemu/*.xml",)
LOGS = ("var/log/libvirt/qemu/*.log",)
PROCESSES = (
    "sos_commands/process/ps_auxww*", "sos_commands/process/ps_alxww*",
    "sos_commands/process/ps_axo_*_cmd", "ps",
)  # fmt: skip
"""Lists of all processes with all their arguments: one is enough."""


class Guests(NamedTuple):
    """The guests that were found. ``processes``: there was a list of all processes."""

    domains: list[Domain]
    errors: list[ReadError]
    processes: bool


def read_guests(tree: CopiedTree, target: str) -> Guests:
    """The guests in a tree, in the order of their names. One of which there is only a log does not
    run any more."""
    errors: list[ReadError] = []

    def xml(data: bytes, file: str) -> Iterator[Domain]:
        paused = _PAUSED.search(data) is not None
        for domain in read_bytes(data, target=target, file=file):
            yield domain.with_state(DomainState(paused=True)) if paused else domain

    def text(data: bytes, file: str) -> Iterator[RunningQemu]:
        return read_text(data, target=target, file=file)

    found = list(_read(tree, (*STATUS, *DUMPED, *DEFINED), xml, errors))
    logs = list(_read(tree, LOGS, text, errors))
    listed, processes = _processes(tree, text, errors)
    domains: list[Domain] = []
    for guest in _by_guest(found):
        domain, *_others = sorted(guest, key=lambda each: each.declared.described_by != "live")
        process, log = find(domain, processes), find(domain, logs)
        runs = process is not None or domain.declared.described_by == "live"
        defined = [each for each in guest if each.declared.described_by != "live"]
        if defined and domain not in defined:
            domain = replace(
                domain, live=LiveFacts(domain.state or DomainState(), pending(domain, defined[-1]))
            )
        if process is not None:
            domain = join(domain, with_log(process, log))
        domains.append(
            _in_state(domain, runs=runs or (False if listed else None), kept=bool(defined))
        )
    for qemu, runs in (*((each, True) for each in processes), *((each, False) for each in logs)):
        known = {name for each in domains for name in _names(each)}
        if not known.intersection(_names(qemu)):
            whole = with_log(qemu, find(domain_of(qemu, target), logs)) if runs else qemu
            domains.append(_in_state(domain_of(whole, target), runs=runs, kept=None))
    return Guests(sorted(domains, key=lambda each: each.name), errors, listed)


def _processes(
    tree: CopiedTree, read: Callable[[bytes, str], Iterator[RunningQemu]], errors: list[ReadError]
) -> tuple[bool, list[RunningQemu]]:
    """Return whether there is a list of processes, and the QEMUs of the first one that shows all of
    their arguments."""
    failed: list[ReadError] = []
    listed = False
    for pattern in PROCESSES:
        for path in tree.matching(pattern):
            mine: list[ReadError] = []
            found = list(_read(tree, (path,), read, mine))
            if found and not mine:
                return True, found
            listed = True
            failed += mine
    errors += failed[:1]
    return listed, []


def _read(
    tree: CopiedTree,
    patterns: tuple[str, ...],
    read: Callable[[bytes, str], Iterator[T]],
    errors: list[ReadError],
) -> Iterator[T]:
    """The items that the reader finds in the files; an error for each that it cannot read."""
    for pattern in patterns:
        for path in tree.matching(pattern):
            data, place = tree.content(path), tree.place(path)
            if data is None:
                errors.append(ReadError("cannot be read, or is too large", place))
                continue
            try:
                yield from read(data, place)
            except TargetError as error:
                errors.append(ReadError(error.message, error.file or place, error.line))


def _by_guest(domains: list[Domain]) -> list[list[Domain]]:
    """The definitions of each guest: of one UUID, or of one name where there is none."""
    found: dict[str, list[Domain]] = {}
    for domain in domains:
        found.setdefault(_names(domain)[0], []).append(domain)
    return list(found.values())


def _names(guest: Domain | RunningQemu) -> tuple[str, ...]:
    """The UUID of a guest, or else its name."""
    return (bare_uuid(guest.uuid),) if guest.uuid else tuple(filter(None, (guest.name,)))


def _in_state(domain: Domain, *, runs: bool | None, kept: bool | None) -> Domain:
    state = domain.state or DomainState()
    return domain.with_state(replace(state, active=runs, persistent=kept))
