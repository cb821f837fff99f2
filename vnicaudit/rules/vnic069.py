"""A compute node is configured differently from most of its site.

## What is wrong

Of the nova.conf files that are audited together (`vnicaudit audit nodes/*/nova.conf`), most compute
nodes of a site have one value of `use_virtio_for_bridges`, `rx_queue_size`, `tx_queue_size`,
`max_queues` or `virt_type`, and this one has another.

## Why it matters

Which NIC a server gets depends on the node it lands on. A live migration writes the NIC anew by the
configuration of the destination (nova/virt/libvirt/migration.py, `_update_vif_xml`): the definition
then asks for other rings or queues than the running guest has.

## Bad

```ini
# node-7/nova.conf; the other nodes say 1024
[libvirt]
rx_queue_size = 512
```

## Good

```ini
# all nodes
[libvirt]
rx_queue_size = 1024
```

## Fix

Give all compute nodes of the site one value, and restart nova-compute; servers take it over at
their next hard reboot or migration.

## Fix safety

Look before you align: which value is the right one, the count does not say.

## When it does not fire

* On nodes of different sites. They are told apart by what the files say: `auth_url` and
  `region_name` of `[keystone_authtoken]`, `[neutron]`, `[placement]` and their like. Where one
  says it and another does not, they count as different. Availability zones and host aggregates
  stand in no file: a group of nodes that is set otherwise on purpose is found; suppress it there.
* On files of other services and copies put aside: a node counts when its file is called `*.conf`,
  has options of `[libvirt]` or a `compute_driver`, and does not lie beside a `nova.conf` with
  which it is not read. Files with the same `host` (or `my_ip`) are one node.
* On files that need not be of several nodes. Nodes are told by `host` or `my_ip` in them, or by the
  layout: a folder for each node, and in it a file of the same name (`nodes/*/nova.conf`), or files
  with numbers (`node1.conf`, `node2.conf`). Layers of one configuration (kolla's `nova.conf`,
  `nova/nova-compute.conf`) are neither.
* Where the value is not certain (a template), or Nova does not take it (VNIC035, VNIC073).
* On an option that is not set where the others set what is its default.

With two values on as many nodes each, the first that was read counts as the usual one. A run
compares at most 20,000 nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.rule import Problem, Rule, SiteJudge
from vnicaudit.model.site import Difference
from vnicaudit.model.subject import SiteSubject


def applies(subject: SiteSubject) -> bool:
    """This node differs."""
    return bool(subject.differences)


def check(subject: SiteSubject) -> Iterator[Problem]:
    """One problem per option."""
    for found in subject.differences:
        yield Problem(
            f"{_difference_text(found)} here, {_value_text(found.usual)} on {_count(found)}",
            field=f"libvirt/{found.option}",
            confidence="medium",
            fix=f"Give all compute nodes of the site one value of [libvirt] {found.option}, and "
            "restart nova-compute.",
            related=found.places,
        )


def _difference_text(found: Difference) -> str:
    return f"{found.option} is {_value_text(found.value)}"


def _value_text(value: str) -> str:
    return value or "not set"


def _count(found: Difference) -> str:
    return f"{found.nodes} of {found.total} compute nodes"


RULE = Rule(
    name="nova-nodes-differ",
    severity="low",
    groups=("nova", "drift"),
    judges=(SiteJudge(applies=applies, check=check),),
)
