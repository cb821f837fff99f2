"""A private key (PEM) has no name that says what it is, and the ``data`` of a Kubernetes Secret has
names of any kind: a diff showed both, beside a virtual machine in the same file."""

import pytest

from vnicaudit.reports.safe import Paint
from vnicaudit.reports.unified_diff import MASKED, diff_lines
from vnicaudit.text.secrets import masked

SECRET = "S3cr3tW0rd"
KEYS = {
    "ini": "x = 1\n-----BEGIN RSA PRIVATE KEY-----\n"
    f"{SECRET}\n-----END RSA PRIVATE KEY-----\nmtu = 2\n",
    "yaml": "data:\n  tls: |\n    -----BEGIN PRIVATE KEY-----\n"
    f"    {SECRET}\n    {SECRET}\n    -----END PRIVATE KEY-----\n  mtu: 2\n",
    "json": f'{{"x": ["-----BEGIN EC PRIVATE KEY-----\\n{SECRET}\\n-----END EC PRIVATE KEY-----"], '
    '"mtu": 2}\n',
    "xml": "<a>\n<b>-----BEGIN OPENSSH PRIVATE KEY-----\n"
    f"{SECRET}\n-----END OPENSSH PRIVATE KEY-----</b>\n<y/>\n</a>\n",
}
SECRETS = {
    "data first": f"apiVersion: v1\ndata:\n  anything: {SECRET}\nkind: Secret\nmtu: 2\n",
    "string data": f"kind: Secret\nstringData:\n  any: |\n    {SECRET}\n  b: {SECRET}\nmtu: 2\n",
    "flow": f"kind: 'Secret'\ndata: {{anything: {SECRET}}}\nmtu: 2\n",
    "list": f"items:\n- kind: Secret\n  data:\n    anything: {SECRET}\n  mtu: 2\n",
    "json": f'{{\n  "kind": "Secret",\n  "data": {{\n    "a": "{SECRET}"\n  }},\n  "mtu": 2\n}}\n',
}


@pytest.mark.parametrize("text", [*KEYS.values(), *SECRETS.values()], ids=[*KEYS, *SECRETS])
def test_what_no_name_tells_is_masked_and_what_follows_is_not(text: str) -> None:
    shown = masked(text)
    assert SECRET not in shown
    assert "***" in shown
    assert shown.count("\n") == text.count("\n")
    after = [
        line
        for line in text.split("\n")
        if line.endswith(("mtu: 2", "mtu = 2", '"mtu": 2', "<y/>"))
    ]
    assert all(line in shown.split("\n") or SECRET in line for line in after)


def test_a_diff_ends_before_the_secret_beside_a_change() -> None:
    text = f"data:\n  anything: {SECRET}\nkind: Secret\n---\nmodel: e1000\n"
    lines = list(diff_lines(text, text.replace("e1000", "virtio"), "vm.yaml", Paint(color=False)))
    assert SECRET not in "".join(lines)
    assert lines == [
        "--- vm.yaml\n", "+++ vm.yaml\n", "@@ -3,3 +3,3 @@\n",
        " kind: Secret\n", " ---\n", "-model: e1000\n", "+model: virtio\n",
    ]  # fmt: skip


def test_a_diff_shows_stars_for_the_secret_in_a_changed_line() -> None:
    text = f"{{kind: Secret, data: {{anything: {SECRET}}}, model: e1000}}\n"
    lines = list(diff_lines(text, text.replace("e1000", "virtio"), "vm.yaml", Paint(color=False)))
    assert lines[0] == f"{MASKED}\n"
    assert lines[-1] == "+{kind: Secret, data: {anything: ***}, model: virtio}\n"


def test_data_of_other_objects_is_shown() -> None:
    text = "kind: ConfigMap\ndata:\n  rx_queue_size: 1024\n  kind: Secretary\n"
    assert masked(text) == text
