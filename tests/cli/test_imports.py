"""What is loaded when: a quick command must stay quick, and libvirt is optional."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
sys.modules.pop("importlib.metadata", None)  # an installation for development loads it
sys.argv[1:] = {arguments!r}
import os
def leave(code):
    print("LOADED", *sorted(sys.modules), flush=True)
    raise SystemExit
os._exit = sys.exit = leave
from vnicaudit.__main__ import main
main()
"""

DOMAIN = """<domain type='kvm'><name>a</name><vcpu>2</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='b'/><model type='e1000'/></interface></devices>
</domain>"""


def loaded(*arguments: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(arguments=list(arguments))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    line = next(line for line in result.stdout.splitlines() if line.startswith("LOADED"))
    return set(line.split()[1:])


def test_version_loads_nothing_but_itself() -> None:
    modules = loaded("--version")
    assert "vnicaudit" in modules
    assert not modules & {"click", "lxml", "rich", "msgspec", "libvirt", "openstack"}


def test_help_loads_no_platform() -> None:
    assert not loaded("--help") & {"lxml", "libvirt", "openstack", "rich", "oslo_config"}


@pytest.mark.parametrize("command", ["audit", "nics"])
def test_an_offline_audit_loads_neither_libvirt_nor_openstack(command: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(DOMAIN)
    modules = loaded(command, str(path))
    assert "lxml" in modules
    assert not modules & {"libvirt", "openstack", "testinfra", "sqlalchemy", "jinja2"}
    assert not [name for name in modules if name.startswith("vnicaudit.reaching")]


def test_apply_without_bench_loads_nothing_that_measures(tmp_path: Path) -> None:
    domain, plan = tmp_path / "a.xml", tmp_path / "plan.json"
    domain.write_text(DOMAIN)
    loaded("plan", str(domain), "--output", str(plan))
    modules = loaded("apply", str(plan), "--dry-run", "--state", str(tmp_path / "state"))
    assert "vnicaudit.remedy.applying.apply" in modules
    assert not [name for name in modules if name.startswith(("vnicaudit.bench", "scipy"))]


def test_a_lint_of_a_nova_conf_loads_no_xml_and_no_metadata(tmp_path: Path) -> None:
    """Also with a finding: it is most of what a hook in front of a commit waits for."""
    path = tmp_path / "nova.conf"
    path.write_text("[libvirt]\nuse_virtio_for_bridges = false\n")
    assert not loaded("audit", str(path)) & {"lxml", "rich", "ruamel", "importlib.metadata"}


def test_without_libvirt_python_the_extra_is_named(tmp_path: Path) -> None:
    """A machine without the binding: an import that fails, as it does there."""
    (tmp_path / "libvirt.py").write_text("raise ModuleNotFoundError('libvirt', name='libvirt')\n")
    result = subprocess.run(
        [sys.executable, "-m", "vnicaudit", "audit", "qemu:///system"],
        env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 2
    assert "pip install '.[libvirt]'" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("command", "most"), [("audit", 190), ("plan", 240)])
def test_one_definition_loads_few_modules_of_this_package(
    command: str, most: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.xml"
    path.write_text(DOMAIN)
    modules = {one for one in loaded(command, str(path)) if one.startswith("vnicaudit")}
    assert len(modules) <= most, sorted(modules)
