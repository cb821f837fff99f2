"""Nova's tx_queue_size has no effect except on vhost-user ports.

## What is wrong

`[libvirt] tx_queue_size` is set. Nova passes it only to vhost-user ports (OVS-DPDK and similar). It
never writes it for a tap, on a bridge or on Open vSwitch. For a vDPA port it writes neither this
option nor `rx_queue_size`, unless packed rings are on.

## Why it matters

Whoever set it expects larger transmit rings and gets 256 descriptors. It does no harm: because Nova
does not write it for a tap, the start failure of VNIC034 does not occur either.

## Bad

```ini
[libvirt]
tx_queue_size = 1024
```

on a compute node whose ports are plugged as taps.

## Good

```ini
[libvirt]
rx_queue_size = 1024
```

The receive ring does reach virtio NICs on a tap.

## Fix

Remove the line, unless this compute node has vhost-user ports.

## Fix safety

Safe for taps and vDPA. On vhost-user ports the transmit ring would shrink at the next hard reboot,
so the change is marked unsafe.

## When it does not fire

* When the configuration mentions huge pages or shared guest memory (`reserved_huge_pages` in
  `[DEFAULT]`, `file_backed_memory` in `[libvirt]`): vhost-user needs these, so vhost-user ports are
  likely. A configuration file does not list the ports, so confidence is low.
* When it is 256, which every port gets anyway.
* On a value that Nova does not accept: see VNIC035.
* When `compute_driver` names another driver than libvirt.
* Skipped in a template if the line depends on a condition or its value is filled in, and in the
  file of a deployment tool, which is only a part of the configuration.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import DEFAULT_RING, RING_SIZES
from vnicaudit.model.finding import Change
from vnicaudit.model.nova import NovaConfig, as_number
from vnicaudit.model.rule import Judge, Problem, Rule


def applies(nova: NovaConfig) -> bool:
    """The option is set here, and nothing suggests vhost-user ports."""
    if nova.setting("libvirt", "tx_queue_size") is None or nova.libvirt is False:
        return False
    return not _vhostuser_expected(nova)


def check(nova: NovaConfig) -> Iterator[Problem]:
    """One problem if a larger ring is requested."""
    option = nova.setting("libvirt", "tx_queue_size")
    size = None if option is None else as_number(option.value)
    if option is None or size == DEFAULT_RING or size not in RING_SIZES:
        return
    yield Problem(
        f"tx_queue_size = {option.value} reaches vhost-user ports only: Nova never writes it for "
        "a tap, whose transmit ring stays at 256",
        field="libvirt/tx_queue_size",
        confidence="low",
        change=Change(
            "tx_queue_size",
            option.value,
            None,
            safe=False,
            reason="vhost-user ports, if there are any, would get a smaller transmit ring",
        ),
        fix="Remove [libvirt] tx_queue_size, unless this compute node has vhost-user ports "
        "(OVS-DPDK).",
        related=nova.overridden(option),
    )


def _vhostuser_expected(nova: NovaConfig) -> bool:
    if nova.winner("DEFAULT", "reserved_huge_pages") is not None:
        return True
    backed = nova.winner("libvirt", "file_backed_memory")
    return backed is not None and backed.value not in ("", "0")


RULE = Rule(
    name="nova-tx-ring-unused",
    severity="low",
    groups=("rings", "nova"),
    judges=(
        Judge(
            "config",
            needs=(facts.NOVA_DRIVER, facts.NOVA_TX_QUEUE_SIZE, facts.NOVA_WHOLE),
            applies=applies,
            check=check,
        ),
    ),
)
