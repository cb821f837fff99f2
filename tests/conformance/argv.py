"""Compare what is read of random QEMU command lines with what QEMU makes of them.

    python -m tests.conformance.argv [--seed NUMBER] [--count NUMBER] [--release trixie|sid]

Each line is started by the QEMU of this machine or of a newer Debian (releases.py), stopped before
its first instruction, and asked for its devices. Of a line that starts each NIC must agree in
model, MAC address, queue pairs and rings, and nothing may have been said to fail. Of a line that
QEMU refuses, and would not without its NICs, it is counted whether that was predicted. Prints the
seed, each difference and the counts; exit code 1 when a line that starts differs, or fewer than
97 in a hundred are predicted.
"""

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from tests.conformance.argv_lines import Line, random_line
from tests.conformance.releases import HERE, RELEASES
from tests.conformance.releases import programs as programs_of
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.models import model_of_driver
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import NONE, Nic
from vnicaudit.platforms.qemu.proc import domain_of
from vnicaudit.platforms.qemu.read import read_text

PREDICTED = 0.97
_SECONDS = 60
_DEVICE = re.compile(r"(?P<indent> *)dev: (?P<name>[\w.-]+), id \"(?P<id>[^\"]*)\"")
_PEERLESS = re.compile(r"warning: netdev (\S+) has no peer")
_PEERLESS_NIC = "-net nic is connected to nothing here"
"""Told, because a ``-net`` may be missing; QEMU only warns."""
_LEFT_OVER = re.compile(r"netdev '(.*)' has no NIC here")
_PROPERTY = re.compile(r" *(?P<name>[\w-]+) = (?P<value>.*)")


class Shape(NamedTuple):
    """What is compared of one NIC. ``mac`` is None where QEMU is left to choose it."""

    model: str | None
    mac: str | None
    queues: int | None
    rx_queue_size: int | None
    tx_queue_size: int | None


class Real(NamedTuple):
    """What QEMU made of a line: its NICs, or the last thing it said when it did not start."""

    nics: list[Shape] | None
    complaint: str = ""
    without_nic: frozenset[str] = frozenset()
    """The netdevs of which QEMU warns that they have no peer."""


class Read(NamedTuple):
    """What was read of a line: the NICs that there will be, why QEMU is said to refuse it, and the
    netdevs that are said to have no NIC."""

    nics: list[Shape]
    refused: tuple[str, ...] = ()
    without_nic: frozenset[str] = frozenset()


