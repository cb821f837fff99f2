"""Guests on Open vSwitch's userspace datapath send without TSO.

## What is wrong

`userspace-tso-enable` is off, or a guest was connected before it was switched on: the guest is
offered neither checksum nor segmentation offload.

## Why it matters

A guest whose kernel sends TCP cuts each segment itself, and each frame passes Open vSwitch alone.
Guests that run DPDK send frames anyway: nothing changes for them
(Documentation/topics/userspace-tso.rst; experimental there).

## Bad

```console
$ ovs-vsctl get Interface vhu0 status:userspace-tso
disabled
```

## Good

```console
$ ovs-vsctl get Interface vhu0 status:tx_tcp_seg_offload
"true"
```

## Fix

Set `userspace-tso-enable=true`, restart ovs-vswitchd, then stop and start the guests: a guest keeps
what it agreed on when its QEMU was started.

## Fix safety

Guests have no network while ovs-vswitchd restarts. Afterwards segments are cut in software where a
port has no TSO (VNIC132).

## When it does not fire

* When no guest is connected to a vhost port.
* With TSO off it is only a question, unless the workload of the host is *streaming*; for any other
  it is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_settings import HostSetting, command_for
from vnicaudit.knowledge.ovs_ports import guests_of, is_connected, is_on
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_KEY = "userspace-tso-enable"
_COMMAND = command_for(HostSetting("ovs", name=_KEY), "true")


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for the host, or for each guest that was there before."""
    ovs = subject.ovs
    ports = [port for port in ovs.ports or () if is_connected(port)]
    if not is_on((ovs.other_config or {}).get(_KEY)):
        if ports and subject.workload in (None, "streaming"):
            names = [guest.name for port in ports for guest in guests_of(port, subject)]
            named = f" ({host_needs.guests_named(names)})" if names else ""
            told = f"guests on {len(ports)} vhost ports{named} are not offered TSO by Open vSwitch"
            asked = ": do their kernels send streams of TCP?"
            yield Problem(
                told if subject.workload else told + asked,
                fix=f"{_COMMAND}, restart ovs-vswitchd, then stop and start "
                f"{', '.join(names) or 'these guests'}",
            )
        return
    for port in ports:
        if port.status.get("userspace-tso") == "disabled":
            names = [guest.name for guest in guests_of(port, subject)]
            yield Problem(
                f"port {port.name} does without TSO: its guest "
                f"{host_needs.guests_named(names)} was connected before {_KEY} was set".replace(
                    "  ", " "
                ),
                field=port.name,
                fix="Stop and start the guest; a reboot within it is not enough",
            )


RULE = Rule(
    name="userspace-tso-off",
    severity="info",
    groups=("host", "ovs", "offloads"),
    judges=(
        host_needs.visited_host(
            check, needs=(host_needs.OVS_CONFIG, host_needs.OVS_PORTS), applies=host_needs.has_dpdk
        ),
    ),
)
