"""Masking went line by line: what one line, or the next, holds of a map or a list was shown. A
Kubernetes Secret in flow style, JSON without line breaks, a value below its key, a list of
passwords, an environment in one line. Each with something beside it that must still be seen."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.rows import rows
from vnicaudit.text.secrets import masked, masked_message

SECRET = "S3cr3tW0rd"
KEPT = "kept1000"

KUBERNETES = {
    "flow": f"kind: Secret\nstringData: {{foo: {SECRET}, bar: {SECRET}}}\nmodel: {KEPT}\n",
    "flow of a whole document": (
        f"{{kind: Secret, stringData: {{foo: {SECRET}, bar: {SECRET}}}, model: {KEPT}}}\n"
    ),
    "flow over lines": (
        f"stringData: {{foo: {SECRET},\nbar: {SECRET}\n}}\nkind: Secret\nmodel: {KEPT}\n"
    ),
    "flow in a list": f"items: [{{kind: Secret, data: {{foo: {SECRET}}}}}, {{model: {KEPT}}}]\n",
    "kind with a tag": f"kind: !!str Secret\nstringData:\n  foo: {SECRET}\nmodel: {KEPT}\n",
    "kind below": f"kind:\n  Secret\ndata:\n  foo: {SECRET}\nmodel: {KEPT}\n",
    "json in one line": json.dumps({"kind": "Secret", "data": {"a": SECRET}, "model": KEPT}),
    "json without blanks": json.dumps(
        {"items": [{"kind": "Secret", "stringData": {"a": SECRET, "b": "1"}}, {"model": KEPT}]},
        separators=(",", ":"),
    ),
    "json indented": json.dumps({"kind": "Secret", "data": {"a": SECRET}, "model": KEPT}, indent=2),
}  # fmt: skip
JSON = {
    "value below": f'{{"a": 1,\n"password":\n"{SECRET}",\n"model": "{KEPT}"}}\n',
    "value below, with CR": f'{{\r\n"password":\r\n  "{SECRET}",\r\n"model": "{KEPT}"}}\r\n',
    "colon below": f'{{"password"\n : "{SECRET}",\n"model": "{KEPT}"}}\n',
    "list": f'{{"passwords": ["{SECRET}", "{SECRET}"], "model": "{KEPT}"}}\n',
    "list over lines": f'{{"a": 1, "passwords": [\n"{SECRET}",\n"{SECRET}"], "model": "{KEPT}"}}\n',
    "map": f'{{"userData": {{"a": "}}", "b": ["{SECRET}"]}}, "model": "{KEPT}"}}\n',
    "slashes escaped": f'{{"image": "https:\\/\\/u:{SECRET}@h\\/a", "model": "{KEPT}"}}\n',
    "environment": f'[{{"name": "DB_PASSWORD", "value": "{SECRET} b"}}, {{"model": "{KEPT}"}}]\n',
    "environment backwards": (
        f'[{{"value": "{SECRET}", "name": "DB_TOKEN"}}, {{"model": "{KEPT}"}}]\n'
    ),
}  # fmt: skip
YAML = {
    "list": f"a: {{passwords: [{SECRET}, {SECRET}], model: {KEPT}}}\n",
    "list over lines": f"passwords: [\n{SECRET},\n{SECRET}]\nmodel: {KEPT}\n",
    "map": f"a: {{user_data: {{template: '}} {SECRET}', b: {SECRET}}}, model: {KEPT}}}\n",
    "two words": f"a: {{password: my {SECRET}, model: {KEPT}}}\n",
    "doubled quote": f"a: {{password: 'it''s {SECRET}', model: {KEPT}}}\n",
    "tag": f"a: {{password: !vault 'a, {SECRET}', model: {KEPT}}}\n",
    "quotes over lines": f'a: {{password: "b\n  \\"c\\" {SECRET}", model: {KEPT}}}\n',
    "quotes over lines, with quotes in it": (
        f'password: "a \\"\n  b \\" c\n  {SECRET}"\nmodel: {KEPT}\n'
        f"passwd: 'a\n  b '' it's c\n{SECRET}'\nmodel: {KEPT}\n"
    ),
    "environment": f"- {{name: X_PASSWORD, value: {SECRET}}}\n- {{model: {KEPT}}}\n",
    "environment backwards": f"- value: {SECRET}\n  name: X_PASSWORD\n- model: {KEPT}\n",
    "chpasswd": f"chpasswd: {{expire: false, list: 'root:{SECRET}'}}\nmodel: {KEPT}\n",
    "block": f"- password: !!str |-\n    {SECRET}\n\n    {SECRET}\n  model: {KEPT}\n",
}
HCL = {
    "list": f'passwords = [\n"{SECRET}",\n"{SECRET}",\n]\nmodel = "{KEPT}"\n',
    "map": f'secrets = {{\na = "{SECRET}"\nb = "}}"\nc = "{SECRET}"\n}}\nmodel = "{KEPT}"\n',
    "call of a here-document": (
        f'user_data = base64encode(\n<<-EOF\nit\'s ) {SECRET}\n  EOF\n)\nmodel = "{KEPT}"\n'
    ),
    "call of a list": f'user_data = join("\\n", [\n"{SECRET}",\n"{SECRET}"\n])\nmodel = "{KEPT}"\n',
    "shell words joined": f"PASSWORD='a'\"{SECRET}\"{SECRET} cmd\nmodel={KEPT}\n",
}
BLOCKS = {
    "default": f'variable "db_password" {{\n  default = "{SECRET}"\n}}\nmodel = "{KEPT}"\n',
    "default in one line": f'variable "token" {{ default = "{SECRET}" }}\nmodel = "{KEPT}"\n',
    "sensitive": (
        f'variable "a" {{\n  default = "{SECRET}"\n  sensitive = true\n}}\n'
        f'variable "b" {{\n  model = "{KEPT}"\n}}\n'
    ),
    "sensitive output": (
        f'output "a" {{\nsensitive=true\nvalue = "{SECRET}"\n}}\nmodel = "{KEPT}"\n'
    ),
    "list of a variable": (
        f'variable "tokens" {{\ndefault = ["a", "{SECRET}"]\n}}\nmodel = "{KEPT}"\n'
    ),
    "here-document of a variable": (
        f'variable "private_key" {{\n  default = <<EOT\n{SECRET}\n{SECRET}\nEOT\n}}\n'
        f'model = "{KEPT}"\n'
    ),
}  # fmt: skip
SHELL = {
    "curl": f"curl -s -u admin:{SECRET} https://h/{KEPT}\n",
    "curl, long and quoted": f"curl --user 'admin:{SECRET}' https://h/{KEPT}\n",
    "curl, in a list": f'- ["curl", "-u", "admin:{SECRET}", "https://h/{KEPT}"]\n',
    "sshpass": f"sshpass -p {SECRET} ssh root@{KEPT}\n",
    "sshpass, joined and quoted": f"sshpass -p'{SECRET} b' ssh root@{KEPT}\n",
    "sshpass, in a list": f'- ["sshpass", "-p", "{SECRET}", "ssh", "{KEPT}"]\n',
    "mysql": f"mysql -u root -p{SECRET} {KEPT}\n",
    "mysqldump": f"  mysqldump --host h -uroot -p'{SECRET}' {KEPT}\n",
    "chpasswd": f"echo root:{SECRET} | chpasswd; echo {KEPT}\n",
    "chpasswd, quoted": f"- echo 'root:{SECRET} b' | sudo chpasswd -e # {KEPT}\n",
    "chpasswd, several": f'echo -e "root:{SECRET}\\nu:{SECRET}" | /usr/sbin/chpasswd # {KEPT}\n',
    "virsh": f"virsh set-user-password {KEPT} root {SECRET}\n",
    "virsh, encrypted": f"virsh set-user-password --encrypted {KEPT} root '{SECRET}'\n",
    "signature of Azure": f"wget 'https://h/{KEPT}?sv=2024&sig={SECRET}%3D&se=2030'\n",
    "signature of S3": f"image = https://h/a?X-Amz-Date={KEPT}&X-Amz-Signature={SECRET}\n",
    "signature of Swift": f"curl https://h/a?temp_url_sig={SECRET}&temp_url_expires={KEPT}\n",
}
ALL = {
    f"{kind}: {name}": text
    for kind, texts in (
        ("Kubernetes", KUBERNETES),
        ("JSON", JSON),
        ("YAML", YAML),
        ("HCL", HCL),
        ("Terraform", BLOCKS),
        ("shell", SHELL),
    )
    for name, text in texts.items()
}


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_no_secret_is_shown_and_what_stands_beside_it_is(text: str) -> None:
    shown = masked(text)
    assert SECRET not in shown
    assert shown.count(KEPT) == len(re.findall(rf"model.*{KEPT}", text))
    assert [line.endswith("\r") for line in shown.split("\n")] == [
        line.endswith("\r") for line in text.split("\n")
    ]
    assert masked(shown) == shown


@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
def test_no_message_shows_one_either(text: str) -> None:
    assert SECRET not in masked_message(text)


MISTYPED = (
    f"postgresql:/u:{SECRET}@h/db", f"qemu+ssh:///root:{SECRET}@h/system",
    f"qemu+ssh://root:a/{SECRET}@h/system", f"https://u:a@{SECRET}@h/", f"s3://u%3A{SECRET}@h/x",
    f"qemu+ssh//root:{SECRET}@h/system", f"root:a/{SECRET}@h", f"root:/{SECRET}@h",
    f"'u:{SECRET}@h'",
    f"root%3a{SECRET}@h", f"ansible_host=root:a@{SECRET}@h",
)  # fmt: skip


@pytest.mark.parametrize("address", MISTYPED)
def test_no_mistyped_address_is_shown_whole(address: str) -> None:
    shown = masked_message(f"{KEPT}: {address}: no answer from {KEPT}")
    assert SECRET not in shown
    assert shown.count(KEPT) == 2


@rows
def test_what_only_resembles_a_password_is_shown(text: str) -> None:
    assert masked_message(text) == text


def test_no_part_of_a_token_of_several_lines_is_shown() -> None:
    """As http.client quotes it."""
    header = f"Bearer {SECRET}\r\n{SECRET}"
    assert SECRET not in masked_message(f"Invalid header value {header.encode()!r}")


@rows
def test_known_options_and_switches_are_shown(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("mark", ["{", "[", "'", '"', "f("])
def test_what_is_never_closed_hides_a_secret_and_not_the_rest(mark: str) -> None:
    shown = masked(f"mtu = 1\npassword = {mark}{SECRET}\nrx_queue_size = 2048\n")
    assert SECRET not in shown
    assert "mtu = 1\n" in shown
    assert "rx_queue_size = 2048" in shown or mark in "'\""


MANIFESTS = {
    "vm.yaml": f"""\
