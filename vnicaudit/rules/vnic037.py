"""Offloads, ioeventfd or event_idx are off, or transmission waits for a timer.

## What is wrong

The definition switches off features that make virtio fast:

* checksum or segmentation offloads, or mergeable buffers (`<host>` and `<guest>` in `<driver>`);
* `ioeventfd`: without it, QEMU's main thread handles every notification from the guest;
* `event_idx`: without it, there are more interrupts and notifications than needed.

Or it sets `txmode='timer'`, a userspace mode that delays packets.

## Why it matters

All these features are on by default (QEMU 7.2 and 10, device properties). Without segmentation
offload a guest sends frames no larger than the MTU, when it could hand over 64 KiB at once.
Emulated cards work that way, and it is what keeps e1000 at 248 Mb/s (A. Scicchitano, SWITCH).

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

Remove these settings. On QEMU's command line they are `csum=off`, `host_tso4=off`,
`guest_csum=off`, `mrg_rxbuf=off`, `ioeventfd=off`, `event_idx=off`, `tx=timer`… of `-device`.

## Fix safety

Unsafe: they may have been switched off for a reason, such as a known driver bug, or a guest that
forwards packets with a driver that cannot handle offloads. Ask, try, and measure.

## When it does not fire

* On vhost-user and vDPA: DPDK guests run with mergeable buffers and offloads off on purpose, and
  QEMU is not in the packet path.
* On `txmode='timer'` when vhost is known to carry the packets: it has no effect then.
* Reported as *low* for `ecn` and `ufo` alone: few flows use them.
* When libvirt does not read these settings: see VNIC010.
* A driver bug is not visible in the definition: suppress the finding and give that reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.backends import OWN_PATH
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_REASON = "they may be off because of the guest's driver: ask, then measure"
_TIMER = "txmode=timer"
_MINOR = frozenset({"host ecn", "host ufo", "guest ecn", "guest ufo"})


def applies(subject: Subject) -> bool:
    """A virtio NIC whose packets pass through QEMU or the kernel."""
    return subject.tuned and subject.backend not in OWN_PATH


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming everything that is off."""
    found = _settings_off(subject)
    if not found:
        return
    names = [name for _field, name in found]
    field = found[0][0]
    change = _change(subject, field) if len({place for place, _name in found}) == 1 else None
    yield Problem(
        _message(names) if subject.nic.origin == "interface" else _message_of_qemu(names),
        field=field,
        severity="low" if _MINOR.issuperset(names) else None,
        confidence="medium",
        change=change or (_change(subject, field) if _is_commandline_nic(subject) else None),
        fix=_fix(subject, names, alone=change is None),
    )


def _change(subject: Subject, field: str) -> Change | None:
    """The change; None for a bare QEMU, which has other names for the settings."""
    if subject.domain.owner == "qemu":
        return None
    old = "timer" if field == "txmode" else "off"
    return Change(field, old, None, safe=False, reason=_REASON)


def _is_commandline_nic(subject: Subject) -> bool:
    """True if ``<qemu:commandline>`` adds the NIC: the owner of the definition may not have written
    it."""
    return subject.nic.origin == "commandline"


def _fix(subject: Subject, names: list[str], *, alone: bool) -> str:
    given = ",".join(_of_qemu(name) for name in names)
    if _is_commandline_nic(subject):
        return f"It is {given} of its -device."
    if subject.domain.owner == "qemu":
        return (
            f"Remove {given} from its -device on QEMU's command line, then restart it; {_REASON}."
        )
    return f"Remove these settings where the definition is kept; {_REASON}." if alone else ""


def _message(names: list[str]) -> str:
    off = ", ".join(name for name in names if name != _TIMER)
    parts = [f"switched off: {off}"] if off else []
    if _TIMER in names:
        parts.append(f"{_TIMER} holds packets back")
    return "; ".join(parts)


def _message_of_qemu(names: list[str]) -> str:
    off = ", ".join(_of_qemu(name) for name in names if name != _TIMER)
    parts = [f"switched off on QEMU's command line: {off}"] if off else []
    if _TIMER in names:
        parts.append("tx=timer holds packets back")
    return "; ".join(parts)


def _of_qemu(name: str) -> str:
    """QEMU's name of the setting (``qemuBuildNicDevProps``)."""
    if name == _TIMER:
        return "tx=timer"
    side, _blank, word = name.rpartition(" ")
    plain = side != "guest" and word in ("csum", "gso", "mrg_rxbuf")
    return f"{side}_{word}=off" if side and not plain else f"{word}=off"


def _settings_off(subject: Subject) -> tuple[tuple[str, str], ...]:
    """``(field, name)`` of each setting that is off."""
    nic = subject.nic
    found = [("host_off", f"host {name}") for name in nic.host_off]
    found += [("guest_off", f"guest {name}") for name in nic.guest_off]
    found += [(name, name) for name in ("ioeventfd", "event_idx") if getattr(nic, name) == "off"]
    if nic.txmode == "timer" and subject.effective.vhost.effective is not True:
        found.append(("txmode", _TIMER))
    return tuple(found)


RULE = Rule(
    name="offloads-off",
    severity="medium",
    groups=("tuning",),
    judges=(Judge("nic", applies=applies, check=check),),
)
