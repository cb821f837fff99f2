"""``audit --fix FILE…`` looked up the real path of every named file for every file: with as many
files as a pre-commit hook names, that was most of its time."""

import os
from pathlib import Path

import pytest

from tests.remedy.works import work
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.remedy.in_place import fix_files

COUNT = 40


def test_no_real_path_is_looked_up_again_for_each_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = [str(tmp_path / f"{number}.txt") for number in range(COUNT)]
    for name in names:
        Path(name).write_text("nothing\n")
    asked: list[str] = []

    def counted(path: str) -> str:
        asked.append(path)
        return os.path.abspath(path)

    monkeypatch.setattr(os.path, "realpath", counted)
    paths = dict.fromkeys(names, False)
    fixed = list(
        fix_files(
            paths, work(), every_platform().writer, include_unsafe=False, write=False, targets=names
        )
    )
    assert [one.path for one in fixed] == names
    assert COUNT <= len(asked) <= 4 * COUNT


def test_no_file_behind_a_link_out_of_the_target_is_fixed(tmp_path: Path) -> None:
    """And one in it is, whether its folder is named by a link, by the root, or itself."""
    inside, outside = tmp_path / "in", tmp_path / "in-not"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.txt").write_text("nothing\n")
    (inside / "out.txt").symlink_to(outside / "a.txt")
    (tmp_path / "link").symlink_to(inside)

    def refused(path: str, *targets: str) -> bool:
        (one,) = fix_files(
            {path: False},
            work(),
            every_platform().writer,
            include_unsafe=False,
            write=False,
            targets=targets,
        )
        return one.error.startswith("a link that leads out of the target, to ")

    out, own = str(inside / "out.txt"), str(inside / "a.txt")
    assert refused(out, str(inside))
    assert refused(out, str(tmp_path / "link"), own)
    assert not refused(out, out)
    assert not refused(out, str(outside / "a.txt"))
    assert not refused(out, str(inside), str(outside))
    for target in (str(inside), str(tmp_path / "link"), str(inside) + "/", own, "/"):
        assert not refused(own, target)
