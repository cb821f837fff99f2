"""nova-compute does not start because of its list of PCI devices (SR-IOV, vDPA).

## What is wrong

`[pci] device_spec` (`passthrough_whitelist` up to Yoga) lists the devices that servers may get, for
SR-IOV and for vDPA ports; for vDPA they are the virtual functions behind the vDPA devices. An entry
is not JSON, is not an object, or names a device in a way that Nova refuses.

## Why it matters

nova-compute checks the list when it starts, and exits with `PciConfigInvalidSpec` or
`PciDeviceWrongAddressFormat`. Until the list is corrected, Nova cannot manage any server on the
node (nova/pci/whitelist.py and devspec.py).

## Bad

```ini
[pci]
device_spec = {"vendor_id": "15b3", "product_id": "101e", "physical_network": physnet1}
```

## Good

```ini
[pci]
device_spec = {"vendor_id": "15b3", "product_id": "101e", "physical_network": "physnet1"}
device_spec = {"address": "0000:65:00.*", "physical_network": "physnet2"}
```

## Fix

Write each entry as a JSON object on one line: names and texts in double quotes; `vendor_id` and
`product_id` as up to four hexadecimal digits in quotes; and either `address` as
`domain:bus:slot.function` with `*` for any, or `devname`, but not both.

## Fix safety

No change is proposed: it is not known which device was intended.

## When it does not fire

* On facts that only the host knows: whether the device exists, is a virtual function or has a vDPA
  device, and whether `physical_network` is known to Neutron.
* On anything after the first 50 lines of such lists.
* Skipped in a template that fills in a value, unless another entry is certain to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.pci_spec import by_name, refusal_reasons
from vnicaudit.model.nova import NovaConfig, NovaOption, as_bool
from vnicaudit.model.rule import Judge, Problem, Rule

_NAMES = ("device_spec", "passthrough_whitelist")
_MOST = 50
"""Maximum number of entries that are checked."""


def applies(nova: NovaConfig) -> bool:
    """There is a list of devices in this file."""
    return bool(_entries(nova))


def check(nova: NovaConfig) -> Iterator[Problem]:
    """One problem per line that Nova refuses."""
    release = 0 if nova.release is None else nova.release.number
    for option in _entries(nova):
        if not option.certain:
            continue
        reasons = [
            *dict.fromkeys(refusal_reasons(option.value, release)),
            *_unplaceable(nova, option),
        ]
        if reasons:
            yield Problem(
                f"{option.written}: nova-compute does not start with it: {'; '.join(reasons[:3])}",
                field=nova.field_of(option),
                fix="Write each entry as a JSON object on one line, for example "
                '{"vendor_id": "15b3", "product_id": "101e", "physical_network": "physnet1"}.',
            )


def _entries(nova: NovaConfig) -> list[NovaOption]:
    return [o for o in nova.settings if o.section == "pci" and o.name in _NAMES][:_MOST]


def _unplaceable(nova: NovaConfig, option: NovaOption) -> Iterator[str]:
    """Entries that name a device, whereas Placement accepts only addresses
    (``ensure_no_dev_spec_with_devname``, from Zed on)."""
    tracked = nova.winner("pci", "report_in_placement")
    if tracked is None or not tracked.certain or not as_bool(tracked.value):
        return

    for name in by_name(option.value):
        yield f"devname {name[:20]!r} and [pci] report_in_placement exclude each other"


RULE = Rule(
    name="nova-vdpa-devices",
    severity="error",
    groups=("nova", "backends", "refused"),
    judges=(Judge("config", needs=(facts.NOVA_DEVICES,), applies=applies, check=check),),
)
