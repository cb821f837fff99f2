"""A plan of a cloud by project: for those whose servers they are."""

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from tests.remedy.planning.units import cloud_of
from tests.reports.plan.cloud_samples import ALPHA, ASKED, BETA, CLOUD, NOT_PLANNED, OFF, PLAN, WEB
from tests.reports.plan.plans import PLANS
from tests.reports.plan.samples import PLAN as OF_HOSTS
from tests.shares import examples
from vnicaudit.model.plan import Plan, Step
from vnicaudit.reports.plan.projects import (
    COLUMNS,
    MARK,
    project_text,
    projects,
    projects_table,
    what_changes,
    what_happens,
)
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.report_file import Options

TEXT = f"""\
{MARK}

# Servers of project {BETA}

openstack:prod, 2026-11-22T10:15:00Z: 2 changes planned, 1 server left as it is.

A network interface that the hypervisor emulates is slow and costs the server's CPU time. These \
servers have one, or something else that keeps their network below what it could be. Nothing has \
been changed yet.

## db-01

* Server: `1c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77`
* Network interfaces: `fa:16:3e:00:00:03`
* Change: hw\\_vif\\_model: not set → virtio (VNIC001)
* What will happen: Nothing, unless somebody decides to do it: it may harm the server.
* Risk: it may not start
* In the guest: Nova keeps no address
* Needed in the guest: virtio\\_net

## db-02

* Server: `2c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77`
* Network interfaces: `fa:16:3e:00:00:03`
* Change: hw\\_vif\\_model: not set → virtio (VNIC001)
* What will happen: Nothing, as things are.
* Blocked: it is paused
* In the guest: Nova keeps no address
* Needed in the guest: virtio\\_net

What can be done, in this order:

1. `openstack server unpause db-02`
2. `ask the operator`

## Left as it is

Servers are changed only if their system is known to support virtio. If it says below that this \
is unknown, tell your operator which system it is; on Windows, install the NetKVM driver of \
virtio-win first.

* win-02 (`4c`): no driver
"""


def named(step: Step, name: str) -> Step:
    """A step whose project is called so."""
    return replace(step, unit=replace(cloud_of(step), project_name=name))


def test_every_project_that_has_a_server_in_it() -> None:
    alpha, beta = projects(PLAN)
    assert (alpha.target, alpha.id, alpha.steps) == (CLOUD, ALPHA, (WEB,))
    assert [one.about.name for one in alpha.not_planned] == [
        "win-01"
    ]  # the image is the operator's
    assert (beta.id, beta.steps) == (BETA, (OFF, ASKED))


def test_a_plan_of_hosts_has_no_projects() -> None:
    assert list(projects(OF_HOSTS)) == []
    assert projects_table(OF_HOSTS) == '"' + '","'.join(COLUMNS) + '"\n'


def test_the_text_for_one_project() -> None:
    _alpha, beta = projects(PLAN)
    assert project_text(PLAN, beta) == TEXT


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (
            WEB,
            "The server is shut down, changed and started again. Its id, addresses, disks and MAC "
            "addresses stay; its guest gets a different network device",
        ),
        (
            replace(OFF, safe=True),
            "The server is off and stays off: the change takes effect when it is started",
        ),
        (OFF, "Nothing, unless somebody decides to do it: it may harm the server"),
        (ASKED, "Nothing, as things are"),
        (
            replace(ASKED, to="vdpa"),
            "An operator does it by hand; the server is shut down for it",
        ),
    ],
)
def test_what_happens_to_a_server(step: Step, says: str) -> None:
    assert what_happens(step) == says


def test_what_changes_is_in_the_words_of_the_change_where_no_property_does() -> None:
    vdpa = replace(WEB, unit=replace(cloud_of(WEB), properties={}, old={}))
    assert what_changes(vdpa) == ["model: rtl8139 → virtio"]
    assert what_changes(WEB) == ["hw_vif_model: rtl8139 → virtio"]


def test_the_table_of_all_projects() -> None:
    rows = list(csv.DictReader(io.StringIO(projects_table(PLAN))))
    assert [(row["project"], row["server"], row["state"]) for row in rows] == [
        (ALPHA, "web-01", "safe"), (ALPHA, "win-01", "left"),
        (BETA, "db-01", "unsafe"), (BETA, "db-02", "blocked"), (BETA, "win-02", "left"),
    ]  # fmt: skip
    web, left = rows[0], rows[1]
    assert web == {
        "cloud": CLOUD, "project": ALPHA, "server": "web-01", "id": WEB.about.id, "host": "cmp1",
        "zone": "nova", "running": "true", "macs": "fa:16:3e:00:00:01 fa:16:3e:00:00:02",
        "rules": "VNIC001", "changes": "hw_vif_model: rtl8139 → virtio", "state": "safe",
        "what_happens": what_happens(WEB), "why": "the guest supports virtio",
        "project_name": "",
    }  # fmt: skip
    assert (left["why"], left["what_happens"]) == ("no driver", "")


def test_what_a_project_is_called_comes_before_its_id() -> None:
    plan = replace(
        PLAN, steps=(named(WEB, "web team"),), not_planned=(replace(NOT_PLANNED[0], project=BETA),)
    )
    alpha, beta = projects(plan)
    assert (alpha.name, beta.name) == ("web team", "")
    assert f"# Servers of project web team ({ALPHA})\n" in project_text(plan, alpha)
    assert f"# Servers of project {BETA}\n" in project_text(plan, beta)
    rows = list(csv.DictReader(io.StringIO(projects_table(plan))))
    assert [(row["project"], row["project_name"]) for row in rows] == [
        (ALPHA, "web team"), (BETA, ""),
    ]  # fmt: skip


def test_one_server_with_the_name_is_enough() -> None:
    left = replace(NOT_PLANNED[0], project_name="web team")
    [alpha] = projects(replace(PLAN, steps=(WEB,), not_planned=(left,)))
    assert alpha.name == "web team"


def test_the_plan_itself_has_both() -> None:
    plan = replace(PLAN, steps=(named(WEB, "web team"),))
    text = "".join(render(plan, Options(width=100)))
    assert f"project web team ({ALPHA})" in " ".join(text.split())


def test_a_name_is_no_formula() -> None:
    """A spreadsheet calculates what begins with an equals sign."""
    evil = replace(WEB, about=replace(WEB.about, name='=HYPERLINK("http://x")'))
    rows = list(csv.DictReader(io.StringIO(projects_table(replace(PLAN, steps=(evil,))))))
    assert rows[0]["server"] == '\'=HYPERLINK("http://x")'


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(PLANS)
def test_whatever_a_plan_holds_nothing_breaks_out(plan: Plan) -> None:
    for project in projects(plan):
        text = project_text(plan, project)
        assert text.startswith(MARK)
        assert all(line.isprintable() for line in text.split("\n"))
    for row in csv.reader(io.StringIO(projects_table(plan))):
        assert len(row) == len(COLUMNS)
