"""Compare what is said of random images and flavors with what Nova's own code makes of servers of
both.

    python -m tests.conformance.images PYTHON [--count 300] [--seed N] [--record]

PYTHON is that of an environment in which Nova is installed. A server that Nova refuses has to be
said to be refused; one that it makes must not be said to be refused by Nova, and an emulated model
has to be found, as one on which QEMU fails on the image's architecture. Prints the seed, each
disagreement and the totals; exit code 1 where there is one. ``--record`` writes the answers to
data/images.json, against which test_images.py compares without Nova.
"""

import argparse
import json
import random
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.conformance import recorded
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.audit.reading.files import read_stream
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.finding import Finding
from vnicaudit.model.openstack import Flavor, Image

DATA = Path(__file__).parent / "data/images.json"
_ORACLE = Path(__file__).parent / "images_oracle.py"
_BY_NOVA = ("Nova refuses", "driver refuses", "refuses the image", "cannot be built")
"""Words of findings on what Nova itself does not make."""
_MODEL_RULES = ("VNIC062", "VNIC070")
_PARAVIRTUAL = (None, "virtio")

_MODELS = (
    "virtio", "VirtIO", "e1000", "E1000", "e1000e", "igb", "rtl8139", "pcnet", "ne2k_pci",
    "vmxnet3", "spapr-vlan", "lan9118", "netfront", "vmxnet", "sriov", "VirtualE1000",
    "VirtualVmxnet3", "VirtualSriovEthernetCard", "virtio-net-pci", "virtio-net", "e1000-82545em",
    "vmxnet2", "rtl8029",
)  # fmt: skip
_FLAGS = ("true", "True", "yes", "1", "on", "false", "False", "no", "0", "off", "maybe")
_ARCHITECTURES = ("x86_64", "aarch64", "s390x", "S390X", "ppc64", "ppc64le", "i686")


class Pair(NamedTuple):
    """An image's properties, and a flavor's extra specs and vCPUs."""

    image: dict[str, str]
    flavor: dict[str, str]
    vcpus: int


class Answer(NamedTuple):
    """The error with which Nova refuses a server of both, or its NIC's model."""

    refused: str | None
    model: str | None


def pairs(seed: int, count: int) -> list[Pair]:
    """So many random ones."""
    return [_pair(Random(f"{seed}/{number}")) for number in range(count)]


def _pair(draw: Random) -> Pair:
    image: dict[str, str] = {}
    flavor: dict[str, str] = {}
    if draw.random() < 0.8:
        image["hw_vif_model"] = draw.choice(_MODELS)
    for name, chance in (
        ("hw_architecture", 0.5), ("architecture", 0.05), ("hw_emulation_architecture", 0.1),
    ):  # fmt: skip
        if draw.random() < chance:
            image[name] = draw.choice(_ARCHITECTURES)
    for name, spec in (
        ("hw_vif_multiqueue_enabled", "hw:vif_multiqueue_enabled"),
        ("hw_virtio_packed_ring", "hw:virtio_packed_ring"),
    ):
        if draw.random() < 0.4:
            image[name] = draw.choice(_FLAGS)
        if draw.random() < 0.4:
            flavor[spec] = draw.choice(_FLAGS)
    return Pair(image, flavor, draw.choice((1, 2, 4)))


def asked(python: str, given: list[Pair]) -> list[Answer]:
    """What Nova makes of each."""
    text = "".join(f"{json.dumps(one._asdict())}\n" for one in given)
    command = [python, "-I", str(_ORACLE)]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    return [Answer(*json.loads(line)) for line in done.stdout.splitlines()]


def disagreement(pair: Pair, answer: Answer) -> str:
    """Where the two differ on a pair; empty if they agree."""
    findings = _findings(pair)
    said = [f"{found.rule} {found.message}" for found in findings]
    by_nova = [
        found
        for found in findings
        if found.severity == "error" and any(words in found.message for words in _BY_NOVA)
    ]
    if answer.refused is not None:
        unbuilt = any(found.rule == "VNIC070" for found in findings)
        return "" if by_nova or unbuilt else f"Nova: {answer.refused}; here: {said}"
    if by_nova:
        return f"Nova makes it with {answer.model}; here: {said}"
    emulated = answer.model not in _PARAVIRTUAL
    told = any(found.rule in _MODEL_RULES for found in findings)
    if emulated is told or (answer.model == "spapr-vlan" and not told):
        return ""
    return f"Nova makes it with {answer.model}; here: {said}"


def _findings(pair: Pair) -> list[Finding]:
    text = f"""\
resource "openstack_images_image_v2" "a" {{
  name        = "i"
  disk_format = "qcow2"
  properties  = {_map(pair.image)}
}}
resource "openstack_compute_flavor_v2" "a" {{
  vcpus       = {pair.vcpus}
  extra_specs = {_map(pair.flavor)}
}}
resource "openstack_compute_instance_v2" "a" {{
  name      = "s"
  image_id  = openstack_images_image_v2.a.id
  flavor_id = openstack_compute_flavor_v2.a.id
}}
""".encode()
    items = list(read_stream(BytesIO(text), "t", every_platform().files))
    assert [type(item) for item in items] == [Image, Flavor], items
    judge = DescriptionAuditor(rule_ids(), every_platform().wordings)
    return [
        found
        for item in items
        if isinstance(item, Image | Flavor)
        for found in judge.audit(item, "t").findings
    ]


def _map(values: dict[str, str]) -> str:
    lines = (f"    {json.dumps(key)} = {json.dumps(value)}\n" for key, value in values.items())
    return f"{{\n{''.join(lines)}  }}"


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.images")
    parser.add_argument("python")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}")
    drawn = pairs(given.seed, given.count)
    answers = asked(given.python, drawn)
    found = 0
    for pair, answer in zip(drawn, answers, strict=True):
        if text := disagreement(pair, answer):
            found += 1
            print(f"{text}\n  {json.dumps(pair)}")
    refused = sum(answer.refused is not None for answer in answers)
    print(f"{found} disagreements in {given.count} pairs: {refused} refused by Nova")
    if given.record:
        recorded.write(DATA, given.seed, drawn, answers)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
