"""What ``openstack image show -f json`` and its siblings print; more in tests/cases."""

import json
from pathlib import Path

from tests.cli.inside import inside

UUID = "11111111-1111-4111-8111-{:012}"


def test_a_server_is_joined_with_what_is_beside_it_now(tmp_path: Path) -> None:
    """Also where a folder of the same name was read by the same process, and after a change."""
    image = {"id": UUID.format(1), "name": "small", "disk_format": "qcow2", "status": "active",
             "container_format": "bare",
             "properties": {"hw_vif_multiqueue_enabled": "False"}}  # fmt: skip
    flavor = {"id": UUID.format(2), "name": "tiny", "ram": 512, "vcpus": 4, "rxtx_factor": 1.0,
              "properties": {"hw:vif_multiqueue_enabled": "True"}}  # fmt: skip
    server = {"id": UUID.format(3), "name": "web", "status": "ERROR",
              "flavor": f"tiny ({flavor['id']})", "image": f"small ({image['id']})"}  # fmt: skip
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        (folder / "server.json").write_text(json.dumps(server))
        (folder / "flavor.json").write_text(json.dumps(flavor))
        alone = inside("audit", "server.json", cwd=folder)
        assert "not judged without that of image show" in " ".join(alone.stdout.split())
        (folder / "image.json").write_text(json.dumps(image))
        both = inside("audit", "server.json", "--format", "concise", cwd=folder)
        assert both.stdout.startswith("flavor.json:1:")
        assert "error VNIC066" in both.stdout
