"""A report of a big fleet takes no more memory than one of a small fleet."""

import tracemalloc
from collections.abc import Callable, Iterator

import msgspec
import pytest

from tests.reports.samples import END, START, WEB_01, finding
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import Crashed, Location, Ref, Skipped
from vnicaudit.model.nic import Effective, Nic, NicConfig, Resolved
from vnicaudit.model.report import Audited
from vnicaudit.reports.formats import formats, writer
from vnicaudit.reports.nics import as_json, as_text
from vnicaudit.reports.writers import Options

DOMAINS = 5_000
LIMIT = 5 << 19
"""Bytes. A writer that kept one short string per domain would be near it; one that kept its
output would be far above. The page keeps each text once, and has all of it in hand when it is
written: twice the domains may take three times as much."""


def stream(domains: int) -> Iterator[Audited]:
    """Domains that share nothing but their kind."""
    for number in range(domains):
        name = f"guest-{number:06}"
        nic = Ref("nic", name, None, f"52:54:00:{number:06}", 0)
        place = Location("d", f"d/{name}.xml", number + 1)
        yield msgspec.structs.replace(
            WEB_01,
            subject=name,
            findings=(finding(about=nic, location=place),),
            skipped=(Skipped("VNIC020", nic, "a live libvirt connection"),),
        )


@pytest.mark.parametrize("name", formats())
def test_writers_stream(name: str) -> None:
    report, factor = writer(name, Options()), 2 if name == "html" else 1
    tracemalloc.start()
    try:
        written = len(report.start(START))
        for audited in stream(factor * DOMAINS):
            written += len(report.add(audited))
        for piece in report.finish(END):
            written += len(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (3 if name == "html" else 1) * LIMIT
    assert written > DOMAINS * (10 if name == "html" else 100) or name == "prometheus"


def test_the_text_keeps_little_of_a_rule_that_crashes_everywhere() -> None:
    """Whether there will be many findings is not known until the end."""
    report = writer("text", Options(view="auto", wordings=Wordings()))
    tracemalloc.start()
    try:
        for audited in stream(DOMAINS):
            crashed = (Crashed("ACME001", audited.findings[0].about, "a typo"),)
            needs = tuple(f"{audited.subject} needs {number}" for number in range(24))
            skipped = tuple(Skipped("ACME002", audited.findings[0].about, why) for why in needs)
            found = msgspec.structs.replace(audited, findings=(), crashed=crashed, skipped=skipped)
            report.add(found)
        size, _peak = tracemalloc.get_traced_memory()
        text = "".join(report.finish(END))
    finally:
        tracemalloc.stop()
    assert size < DOMAINS * 512
    assert text.count("a typo") == DOMAINS


def domains() -> Iterator[Domain]:
    """One NIC each."""
    known = Resolved("virtio", "virtio", "as declared")
    ring = Resolved[int](None, 256, "none declared: QEMU's default")
    effective = Effective(known, Resolved(None, True, "seen"), Resolved(None, 1, "one"), ring, ring)
    for number in range(DOMAINS):
        place = Location("d", f"d/guest-{number}.xml", 7)
        config = NicConfig("bridge", actual_type="bridge", model="virtio")
        nic = Nic(0, config, place, f"52:54:00:{number:06}", effective=effective)
        yield Domain(f"guest-{number}", DomainConfig(), place, (nic,))


@pytest.mark.parametrize("render", [as_json, lambda domains: as_text(domains, Options())])
def test_the_list_of_nics_streams(render: Callable[[Iterator[Domain]], Iterator[str]]) -> None:
    tracemalloc.start()
    try:
        written = sum(len(piece) for piece in render(domains()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LIMIT
    assert written > DOMAINS * 80
