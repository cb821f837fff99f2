"""Linting KubeVirt manifests, compared with bare loading of the same files.

    python -m benchmarks.manifests [--files 1000] [--rounds 3]

Creates FILES manifests of about 1.8 KB (a VirtualMachine with two interfaces; models, vCPUs and
references vary), and three instance types and three preferences that they refer to. Then it
measures in turn, each in a process of its own:

* floor: a loop of ``YAML(typ="safe").load`` of ruamel.yaml over the files, with its C parser if
  installed, and one of ``YAML().load`` (its default, which keeps comments);
* lint: ``vnicaudit audit DIR --format json --output /dev/null``.

Prints CPU time (user + system, including child processes) of each, and the ratios.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.files import measure

FLOOR = """
import os, sys
from ruamel.yaml import YAML
for entry in os.scandir(sys.argv[1]):
    with open(entry.path, "rb") as file:
        for document in YAML({}).load_all(file):
            pass
"""

_MACHINE = """---
# {name}: made by a benchmark
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: {name}
  namespace: lab
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: lab
    kubevirt.io/os: {system}
spec:
  runStrategy: Always{instancetype}
  preference:
    kind: VirtualMachineClusterPreference
    name: {preference}
  template:
    metadata:
      labels:
        kubevirt.io/domain: {name}
        kubevirt.io/size: small
    spec:
      domain:{cpu}
        devices:
          disks:
          - disk:
              bus: virtio
            name: root
          - disk:
              bus: virtio
            name: seed
          interfaces:
          - masquerade: {{}}
            name: default{model}
            ports:
            - name: http
              port: 80
          - bridge: {{}}
            macAddress: 02:00:00:{high:02x}:{middle:02x}:{low:02x}
            name: secondary
          networkInterfaceMultiqueue: {multiqueue}
          rng: {{}}
        memory:
          guest: 8Gi
        resources:
          requests:
            memory: 8Gi
      evictionStrategy: LiveMigrate
      networks:
      - name: default
        pod: {{}}
      - multus:
          networkName: lab/vlan-{vlan}
        name: secondary
      terminationGracePeriodSeconds: 180
      volumes:
      - containerDisk:
          image: quay.io/containerdisks/fedora:40
        name: root
      - cloudInitNoCloud:
          userData: |-
            #cloud-config
            hostname: {name}
            ssh_pwauth: false
            packages:
            - qemu-guest-agent
            runcmd:
            - systemctl enable --now qemu-guest-agent
        name: seed
"""
_BESIDE = """---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {{name: size-{number}}}
spec: {{cpu: {{guest: {vcpus}}}, memory: {{guest: 8Gi}}}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterPreference
metadata: {{name: preference-{number}, labels: {{instancetype.kubevirt.io/os-type: linux}}}}
spec: {{devices: {{preferredInterfaceModel: {model}}}}}
"""


def manifest(number: int, dice: random.Random) -> str:
    """One virtual machine."""
    sized = dice.random() < 0.5
    model = dice.choice([None] * 4 + ["virtio"] * 4 + ["e1000", "rtl8139"])
    return _MACHINE.format(
        name=f"vm-{number:06d}",
        system=dice.choice(["fedora40", "rhel9", "windows11"]),
        instancetype=f"\n  instancetype:\n    name: size-{dice.randrange(3)}" if sized else "",
        preference=f"preference-{dice.randrange(3)}",
        cpu="" if sized else f"\n        cpu:\n          cores: {dice.choice([1, 2, 4, 8])}",
        model="" if model is None else f"\n            model: {model}",
        multiqueue=dice.choice(["true", "false"]),
        vlan=dice.randrange(10, 20),
        high=number >> 16 & 255,
        middle=number >> 8 & 255,
        low=number & 255,
    )


def main() -> None:
    """Create the files, measure in turn, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{arguments.files} manifests, {_fill(folder, arguments.files):.0f} bytes each")
        ratios = [_round(folder) for _ in range(arguments.rounds)]
    safe, default = zip(*ratios, strict=True)
    print(
        f"median ratio of CPU time: {statistics.median(safe):.2f} to the safe load, "
        f"{statistics.median(default):.2f} to the default one"
    )


def _fill(folder: str, files: int) -> float:
    dice = random.Random(20261121)
    sizes = []
    for number in range(files):
        text = manifest(number, dice)
        sizes.append(len(text))
        Path(folder, f"{number:06d}.yaml").write_text(text)
    for number, model in enumerate(("virtio", "virtio", "e1000e")):
        text = _BESIDE.format(number=number, vcpus=2 << number, model=model)
        Path(folder, f"beside-{number}.yaml").write_text(text)
    return statistics.mean(sizes)


def _round(folder: str) -> tuple[float, float]:
    safe = measure([sys.executable, "-c", FLOOR.format("typ='safe'"), folder])
    default = measure([sys.executable, "-c", FLOOR.format(""), folder])
    lint = measure([sys.executable, "-m", "vnicaudit", "audit", folder, "--format", "json",
                    "--output", "/dev/null"])  # fmt: skip
    print(
        f"safe load {safe.cpu:.2f} s CPU | default load {default.cpu:.2f} s | lint "
        f"{lint.cpu:.2f} s, {lint.wall:.2f} s wall, peak {lint.peak / 1024:.0f} MiB | ratio "
        f"{lint.cpu / safe.cpu:.2f} and {lint.cpu / default.cpu:.2f}"
    )
    return lint.cpu / safe.cpu, lint.cpu / default.cpu


if __name__ == "__main__":
    main()
