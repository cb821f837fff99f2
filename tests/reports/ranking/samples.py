"""Rankings to print."""

from tests.fleet.ranking_records import Problem, audit, guest, reading, traffic
from vnicaudit.fleet.ranking import rank
from vnicaudit.model.ranking import MeasuredGain, Ranking

GAIN = MeasuredGain(
    before_nic="e1000", after_nic="virtio", workload="bulk", metric="throughput", percent=210.0,
    low95=190.0, high95=230.0,
)  # fmt: skip


def ranked_sample() -> Ranking:
    """A change with traffic and a gain, and one without a proposal whose host has an odd name."""
    problems = [guest("web", Problem(), Problem(nic=None, rule="TEST2", change=None))]
    odd = reading("kvm\x1b", [guest("d\u202eb", Problem(severity="low", change=None))])
    counters = [traffic("web", rate=5_000_000, drops=3)]
    return rank(audit("a", "kvm\x1b"), [reading("a", problems, counters), odd], [GAIN])
