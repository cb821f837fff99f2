"""A KubeVirt manifest beside a good one, or one whose body is not where KubeVirt looks for it, was
dropped: "No problems in 1 domain", or "There was nothing to judge", with exit code 0."""

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
OFF = "is not read by KubeVirt, which refuses it: not judged (it reads"
SPACES = (
    "indented with no-break spaces, which YAML takes for a part of the key: not judged as it is "
    "meant; use plain spaces"
)


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


def test_code_in_prose_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("`apiVersion: kubevirt.io/v1` was `v1alpha3` before.\n")
    (tmp_path / "vm.yaml").write_text(GOOD)
    done = vnicaudit("audit", tmp_path)
    assert done.returncode == 0
    assert done.stdout.endswith("\nNo problems in 1 domain, 1 NIC\n")


def _without(text: str, line: str) -> str:
    """The text without a line, and with what was below it one level up."""
    lines = text.splitlines(keepends=True)
    at = lines.index(line + "\n")
    depth = len(line) - len(line.lstrip())
    below = [text.removeprefix("  ") if text[depth] == " " else text for text in lines[at + 1 :]]
    return "".join(lines[:at] + below)


WRONG = {
    "the body one level off": (
        _without(_without(GOOD, "  template:"), "  spec:"),
        (5, f"spec.domain {OFF} spec.template.spec.domain)"),
    ),
    "a template without its spec": (
        _without(GOOD, "    spec:"),
        (6, f"spec.template.domain {OFF} spec.template.spec.domain)"),
    ),
    "devices beside their domain": (
        _without(GOOD, "      domain:"),
        (8, f"spec.template.spec.devices {OFF} spec.template.spec.domain.devices)"),
    ),
    "interfaces beside devices": (
        _without(GOOD, "        devices:"),
        (9, f"spec.template.spec.domain.interfaces {OFF} "
            "spec.template.spec.domain.devices.interfaces)"),
    ),
    "an instance with the body of a machine": (
        GOOD.replace("VirtualMachine\n", "VirtualMachineInstance\n"),
        (7, f"spec.template.spec.domain {OFF} spec.domain)"),
    ),
    "an empty spec": (
        GOOD[: GOOD.index("  template")], (4, "spec is empty: not judged (KubeVirt refuses it)"),
    ),
    "an empty domain": (
        GOOD[: GOOD.index("        cpu")],
        (7, "spec.template.spec.domain is empty: not judged (KubeVirt refuses it)"),
    ),
    "no-break spaces": (
        GOOD[: GOOD.index("          interfaces")].replace("  ", "\u00a0\u00a0"), (5, SPACES),
    ),
    "one no-break space, in an interface": (
        GOOD.replace("- {name: n, model: virtio, bridge: {}}",
                     "- name: n\n            bridge: {}\n            \u00a0model: e1000"),
        (13, SPACES),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "error"), WRONG.values(), ids=WRONG)
def test_what_kubevirt_does_not_find_is_told(
    tmp_path: Path, text: str, error: tuple[int, str]
) -> None:
    assert errors(tmp_path, text) == [error]


PIECES = {
    "a patch": GOOD[: GOOD.index("  template")] + "  runStrategy: Halted\n",
    "a patch of metadata": GOOD[: GOOD.index("spec:")],
    "a chart": GOOD[: GOOD.index("      domain")] + "      {{- toYaml .Values.vm | nindent 6 }}\n",
    "a chart that names a part": GOOD.replace("{name: a, ", "{name: {{ .Values.name }}, "),
    "what KubeVirt found": GOOD + "status: {domain: {devices: {}}, interfaces: [{name: n}]}\n",
    "a name that is a part's": GOOD.replace("namespace: lab", "labels: {domain: x, devices: y}"),
    "no-break spaces in a text": GOOD + "  # \u00a0\u00a0a remark\n  name: 'a\u00a0b'\n",
}


@pytest.mark.parametrize("text", PIECES.values(), ids=PIECES)
def test_pieces_and_whole_manifests_are_in_order(tmp_path: Path, text: str) -> None:
    (tmp_path / "vm.yaml").write_text(text)
    assert vnicaudit("audit", tmp_path).returncode == 0
