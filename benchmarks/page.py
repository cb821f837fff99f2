"""The page of a fleet: its size, the cost of building it and of loading it in a browser, and the
speed of its filters.

    python -m benchmarks.page [--rounds 5] [--hosts 1000]

A host has 50 guests with two NICs each, with about 1.2 findings each. The floor is a page made in
the same run with the same columns as numbers and dictionaries, which draws the first rows and does
nothing else: no search, sorting, views or style. CPU time of the browser is that of all its
processes, from the start of loading to the first rows. Needs Chromium (Debian: chromium) and
playwright.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import statistics
import tempfile
import time
from array import array
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, sync_playwright

from tests.reports.page.chromium import CHROMIUM
from tests.reports.page.fleet import fleet, render_page
from vnicaudit.model.report import Placed
from vnicaudit.reports.page.from_audit import PageSubject

FILTERS = ("kvm-0123", "52:54:00:a", "emulated", "web-12 kvm", "nothing-has-this")
_TICK = os.sysconf("SC_CLK_TCK")
FLOOR = """<!DOCTYPE html><meta charset="utf-8"><title>floor</title><p id="state">loading</p>
<script type="application/octet-stream" id="data">%s</script><script>
requestAnimationFrame(() => setTimeout(async () => {
  const text = document.getElementById("data").textContent;
  const stream = new Blob([Uint8Array.fromBase64(text)]).stream();
  const plain = stream.pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(plain).arrayBuffer();
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  let at = 4 + size;
  for (const column of head) {
    column.codes = new Uint32Array(buffer.slice(at, at + column.bytes));
    at += column.bytes;
  }
  for (let row = 0; row < 24; row++) {
    const line = document.createElement("p");
    line.textContent = head.map((column) => column.values[column.codes[row]]).join(" ");
    document.body.append(line);
  }
  document.documentElement.dataset.ready = performance.now();
}));
</script>
"""


def main() -> None:
    """Print size, CPU times and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page, floor = Path(folder) / "page.html", Path(folder) / "floor.html"
        _write(options.hosts, page, floor)
        _browse(page, floor, options.rounds)
    print("load average: {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))


def _write(hosts: int, page: Path, floor: Path) -> None:
    data = fleet(hosts)
    data = data._replace(subjects=list(data.subjects))
    started = time.process_time()
    with page.open("w", encoding="utf-8") as file:
        file.writelines(render_page(data))
    made = time.process_time() - started
    started = time.process_time()
    floor.write_text(_floor(data.subjects), encoding="utf-8")
    least = time.process_time() - started
    nics = sum(len(one.audited.rows) for one in data.subjects)
    findings = sum(len(one.audited.findings) for one in data.subjects)
    print(f"{nics:,} NICs, {findings:,} findings")
    print(f"page  {page.stat().st_size / 1e6:.2f} MB, made in {made:.2f} s of CPU time")
    print(f"floor {floor.stat().st_size / 1e6:.2f} MB, made in {least:.2f} s of CPU time")


def _floor(subjects: Iterable[PageSubject]) -> str:
    """The columns of guests, NICs and findings, each with its own dictionary."""
    columns: defaultdict[str, tuple[dict[str, int], array[int]]]
    columns = defaultdict(lambda: ({}, array("I")))
    for subject in subjects:
        for name, value in _floor_cells(subject):
            values, codes = columns[name]
            codes.append(values.setdefault(value, len(values)))
    head = json.dumps(
        [{"values": list(v), "bytes": len(c) * 4} for v, c in columns.values()]
    ).encode()
    raw = b"".join(
        [len(head).to_bytes(4, "little"), head, *(c.tobytes() for _, c in columns.values())]
    )
    return FLOOR % b64encode(gzip.compress(raw, 6)).decode()


def _floor_cells(subject: PageSubject) -> Iterator[tuple[str, str]]:
    it, placed = subject.audited, subject.audited.placed or Placed()
    told_of = (
        it.subject, it.uuid, subject.host, it.target, subject.site, it.owner, it.server,
        placed.image, placed.flavor, placed.project,
    )  # fmt: skip
    yield from ((f"subject {at}", str(cell)) for at, cell in enumerate(told_of))
    for row in it.rows:
        facts = (row.model, row.vhost, row.queues, row.rx_queue_size, row.tx_queue_size)
        told = [f"{one.declared} {one.effective} {one.reason}" for one in facts]
        words = (it.subject, row.index, row.mac, row.type, row.target_dev, row.starts, *told)
        yield from ((f"nic {at}", str(word)) for at, word in enumerate(words))
    for one in it.findings:
        change, past = one.change, subject.history[one.fingerprint]
        cells = (
            it.subject, one.about.index, one.rule, one.severity, one.confidence, one.message,
            change and change.field, change and change.safe, past.state, past.first_seen,
        )  # fmt: skip
        yield from ((f"finding {at}", str(cell)) for at, cell in enumerate(cells))


def _browse(page: Path, floor: Path, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=["--no-sandbox"], headless=True
        )
        root = browser_process(profile)
        ratios, pages, floors = [], [], []
        for number in range(rounds + 1):
            least, cpu = (_loaded(context, one, root) for one in (floor, page))
            if number:  # the first page of each kind warms up the browser
                floors.append(least)
                pages.append(cpu)
                ratios.append(cpu / least)
        print(f"until ready, CPU time: page {_spread(pages)} s, floor {_spread(floors)} s")
        print(f"ratio {_spread(ratios)}")
        _filters(context.new_page(), page)
        context.close()


def load(page: Page, path: Path, root: int) -> float:
    """CPU seconds of the browser until a page is ready."""
    page.goto("about:blank")
    before = cpu_of(root)
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
    return cpu_of(root) - before


def _loaded(context: BrowserContext, path: Path, root: int) -> float:
    tab = context.new_page()
    used = load(tab, path, root)
    tab.close()
    return used


def _filters(page: Page, path: Path) -> None:
    """Print how long each filter takes, as measured by the page itself, after one to warm up."""
    page.goto(path.as_uri() + "#findings", wait_until="commit")
    page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
    for view in ("findings", "nics"):
        _filtered(page, view, "warm-up")
        for query in FILTERS:
            took = [_filtered(page, view, query) for _ in range(3)]
            spread = f"{statistics.median(took):.0f} ms ({min(took):.0f} to {max(took):.0f})"
            print(f"{view}: {query!r}: {spread}")


def _filtered(page: Page, view: str, query: str) -> float:
    """Milliseconds that the page took to find the rows."""
    for text in ("-", query.replace(" ", "+")):
        page.evaluate("hash => { location.hash = hash; }", f"{view}?q={text}")
        page.wait_for_timeout(300)
    return float(page.evaluate("performance.getEntriesByName('filter').at(-1).duration"))


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def browser_process(profile: str) -> int:
    """The id of the browser's first process."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if f"--user-data-dir={profile}".encode() in words and b"--type" not in b" ".join(words):
                return int(entry.name)
    raise SystemExit("the browser's process is not there")


def cpu_of(root: int) -> float:
    """CPU seconds of a process and all its descendants, including ended children."""
    return sum(processes_of(root).values()) / _TICK


def processes_of(root: int) -> dict[int, int]:
    """A process and all its descendants -> CPU time of each in ticks, including its ended
    children."""
    parents: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
                ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    todo, found = [root], {}
    while todo:
        one = todo.pop()
        found[one] = ticks.get(one, 0)
        todo += parents.get(one, [])
    return found


if __name__ == "__main__":
    main()
