"""Targets: what a name on the command line means, and which files a folder holds."""

import os
from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.audit.reading.selection import ServerFilter
from vnicaudit.audit.reading.targets import (
    CloudReading,
    Target,
    TargetKind,
    is_cloud,
    target_of,
    walk,
)
from vnicaudit.cli.options.filters import check_filters
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.report import ReadError


@rows
def test_a_name_is_what_it_looks_like(name: str, kind: str) -> None:
    assert target_of(name, every_platform().targets) == Target(name, kind)


@pytest.mark.parametrize("query", ["context=a", "kubeconfig=", "kubeconfig=a&kubeconfig=b"])
def test_a_cluster_has_no_parameter_but_its_kubeconfig(query: str) -> None:
    with pytest.raises(UsageError, match="kubeconfig=FILE is the only parameter"):
        target_of(f"kube:prod?{query}", every_platform().targets)


@pytest.mark.parametrize("name", ["openstack:", "openstack: "])
def test_a_cloud_has_a_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OS_CLOUD", raising=False)
    with pytest.raises(UsageError) as raised:
        target_of(name, every_platform().targets)
    assert str(raised.value) == (
        f"{name}: the cloud is missing; write openstack:NAME with a name from clouds.yaml "
        "(or set OS_CLOUD), or openstack:envvars to use the OS_* variables"
    )


def test_a_folder_is_walked_in_order_and_depth_first(tmp_path: Path) -> None:
    for name in ("b.xml", "a.xml", "sub/c.xml", "sub/deep/d.xml", "z.xml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    found = [os.path.relpath(str(path), tmp_path) for path in walk(str(tmp_path))]
    assert found == ["a.xml", "b.xml", "z.xml", "sub/c.xml", "sub/deep/d.xml"]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    found = list(walk(str(tmp_path)))
    assert found == [
        str(tmp_path / "a.xml"),
        ReadError(
            "a broken link: Too many levels of symbolic links",
            str(tmp_path / "self"),
        ),
    ]


def test_fifos_and_sockets_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to-pipe").symlink_to(tmp_path / "pipe")
    (tmp_path / "a.xml").write_text("x")
    assert list(walk(str(tmp_path))) == [str(tmp_path / "a.xml")]


def test_a_missing_path_is_left_for_the_reader_to_name(tmp_path: Path) -> None:
    assert list(walk(str(tmp_path / "none"))) == [str(tmp_path / "none")]


def _no_cloud(name: str, live: LiveOptions) -> CloudReading:
    raise NotImplementedError(name, live)


def test_a_cloud_is_what_its_platform_says_not_what_begins_like_one() -> None:
    def in_names(name: str) -> str | None:
        return name if name.startswith("other:") else None

    other = TargetKind("other", in_names, cloud=_no_cloud)
    kinds = (*every_platform().targets, other)
    for name, is_one in (
        ("other:prod", True), ("openstack:prod", True), ("qemu:///system", False), ("-", False),
        ("openstack.xml", False),
    ):  # fmt: skip
        assert is_cloud(name, kinds) is is_one
    assert not is_cloud("other:prod", every_platform().targets)
    wanted = ServerFilter(project=("web",))
    check_filters(wanted, ["other:prod"], kinds)
    with pytest.raises(UsageError, match="no target is a cloud"):
        check_filters(wanted, ["other:prod"], every_platform().targets)
