"""Changes written into manifests: the bytes that differ, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.rows import rows
from tests.text.parsers import parser as parser
from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Change, Location
from vnicaudit.platforms.kubevirt.write import edits_for, text_of
from vnicaudit.text.edits import applied

_NIC = "/spec/domain/devices/interfaces/0"
_TOP = "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\n"


def _edited(text: str, change: Change, pointer: str = _NIC) -> str:
    data = text.encode()
    return applied(data, edits_for(data, Location("x", "vm.yaml", 1, pointer), change)).decode()


_MODEL = Change("model", "e1000", "virtio", safe=True)
_QUEUES = Change("queues", None, "4", safe=False)


@rows
def test_only_the_change_is_written(
    before: str, field: str, old: str | None, new: str | None, after: str
) -> None:
    change = Change(field, old, new, safe=True)
    top = "" if before.startswith("{") or "{domain" in before else _TOP
    if "\r\n" in before:
        top = top.replace("\n", "\r\n")
    assert _edited(top + before, change) == top + after


def test_one_of_several_documents() -> None:
    one = f"{_TOP}spec:\n  domain:\n    devices:\n      interfaces:\n      - name: a\n"
    text = f"# first\n---\n{one}---\n{one}"
    result = _edited(text, _MODEL, f"[2]{_NIC}")
    assert result == f"{text}        model: virtio\n"


@pytest.mark.parametrize("number", ["", "[2]"])
def test_one_of_a_list_of_json(number: str) -> None:
    one = '{"kind": "VirtualMachine", "é": {"interfaces": [{"name": "ü", "model": "e1000"}]}}'
    listed = f'{{"kind": "List", "items": [\n  {one.replace("é", "devices")},\n  {one}]}}\n'
    listed = listed.replace('"é"', '"devices"')
    text = f"{one}\n{listed}".replace("\n  ", "") if number else listed
    result = _edited(text, _MODEL, f"{number}/items/1/devices/interfaces/0")
    before, _, behind = text.rpartition("e1000")
    assert result == f"{before}virtio{behind}"
    with pytest.raises(RefusedError, match="no longer in the file"):
        _edited(text, _MODEL, f"{number}/items/2/devices/interfaces/0")


def test_a_preference() -> None:
    text = "spec:\n  devices:\n    preferredInterfaceModel: e1000 # old\n"
    change = Change("interface_model", "e1000", "virtio", safe=True)
    result = _edited(text, change, "/spec/devices/preferredInterfaceModel")
    assert result == text.replace("e1000", "virtio")


@rows
def test_a_change_that_cannot_be_written(
    text: str, field: str, old: str | None, new: str | None, reason: str
) -> None:
    change = Change(field, old, new, safe=True)
    indented = "".join(f"      {line}\n" for line in text.splitlines())
    with pytest.raises(RefusedError, match=reason):
        _edited(f"{_TOP}spec:\n  domain:\n    devices:\n      interfaces:\n{indented}", change)


@pytest.mark.parametrize("pointer", ["/networkInterfaceMultiqueue", ""])
def test_multiqueue_of_the_whole_machine(pointer: str) -> None:
    text = (
        f"{_TOP}spec:\n  domain:\n    devices:\n      interfaces: [{{name: a}}]\n"
        "      networkInterfaceMultiqueue: true\n"
    )
    change = Change("multiqueue", "true", "false", safe=False)
    result = _edited(text, change, f"/spec/domain/devices{pointer}")
    assert result == text.replace("true", "false")


_REMARK = st.sampled_from(["", "  # one", " #"])
_FIELDS = st.lists(
    st.sampled_from(
        ["masquerade: {}", "bridge: {}", "macAddress: 'a'", "ports: [{port: 80}]", "# x"]
    ),
    max_size=3,
    unique=True,
)


@st.composite
def _manifests(draw: st.DrawFn) -> str:
    """A virtual machine with one to three interfaces, laid out in many ways."""
    indent = " " * draw(st.integers(0, 3))
    dash = "-" + " " * draw(st.integers(1, 3))
    lines = ["spec:", "  domain:", "    devices:"]
    lines += draw(
        st.sampled_from([[], ["      disks:", "      - name: d"], ["      # about NICs"]])
    )
    lines.append("      interfaces:")
    for number in range(draw(st.integers(1, 3))):
        fields = draw(_FIELDS)
        name = f"name: {draw(st.sampled_from(['n{}', chr(34) + 'n{}' + chr(34)])).format(number)}"
        models = ["e1000", "'e1000'", '"virtio"']
        model = draw(st.sampled_from([None, *models]))
        given = [name, *([f"model: {model}"] if model else []), *fields]
        if draw(st.booleans()):
            plain = [field for field in draw(st.permutations(given)) if field[0] != "#"]
            lines.append(f"      {indent}{dash}{{{', '.join(plain)}}}{draw(_REMARK)}")
            continue
        first, *rest = given
        lines.append(f"      {indent}{dash}{first}{draw(_REMARK)}")
        lines += [f"      {indent}{' ' * len(dash)}{field}{draw(_REMARK)}" for field in rest]
    lines += draw(
        st.sampled_from([[], [""], ["      rng: {}"], ["", "  # networks", "  networks: []"]])
    )
    return draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""])


@given(_manifests(), st.integers(0, 2), st.sampled_from([_MODEL, _QUEUES]))
def test_any_layout(text: str, number: int, change: Change) -> None:
    """The result says what the source says, but for the one field; and every line of the source
    is there still, but for one that had another value."""
    wanted = YAML(typ="safe").load(text)
    devices = wanted["spec"]["domain"]["devices"]
    number = min(number, len(devices["interfaces"]) - 1)
    if change is _MODEL:
        devices["interfaces"][number]["model"] = "virtio"
    else:
        devices["networkInterfaceMultiqueue"] = True
    result = _edited(text, change, f"/spec/domain/devices/interfaces/{number}")
    assert YAML(typ="safe").load(result) == wanted
    before, after = text.split("\n"), result.split("\n")
    assert 0 <= len(after) - len(before) <= 1
    assert sum(line not in after for line in before) <= 1


def test_text_to_be_shown() -> None:
    assert text_of(b"\xef\xbb\xbfkind: \xff\n") == "kind: \udcff\n"
