"""Measurements in the history, made of few words: e1000 against virtio."""

from msgspec.structs import replace

from tests.reports.bench.samples import two_arms
from vnicaudit.model.measurement import BenchResult, Comparison, Verdict


def measurement(
    name: str, percent: float, *, verdict: Verdict = "improved", primary: bool = True
) -> BenchResult:
    """A measurement of two paths, whose guests have these NICs."""
    whole = two_arms()
    path = whole.paths[0]
    paths = tuple(
        replace(path, name=arm, nic=nic)
        for arm, nic in (("before", "e1000"), ("after", "virtio, 4 queues"))
    )
    result = _compared(whole.results[0], percent, verdict=verdict, primary=primary)
    run = replace(whole.run, id=name, design="paths")
    return replace(whole, run=run, paths=paths, results=(result,))


def _compared(one: Comparison, percent: float, *, verdict: Verdict, primary: bool) -> Comparison:
    assert one.effect is not None
    effect = replace(one.effect, percent=percent, low95=percent - 5, high95=percent + 5)
    return replace(
        one, workload="bulk", metric="throughput", effect=effect, verdict=verdict, primary=primary
    )
