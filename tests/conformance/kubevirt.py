"""Compare what is read of random KubeVirt manifests with what KubeVirt makes of them.

    python -m tests.conformance.kubevirt ORACLE [--count 500] [--seed N] [--record]

ORACLE is the program that kubevirt_oracle.go is built into. A machine that KubeVirt refuses has to
be said to be refused, unless that is a matter of the cluster's settings; one that it admits must
not be, and the model and the queue pairs of each NIC have to agree. Prints the seed, each
disagreement and the totals; exit code 1 where there is one. ``--record`` writes the answers to
data/kubevirt.json, against which test_kubevirt.py compares without that program.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.conformance import recorded
from vnicaudit.audit.effective.resolve import resolve_manifest
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.kubevirt.read import read_bytes

DATA = Path(__file__).parent / "data/kubevirt.json"
_SETTINGS = ("feature gate is not enabled",)
"""Refusals that a setting of the cluster decides."""
_JUDGE = DomainAuditor(rule_ids(), every_platform())

Json = dict[str, Any]


class Answer(NamedTuple):
    """What KubeVirt makes of a machine: why it refuses it, or name, model and queue pairs of its
    NICs."""

    refused: list[str]
    nics: list[tuple[str, str, int]]


def machine(draw: Random) -> Json:
    """A random virtual machine: in half of them something is amiss."""
    count = draw.choice((0, 1, 1, 2, 2, 3))
    pods = draw.random() < 0.7
    networks = [_network(draw, number, on_pod=pods and number == 0) for number in range(count)]
    interfaces = [_interface(draw, network) for network in networks]
    devices: Json = {"disks": []}
    if interfaces or draw.random() < 0.5:
        devices["interfaces"] = interfaces
    if draw.random() < 0.5:
        devices["networkInterfaceMultiqueue"] = draw.choice((True, True, True, False, None, "yes"))
    if draw.random() < 0.2:
        devices["useVirtioTransitional"] = draw.choice((True, True, False, "true"))
    spec: Json = {"domain": {"cpu": {"cores": draw.choice((1, 2, 4, 8))}, "devices": devices}}
    if networks:
        spec["networks"] = networks
    if draw.random() < 0.3:
        spec["architecture"] = draw.choice(("amd64", "arm64", "s390x"))
    if draw.random() < 0.5:
        _spoil(draw, spec)
    body = {"runStrategy": "Always", "template": {"spec": spec}}
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": "vm", "namespace": "lab"}, "spec": body,
    }  # fmt: skip


def _network(draw: Random, number: int, *, on_pod: bool) -> Json:
    kind: Json = {"multus": {"networkName": draw.choice(("br1", "lab/br2"))}}
    return {"name": f"n{number}", **({"pod": {}} if on_pod else kind)}


def _interface(draw: Random, network: Json) -> Json:
    on_pod = "pod" in network
    binding = draw.choice(("masquerade", "bridge")) if on_pod else draw.choice(("bridge", "sriov"))
    found: Json = {"name": network["name"], binding: {}}
    if draw.random() < 0.1:
        found = {"name": network["name"], "binding": {"name": "passt"}}
    if draw.random() < 0.5:
        found["model"] = draw.choice(("virtio", "e1000", "e1000e", "rtl8139", "igb", "pcnet", ""))
    if draw.random() < 0.3:
        found["macAddress"] = draw.choice(_ADDRESSES)
    if draw.random() < 0.2:
        found["pciAddress"] = "0000:03:00.0"
    if draw.random() < 0.2 and binding != "sriov":
        found["state"] = draw.choice(("up", "down", ""))
    if draw.random() < 0.2:
        found["ports"] = [{"name": "http", "port": 80, "protocol": "TCP"}]
    return found


def _spoil(draw: Random, spec: Json) -> None:
    """Change one thing that is often wrong, or that is refused."""
    networks, interfaces = spec.get("networks", []), spec["domain"]["devices"].get("interfaces")
    if not networks or not interfaces:
        return
    interface, network = draw.choice(interfaces), draw.choice(networks)
    kind = draw.randrange(3)
    if kind == 0:
        key, value = draw.choice(_BAD_VALUES)
        interface[key] = value
    elif kind == 1:
        for key in ("masquerade", "bridge", "sriov", "binding"):
            interface.pop(key, None)
        interface.update(draw.choice(_BAD_BINDINGS))
    else:
        network.update(draw.choice(_BAD_NETWORKS))


_ADDRESSES = ("02:00:00:00:00:01", "02-00-00-00-00-02", "0200.0000.0003")
_BAD_VALUES: tuple[tuple[str, Any], ...] = (
    ("model", "vmxnet3"), ("model", "VirtIO"), ("model", 5), ("model", "e1000 "),
    ("macAddress", "02:00:00:00:00"), ("macAddress", "02:00:00:00:00:00"),
    ("macAddress", "02:00:00:00:00:00:00:01"), ("macAddress", "020000000001"),
    ("pciAddress", "03:00.0"), ("state", "absent"), ("state", "down"), ("state", "off"),
    ("name", "not here"), ("name", "other"), ("bootOrder", "1"), ("tag", 7),
    ("ports", [{"port": 0}]), ("ports", [{"name": "x"}]), ("ports", [{"port": 70000}]),
    ("ports", [{"port": 80, "protocol": "SCTP"}]), ("ports", [{"port": 80, "name": "Web_1"}]),
    ("ports", [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]),
    ("dhcpOptions", {"ntpServers": ["ntp.example.org"]}),
    ("dhcpOptions", {"privateOptions": [{"option": 100, "value": "x"}]}),
    ("dhcpOptions", {"privateOptions": [{"option": 224, "value": "x"}] * 2}),
    ("dhcpOptions", {"ntpServers": ["192.0.2.1"], "privateOptions": [{"option": 240}]}),
    ("portRanges", [{"start": 1, "end": 2, "protocol": "TCP"}]),
)  # fmt: skip
_BAD_BINDINGS: tuple[Json, ...] = (
    {}, {"masquerade": None}, {"masquerade": {}}, {"bridge": {}, "masquerade": {}}, {"sriov": {}},
    {"passtBinding": {}}, {"slirp": {}}, {"macvtap": {}}, {"passt": {}}, {"bridge": True},
    {"binding": {"name": "l2bridge"}}, {"bridge": {}, "binding": {"name": "passt"}},
)  # fmt: skip
_BAD_NETWORKS: tuple[Json, ...] = (
    {"pod": {}}, {"pod": None}, {"multus": None}, {"multus": {}}, {"multus": {"networkName": ""}},
    {"name": "n0"}, {"name": "other"}, {"multus": {"networkName": 4}},
    {"multus": {"networkName": "a", "default": True}},
    {"pod": None, "multus": {"networkName": "a", "default": True}},
)  # fmt: skip


def machines(seed: int, count: int) -> list[Json]:
    """So many of them."""
    return [machine(Random(f"{seed}/{number}")) for number in range(count)]


def asked(oracle: str, given: list[Json]) -> list[Answer]:
    """What KubeVirt makes of each."""
    text = "".join(f"{json.dumps(one)}\n" for one in given)
    done = subprocess.run([oracle], input=text, stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        Answer(
            one["refused"] or [],
            [(name, model, queues) for name, model, queues in one["nics"] or ()],
        )
        for one in answers
    ]


def is_setting(answer: Answer) -> bool:
    """True if KubeVirt refuses a machine for the cluster's settings only."""
    return bool(answer.refused) and all(
        any(words in reason for words in _SETTINGS) for reason in answer.refused
    )


