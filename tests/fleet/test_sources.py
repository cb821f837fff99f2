"""Sources of inventories, and several of them together."""

import json
from io import BytesIO
from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.errors import UsageError
from vnicaudit.fleet import host_names
from vnicaudit.fleet.host_names import fault_of_address
from vnicaudit.fleet.inventory_sources import Sources, read_inventory
from vnicaudit.fleet.own_format import SourceHost, SourceHosts
from vnicaudit.model.fleet import InventoryHost

URIS = """\
# the old ones
qemu+ssh://root@kvm1/system

qemu+tls://kvm2.example/system   # with certificates
test+tcp://127.0.0.1:1/a
test+tcp://127.0.0.1:2/a
test:///default
"""


@pytest.fixture(autouse=True)
def _no_ansible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this machine has."""
    monkeypatch.setenv("PATH", str(tmp_path))


def uris(*names: str | Path, sources: Sources = Sources()) -> dict[str, str]:  # noqa: B008
    """Name -> URI of the hosts."""
    found = read_inventory(map(str, names), sources)
    return {host.name: host.uri for host in found.hosts}


def test_a_file_of_uris(tmp_path: Path) -> None:
    (tmp_path / "uris").write_text(URIS)
    assert uris(tmp_path / "uris") == {
        "kvm1": "qemu+ssh://root@kvm1/system",
        "kvm2.example": "qemu+tls://kvm2.example/system",
        "test+tcp://127.0.0.1:1/a": "test+tcp://127.0.0.1:1/a",
        "test+tcp://127.0.0.1:2/a": "test+tcp://127.0.0.1:2/a",
        "test:///default": "test:///default",
    }


@rows
def test_standard_input_is_told_by_what_it_says(text: str, names: int) -> None:
    assert len(uris("-", sources=Sources(stdin=BytesIO(text.encode())))) == names


def test_names_and_uris_on_the_command_line() -> None:
    assert uris("kvm[1:2],web1", "qemu:///system") == {
        "kvm1": "qemu+ssh://kvm1/system",
        "kvm2": "qemu+ssh://kvm2/system",
        "web1": "qemu+ssh://web1/system",
        "qemu:///system": "qemu:///system",
    }


def test_a_template_makes_the_uris_of_those_without_one(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(
        '{"_meta": {"hostvars": {"b": {"ansible_user": "root", "ansible_host": "192.0.2.1"}, '
        '"c": {"vnicaudit_uri": "qemu+tls://c/system"}}}, "all": {"hosts": ["a", "b", "c"]}}'
    )
    assert uris(tmp_path / "hosts", sources=Sources(template="qemu+tls://{host}/system")) == {
        "a": "qemu+tls://a/system",
        "b": "qemu+tls://192.0.2.1/system",
        "c": "qemu+tls://c/system",
    }


def test_several_sources_make_one_inventory(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[groups.rack]\nsite = "ber1"\nhosts = ["kvm1"]\n')
    (tmp_path / "b").write_text('{"prod": {"hosts": ["kvm1", "kvm2"]}, "_meta": {}}')
    cloud = SourceHosts((SourceHost("kvm3", "openstack:x", address="192.0.2.3", site="az1"),))
    found = read_inventory(
        [f"{tmp_path}/a.toml", f"{tmp_path}/b", "openstack:x"], Sources(cloud=lambda _name: cloud)
    )
    assert found.hosts == (
        InventoryHost("kvm1", "qemu+ssh://kvm1/system", "ber1", ("rack", "prod"),
                      source=f"{tmp_path}/a.toml:3"),
        InventoryHost("kvm2", "qemu+ssh://kvm2/system", "", ("prod",), source=f"{tmp_path}/b"),
        InventoryHost("kvm3", "qemu+ssh://192.0.2.3/system", "az1", source="openstack:x"),
    )  # fmt: skip
    assert found.notes == (
        f"kvm1 ({tmp_path}/b) is already named in {tmp_path}/a.toml:3: read once",
    )


def test_one_uri_under_two_names_is_read_once() -> None:
    found = read_inventory(["qemu+ssh://kvm1/system", "kvm1,"], Sources())
    assert [host.name for host in found.hosts] == ["kvm1"]


def test_one_name_with_two_uris_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="kvm1 has two URIs: qemu\\+ssh://kvm1/system "):
        read_inventory(["qemu+ssh://kvm1/system", "qemu+tls://kvm1/system"], Sources())


STARTING = (
    "test+ext:///default?command=/bin/x", "qemu+ext://h/system", "qemu+ssh://h/system?command=/bin/x",
    "qemu+ssh://h/system?no_tty=1;c%6fmmand=/bin/x", "qemu+ssh://h/system?netcat=/bin/x",
    "qemu:///embed?root=/tmp/x", "kube:prod?kubeconfig=/tmp/x",
)  # fmt: skip


@pytest.mark.parametrize("uri", STARTING)
def test_an_inventory_starts_no_program(uri: str, tmp_path: Path) -> None:
    """Not even one that is only to be checked; unless the user names the same URI."""
    (tmp_path / "uris").write_text(f"{uri}\n")
    (tmp_path / "f.toml").write_text(f'[defaults]\nuri = "{uri}"\n[[hosts]]\nname = "h"\n')
    variables = {"hostvars": {"h": {"vnicaudit_uri": uri}}}
    (tmp_path / "hosts").write_text(json.dumps({"_meta": variables, "x": {"hosts": ["h"]}}))
    for name in ("uris", "f.toml", "hosts"):
        with pytest.raises(UsageError, match=r"may start a program here; .* --trust-uri"):
            uris(tmp_path / name)
        trusted = uris(tmp_path / name, sources=Sources(trusted=frozenset({uri})))
        assert list(trusted.values()) == [uri]
    assert list(uris(uri).values()) == [uri]


def test_a_key_and_a_socket_start_nothing(tmp_path: Path) -> None:
    lines = ("qemu+ssh://a/system?keyfile=/k&no_verify=1", "qemu+unix:///system?socket=/run/x")
    (tmp_path / "uris").write_text("\n".join(lines))
    assert tuple(uris(tmp_path / "uris").values()) == lines


@rows
def test_no_mistyped_password_is_taken_or_quoted(uri: str, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(f'[[hosts]]\nname = "h"\nuri = "{uri}"\n')
    with pytest.raises(UsageError, match=r"a URI with a password|not a URI") as told:
        uris(tmp_path / "f.toml")
    assert "PW" not in str(told.value)


def test_no_long_password_is_cut_before_its_sign() -> None:
    assert "PW" not in fault_of_address(f"root:{'PW' * 60}@h")


@rows
def test_hosts_are_counted_before_they_are_made(
    name: str, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some KB took 8 GB, or more than a minute."""
    monkeypatch.setattr(host_names, "MOST_HOSTS", 200)
    monkeypatch.setattr(host_names, "MOST_NAMED", 1000)
    monkeypatch.setattr(host_names, "MOST_GROUPS", 5000)
    (tmp_path / name).write_text(
        text.format(
            long="a" * 50_000,
            groups="".join(f"[groups.g{number}]\nhosts = ['h[1:200]']\n" for number in range(6)),
            hosts=json.dumps([f"h{number}" for number in range(200)]),
            chain=", ".join(
                f'"g{number + 1}": {{"children": ["g{number}"]}}' for number in range(50)
            ),
        )
    )
    with pytest.raises(UsageError, match=message):
        uris(tmp_path / name)


