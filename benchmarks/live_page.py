"""The live page of a history: the cost of building it, and of showing it in a browser.

    python -m benchmarks.live_page [--hosts 1000] [--rounds 3] [--without-spool]

A fleet of HOSTS hosts of 50 guests with two NICs, each with a finding; two audits in a SQLite
history, with 1 % of the NICs changed between them, and the readings of the newest one in the spool
(``--without-spool``: no readings, so that everything comes from the history). A separate process
builds the page as ``fleet serve`` does, then serves it again. Prints CPU time and peak memory of
that process, CPU time of all processes of the browser until the first rows, and the sum of their
private pages (USS).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.history import Fleet
from benchmarks.page import browser_process, load, processes_of
from tests.history.fleets import audit
from tests.reports.page.chromium import CHROMIUM
from vnicaudit.cli.fleet.serve import page_route
from vnicaudit.fleet.spool import SpoolFolder
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place


def write_state(state: Path, hosts: int, *, spool: bool) -> None:
    """Write the state directory."""
    fleet = Fleet(hosts)
    with history_to_write(history_place(None, state)) as history:
        for day in (1, 2):
            made = audit(f"2026010{day}-000000-0000", day, fleet.hosts)
            readings = fleet.readings(day)
            history.store(made, readings)
            fleet.change(0.01, day)
    if spool:
        kept = SpoolFolder(state).new(made.id)
        for place, one in enumerate(readings):
            kept.add(place, one)
        kept.write_audit(made)


def serve(state: Path, page: Path) -> None:
    """Build the page twice, in a process of its own."""
    imported = peak_memory()
    began = time.process_time()
    route = page_route(history_place(None, state), state, patience=3600)
    page.write_bytes(route().body)
    made = time.process_time() - began
    began = time.process_time()
    route()
    again = time.process_time() - began
    peak = peak_memory()
    print(
        f"server: made in {made:.2f} s of CPU time, asked again {again * 1000:.0f} ms; "
        f"{page.stat().st_size / 1e6:.2f} MB; peak memory {peak:.0f} MB, {peak - imported:.0f} "
        "more than before",
        flush=True,
    )


def peak_memory() -> float:
    """Peak memory of this process in MB, without memory inherited from its parent at fork (which
    ``ru_maxrss`` includes)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def browse(page: Path, rounds: int) -> None:
    """Open the page that many times."""
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=["--no-sandbox"], headless=True
        )
        root = browser_process(profile)
        empty = memory_of(root)
        for number in range(rounds + 1):
            tab = context.new_page()
            cpu = load(tab, page, root)
            if number:  # the first one warms up the browser
                print(
                    f"browser: {cpu:.2f} s of CPU time until the first rows, "
                    f"{memory_of(root) - empty:.0f} MB more"
                )
            tab.close()
        context.close()


def memory_of(root: int) -> float:
    """Private memory of the browser's processes in MB."""
    kilobytes = 0
    for process in processes_of(root):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return kilobytes / 1024


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-spool", action="store_true")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.serve:
        serve(*map(Path, words.serve))
        return
    with tempfile.TemporaryDirectory() as folder:
        state, page = Path(folder) / "state", Path(folder) / "page.html"
        write_state(state, words.hosts, spool=not words.without_spool)
        subprocess.run(
            [sys.executable, "-m", "benchmarks.live_page", "--serve", str(state), str(page)],
            check=True,
        )
        browse(page, words.rounds)
    print("load average: {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))


if __name__ == "__main__":
    main()
