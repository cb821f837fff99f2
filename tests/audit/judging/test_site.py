"""Compute nodes of one run are compared with one another when all have been read."""

import datetime
import json
import os
from pathlib import Path

import pytest

from tests.cli.inside import inside as vnicaudit
from vnicaudit.audit import tally
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.site import differing_nodes, node_of
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.report import Audited
from vnicaudit.platforms.nova_conf.siblings import read_with_siblings

RINGS = "[libvirt]\nrx_queue_size = {}\n"


def write(folder: Path, **sizes: int) -> None:
    for name, size in sizes.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "nova.conf").write_text(RINGS.format(size))


def places(folder: Path, jobs: int = 1) -> list[str]:
    """Where the nodes below a folder differ."""
    suppressor = Suppressor((), datetime.date(2026, 1, 1), ("VNIC069",))
    work = AuditWork(("VNIC069",), Assumptions(), suppressor, {}, every_platform())
    items = AuditRun(work, RunOptions(jobs)).items([str(folder)])
    audited = [item for item in items if isinstance(item, Audited)]
    return [os.path.relpath(str(f.location), folder) for a in audited for f in a.findings]


def test_the_odd_one_out_is_found_at_its_line(tmp_path: Path) -> None:
    write(tmp_path, a=1024, b=256, c=1024)
    assert places(tmp_path) == ["b/nova.conf:2:17"]


def test_worker_processes_bring_their_nodes_back(tmp_path: Path) -> None:
    write(tmp_path, **{f"n{number:03}": 512 for number in range(300)})
    (tmp_path / "n123/nova.conf").write_text(RINGS.format(1024))
    assert places(tmp_path, jobs=2) == ["n123/nova.conf:2:17"]


def test_no_more_nodes_are_kept_than_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "MAX_NODES", 2)
    write(tmp_path, a=512, b=512, c=1024)
    assert places(tmp_path) == []


def test_files_that_nova_reads_together_are_one_node(tmp_path: Path) -> None:
    write(tmp_path, a=1024, b=1024)
    (tmp_path / "b/nova-compute.conf").write_text(RINGS.format(256))
    assert places(tmp_path) == ["b/nova-compute.conf:2:17"]


def test_a_file_beside_a_nova_conf_is_no_node(tmp_path: Path) -> None:
    write(tmp_path, a=1024, b=1024)
    (tmp_path / "b/nova-api.conf").write_text(RINGS.format(256))
    assert places(tmp_path) == []


def test_files_of_a_folder_by_the_names_of_nodes_are_nodes(tmp_path: Path) -> None:
    for name, size in (("node1", 1024), ("node2", 1024), ("node3", 256)):
        (tmp_path / f"{name}.conf").write_text(RINGS.format(size))
    assert places(tmp_path) == ["node3.conf:2:17"]


def test_a_sibling_that_cannot_be_read_leaves_a_node_out(tmp_path: Path) -> None:
    write(tmp_path, a=1024)
    (tmp_path / "a/nova-compute.conf").write_text("nonsense\n")
    file = tmp_path / "a/nova.conf"
    assert node_of(read_with_siblings(file.read_bytes(), target="t", file=str(file))[0]) is None


def test_a_thousand_nodes_differ_only_where_they_do(tmp_path: Path) -> None:
    write(tmp_path, a=1024, b=256)
    nodes = []
    for name in ("a", "b"):
        file = tmp_path / name / "nova.conf"
        node = node_of(read_with_siblings(file.read_bytes(), target="t", file=str(file))[0])
        assert node is not None
        nodes.append(node)
    many = [type(n)(n.target, (f"{i}/nova.conf",), n.site, n.host, n.values) for i, n in
            enumerate([*[nodes[0]] * 999, nodes[1]])]  # fmt: skip
    differing = [(node.files[0], found[0].nodes) for node, found in differing_nodes(many) if found]
    assert differing == [("999/nova.conf", 999)]


def test_the_command_compares_what_it_is_given(tmp_path: Path) -> None:
    write(tmp_path, a=1024, b=256, c=1024)
    files = [f"{name}/nova.conf" for name in "abc"]
    result = vnicaudit("audit", *files, "--format", "json", cwd=tmp_path)
    (finding,) = json.loads(result.stdout)["findings"]
    assert result.returncode == 1
    assert finding["rule"] == "VNIC069"
    assert finding["location"]["target"] == "b/nova.conf"
    assert [place["file"] for place in finding["related"]] == ["a/nova.conf", "c/nova.conf"]
    text = vnicaudit("audit", *files, cwd=tmp_path).stdout
    assert "1 problem in 1 of 3 compute nodes (1 low)" in text
    assert vnicaudit("audit", *files, "--ignore", "VNIC069", cwd=tmp_path).returncode == 0


def test_a_difference_can_be_accepted(tmp_path: Path) -> None:
    write(tmp_path, a=1024, b=256)
    (tmp_path / "vnicaudit.toml").write_text(
        '[[suppress]]\nrule = "VNIC069"\nfile = "b/nova.conf"\nreason = "small node"\n'
    )
    result = vnicaudit("audit", "a/nova.conf", "b/nova.conf", cwd=tmp_path)
    assert result.returncode == 0, result.stdout


def test_layers_of_one_configuration_are_no_nodes(tmp_path: Path) -> None:
    """As kolla keeps them."""
    (tmp_path / "config/nova/compute").mkdir(parents=True)
    for name, size in (
        ("nova.conf", 256), ("nova/nova-compute.conf", 512), ("nova/compute/nova.conf", 1024),
        ("nova/nova-api.conf", 256),
    ):  # fmt: skip
        (tmp_path / "config" / name).write_text(RINGS.format(size))
    assert places(tmp_path) == []


def test_nodes_that_say_which_host_they_are_may_lie_anywhere(tmp_path: Path) -> None:
    for name, size in (("east", 1024), ("west", 1024), ("north", 256)):
        (tmp_path / f"{name}.conf").write_text(f"[DEFAULT]\nhost = {name}\n" + RINGS.format(size))
    assert places(tmp_path) == ["north.conf:4:17"]
