"""What ``openstack image show -f json`` and its siblings print."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

IMAGE = {
    "container_format": "bare", "disk_format": "qcow2", "name": "cirros", "status": "active",
    "id": "9a0e1d52-6c0e-4a0c-9e16-93b2f9f3b7a4",
    "properties": {"hw_vif_multiqueue_enabled": "False", "hw_vif_model": "e1000"},
}  # fmt: skip
FLAVOR = {
    "id": "b0a5c7de-52a9-4f44-bf5c-3b5c3a1c7f10", "name": "tiny", "ram": 512, "vcpus": 4,
    "rxtx_factor": 1.0,
    "properties": {"hw:vif_multiqueue_enabled": "True"},
}  # fmt: skip
SERVER = {
    "id": "f4f5a5d0-7a1a-4c30-8f3f-7f1f7f2f6b10", "name": "test", "status": "ERROR",
    "flavor": f"tiny ({FLAVOR['id']})", "image": f"cirros ({IMAGE['id']})",
}  # fmt: skip
NEWER = SERVER | {"flavor": {"original_name": "tiny", "vcpus": 4}}


def rules(*paths: Path) -> list[tuple[str, str]]:
    """Rule and file of each finding."""
    found = json.loads(inside("audit", "--format", "json", *paths).stdout)["findings"]
    return [(one["rule"], Path(one["location"]["file"]).name) for one in found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in (("image", IMAGE), ("flavor", FLAVOR), ("server", SERVER)):
        (tmp_path / f"{name}.json").write_text(json.dumps(body, indent=2))
    return tmp_path


def test_an_image_is_judged(folder: Path) -> None:
    assert rules(folder / "image.json") == [("VNIC062", "image.json")]


def test_one_line_is_enough(folder: Path) -> None:
    (folder / "image.json").write_text(json.dumps(IMAGE))
    assert rules(folder / "image.json") == [("VNIC062", "image.json")]


@pytest.mark.parametrize("server", [SERVER, NEWER], ids=["names", "a map"])
def test_a_server_joins_image_and_flavor(folder: Path, server: dict[str, object]) -> None:
    (folder / "server.json").write_text(json.dumps(server))
    assert rules(folder / "server.json") == [("VNIC066", "flavor.json")]


def test_image_and_flavor_alone_are_not_joined(folder: Path) -> None:
    assert rules(folder / "flavor.json") == []


def test_a_server_alone_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "server.json"
    path.write_text(json.dumps(SERVER))
    result = inside("audit", path)
    assert "not judged without that of image show" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Cola", "flavor": "vanilla", "image": "cola.png", "status": "active"},
        {"name": "my laptop", "vcpus": 2, "ram": 512, "properties": {}},
    ],
)
def test_other_json_is_passed_over(tmp_path: Path, body: dict[str, object]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(body))
    result = inside("audit", tmp_path)
    assert result.returncode == 0
    assert "nothing in it is recognised" in " ".join(result.stdout.split())
