"""Nova's options in devstack's local.conf, in commands of scripts, and in manifests of Puppet."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.command import vnicaudit
from tests.regressions.hostile_input.growth import MOST, ratio
from tests.rows import rows
from vnicaudit.model.file_kind import Content
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms import nova_homes
from vnicaudit.platforms.nova_homes import commands, puppet


def configs(form: str, text: str) -> list[NovaConfig]:
    reader = import_module(f"vnicaudit.platforms.nova_homes.{form}")
    return list(reader.read(Content(text.encode(), "x", "x")))


@rows
def test_options_of_a_file(form: str, text: str, options: list[str]) -> None:
    """Also that the column of a literal value is where it is written."""
    found = [option for config in configs(form, text) for option in config.options]
    assert [
        f"{o.line} [{o.section}] {o.name} = {o.value}"
        + ("" if o.certain else " ?")
        + (f" as {o.called}" if o.called else "")
        for o in found
    ] == options
    for option in found:
        if option.certain and option.known is not None and option.value_column is not None:
            line = text.split("\n")[option.line - 1]
            assert line[option.value_column - 1 :].startswith(option.value)


@rows
def test_a_form_is_recognised(form: str, text: str) -> None:
    assert form in nova_homes._forms_of(text.encode())


@rows
def test_another_form_is_not(text: str) -> None:
    assert nova_homes._forms_of(text.encode()) == []


@rows
def test_a_hostile_file_is_read_in_time(form: str, text: str) -> None:
    small, large = text * 1_000, text * 8_000
    assert ratio(lambda one: configs(form, one), small, large, tries=2) <= MOST


def test_a_parameter_that_a_class_of_puppet_lacks_is_told() -> None:
    text = "class { 'nova::compute::libvirt':\n  use_virtio_for_bridges => false,\n}\n"
    (found,) = puppet.read(Content(text.encode(), "x", "x"))
    assert isinstance(found, NotJudged)
    assert (found.line, "use_virtio_for_bridges" in found.message) == (2, True)


FAULTS = {
    "local.conf": "[[local|localrc]]\n[[a|$NOVA_CONF]]\n[libvirt]\nrx_queue_size = 300\n",
    "set.sh": "#!/bin/sh\nset -e\ncrudini --set /etc/nova/nova.conf libvirt rx_queue_size 300\n",
    "Dockerfile": "FROM a\nRUN crudini --set /etc/nova/nova.conf libvirt rx_queue_size 300\n",
    "site.pp": "node 'a' {\n class { 'nova::compute::libvirt':\n  rx_queue_size => 300\n }\n}\n",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_mended_where_it_is(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FAULTS[name])
    line = next(n for n, text in enumerate(FAULTS[name].split("\n"), 1) if "300" in text)
    result = vnicaudit("audit", ".", "--format", "concise", cwd=tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{name}:{line}:" in result.stdout
    assert "VNIC035" in result.stdout
    vnicaudit("audit", name, "--fix", cwd=tmp_path)
    assert (tmp_path / name).read_text() == FAULTS[name].replace("300", "256")


def test_a_command_whose_option_a_variable_names_is_told() -> None:
    text = "for o in a b; do\n  crudini --set /etc/nova/nova.conf %s $o 3\ndone\n"
    (told,) = commands.read(Content((text % "libvirt").encode(), "x", "x"))
    assert isinstance(told, NotJudged)
    assert (told.line, told.message) == (
        2, "a variable decides which option of [libvirt] this sets: not judged"
    )  # fmt: skip
    assert list(commands.read(Content((text % "DEFAULT").encode(), "x", "x"))) == []
