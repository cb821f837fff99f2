"""What every cloud of the testbed has: something to boot, flavors, networks, a tenant."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.openstack.api import Api
from tests.openstack.machine import TESTBED
from tests.rig.domain_xml import QUICK
from tests.rig.errors import RigError
from tests.rig.images import guest_image

FLAVORS = {"m1": 1, "m2": 2}
"""Flavors of 256 MiB -> vCPUs."""
FIRST_PROGRAM = TESTBED / "nics.sh"
# The kernel's command line: what guests say goes to the console Nova reads. Of a value of an image
# Nova keeps 255 characters (system_metadata), and the list of calls would take half of them.
_COMMAND_LINE = " ".join(
    (
        *(word for word in QUICK["x86_64"] if not word.startswith("initcall_blacklist=")),
        "rig.noagent", f"rdinit=/{FIRST_PROGRAM.name}",
    )
)  # fmt: skip
if len(_COMMAND_LINE) > 255:
    raise AssertionError(_COMMAND_LINE)
# Nobody hears the power button.
_NO_GUEST = {"os_shutdown_timeout": "1"}


def seed(api: Api) -> None:
    """Make them."""
    _images(api)
    for name, vcpus in FLAVORS.items():
        api.compute.create_flavor(name=name, ram=256, vcpus=vcpus, disk=1)
    _network(api, "net", "10.9.0.0/16")
    identity = api.identity
    project = identity.create_project(name="tenant", domain_id="default")
    user = identity.create_user(name="tenant", password="pw", domain_id="default")
    role = identity.find_role("member", ignore_missing=False)
    identity.assign_project_role_to_user(project, user, role)
    _network(api, "tenant-net", "10.10.0.0/24", project_id=project.id)


def make_image(api: Api, name: str, *, boots: bool = True, **properties: str) -> Any:
    """An image with these properties of its own, that boots the guest or stays in its firmware."""
    return _upload(
        api, name, "raw", bytes(2**20), **(_guest(api) if boots else _NO_GUEST), **properties
    )


def _guest(api: Api) -> dict[str, str]:
    boot = {
        f"{part}_id": str(api.image.find_image(part, ignore_missing=False).id)
        for part in ("kernel", "ramdisk")
    }
    return {"os_command_line": _COMMAND_LINE, **boot}


def _images(api: Api) -> None:
    """The guest of the rig, with another first program; images that NICs depend on."""
    guest = guest_image("x86_64")
    _upload(api, "kernel", "aki", guest.kernel.read_bytes())
    # the kernel unpacks one archive after the other
    _upload(api, "ramdisk", "ari", guest.initrd.read_bytes() + _packed(FIRST_PROGRAM))
    make_image(api, "legacy", hw_vif_model="rtl8139")
    make_image(api, "plain")
    make_image(api, "still", boots=False, hw_vif_model="rtl8139")


def _packed(program: Path) -> bytes:
    """An archive with one program, as the kernel unpacks it."""
    with TemporaryDirectory() as folder:
        shutil.copy(program, folder)
        Path(folder, program.name).chmod(0o755)
        packed = subprocess.run(
            ["cpio", "--create", "--format=newc", "--quiet"],
            cwd=folder, input=program.name.encode(), capture_output=True, check=False,
        )  # fmt: skip
    if packed.returncode:
        raise RigError(f"packing {program}: {packed.stderr.decode()}")
    return packed.stdout


def _upload(api: Api, name: str, form: str, data: bytes, **properties: str) -> Any:
    container = "bare" if form == "raw" else form
    return api.image.create_image(
        name, data=data, disk_format=form, container_format=container, visibility="public",
        **properties,
    )  # fmt: skip


def _network(api: Api, name: str, cidr: str, **owner: str) -> None:
    network = api.network.create_network(name=name, **owner)
    api.network.create_subnet(
        network_id=network.id, ip_version=4, cidr=cidr, enable_dhcp=False, gateway_ip=None, **owner
    )
