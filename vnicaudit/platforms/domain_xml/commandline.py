"""``<qemu:commandline>``: NICs that are added behind libvirt's back."""

from __future__ import annotations

from lxml import etree

from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic

NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
TAG = f"{{{NAMESPACE}}}commandline"

_ARG = f"{{{NAMESPACE}}}arg"
_MAX_ARGS = 10_000


def commandline_nics(element: etree._Element, first: int, place: Location, base: int) -> list[Nic]:
    """The NICs among the arguments; the first gets index ``first``. ``place`` is the domain's,
    ``base`` the number of lines before its document.

    libvirt passes the arguments to QEMU as they are, so they say what will run; what an argument
    refers to in the rest of the definition is not looked up.
    """
    # imported here: few definitions have such arguments, and most audits need no more of it
    from vnicaudit.platforms.qemu.domain import anonymous, config_of, extra_nics

    args = [arg.get("value", "") for arg in element.iterchildren(_ARG)][:_MAX_ARGS]
    line = base + (element.sourceline or 0) if place.file else None
    xpath = f"{place.xpath or '/domain'}/*[local-name()='commandline']"
    where = Location(place.target, place.file, line, xpath)
    return [
        Nic(
            index=first + offset,
            declared=config_of(running, origin="commandline"),
            location=where,
            mac=running.mac,
            alias=running.id,
            running=anonymous(running),
        )
        for offset, running in enumerate(extra_nics(args))
    ]
