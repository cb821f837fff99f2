"""A compute node differs from the others of its site.

## What is wrong

Several nova.conf files were audited together (`vnicaudit audit nodes/*/nova.conf`). Most compute
nodes of the site have one value of `use_virtio_for_bridges`, `rx_queue_size`, `tx_queue_size`,
`max_queues` or `virt_type`; this node has another.

## Why it matters

The NIC that a server gets depends on the node it lands on. A live migration rewrites the NIC from
the destination's configuration (nova/virt/libvirt/migration.py, `_update_vif_xml`): the definition
then has other rings or queues than the running guest.

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

Set one value on all compute nodes of the site, and restart nova-compute. Servers adopt it at their
next hard reboot or migration.

## Fix safety

Check before you change anything: the majority value need not be the right one.

## When it does not fire

* On nodes of different sites. Sites are distinguished by `auth_url` and `region_name` in
  `[keystone_authtoken]`, `[neutron]`, `[placement]` and similar sections. A node that sets them and
  a node that does not count as different sites. Availability zones and host aggregates are not in
  any file: a group of nodes that is configured differently on purpose is reported. Suppress it
  there.
* On files of other services and on backup copies. A file counts as a node if it is called `*.conf`,
  has options in `[libvirt]` or a `compute_driver`, and is not beside a `nova.conf` that is read
  without it. Files with the same `host` (or `my_ip`) are one node.
* On files that may belong to a single node. Nodes are distinguished by `host` or `my_ip` in the
  files, or by the layout: one folder per node with a file of the same name in each
  (`nodes/*/nova.conf`), or numbered files (`node1.conf`, `node2.conf`). Layers of one configuration
  (kolla's `nova.conf`, `nova/nova-compute.conf`) match neither.
* When the value is not certain (a template), or Nova does not accept it (VNIC035, VNIC073).
* On an option that is not set here, if the other nodes set it to its default.

If two values are equally common, the one that was read first counts as the usual one. A run
compares at most 20,000 nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.rule import Judge, Problem, Rule, SiteSubject


def applies(subject: SiteSubject) -> bool:
    """A node that differs from the others."""
    return bool(subject.differences)


def check(subject: SiteSubject) -> Iterator[Problem]:
    """One problem per option."""
    for found in subject.differences:
        here, usual = found.value or "not set", found.usual or "not set"
        yield Problem(
            f"{found.option} is {here} here, {usual} on {found.nodes} of {found.total} compute "
            "nodes",
            field=f"libvirt/{found.option}",
            confidence="medium",
            fix=f"Give all compute nodes of the site the same [libvirt] {found.option}, and "
            "restart nova-compute.",
            related=found.places,
        )


RULE = Rule(
    name="nova-nodes-differ",
    severity="low",
    groups=("nova", "drift"),
    judges=(Judge("site", applies=applies, check=check),),
)
