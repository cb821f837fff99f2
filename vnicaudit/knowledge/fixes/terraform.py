"""Fixes for Terraform, whose libvirt provider keeps the definition."""

from __future__ import annotations

from vnicaudit.knowledge.fixes.wording import POWER_CYCLE, Wording
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import EditResource, OwnersFix
from vnicaudit.model.names import FixNames


def _edit(change: Change) -> EditResource:
    return EditResource(change.field, change.new)


def _sentence(fix: OwnersFix, _named: FixNames) -> str:
    if isinstance(fix, EditResource) and fix.field == "model" and fix.value is not None:
        return (
            f'Set model = {{ type = "{fix.value}" }} of this interface, run terraform apply, '
            f"{POWER_CYCLE}"
        )
    return (
        "The definition is Terraform's: change the libvirt_domain resource, run terraform apply, "
        f"{POWER_CYCLE}"
    )


TERRAFORM = Wording(_edit, _sentence)