def disagreement(given: Json, answer: Answer) -> str:
    """Where the two differ on a machine; empty if they agree, or if a setting decides."""
    (domain,) = read_bytes(json.dumps(given).encode(), target="t", file=None)
    assert isinstance(domain, Domain)
    reasons = [*_refusals(domain)]
    if is_setting(answer):
        return ""
    if bool(answer.refused) != bool(reasons):
        return f"KubeVirt: {answer.refused or 'admitted'}; here: {reasons or 'nothing'}"
    ours = []
    if answer.refused:
        starts = [resolve_manifest(nic.declared, domain.declared, HostConfig()).starts
                  for nic in domain.nics]  # fmt: skip
        return "refused, and said to start" if starts and all(starts) else ""
    for nic in domain.nics:
        found = resolve_manifest(nic.declared, domain.declared, HostConfig())
        if not found.starts and domain.declared.arch != "s390x":  # QEMU has few models there
            return "admitted, and said not to start"
        if nic.declared.type != "hostdev" and not nic.declared.plugin:
            ours.append((nic.alias or "", found.model.effective, found.queues.effective))
    theirs = [(name, model, queues) for name, model, queues in answer.nics]
    return "" if ours == theirs else f"KubeVirt: {theirs}; here: {ours}"


def _refusals(domain: Domain) -> Iterator[str]:
    if domain.unjudged:
        yield domain.unjudged
    for finding in _JUDGE.audit_domain(domain, HostConfig(), "t").findings:
        if finding.severity == "error" and "admi" in finding.message:
            yield finding.message


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.kubevirt")
    parser.add_argument("oracle")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}")
    drawn = machines(given.seed, given.count)
    answers = asked(given.oracle, drawn)
    found = [(number, text) for number, pair in enumerate(zip(drawn, answers, strict=True))
             if (text := disagreement(*pair))]  # fmt: skip
    for number, text in found:
        print(f"{number}: {text}\n  {json.dumps(drawn[number]['spec']['template']['spec'])}")
    refused = sum(bool(answer.refused) and not is_setting(answer) for answer in answers)
    settings = sum(map(is_setting, answers))
    print(
        f"{len(found)} disagreements in {given.count} machines: {refused} refused, {settings} "
        f"refused by a setting, {sum(len(answer.nics) for answer in answers)} NICs compared"
    )
    if given.record:
        recorded.write(DATA, given.seed, drawn, answers)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
