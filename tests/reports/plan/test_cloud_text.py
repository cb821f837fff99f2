"""A plan of a cloud for people."""

from msgspec.structs import replace

from tests.remedy.planning.units import server_of
from tests.reports.golden import golden
from tests.reports.plan.cloud_samples import ASKED, CLOUD, IMAGE, NOT_PLANNED, PLAN, WEB
from vnicaudit.model.finding import Ref
from vnicaudit.model.plan import Plan
from vnicaudit.reports.plan import from_json, to_json
from vnicaudit.reports.plan.text import render, summary
from vnicaudit.reports.writers import Options

WHOLE = golden("plan.cloud_text.whole.txt")


def shown(plan: Plan, *, verbose: bool = False) -> str:
    return "".join(render(plan, Options(width=100, verbose=verbose)))


def test_a_whole_plan_of_a_cloud() -> None:
    assert shown(PLAN) == WHOLE


def test_what_was_left_is_named_when_asked_for() -> None:
    assert "    win-02  VNIC001  openstack:prod\n" in shown(PLAN, verbose=True)


def test_a_nic_of_a_server_is_named_by_its_place() -> None:
    vdpa = replace(
        WEB, about=Ref("nic", WEB.about.name, WEB.about.id, "fa:16:3e:00:00:01", 0), to="vdpa"
    )
    assert "    safe  3  NIC 0 fa:16:3e:00:00:01  to vdpa" in shown(replace(PLAN, steps=(vdpa,)))


def test_a_server_without_a_mac_is_a_server() -> None:
    bare = replace(WEB, unit=replace(server_of(WEB), macs=()))
    assert "    safe  3  server  to virtio" in shown(replace(PLAN, steps=(bare,)))


def test_the_summary_counts_each_kind() -> None:
    assert summary(replace(PLAN, steps=(IMAGE,), not_planned=NOT_PLANNED[:1])) == (
        "1 step on 1 image: 1 safe; 1 server left out"
    )
    assert summary(replace(PLAN, steps=(ASKED, WEB), not_planned=())) == (
        "2 steps on 2 servers: 1 safe, 1 for the owner to do"
    )


def test_it_is_read_back_as_it_was_written() -> None:
    assert from_json(to_json(PLAN), "p.json") == PLAN
    assert CLOUD in to_json(PLAN).decode()