class Programs:
    """The QEMU of this machine, or of a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._versions: dict[str, Version] = {}

    def version(self, name: str) -> Version:
        """Of one program; asked once."""
        if name not in self._versions:
            said = subprocess.run(
                [self._path(name), "--version"], capture_output=True, text=True, check=True
            ).stdout
            self._versions[name] = Version.parse(said.partition("version ")[2])
        return self._versions[name]

    def tap(self) -> bool:
        """Whether this machine lets QEMU make tap devices."""
        words = ["qemu-system-x86_64", "-M", "none", "-netdev"]
        return self.start([*words, "tap,id=n,script=no,downscript=no,queues=2"]).nics is not None

    def start(self, words: list[str]) -> Real:
        """Start QEMU, ask for its devices, end it."""
        command = [self._path(words[0]), *words[1:], "-S", "-display", "none", "-qmp", "stdio"]
        for option in ("-serial", "-monitor", "-parallel"):
            command += [option, "none"]
        ask = {"command-line": "info qtree"}, {"command-line": "info network"}
        calls = [
            {"execute": "qmp_capabilities"},
            *({"execute": "human-monitor-command", "arguments": one} for one in ask),
            {"execute": "quit"},
        ]
        result = subprocess.run(
            command,
            input="".join(json.dumps(call) + "\n" for call in calls),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if result.returncode != 0:
            return Real(None, result.stderr.strip().rpartition("\n")[2])
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        tree, network = (one["return"] for one in answers if isinstance(one.get("return"), str))
        peerless = frozenset(_PEERLESS.findall(result.stderr))
        return Real(list(nics(tree, network)), without_nic=peerless)

    def _path(self, name: str) -> str:
        return name if self._folder is None else str(self._folder / name)


class _Device(NamedTuple):
    indent: int
    name: str
    properties: dict[str, str]


def nics(tree: str, network: str) -> Iterator[Shape]:
    """The NICs among ``info qtree``: devices with a MAC address. The device inside a virtio NIC's
    transport has the properties; the transport has the name."""
    around: list[_Device] = []
    for device in _devices(tree):
        around = [one for one in around if one.indent < device.indent]
        if "mac" in device.properties:
            outer = around[-1].name if around else ""
            inside = device.name == "virtio-net-device" and outer.startswith("virtio-net-")
            yield _shape(outer if inside else device.name, device.properties, network)
        around.append(device)


def _devices(tree: str) -> list[_Device]:
    found: list[_Device] = []
    for line in tree.splitlines():
        if (match := _DEVICE.match(line)) is not None:
            found.append(_Device(len(match["indent"]), match["name"], {}))
        elif found and (match := _PROPERTY.fullmatch(line)) is not None:
            found[-1].properties.setdefault(match["name"], match["value"].strip('"'))
    return found


def _shape(name: str, properties: dict[str, str], network: str) -> Shape:
    mac = properties["mac"].lower()
    if not name.startswith("virtio-net"):
        return Shape(model_of_driver(name), mac, 1, None, None)
    pairs = _pairs(mac, network)
    return Shape(
        model_of_driver(name),
        mac,
        pairs if properties["mq"] == "true" else 1,
        int(properties["rx_queue_size"].split()[0]),
        int(properties["tx_queue_size"].split()[0]),
    )


def _pairs(mac: str, network: str) -> int:
    """Of the NIC with this MAC address: in ``info network`` a line for each queue pair follows."""
    _before, _mac, rest = network.lower().partition(f"macaddr={mac}")
    later = (int(match[1]) for match in re.finditer(r"index=(\d+),type=nic", rest))
    return 1 + sum(1 for _index in takewhile(bool, later))


def read(line: Line, version: Version) -> Read:
    """What is read of a line's text in a script, whose end is the end of the command, for this
    version of QEMU."""
    try:
        (qemu,) = read_text(b"#!/bin/sh\n" + line.text.encode(), target="line", file=None)
    except (TargetError, ValueError) as error:
        return Read([], (f"not understood: {error}",))
    domain = domain_of(qemu, "line")
    told = tuple(error.message for error in domain.unread)
    left_over = frozenset(match[1] for one in told if (match := _LEFT_OVER.search(one)))
    gaps = tuple(one for one in told if _LEFT_OVER.search(one) is None and _PEERLESS_NIC not in one)
    host = HostConfig(qemu_version=version, assumed=True)
    return Read(
        [shape for nic in domain.nics if (shape := _made(nic, domain, host)) is not None],
        gaps + tuple(_refusals(domain, host)),
        left_over,
    )


def _made(nic: Nic, domain: Domain, host: HostConfig) -> Shape | None:
    found = resolve(nic.declared, domain.declared, host, nic.running)
    if not found.starts or found.model.state == NONE:
        return None
    return Shape(
        found.model.effective,
        nic.mac,
        found.queues.effective,
        found.rx_queue_size.effective,
        found.tx_queue_size.effective,
    )


def _refusals(domain: Domain, host: HostConfig) -> Iterator[str]:
    for nic in domain.nics:
        found = resolve(nic.declared, domain.declared, host, nic.running)
        if not found.starts:
            facts = (found.model, found.queues, found.rx_queue_size, found.tx_queue_size)
            yield next((fact.reason for fact in facts if fact.effective is None), "refused")


def differences(ours: list[Shape], real: list[Shape]) -> list[str]:
    """Each NIC that only one side has. A MAC address that QEMU chose is anything."""
    left = list(real)
    found = []
    for one in sorted(ours, key=lambda shape: shape.mac is None):
        same = next((other for other in left if _agree(one, other)), None)
        if same is None:
            found.append(f"we say {one}")
        else:
            left.remove(same)
    return found + [f"QEMU has {one}" for one in left]


def _agree(ours: Shape, real: Shape) -> bool:
    return ours == (real if ours.mac is not None else real._replace(mac=None))


def compare(source: random.Random, programs: Programs, *, tap: bool) -> tuple[str, list[str]]:
    """What one random line comes to: a word for the count, and what to print."""
    line = random_line(source, tap=tap)
    real = programs.start(line.words)
    ours = read(line, programs.version(line.words[0]))
    if real.nics is not None:
        found = [f"said to be refused: {reason}" for reason in ours.refused]
        found += differences(ours.nics, real.nics)
        if extra := ours.without_nic - real.without_nic:
            found.append(f"netdevs that have a NIC: {', '.join(extra)}")
        return ("differs" if found else "agrees"), [*found, line.text] if found else []
    if programs.start(line.bare).nics is None:
        return "refused for another reason", [real.complaint, line.text]
    if ours.refused:
        return "predicted", []
    return "not predicted", [real.complaint, line.text]


def run(seed: int, count: int, release: str = HERE) -> int:
    """Compare so many lines and print what they came to; 0 where the bar is met."""
    source, programs = random.Random(seed), Programs(programs_of(release))
    tap = programs.tap()
    counts: Counter[str] = Counter()
    for number in range(count):
        word, said = compare(source, programs, tap=tap)
        counts[word] += 1
        if said:
            print(f"line {number}: {word}", *said, sep="\n  ")
    started = counts["agrees"] + counts["differs"]
    refused = counts["predicted"] + counts["not predicted"]
    print(
        f"seed {seed}, QEMU {programs.version('qemu-system-x86_64')}, tap {'yes' if tap else 'no'}"
    )
    print(f"{counts['agrees']} of {started} lines that start agree")
    print(f"{counts['predicted']} of {refused} that QEMU refuses for a NIC's sake are predicted")
    if other := counts["refused for another reason"]:
        print(f"{other} refused for another reason")
    missed = counts["predicted"] < PREDICTED * refused
    return 1 if counts["differs"] or missed or not started else 0


def main(arguments: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=None, help="default: a random one")
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--release", choices=RELEASES, default=HERE)
    given = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    return run(seed, given.count, given.release)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
