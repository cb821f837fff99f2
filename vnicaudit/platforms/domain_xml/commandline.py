"""``<qemu:commandline>``: NICs that are added behind libvirt's back.

libvirt 11.3 takes the ``value=`` of every ``./qemu:commandline/qemu:arg``
(``qemuDomainDefNamespaceParseCommandlineArgs`` in src/qemu/qemu_domain.c), however many of these
elements there are, and passes them to QEMU unchanged, after its own arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from lxml import etree

from vnicaudit.model.finding import Location
from vnicaudit.model.nic import Nic
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.facts import NAMESPACE, DomainFacts
from vnicaudit.platforms.qemu.arguments import device_defaults, global_properties, parse
from vnicaudit.platforms.qemu.build import read_added
from vnicaudit.platforms.qemu.proc import anonymous, config_of
from vnicaudit.platforms.qemu.properties import device_faults, is_device

_ARG = f"{{{NAMESPACE}}}arg"
_MAX_ARGS = 10_000
_MAX_UNREAD = 100
"""Maximum number reported for one domain; further ones are only counted."""


class _Arg(NamedTuple):
    value: str | None
    location: Location


def read_commandlines(
    facts: DomainFacts, first: int, place: Location, base: int
) -> tuple[tuple[Nic, ...], tuple[ReadError, ...]]:
    """The NICs among the arguments, of which the first gets index ``first``, and the arguments that
    cannot be read. ``place`` is the domain's, ``base`` the number of lines before its document.

    References of an argument to the rest of the definition are not resolved.
    """
    args = list(islice(_args(facts.commandlines, place, base), _MAX_ARGS + 1))
    words = [arg.value or "" for arg in args[:_MAX_ARGS]]
    added = read_added(words, arch=facts.arch, machine=facts.machine)
    nics = tuple(
        Nic(
            index=first + offset,
            declared=config_of(running, origin="commandline"),
            location=args[index].location,
            mac=running.mac,
            alias=running.id,
            running=anonymous(running),
        )
        for offset, (index, running) in enumerate(added.nics)
    )
    return nics, tuple(_unread(args, added.problems))


def set_behind(elements: Sequence[etree._Element]) -> dict[str, dict[str, str]]:
    """Alias -> properties that ``-set device.ALIAS.PROPERTY=TEXT`` sets (qemu(1)); it does not
    affect devices that libvirt passes as JSON."""
    found: dict[str, dict[str, str]] = {}
    words = [arg.get("value", "") for one in elements for arg in islice(one.iter(_ARG), _MAX_ARGS)]
    for option, text in pairwise(words):
        where, equals, value = text.partition("=")
        parts = where.split(".")
        if option in ("-set", "--set") and equals and len(parts) == 3 and parts[0] == "device":
            found.setdefault(parts[1], {})[parts[2]] = value
    return found


def defaults_behind(elements: Sequence[etree._Element], device: str) -> dict[str, str]:
    """Property -> value that ``-global`` among the arguments gives a device of this name, unless
    libvirt sets it itself. Such defaults also apply to devices passed as JSON (measured with QEMU
    7.2)."""
    found: dict[str, str] = {}
    for one in elements:
        words = [arg.get("value", "") for arg in islice(one.iter(_ARG), _MAX_ARGS)]
        found.update(device_defaults(device, global_properties(parse(words))))
    return found


def property_faults(device: str, given: Mapping[str, str]) -> list[str]:
    """Reasons why QEMU refuses the properties of a NIC's device; empty for a device that is unknown
    here. The bus is chosen by libvirt, so it is not judged."""
    return list(device_faults(device, {"bus": "", **given})) if is_device(device) else []


def _args(elements: Sequence[etree._Element], place: Location, base: int) -> Iterator[_Arg]:
    for number, element in enumerate(elements, 1):
        which = f"[{number}]" if len(elements) > 1 else ""
        xpath = f"{place.xpath or '/domain'}/*[local-name()='commandline']{which}"
        for position, arg in enumerate(element.iterchildren(_ARG), 1):
            line = base + (arg.sourceline or 0) if place.file else None
            where = f"{xpath}/*[local-name()='arg'][{position}]"
            yield _Arg(arg.get("value"), Location(place.target, place.file, line, where))


def _unread(args: list[_Arg], problems: Sequence[tuple[int, str]]) -> Iterator[ReadError]:
    found = sorted(_reasons(args, problems))
    for index, reason in found[:_MAX_UNREAD]:
        where = args[index].location
        yield ReadError(f"<qemu:arg> not understood: {reason}", where.file, where.line)
    if len(found) > _MAX_UNREAD:
        where = args[found[_MAX_UNREAD][0]].location
        more = f"{len(found) - _MAX_UNREAD} more <qemu:arg> not understood"
        yield ReadError(more, where.file, where.line)


def _reasons(args: list[_Arg], problems: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    cut = len(args) > _MAX_ARGS
    for index, problem in problems:
        own_value = cut and index == _MAX_ARGS - 1 and (args[index].value or "").startswith("-")
        if not own_value:  # otherwise its value is there, but beyond the limit
            yield index, problem
    for index, arg in enumerate(args[:_MAX_ARGS]):
        if arg.value is None:
            yield index, "it has no value=: libvirt refuses the definition"
    if cut:
        yield _MAX_ARGS, f"more than {_MAX_ARGS:,} arguments: this one and the rest are not read"
