"""Interrupts of network adapters and virtio devices, the link each belongs to, and irqbalance.

Sources: core-api/irq/irq-affinity.rst of Linux' Documentation; names in /proc/interrupts are the
drivers' own (``eth0-TxRx-1`` of Intel's, ``mlx5_comp3@pci:ADDRESS``, ``virtio0-input.1``); newer
kernels put the PCI device into the name of an MSI's chip. A folder msi_irqs of a device lists its
interrupts (ABI/testing/sysfs-bus-pci). irqbalance bans what IRQBALANCE_BANNED_CPULIST (or, as a
mask, its forerunner _CPUS) names, else isolated and nohz_full CPUs (setup_banned_cpus in its
cputree.c, cd9212f).
"""

from __future__ import annotations

import re

from vnicaudit.knowledge.cpu_lists import from_list, from_mask
from vnicaudit.model.host_facts import Cpus, Interrupt
from vnicaudit.platforms.host.facts.cpus import isolated_of, nohz_full_of
from vnicaudit.platforms.host.facts.processes import programs_of
from vnicaudit.platforms.host.readings import Excerpt, HostCommand, HostFact, HostReadings

_INTERRUPTS = HostCommand("sed 's/  */ /g' /proc/interrupts", ("proc/interrupts",), is_counter=True)
_ALLOWED, _EFFECTIVE = "/proc/irq/*/smp_affinity_list", "/proc/irq/*/effective_affinity_list"
_LINKS = "/sys/class/net/*"
_OF_LINKS = "/sys/class/net/*/device/msi_irqs/*"
_PCI = "/sys/bus/pci/devices/*/net/*"
_VIRTIO = (
    "/sys/bus/virtio/devices/*/net/*",
    "/sys/devices/*/*/virtio*/net/*/flags",
    "/sys/devices/*/*/*/virtio*/net/*/flags",
)
_CONFIGURED = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance", "/etc/irqbalance.env")
_BANNED = re.compile(r"^[ \t]*IRQBALANCE_BANNED_CPU(LIST|S)=([^\n]*)$", re.M)
_ROW = re.compile(r" *(\d{1,10}):((?: +\d{1,20})+) (.*)")
_ADDRESS = re.compile(r"\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b")
_QUEUE = re.compile(
    r"(?:i40e-|ice-|iavf-)?([A-Za-z][\w.]{0,14}?)-(?:TxRx|[RrTt]x|fp|input|output)-\d+"
)
_OF_ADAPTERS = re.compile(r"virtio\d+-(?:input|output)\.\d+|mlx[45]\w*@\S+")


def _read(readings: HostReadings) -> dict[str, object]:
    programs, text = programs_of(readings), readings.output(_INTERRUPTS.name)
    runs = None if programs is None else "irqbalance" in programs
    return {
        "irqbalance": runs,
        "irqbalance_banned": _banned(readings) if runs else None,
        "interrupts": None if text is None else _interrupts(readings, text),
    }


def _banned(readings: HostReadings) -> Cpus | None:
    for path in _CONFIGURED:
        for kind, value in _BANNED.findall(readings.text(path) or ""):
            given = value.strip().strip("\"'")
            if given or kind == "LIST":
                return from_list(given) if kind == "LIST" else from_mask(given)
    known = [cpus for cpus in (isolated_of(readings), nohz_full_of(readings)) if cpus is not None]
    return tuple(sorted(set().union(*known))) if known else None


def _interrupts(readings: HostReadings, text: str) -> tuple[Interrupt, ...]:
    later = readings.later().output(_INTERRUPTS.name) if readings.window is not None else None
    last = {number: total for number, total, _action in _rows(later or "")}
    allowed, effective = readings.texts(_ALLOWED), readings.texts(_EFFECTIVE)
    joined = _Joined(readings)
    found = []
    for number, total, action in _rows(text):
        device = action.rsplit(" ", 1)[-1]
        link = joined.link_of(number, action, device)
        if link is None and not _OF_ADAPTERS.fullmatch(device):
            continue
        at = f"/proc/irq/{number}"
        found.append(
            Interrupt(
                number=number,
                device=device,
                link=link,
                allowed=from_list(allowed.get(f"{at}/smp_affinity_list", "-")),
                effective=from_list(effective.get(f"{at}/effective_affinity_list", "-")),
                total=total,
                growth=max(0, last[number] - total) if number in last else None,
            )
        )
    return tuple(found)


def _rows(text: str) -> list[tuple[str, int, str]]:
    """Number, sum over CPUs, and the rest of each row that has a number."""
    matches = map(_ROW.match, text.split("\n"))
    return [
        (match[1], sum(map(int, match[2].split())), match[3].strip()) for match in matches if match
    ]


class _Joined:
    """Ways from an interrupt to its link."""

    def __init__(self, readings: HostReadings) -> None:
        self._names = {path.split("/")[4] for path in readings.texts(_LINKS)}
        parts = [path.split("/") for path in readings.texts(_OF_LINKS)]
        self._numbers = {part[-1]: part[4] for part in parts}
        self._devices: dict[str, set[str]] = {}
        for pattern in (_PCI, *_VIRTIO):
            for part in (path.split("/") for path in readings.texts(pattern)):
                at = part.index("net", 4)
                self._devices.setdefault(part[at - 1], set()).add(part[at + 1])

    def link_of(self, number: str, action: str, device: str) -> str | None:
        """The link of an interrupt; None: unknown, or of no link. Several links of one PCI device
        (representors) are told apart by the interrupt's name only."""
        if number in self._numbers:
            return self._numbers[number]
        named = _QUEUE.fullmatch(device)
        name = named[1] if named else device
        if name in self._names or (named and not self._names):
            return name
        address = _ADDRESS.search(action)
        for key in (device.partition("-")[0], address[1] if address else ""):
            links = self._devices.get(key, set())
            if len(links) == 1:
                return next(iter(links))
        return None


FACT = HostFact(
    "interrupts",
    _read,
    files=(_ALLOWED, _EFFECTIVE),
    commands=(_INTERRUPTS,),
    excerpts=(Excerpt("^[[:space:]]*IRQBALANCE_BANNED_CPU[A-Z]*=.*", _CONFIGURED),),
    present=(_LINKS, _OF_LINKS, _PCI, *_VIRTIO),
    of_cpus=True,
    in_container=False,
)
