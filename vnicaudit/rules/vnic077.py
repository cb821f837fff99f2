"""Misspelt or ineffective NIC property: Nova does not read it.

## What is wrong

The image or flavor has a property whose name is almost one of Nova's: without `_enabled`, with a
colon where images use an underscore, with an underscore where flavors use a colon, or on a flavor
although only images have it. Nova reads exact names only.

## Why it matters

There is no error. Glance stores any property, and Nova ignores those it does not know, so the
feature stays off. An extra spec without `hw:` may even prevent a server from being scheduled,
because the scheduler's AggregateInstanceExtraSpecsFilter compares it with the metadata of the
aggregates. Source: Nova 34.0.0, `objects/image_meta.py` (names of image properties) and
`api/validation/extra_specs/hw.py` (names of extra specs).

## Bad

```console
$ openstack image set --property hw_vif_multiqueue=true jammy
```

## Good

```console
$ openstack image set --property hw_vif_multiqueue_enabled=true jammy
```

## Fix

Rename the property to the one that Nova reads. If flavors have no such property, set it on the
image.

## Fix safety

Unsafe: a setting that had no effect so far takes effect.

## When it does not fire

* On names that are not in the list of known mistakes: anybody may add properties.
* When the right name is set as well: the wrong one is only a leftover then.
* When the image is for another hypervisor (see VNIC062).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Change
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.model.rule import Judge, Problem, Rule

_IMAGE = {
    "hw_vif_multiqueue": "hw_vif_multiqueue_enabled",
    "hw_vif_multiqueue_enable": "hw_vif_multiqueue_enabled",
    "hw:vif_multiqueue_enabled": "hw_vif_multiqueue_enabled",
    "vif_multiqueue_enabled": "hw_vif_multiqueue_enabled",
    "hw:vif_model": "hw_vif_model",
    "vif_model": "hw_vif_model",
    "hw:virtio_packed_ring": "hw_virtio_packed_ring",
}
_FLAVOR = {
    "hw:vif_multiqueue": "hw:vif_multiqueue_enabled",
    "hw:vif_multiqueue_enable": "hw:vif_multiqueue_enabled",
    "hw_vif_multiqueue_enabled": "hw:vif_multiqueue_enabled",
    "hw_vif_multiqueue": "hw:vif_multiqueue_enabled",
    "vif_multiqueue_enabled": "hw:vif_multiqueue_enabled",
    "hw_virtio_packed_ring": "hw:virtio_packed_ring",
    "hw_vif_model": "",
    "hw:vif_model": "",
}
"""The wrong name -> the right one; empty: there is none for flavors."""


def applies(image: Image) -> bool:
    """Any image that may be for QEMU."""
    return bool(image.properties) and image.qemu is not False


def check(image: Image) -> Iterator[Problem]:
    """One problem for each wrong name."""
    yield from _problems(image, _IMAGE)


def applies_flavor(flavor: Flavor) -> bool:
    """Any flavor."""
    return bool(flavor.properties)


def check_flavor(flavor: Flavor) -> Iterator[Problem]:
    """One problem for each wrong name."""
    yield from _problems(flavor, _FLAVOR)


def _problems(thing: Image | Flavor, names: dict[str, str]) -> Iterator[Problem]:
    for found in dict.fromkeys(each.name for each in thing.properties):
        right = names.get(found)
        setting = thing.property(found)
        if right is None or setting is None or (right and thing.property(right) is not None):
            continue
        yield _renaming_problem(setting, right) if right else _misplacement_problem(setting)


def _renaming_problem(setting: Property, right: str) -> Problem:
    return Problem(
        f"{setting.name} is not read by Nova: the property is called {right}",
        field=setting.name,
        change=Change(
            setting.name,
            setting.value,
            None,
            safe=False,
            reason="a setting that had no effect so far takes effect",
        ),
        fix=f"Set {right} in its place.",
    )


def _misplacement_problem(setting: Property) -> Problem:
    return Problem(
        f"{setting.name} on a flavor is not read by Nova: only images have a NIC model",
        field=setting.name,
        fix="Remove it here and set hw_vif_model on the images.",
    )


RULE = Rule(
    name="property-not-read",
    severity="medium",
    groups=("images",),
    judges=(
        Judge("image", applies=applies, check=check),
        Judge("flavor", applies=applies_flavor, check=check_flavor),
    ),
)
