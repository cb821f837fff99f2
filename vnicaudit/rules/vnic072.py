"""KubeVirt: multiqueue on many NICs of a guest with many vCPUs.

## What is wrong

`networkInterfaceMultiqueue` gives *every* virtio interface of the VM one queue pair per vCPU (256
at most). With many vCPUs and several interfaces this adds up, and KubeVirt has no field to limit
it, neither for the VM nor for one interface.

## Why it matters

Each queue pair takes guest memory for its buffers, two interrupt vectors and a vhost thread on the
node. One report: Windows Server 2019 with 8 vCPUs, 8 GB and 10 interfaces used about 90 % of its
memory after booting (kubevirt/kubevirt issue 18012). A limit has been proposed
(kubevirt/enhancements issue 422) but is in no release. Source: `NetworkQueuesCapacity` in
`pkg/virt-launcher/virtwrap/converter/network`.

## Bad

```yaml
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: router}
spec:
  domain:
    cpu: {cores: 32}
    devices:
      networkInterfaceMultiqueue: true
      interfaces:
      - {name: a, masquerade: {}}
      - {name: b, bridge: {}}
      - {name: c, bridge: {}}
  networks:
  - {name: a, pod: {}}
  - {name: b, multus: {networkName: b}}
  - {name: c, multus: {networkName: c}}
```

## Good

```yaml
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: router}
spec:
  domain:
    cpu: {cores: 4}
    devices:
      networkInterfaceMultiqueue: true
      interfaces:
      - {name: a, masquerade: {}}
      - {name: b, bridge: {}}
      - {name: c, bridge: {}}
  networks:
  - {name: a, pod: {}}
  - {name: b, multus: {networkName: b}}
  - {name: c, multus: {networkName: c}}
```

## Fix

Use fewer interfaces or fewer vCPUs, or switch `networkInterfaceMultiqueue` off, and measure which
works better. KubeVirt has no setting for the number of queues.

## Fix safety

Unsafe: with multiqueue off each interface has one queue pair.

## When it does not fire

* Up to 64 queue pairs in all, and on VMs with only one interface that has several queues.
* Interfaces without multiqueue do not count: emulated models, SR-IOV, passt, binding plugins.
* Skipped when the vCPUs come from an instance type that is in none of the files beside the
  manifest, or when a missing preference may set multiqueue.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import facts
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import (
    DomainSubject,
    Judge,
    Problem,
    RuleSettings,
    adjustable_rule,
    setting,
)

_REASON = "each interface would have only one queue pair: measure before and after"


class QueuePairLimits(RuleSettings, frozen=True):
    """The maximum number of queue pairs of one VM."""

    queue_pairs: Annotated[
        int, setting("Report VMs with more queue pairs in all than this.", at_least=2)
    ] = 64


def applies(subject: DomainSubject, limits: QueuePairLimits) -> bool:
    """A manifest that has, or may have, multiqueue on two NICs and too many queue pairs."""
    manifest, vcpus = subject.domain.manifest, subject.domain.vcpus
    if manifest is None or (manifest.multiqueue_read and not manifest.multiqueue):
        return False
    taps = sum(nic.nic.actual_type == "ethernet" for nic in subject.nics)
    return taps > 1 and (vcpus is None or taps * vcpus > limits.queue_pairs)


def check(subject: DomainSubject, limits: QueuePairLimits) -> Iterator[Problem]:
    """One problem if all NICs together have too many queue pairs."""
    each = [nic.effective.queues.effective or 0 for nic in subject.nics]
    several = [pairs for pairs in each if pairs > 1]
    if len(several) < 2 or sum(several) <= limits.queue_pairs:
        return
    yield Problem(
        f"{len(several)} interfaces with {several[0]} queue pairs each are {sum(several)}: "
        "KubeVirt cannot set fewer per interface",
        field="multiqueue",
        change=Change("multiqueue", "true", "false", safe=False, reason=_REASON),
    )


RULE = adjustable_rule(
    QueuePairLimits,
    lambda limits: Judge(
        "domain",
        needs=(facts.VCPUS, facts.QUEUES_OF_ALL),
        applies=lambda subject: applies(subject, limits),
        check=lambda subject: check(subject, limits),
    ),
    name="kubevirt-many-queues",
    severity="medium",
    groups=("kubevirt", "queues"),
    forms=("definition", "manifest"),
)
