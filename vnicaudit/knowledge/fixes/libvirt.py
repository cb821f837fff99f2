"""Fixes for a user of libvirt, who edits domain XML.

``<qemu:commandline>`` is also edited in the definition, but worded by ``qemu.py``.
"""

from __future__ import annotations

from vnicaudit.knowledge.fixes.wording import POWER_CYCLE, Wording
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.fix import EditElement, OwnersFix
from vnicaudit.model.names import FixNames

_XML = {
    "model": "<model type='{new}'/>",
    "address_type": "<address type='{new}'/>",
    "backend_vhost": "vhost='{new}' in <backend>",
    "driver_name": "<driver name='{new}'/>",
}
"""Field -> its markup; any other field is an attribute of ``<driver>``."""
_XML_GONE = {
    "model": "<model>",
    "address_type": "<address>",
    "rom": "<rom>",
    "acpi": "<acpi>",
    "backend_vhost": "vhost= from <backend>",
    "driver_name": "name= from <driver>",
    "host_off": "the off switches from <driver><host>",
    "guest_off": "the off switches from <driver><guest>",
}


def by_plan(finding: Finding, command: str = "vnicaudit plan") -> str:
    """The fix of a finding for those who have many to make: the command that plans edits of
    definitions in place of the editor."""
    if any(isinstance(one, EditElement) for one in finding.fixes):
        return finding.fix.replace("(virsh edit)", f"({command})")
    return finding.fix


def _edit(change: Change) -> EditElement:
    return EditElement(change.field, change.new)


def _sentence(fix: OwnersFix, _named: FixNames) -> str:
    if not isinstance(fix, EditElement):
        raise TypeError(fix)
    if fix.value is None:
        gone = _XML_GONE.get(fix.field, f"{fix.field}= from <driver>")
        return f"Remove {gone} (virsh edit), {POWER_CYCLE}"
    markup = _XML.get(fix.field, "{field}='{new}' in <driver>")
    return f"Set {markup.format(field=fix.field, new=fix.value)} (virsh edit), {POWER_CYCLE}"


LIBVIRT = Wording(_edit, _sentence)
