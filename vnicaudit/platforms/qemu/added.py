"""Find the NICs among the arguments that ``<qemu:commandline>`` adds to libvirt's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from vnicaudit.model.nic import Evidence, RunningNic
from vnicaudit.platforms.qemu.arguments import Arguments, parse
from vnicaudit.platforms.qemu.build import unread_file
from vnicaudit.platforms.qemu.faults import broken_options, misplaced_options, unnamed
from vnicaudit.platforms.qemu.nics import added_nics

_EVIDENCE: Evidence = "arguments in <qemu:commandline>"


class NicsInArguments(NamedTuple):
    """The NICs, and the arguments that cannot be read and why: each with the index of its
    argument."""

    nics: tuple[tuple[int, RunningNic], ...]
    problems: tuple[tuple[int, str], ...]


def read_added(words: Sequence[str], *, arch: str | None, machine: str | None) -> NicsInArguments:
    """The NICs that the arguments add to a machine, and the arguments that cannot be read. Assigned
    devices are left out, because nothing shows whether they are network adapters. References to
    libvirt's own arguments (a netdev, a bus) are not resolved, so no NIC counts as refused."""
    arguments = parse(words)
    nics = tuple(
        (arguments.places[pair], msgspec.structs.replace(nic, evidence=_EVIDENCE, refusal=None))
        for pair, nic in added_nics(arguments, arch=arch, machine=machine)
        if nic.backend != "vfio"
    )
    return NicsInArguments(nics, tuple(sorted(_problems(arguments, len(words) - 1, arch, machine))))


def _problems(
    arguments: Arguments, last: int, arch: str | None, machine: str | None
) -> Iterator[tuple[int, str]]:
    for faults in (
        broken_options(arguments),
        misplaced_options(arguments),
        unnamed(arguments, arch, machine),
    ):
        for pair, problem in faults:
            yield arguments.places[pair], problem
    for pair, (name, value) in enumerate(arguments.pairs):
        if name == "readconfig" and value is not None:
            yield arguments.places[pair], unread_file(value)
    if arguments.problem is not None:
        yield last, arguments.problem
