"""What a profile leaves open is chosen once, for all arms, and told."""

from collections.abc import Sequence

from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import Engine, Told, opened, plugins, profile
from vnicaudit.bench.contract import Ends, SettledWorkload
from vnicaudit.bench.profiles.registry import SHIPPED
from vnicaudit.bench.running.opening import is_settled_of, settled_profile
from vnicaudit.model.measurement import Workload

_OTHER = replace(TCP, id="other")


def test_each_workload_is_settled_for_the_ends_of_all_arms() -> None:
    seen: list[int] = []

    class Choosing(Engine):
        def settled(self, workload: Workload, ends: Sequence[Ends]) -> SettledWorkload:
            seen.append(len(ends))
            return SettledWorkload(replace(workload, options={"generator": "c"}), "so it is")

    told, arms = Told(), [opened("a"), opened("b")]
    found = settled_profile(profile(TCP, _OTHER), arms, told, plugins(Choosing()))
    assert [one.options for one in found.workloads] == [{"generator": "c"}] * 2
    assert [one.id for one in found.workloads] == [TCP.id, "other"]
    assert seen == [2, 2]
    assert told.said == ["so it is"]


def test_what_leaves_nothing_open_stays_as_it_is() -> None:
    told = Told()
    asked = profile(TCP, _OTHER)
    assert settled_profile(asked, [opened("a")], told, SHIPPED) == asked
    assert told.said == []


def test_settling_adds_options_and_nothing_else() -> None:
    added = replace(TCP, options={"generator": "c"})
    assert is_settled_of((TCP,), (TCP,))
    assert is_settled_of((added,), (TCP,))
    assert is_settled_of((added,), (added,))
    assert not is_settled_of((TCP,), (added,))
    assert not is_settled_of((replace(added, seconds=3.0),), (TCP,))
    assert not is_settled_of((replace(TCP, options={"generator": "c"}),), (_OTHER,))
    assert not is_settled_of((TCP, _OTHER), (TCP,))
    assert not is_settled_of((), (TCP,))
