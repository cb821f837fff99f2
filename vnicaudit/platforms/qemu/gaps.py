"""Why a QEMU may have NICs that its arguments do not show."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.platforms.qemu.arguments import Arguments
from vnicaudit.platforms.qemu.boards import machine_default
from vnicaudit.platforms.qemu.nics import silent

_SHOWN = 60


def unread_file(path: str) -> str:
    """Why ``-readconfig`` leaves it open which NICs there are."""
    return f"-readconfig {path[:_SHOWN]!r} may hold NICs, which are not judged"


def gaps(
    arguments: Arguments,
    arch: str | None,
    machine: str | None,
    *,
    whole: bool,
    opened: str | None,
    nics: int,
) -> Iterator[str]:
    """Each reason. Beside NICs that are found, others are not suspected but in a file that is
    named."""
    for path in arguments.values("readconfig"):
        yield unread_file(path)
    if nics == 0 and not arguments.has("readconfig"):
        yield from _without_nics(arguments, arch, machine, whole=whole, opened=opened)


def _without_nics(
    arguments: Arguments,
    arch: str | None,
    machine: str | None,
    *,
    whole: bool,
    opened: str | None,
) -> Iterator[str]:
    default = machine_default(arch, machine)
    if not default.known and (silent(arguments) or machine is not None):
        what = (
            "the machine, which depends on the host,"
            if machine is None
            else f"{machine[:_SHOWN]!r}"
        )
        yield f"no NIC is given, and whether {what} has one of its own is not known: not judged"
    elif opened is not None:
        yield f"no NIC is given, and {opened[:_SHOWN]!r} may hold some: not judged"
    elif silent(arguments) and not whole and default.device is not None:
        yield (
            f"no NIC is given, and QEMU adds {default.device} where none is; but these may not be "
            "all its arguments: not judged"
        )
