"""A template that a task of Ansible writes to a nova.conf, and that only the task tells to be one:
tests/cases/homes-of-nova-options.yaml has what is found in it."""

from pathlib import Path

import pytest

from vnicaudit.model.finding import Location
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.nova_homes.tasks import read_template

TEXT = "[compute]\nmax_queues = 8\n"


@pytest.fixture
def where(tmp_path: Path) -> Location:
    for name in ("tasks", "templates", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "tasks" / "main.yml").touch()
    return Location("t", str(tmp_path / "tasks" / "main.yml"))


def test_nothing_is_written_to_it(where: Location, tmp_path: Path) -> None:
    (tmp_path / "templates" / "a.j2").write_text(TEXT)
    (config,) = read_template("a.j2", where, 3)
    assert isinstance(config, NovaConfig)
    assert (config.file, config.complete) == (str(tmp_path / "templates" / "a.j2"), False)
    assert [(one.line, one.column, one.value_column) for one in config.options] == [(2, None, None)]


@pytest.mark.parametrize("name", ["a.j2", "folder/a.j2"])
def test_a_link_is_not_followed_out_of_the_folder(
    name: str, where: Location, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere" / "a.j2").write_text(TEXT)
    (tmp_path / "templates" / "folder").symlink_to("../elsewhere")
    (tmp_path / "templates" / "a.j2").symlink_to("../elsewhere/a.j2")
    (told,) = read_template(name, where, 3)
    assert isinstance(told, NotJudged)
    assert (told.file, told.line, name in told.message) == (where.file, 3, True)


@pytest.mark.parametrize("tasks", ["-", "main.yml"])
def test_a_template_is_not_looked_for_anywhere_else(
    tasks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "a.j2"
    template.write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.yml").touch()
    src = "a.j2" if tasks == "-" else str(template)
    (told,) = read_template(src, Location("-", tasks), 3)
    assert isinstance(told, NotJudged)
    assert (told.file, told.line) == (tasks, 3)


def test_a_folder_of_that_name_is_told(where: Location, tmp_path: Path) -> None:
    (tmp_path / "templates" / "a.j2").mkdir()
    (told,) = read_template("a.j2", where, 3)
    assert isinstance(told, NotJudged)


@pytest.mark.parametrize("text", ["[libvirt]\nvirt_type = kvm\n", ""])
def test_one_that_is_recognised_by_itself_is_left_to_its_reader(
    text: str, where: Location, tmp_path: Path
) -> None:
    name = "a.j2" if text else "nova.conf.j2"
    (tmp_path / "templates" / name).write_text(text or TEXT)
    assert list(read_template(name, where, 3)) == []
