"""Start-up time of the command.

    python -m benchmarks.startup [--rounds 20]

Measures in turn, each in a process of its own: ``python -c "import click, lxml.etree, msgspec"``
(the floor), ``vnicaudit --version``, and ``vnicaudit audit`` of one domain and of one
nova.conf. Prints medians of wall time and of CPU time, with the ratios to the floor, run by run.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

_SCRIPT = str(Path(sysconfig.get_path("scripts"), "vnicaudit"))
_DOMAIN = """<domain type='kvm'><name>a</name><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='b'/><model type='virtio'/></interface></devices>
</domain>
"""

_NOVA = """[DEFAULT]
compute_driver = libvirt.LibvirtDriver
[libvirt]
virt_type = kvm
use_virtio_for_bridges = false
rx_queue_size = 1024
"""
_FLOOR = "import click, lxml.etree, msgspec"


def seconds(command: list[str]) -> tuple[float, float]:
    """Wall time and CPU time of one run."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def ratios(rounds: int, commands: dict[str, list[str]]) -> None:
    """Run the commands in turn, and print the medians of each and their ratios to the first."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(seconds(command))
    floor = next(iter(taken.values()))
    for name, values in taken.items():
        shown = [f"{name:34}"]
        for kind, word in enumerate(("wall", "CPU")):
            pairs = [(mine[kind], base[kind]) for mine, base in zip(values, floor, strict=True)]
            ratio = statistics.median(mine / base for mine, base in pairs)
            least = min(mine for mine, _base in pairs) / min(base for _mine, base in pairs)
            middle = statistics.median(mine for mine, _base in pairs) * 1e3
            shown.append(f"{word} {middle:6.1f} ms, ratio {ratio:.2f} (of the least {least:.2f})")
        print("  ".join(shown))


def main() -> None:
    """Measure in turn and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        domain, nova = Path(folder, "a.xml"), Path(folder, "nova.conf")
        domain.write_text(_DOMAIN)
        nova.write_text(_NOVA)
        audit = [sys.executable, _SCRIPT, "audit", "--level", "never"]
        ratios(rounds, {
            _FLOOR: [sys.executable, "-c", _FLOOR],
            "--version": [sys.executable, _SCRIPT, "--version"],
            "audit one domain": [*audit, str(domain)],
            "audit one nova.conf": [*audit, str(nova)],
        })  # fmt: skip


if __name__ == "__main__":
    main()