apiVersion: v1
kind: List
items:
- {{apiVersion: v1, kind: Secret, stringData: {{note: {SECRET}, b: {SECRET}}}}}
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata: {{name: vm1, namespace: n}}
  spec:
    template:
      spec:
        volumes:
        - {{name: ci, cloudInitNoCloud: {{userData: "#cloud-config\\npasswd: {SECRET}"}}}}
        domain:
          devices:
            interfaces:
            - {{name: default, model: e1000, masquerade: {{}}}}
        networks:
        - {{name: default, pod: {{}}}}
- {{kind: Secret, apiVersion: v1, metadata: {{name: c}}, data: {{d: {SECRET}}}}}
""",
    "vm.json": f"""\
{{"apiVersion": "v1", "kind": "List", "items": [
{{"kind": "Secret", "apiVersion": "v1", "data": {{"a": "{SECRET}", "b": "{SECRET}"}}}},
{{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {{"name": "vm2"}},
 "spec": {{"template": {{"spec": {{"domain": {{"devices": {{"interfaces": [
 {{"name": "default", "model": "e1000", "masquerade": {{}}}}]}}}},
 "volumes": [{{"name": "ci", "cloudInitNoCloud": {{"userData":
"{SECRET}", "networkData": {{"x": "{SECRET}"}}}}}}],
 "networks": [{{"name": "default", "pod": {{}}}}]}}}}}}}}]}}
""",
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_diff_shows_the_change_alone_and_the_file_keeps_its_secrets(
    name: str, tmp_path: Path
) -> None:
    text = MANIFESTS[name]
    place = tmp_path / name
    place.write_text(text)
    result = inside("audit", place, "--fix", "--diff", "--include-unsafe", "-vv")
    assert SECRET not in result.stdout + result.stderr
    changed = [line for line in result.stdout.splitlines() if line[:1] in "+-"]
    assert any("e1000" in line for line in changed if line[0] == "-"), result.stdout
    assert any("virtio" in line for line in changed if line[0] == "+")
    assert place.read_text() == text.replace("e1000", "virtio")


@pytest.mark.parametrize("set_it", ["libvirt rx_queue_size", "'libvirt/virt_type': value =>"])
def test_what_is_no_value_of_a_known_option_is_hidden(set_it: str) -> None:
    for value in (f"'a {SECRET}'", f'"{SECRET}:x@y"', f"x={SECRET}"):
        assert SECRET not in masked(f"crudini --set f {set_it} {value}\n")
    assert SECRET not in masked(f"crudini --set f libvirt rbd_secret_uuid {SECRET}\n")
