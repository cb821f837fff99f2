"""What engines bring to the ends before the first run."""

from collections.abc import Sequence

from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import Engine, Told, opened, plugins, profile
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.running.opening import prepare_engines
from vnicaudit.model.measurement import Workload


def test_each_workload_is_prepared_at_the_ends_of_all_arms_and_a_remark_is_told_once() -> None:
    seen: list[tuple[str, int]] = []

    class Bringing(Engine):
        def prepare(self, workload: Workload, ends: Sequence[Ends]) -> str:
            seen.append((workload.id, len(ends)))
            return "it is not measured"

    told, other = Told(), replace(TCP, id="other")
    prepare_engines(profile(TCP, other), [opened("a"), opened("b")], told, plugins(Bringing()))
    assert seen == [(TCP.id, 2), ("other", 2)]
    assert told.said == ["it is not measured"]
