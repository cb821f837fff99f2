"""Overrides of Kolla Ansible: each file is judged within what is merged for nova-compute."""

import os
from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.audit.judging.site import node_of
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.file_kind import Content
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.nova_conf import NOVA_CONF
from vnicaudit.platforms.nova_conf.read import read_bytes
from vnicaudit.platforms.nova_conf.siblings import merge_order, read_with_siblings

OFF = "[libvirt]\nuse_virtio_for_bridges = false\n"
ON = "[libvirt]\nuse_virtio_for_bridges = true\n"


def written(folder: Path, files: dict[str, str]) -> Path:
    """A folder of overrides with these files."""
    root = folder / "kolla" / "config"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def config_of(file: Path) -> NovaConfig:
    return read_with_siblings(file.read_bytes(), target="t", file=str(file))[0]


def lines(file: Path) -> list[int | None]:
    auditor = DescriptionAuditor(["VNIC060"], every_platform().wordings)
    return [found.location.line for found in auditor.audit(config_of(file), "t").findings]


def test_a_fix_says_what_writes_nova_conf_again(tmp_path: Path) -> None:
    root = written(tmp_path, {"nova/a/nova.conf": "[libvirt]\nrx_queue_size = 300\n"})
    auditor = DescriptionAuditor(["VNIC035"], every_platform().wordings)
    (found,) = auditor.audit(config_of(root / "nova/a/nova.conf"), "t").findings
    assert "restart nova-compute" not in found.fix
    assert "kolla-ansible reconfigure" in found.fix


@pytest.mark.parametrize(
    "file", ["config/nova.conf", "./config/nova.conf", "config/../config/nova.conf"]
)
def test_a_path_may_be_spelled_in_any_way(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, right = (f"[libvirt]\nrx_queue_size = {size}\n" for size in (300, 512))
    root = written(tmp_path, {"nova.conf": wrong, "nova/nova-compute.conf": right})
    monkeypatch.chdir(root.parent)
    config = read_with_siblings(Path(file).read_bytes(), target="t", file=file)[0]
    assert [option.value for option in config.options] == ["300", "512"]


@rows
def test_options_are_those_of_the_merged_file(
    files: dict[str, str], merged: str, tmp_path: Path
) -> None:
    got = config_of(written(tmp_path, files) / "nova/a/nova.conf")
    wanted = read_bytes(merged.encode(), target="t", file="nova.conf")
    assert {(option.section, option.name) for option in wanted.options}
    for option in wanted.options:
        name = (option.section, option.name)
        winner = got.winner(*name)
        assert winner is not None
        assert winner.value == (wanted.winner(*name) or option).value
        if option.known is not None and option.known.form is not None and option.known.form.multi:
            values = [[one.value for one in config.values(*name)] for config in (got, wanted)]
            assert values[0] == values[1]


def test_a_host_quiets_the_shared_value_for_itself_only(tmp_path: Path) -> None:
    root = written(tmp_path, {"nova.conf": OFF, "nova/a/nova.conf": ON, "nova/b/nova.conf": OFF})
    assert lines(root / "nova.conf") == [2]  # of hosts without a folder
    assert lines(root / "nova/a/nova.conf") == []
    assert lines(root / "nova/b/nova.conf") == [2]


def test_the_file_of_the_service_overrides_the_shared_one(tmp_path: Path) -> None:
    root = written(
        tmp_path, {"nova.conf": OFF, "nova/nova-compute.conf": ON, "nova/nova-api.conf": OFF}
    )
    assert lines(root / "nova.conf") == []
    assert lines(root / "nova/nova-compute.conf") == []


def test_another_driver_is_known_from_the_shared_file(tmp_path: Path) -> None:
    ironic = "[DEFAULT]\ncompute_driver = ironic.IronicDriver\n"
    root = written(tmp_path, {"nova.conf": ironic, "nova/a/nova.conf": OFF})
    assert lines(root / "nova/a/nova.conf") == []


def test_hosts_stay_several_nodes(tmp_path: Path) -> None:
    root = written(tmp_path, {"nova.conf": ON, "nova/a/nova.conf": ON, "nova/b/nova.conf": ON})
    nodes = [node_of(config_of(root / f"nova/{host}/nova.conf")) for host in "ab"]
    assert [node and node.files for node in nodes] == [
        (f"{root}/nova/a/nova.conf",),
        (f"{root}/nova/b/nova.conf",),
    ]


def test_an_environment_of_kayobe_lies_over_the_shared_folder(tmp_path: Path) -> None:
    written(tmp_path, {"nova.conf": ON, "nova/nova-compute.conf": ON})
    root = written(tmp_path / "environments" / "lab", {"nova.conf": OFF, "nova/a/nova.conf": OFF})
    assert lines(root / "nova.conf") == []  # nova-compute.conf of the shared folder comes later
    assert lines(root / "nova/a/nova.conf") == [2]
    assert lines(tmp_path / "kolla/config/nova.conf") == []


@pytest.mark.parametrize("file", ["nova/a/nova.conf", "nova.conf", "nova/nova-compute.conf"])
def test_paths_are_spelled_as_the_file_is(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = written(tmp_path, {"nova/a/nova.conf": ON, "nova.conf": ON})
    monkeypatch.chdir(root)
    assert file in merge_order(file)
    assert merge_order(file)[0] == "global.conf"
    assert merge_order(f"{root}/{file}")[0] == f"{root}/global.conf"


def test_the_folder_is_known_by_the_variables_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "prod" / "config" / "nova" / "a" / "nova.conf"
    assert merge_order(str(file)) == ()
    (tmp_path / "prod").mkdir()
    (tmp_path / "prod" / "globals.yml").touch()
    order = merge_order(str(file))
    assert [os.path.relpath(path, tmp_path / "prod" / "config") for path in order] == [
        "global.conf",
        "nova.conf",
        "nova/nova-compute.conf",
        "nova/a/nova.conf",
        "nova/a/nova-compute.conf",
    ]
    for other in ("nova/nova.conf", "nova/a/b/nova.conf", "neutron/a/nova.conf", "nova/a/x.conf"):
        assert merge_order(f"{tmp_path}/prod/config/{other}") == ()


def test_a_file_of_another_service_is_told_and_not_judged(tmp_path: Path) -> None:
    text = "[libvirt]\nrx_queue_size = 300\n"
    others = ("neutron/ml2_conf.ini", "neutron.conf", "neutron/a/neutron.conf")
    novas = ("nova.conf", "global.conf", "nova/a/nova.conf", "nova-api.conf", "a/nova.conf")
    root = written(tmp_path, dict.fromkeys((*others, *novas), text))
    for name in (*others, *novas):
        path = str(root / name)
        (found,) = NOVA_CONF.read(Content(text.encode(), path, "t"))
        assert isinstance(found, NotJudged if name in others else NovaConfig), name
