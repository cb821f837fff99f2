"""Offloads, ioeventfd or event_idx are switched off, or transmission waits for a timer.

## What is wrong

The definition switches off what makes virtio fast: checksum or segmentation offloads and
mergeable buffers (`<host>`, `<guest>` in `<driver>`), `ioeventfd` (QEMU's main thread then
handles each kick), `event_idx` (more interrupts and kicks than needed); or sets `txmode='timer'`,
a userspace mode that holds packets back.

## Why it matters

All of them are on by default (QEMU 7.2 and 10, device properties). Without segmentation offload a
guest sends frames of the size of the MTU where it could hand over 64 KiB at once: the way of the
emulated cards, which is what keeps e1000 at 248 Mb/s (A. Scicchitano, SWITCH).

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver ioeventfd='off'>
    <host csum='off' tso4='off' tso6='off'/>
  </driver>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver ioeventfd='on'/>
</interface>
```

## Fix

Remove the switches.

## Fix safety

Unsafe: somebody may have switched them off for a reason, such as a guest that forwards packets
with a driver that cannot, or a known driver bug. Ask, try, and measure.

## When it does not fire

* On vhost-user and vDPA: guests with DPDK are run with mergeable buffers and offloads off on
  purpose, and there is no QEMU in the packet path.
* On `txmode='timer'` where vhost is known to carry the packets: it has no effect then.
* On `ecn` and `ufo` alone it is *low*: few flows use them.
* Where libvirt does not read these settings: VNIC010.
* A documented driver bug is not in the definition: suppress the finding with that reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.backends import OWN_PATH
from vnicaudit.model.finding import Change, Severity
from vnicaudit.model.rule import Problem, Scope, Subject

NAME = "offloads-off"
SEVERITY: Severity = "medium"
SCOPE: Scope = "nic"
NEEDS: tuple[str, ...] = ()

_REASON = "it may have been switched off because of the guest's driver: ask, then measure"
_TIMER = "txmode=timer"
_MINOR = frozenset({"host ecn", "host ufo", "guest ecn", "guest ufo"})


def applies(subject: Subject) -> bool:
    """A virtio NIC whose packets pass QEMU or the kernel."""
    return subject.tuned and subject.backend not in OWN_PATH


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming everything that is off."""
    found = _found(subject)
    if not found:
        return
    names = [name for _field, name in found]
    field = found[0][0]
    change = None
    if len({place for place, _name in found}) == 1:
        old = "timer" if field == "txmode" else "off"
        change = Change(field, old, None, safe=False, reason=_REASON)
    yield Problem(
        _message(names),
        field=field,
        severity="low" if _MINOR.issuperset(names) else None,
        confidence="medium",
        change=change,
        fix="" if change else f"Remove these settings where the definition is kept; {_REASON}.",
    )


def _message(names: list[str]) -> str:
    off = ", ".join(name for name in names if name != _TIMER)
    parts = [f"switched off: {off}"] if off else []
    if _TIMER in names:
        parts.append(f"{_TIMER} holds packets back")
    return "; ".join(parts)


def _found(subject: Subject) -> tuple[tuple[str, str], ...]:
    """``(field, name)`` of each setting."""
    nic = subject.nic
    found = [("host_off", f"host {name}") for name in nic.host_off]
    found += [("guest_off", f"guest {name}") for name in nic.guest_off]
    found += [(name, name) for name in ("ioeventfd", "event_idx") if getattr(nic, name) == "off"]
    if nic.txmode == "timer" and subject.effective.vhost.effective is not True:
        found.append(("txmode", _TIMER))
    return tuple(found)
