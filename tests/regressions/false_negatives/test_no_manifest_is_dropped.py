"""A KubeVirt manifest beside a good one, or one whose body is not where KubeVirt looks for it, was
dropped: "No problems in 1 guest", or "There was nothing to judge", with exit code 0."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside as vnicaudit

GOOD = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: a, namespace: lab}
spec:
  template:
    spec:
      domain:
        cpu: {cores: 2}
        devices:
          interfaces:
          - {name: n, model: virtio, bridge: {}}
      networks:
      - {name: n, multus: {networkName: br1}}
"""


def errors(folder: Path, text: str) -> list[tuple[int, str]]:
    """Line and message of each error of an audit of such a file, which has to end with 4."""
    file = folder / "vm.yaml"
    file.write_text(text)
    done = vnicaudit("audit", folder, "--format", "json")
    assert done.returncode == 4
    (target,) = json.loads(done.stdout)["targets"]
    return [(error["line"], error["message"]) for error in target["errors"]]


@pytest.mark.parametrize("stray", ["`", "``", "@"])
def test_a_document_that_begins_with_what_yaml_refuses(tmp_path: Path, stray: str) -> None:
    (error,) = errors(tmp_path, f"{stray}{GOOD}---\n{GOOD}")
    said = f"not YAML: found character '{stray[0]}' that cannot start any token"
    assert error == (1, said)
    assert errors(tmp_path, stray + GOOD) == [(1, said)]
