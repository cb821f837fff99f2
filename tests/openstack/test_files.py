"""The testbed's files, wherever it cannot run."""

import re
from pathlib import Path

import pytest

from tests.openstack.machine import TESTBED, write_configuration
from tests.pipelines.project import shellcheck

SCRIPTS = sorted(TESTBED.glob("*.sh"))


def test_there_are_scripts() -> None:
    assert {"daemon.sh", "nova-manage.sh", "qemu.sh"} <= {path.name for path in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    assert shellcheck(script.read_text()) == ""


@pytest.mark.parametrize("lock", sorted(TESTBED.glob("*.lock")), ids=lambda path: path.name)
def test_nothing_newer_can_be_installed(lock: Path) -> None:
    lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [
        line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9.]+(post[0-9]+)?", line)
    ] == []


def test_hosts_differ_by_name_and_driver(tmp_path: Path) -> None:
    packages = tmp_path / "venv"
    for service in ("glance", "neutron", "nova"):
        (packages / "etc" / service).mkdir(parents=True)
    state = tmp_path / "state"
    write_configuration(state, packages, packages)
    real, fake = (state / "etc/nova" / name for name in ("nova.conf", "nova-fake.conf"))
    filled = [path for path in (state / "etc").rglob("*") if path.is_file()]
    assert len(filled) > len([path for path in (TESTBED / "etc").rglob("*") if path.is_file()])
    assert [path for path in filled if "$" in path.read_text()] == []
    differ = [
        (one, other)
        for one, other in zip(
            real.read_text().splitlines(), fake.read_text().splitlines(), strict=True
        )
        if one != other
    ]
    assert differ[0] == ("host = cmp1", "host = fake1")
    assert ("compute_driver = libvirt.LibvirtDriver", "compute_driver = fake.FakeDriver") in differ
    assert len(differ) == 4
