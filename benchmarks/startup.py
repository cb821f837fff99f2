"""How quickly the command starts.

    python -m benchmarks.startup [--rounds 20]

Measures in turn, each in a process of its own: ``python -c "import click"`` (the floor),
``vnicaudit --version``, and ``vnicaudit audit`` of one small file. Prints medians of wall time
and the ratios to the floor.
"""

from __future__ import annotations

import argparse
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


def seconds(command: list[str]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Measure in turn and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.xml")
        path.write_text(_DOMAIN)
        commands = {
            "import click": [sys.executable, "-c", "import click"],
            "--version": [sys.executable, _SCRIPT, "--version"],
            "audit one file": [sys.executable, _SCRIPT, "audit", str(path)],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                taken[name].append(seconds(command))
    floor = statistics.median(taken["import click"])
    for name, values in taken.items():
        middle = statistics.median(values)
        print(f"{name:15} {middle * 1e3:6.1f} ms, ratio {middle / floor:.2f}")


if __name__ == "__main__":
    main()
