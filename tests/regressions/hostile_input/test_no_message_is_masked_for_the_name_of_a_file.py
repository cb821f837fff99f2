"""``vnicaudit audit file:///etc/passwd`` said "*** a libvirt URI": the path ends in a secret's
name, a colon follows, and "not" was taken for the password. What is said of a file is no value;
what is assigned to a name still is."""

from pathlib import Path

import pytest

from tests.cli.inside import inside
from vnicaudit.text.secrets import masked_message

SECRET = "S3cr3tW0rd"

MESSAGES = [
    "file:///etc/passwd: not a supported libvirt URI; it must begin with qemu",
    "/etc/passwd: not a file",
    "passwd: not a domain",
    "vms/secret: cannot be read",
    "vms/secret:12:4: mapping values are not allowed here",
    "/etc/shadow-password: permission denied for this user",
    "'/etc/nova/admin-password': is a folder",
    "https://cloud.example.org/v3/auth/tokens: not found",
    "https://cloud.example.org/identity/v3/auth/tokens: answered with status 503",
    "./token: unexpected end of the file",
    "secret.xml: 3: Opening and ending tag mismatch",
    "secret.xml:3: unclosed",
    "token.json:12: error",
    "token.json:12:7: Expecting value",
    "my-token.yaml: 3 guests could not be read",
]


@pytest.mark.parametrize("message", MESSAGES)
def test_what_is_said_of_a_file_is_shown(message: str) -> None:
    assert masked_message(message) == message
    assert masked_message(f"vnicaudit: error: {message}") == f"vnicaudit: error: {message}"


@pytest.mark.parametrize(
    "text",
    [
        f"password: {SECRET}",
        f"password: {SECRET} and more",
        f"db/password: {SECRET} and more",
        f"/db/password: {SECRET}",
        f"/db/password: '{SECRET}' is too long",
        f"/db/password={SECRET}",
        f"/etc/nova.conf: admin_password: {SECRET}",
        f"/etc/passwd: password = {SECRET} is no number",
        f"/etc/passwd: password: {SECRET}",
        f"vms/secret: 'password': '{SECRET}'",
        f"secret.xml: password='{SECRET}' is not allowed",
        f"secret.xml: 3: password='{SECRET}' is not allowed",
        f"secret.yaml: {SECRET}",
        f"{{secret.yaml: {SECRET}, x: 1}}",
        f'{{"secret.yaml": "{SECRET}"}}',
        f"/run/token: http://u:{SECRET}@h/ is not found",
        f"https://u:{SECRET}@h/token: not found",
    ],
)
def test_what_is_assigned_to_a_secret_is_not(text: str) -> None:
    assert SECRET not in masked_message(text)


def test_the_error_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "secret.xml").write_text("<domain><name>a</name>\n<devices></domain>\n")
    (tmp_path / "token.json").write_text('{"kind": "VirtualMachine",\n')
    for target, said in (
        ("file:///etc/passwd", "not a supported libvirt URI"),
        ("qemu+SSH://host/system", "write qemu+SSH:// in lower case"),
        (tmp_path / "secret.xml", "secret.xml:"),
        (tmp_path / "token.json", "token.json:"),
        (tmp_path / "passwd", "passwd: No such file"),
    ):
        result = inside("audit", target, env={"COLUMNS": "1000"})
        assert result.returncode in (2, 4)
        assert said in result.stdout + result.stderr
        assert "***" not in result.stdout + result.stderr
