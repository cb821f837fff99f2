"""The platforms that a measurement meets: a hypervisor's domains, and their definitions.

Each is imported when it is needed: most measurements need none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vnicaudit.remedy.definitions import DefinitionReader, Elements
    from vnicaudit.remedy.hypervisor import Hypervisor


def connect(uri: str, *, deadline: float) -> Hypervisor:
    """A host with domains; ``deadline``: seconds it may take for an answer. Raises TargetError
    where it cannot be reached."""
    from vnicaudit.platforms.libvirt.control import connect as reach

    return reach(uri, deadline=deadline)


def reading() -> DefinitionReader:
    """How definitions are read and compared."""
    from vnicaudit.platforms.domain_xml import definitions

    return definitions


def elements() -> Elements:
    """How the text of one NIC is taken out and put in."""
    from vnicaudit.platforms.domain_xml import pieces

    return pieces