def test_a_list_holds_names_and_uris(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# ours\nkvm[1:2]\nqemu+tls://kvm3/system  # by TLS\n")
    found = read_inventory([f"{tmp_path}/hosts"], Sources())
    assert [(host.name, host.uri, host.source) for host in found.hosts] == [
        ("kvm1", "qemu+ssh://kvm1/system", f"{tmp_path}/hosts:2"),
        ("kvm2", "qemu+ssh://kvm2/system", f"{tmp_path}/hosts:2"),
        ("kvm3", "qemu+tls://kvm3/system", f"{tmp_path}/hosts:3"),
    ]


def test_a_list_with_variables_next_to_it_is_ansibles(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("kvm1\n")
    (tmp_path / "group_vars").mkdir()
    with pytest.raises(UsageError, match="read as an Ansible inventory, but"):
        uris(tmp_path / "hosts")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("none", None, "No such file"),
        ("latin", b"kvm\xe41\n", "latin:1: not UTF-8"),
        ("empty", b"# nothing\n", "the inventory names no host"),
        ("big.yaml", b"a: 1\n" + b"#" * (9 << 20), "larger than 8 MiB"),
    ],
)
def test_what_is_no_inventory(tmp_path: Path, name: str, data: bytes | None, message: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=message):
        read_inventory([f"{tmp_path}/{name}"], Sources())
