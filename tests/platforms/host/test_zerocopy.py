"""The module parameter, as the kernel prints it."""

from pathlib import Path

import pytest

from tests.platforms.host.trees import write
from vnicaudit.platforms.host.read import read_zerocopy, zerocopy_of
from vnicaudit.platforms.host.tree import Tree


@pytest.mark.parametrize(
    ("text", "value"),
    [("0\n", False), ("1\n", True), ("N\n", False), ("Y\n", True), ("", None), ("what\n", None)],
)
def test_zerocopy_of(text: str, value: bool | None) -> None:
    assert zerocopy_of(text) is value


def test_read(tmp_path: Path) -> None:
    path = "sys/module/vhost_net/parameters/experimental_zcopytx"
    assert read_zerocopy(Tree(write(tmp_path, {path: "1\n"}))) is True


def test_module_not_loaded(tmp_path: Path) -> None:
    assert read_zerocopy(Tree(str(tmp_path))) is None
