"""A plan of a cloud for people."""

from msgspec.structs import replace

from tests.remedy.planning.units import server_of
from tests.reports.plan.cloud_samples import ASKED, CLOUD, IMAGE, NOT_PLANNED, PLAN, WEB
from vnicaudit.model.finding import Ref
from vnicaudit.model.plan import Plan
from vnicaudit.reports.plan.json import from_json, to_json
from vnicaudit.reports.plan.text import render, summary
from vnicaudit.reports.writers import Options

WHOLE = """\
openstack:prod
  legacy  nova  image  project 1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f
    5b1f3a0c-2f4d-4b6a-8d0e-3c9e7f1a2b44  readiness: ready
    safe  1  image  to virtio  VNIC062
      change: hw_vif_model rtl8139 → virtio
      safe: libosinfo lists virtio
      mode: next-boot
      --- legacy
      +++ legacy
      @@ properties @@
      -hw_vif_model=rtl8139
      +hw_vif_model=virtio

  m1.small  nova  flavor  2
    safe  2  new flavor m1.small-vnic  to virtio  VNIC062
      change: hw_vif_model rtl8139 → virtio
      safe: libosinfo lists virtio
      mode: next-boot

  web-01  nova  server  running  project 1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f  on cmp1
    0c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77  readiness: ready
    safe  3  NICs fa:16:3e:00:00:01 fa:16:3e:00:00:02  to virtio  VNIC001
      change: model rtl8139 → virtio
      safe: the guest supports virtio
      mode: restart
      not next-boot: this one runs
      not hotswap: never
      name: unknown: Nova keeps no address
      needs in the guest: virtio_net
      --- web-01
      +++ web-01
      @@ properties @@
      -hw_vif_model=rtl8139
      +hw_vif_model=virtio

  db-01  nova  server  off  project 2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e
    1c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77  readiness: ready
    unsafe  4  NIC fa:16:3e:00:00:03  to virtio  VNIC001
      change: model rtl8139 → virtio
      unsafe: it may not start
      mode: restart
      not next-boot: this one runs
      not hotswap: never
      name: unknown: Nova keeps no address
      needs in the guest: virtio_net
      --- web-01
      +++ web-01
      @@ properties @@
      -hw_vif_model=rtl8139
      +hw_vif_model=virtio

  db-02  nova  server  off  project 2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e
    2c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77  readiness: ready
    blocked  5  NIC fa:16:3e:00:00:03  to virtio  VNIC001
      change: model rtl8139 → virtio
      safe: it may not start
      name: unknown: Nova keeps no address
      needs in the guest: virtio_net
      blocked: it is paused
      procedure: this is done by hand, in this order
        1. openstack server unpause db-02
        2. ask the operator
      --- web-01
      +++ web-01
      @@ properties @@
      -hw_vif_model=rtl8139
      +hw_vif_model=virtio

Left out (--verbose names each)
  1 server and 1 image: no driver
    win-01, win
  1 server: no driver (--include-unsafe plans it)
    win-02

note: openstack:prod: this user sees the servers of all projects

5 steps on 1 image, 1 flavor and 3 servers: 3 safe, 1 unsafe, 1 for the owner to do; 2 servers and 1
  image left out
"""


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
