"""The settings file: where it is found, what it may say, and how a mistake in it is told."""

import datetime
from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.audit.judging.catalogue import RuleOptions
from vnicaudit.audit.settings import file, settings
from vnicaudit.audit.settings.keys import PolicyTable, Settings, SuppressTable
from vnicaudit.audit.settings.settings import LoadedSettings, load_settings
from vnicaudit.cli.options.environment import environment
from vnicaudit.errors import UsageError

FULL = """\
select = ["VNIC00", "VNIC020"]
ignore = ["VNIC009"]
level = "medium"
baseline = "known/baseline.json"
assume-qemu = "10.0"
assume-libvirt = "11.3.0"
nova-release = "caracal"
docs-url = "https://docs.example.org/vnicaudit"
exclude = ["vendor", "a/b/*.xml"]
deadline = 12.5

[[suppress]]
rule = "VNIC003"
domain = "appliance-*"
reason = "the vendor supports e1000e only"
owner = "team-net"
until = 2027-01-31

[[suppress]]
rule = "vnic02"
uuid = "4DEA24B3-1D52-D8F3-2516-782E98A23FA0"
mac = "52-54-00-AA-BB-CC"
file = "lab/*"
reason = " measured: latency matters more "
until = "2027-06-30"

[policy]
queues = "auto"
queues-max = 4
rx-queue-size = 1024
tx-queue-size = 512
vectors-max = 128

[rules.VNIC001]
severity = "low"

[rules.vnic033]
minimum = 1024
"""


def write(folder: Path, text: str, name: str = "vnicaudit.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def complaint(folder: Path, text: str, name: str = "vnicaudit.toml") -> str:
    """What is said of a settings file, without the folder."""
    path = write(folder, text, name)
    with pytest.raises(UsageError) as raised:
        load_settings(str(path))
    return str(raised.value).replace(f"{folder}/", "")


def test_every_key_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, FULL)
    loaded = load_settings(str(path))
    assert loaded.settings == Settings(
        select=("VNIC00", "VNIC020"),
        ignore=("VNIC009",),
        level="medium",
        baseline="known/baseline.json",
        assume_qemu="10.0",
        assume_libvirt="11.3.0",
        nova_release="caracal",
        docs_url="https://docs.example.org/vnicaudit",
        exclude=("vendor", "a/b/*.xml"),
        deadline=12.5,
        suppress=(
            SuppressTable(
                rule="VNIC003",
                domain="appliance-*",
                reason="the vendor supports e1000e only",
                owner="team-net",
                until=datetime.date(2027, 1, 31),
            ),
            SuppressTable(
                rule="vnic02",
                uuid="4DEA24B3-1D52-D8F3-2516-782E98A23FA0",
                mac="52-54-00-AA-BB-CC",
                file="lab/*",
                reason=" measured: latency matters more ",
                until=datetime.date(2027, 6, 30),
            ),
        ),
        policy=PolicyTable(
            queues="auto", queues_max=4, rx_queue_size=1024, tx_queue_size=512, vectors_max=128
        ),
        rules={"VNIC001": {"severity": "low"}, "vnic033": {"minimum": 1024}},
    )
    assert loaded.rules == {
        "VNIC001": RuleOptions("low"),
        "VNIC033": RuleOptions(None, {"minimum": 1024}),
    }
    assert loaded.file == str(path)


def test_suppressions_are_normal_and_know_their_lines(tmp_path: Path) -> None:
    path = write(tmp_path, FULL)
    first, second = load_settings(str(path)).suppressions
    assert (str(first.location), str(second.location)) == (f"{path}:12", f"{path}:19")
    assert second.rule == "VNIC02"
    assert second.uuid == "4dea24b3-1d52-d8f3-2516-782e98a23fa0"
    assert second.mac == "52:54:00:aa:bb:cc"
    assert second.reason == "measured: latency matters more"


def test_a_policy_keeps_what_is_set_unless_it_says_otherwise(tmp_path: Path) -> None:
    keep = PolicyTable(
        queues="keep", queues_max=8, rx_queue_size="keep", tx_queue_size="keep", vectors_max=200
    )
    assert load_settings(str(write(tmp_path, "[policy]\n"))).settings.policy == keep
    assert Settings().policy == keep
    assert load_settings(str(write(tmp_path, "policy.queues = 4\n"))).settings.policy.queues == 4


def test_baseline_is_relative_to_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'baseline = "known.json"\n')
    assert load_settings(str(path)).baseline == f"{tmp_path}/known.json"
    write(tmp_path, 'baseline = "/var/lib/known.json"\n')
    assert load_settings(str(path)).baseline == "/var/lib/known.json"


def test_what_is_excluded_is_relative_to_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'exclude = ["a/b"]\n')
    exclusion = load_settings(str(path)).exclusion
    assert exclusion is not None
    assert exclusion.has(str(tmp_path / "a" / "b"))
    assert not exclusion.has("a/b")
    assert load_settings(str(write(tmp_path, "exclude = []\n"))).exclusion is None


def test_without_a_file_there_are_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "OWN", "no-such-file.toml")
    monkeypatch.setattr(settings, "SHARED", "no-such-project.toml")
    assert load_settings(None, tmp_path) == LoadedSettings()
    assert LoadedSettings().settings.level is None
    assert LoadedSettings().baseline is None


def test_the_nearest_folder_wins(tmp_path: Path) -> None:
    write(tmp_path, 'level = "high"\n')
    near = write(tmp_path / "a", 'level = "error"\n')
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    assert load_settings(None, tmp_path / "a" / "b" / "c").file == str(near)
    assert load_settings(None, tmp_path / "a").settings.level == "error"
    assert load_settings(None, tmp_path).settings.level == "high"


def test_the_current_folder_is_where_the_search_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 'level = "high"\n')
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert load_settings(None).settings.level == "high"


def test_in_one_folder_vnicaudit_toml_wins(tmp_path: Path) -> None:
    write(tmp_path, '[tool.vnicaudit]\nlevel = "error"\n', "pyproject.toml")
    assert load_settings(None, tmp_path).settings.level == "error"
    write(tmp_path, 'level = "high"\n')
    assert load_settings(None, tmp_path).settings.level == "high"


@pytest.mark.parametrize(
    "text",
    ["[tool.black]\nline-length = 90\n", "broken = [\n", "# vnicaudit\n", 'tool = "vnicaudit"\n'],
    ids=["another tool", "broken, none of ours", "only named", "tool is no table"],
)
def test_a_pyproject_without_the_table_is_passed_over(tmp_path: Path, text: str) -> None:
    upper = write(tmp_path, 'level = "high"\n')
    write(tmp_path / "a", text, "pyproject.toml")
    assert load_settings(None, tmp_path / "a").file == str(upper)


def test_a_folder_by_that_name_is_passed_over(tmp_path: Path) -> None:
    upper = write(tmp_path, 'level = "high"\n')
    (tmp_path / "a" / "vnicaudit.toml").mkdir(parents=True)
    assert load_settings(None, tmp_path / "a").file == str(upper)


def test_the_named_file_wins_whatever_it_is_called(tmp_path: Path) -> None:
    write(tmp_path, 'level = "high"\n')
    named = write(tmp_path, 'level = "info"\n', "other.cfg")
    assert load_settings(str(named), tmp_path).settings.level == "info"


@pytest.mark.parametrize("other", ["domain", "flavor"])
def test_nothing_is_an_image_and_something_else(tmp_path: Path, other: str) -> None:
    text = f'[[suppress]]\nrule = "VNIC0"\nreason = "x"\nimage = "a"\n{other} = "b"\n'
    first, second = ("domain", "image") if other == "domain" else ("image", "flavor")
    line = 4 if other == "domain" else 5
    assert complaint(tmp_path, text) == (
        f"vnicaudit.toml:{line}: {first} and {second} in one [[suppress]]: nothing is both"
    )


def test_suppressions_in_pyproject_know_their_lines(tmp_path: Path) -> None:
    text = (
        '[project]\nname = "x"\n\n[tool.vnicaudit]\nignore = ["VNIC009"]\n\n'
        '[[tool.vnicaudit.suppress]]\nrule = "VNIC001"\nreason = "r"\n'
    )
    path = write(tmp_path, text, "pyproject.toml")
    (entry,) = load_settings(None, tmp_path).suppressions
    assert str(entry.location) == f"{path}:7"


def test_an_inline_table_has_the_line_of_its_key(tmp_path: Path) -> None:
    path = write(tmp_path, '\nsuppress = [{rule = "VNIC001", reason = "r"}]\n')
    (entry,) = load_settings(str(path)).suppressions
    assert str(entry.location) == f"{path}:2"


@rows
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    assert complaint(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "line"),
    [("\nselect\nignore = []\n", 2), ("select = []\nignore = [\n", 2), ("x = 1\nx = 2\n", 2)],
    ids=["in the middle", "at the end", "twice the same key"],
)
def test_what_is_no_toml_is_told_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    said = complaint(tmp_path, text)
    assert said.startswith(f"vnicaudit.toml:{line}: not valid TOML: ")
    assert "(at " not in said


def test_a_mistake_in_pyproject_is_told_with_its_line(tmp_path: Path) -> None:
    text = "[tool.x]\nselect = 1\n\n[tool.vnicaudit]\nselect = 2\n"
    assert complaint(tmp_path, text, "pyproject.toml") == (
        "pyproject.toml:5: select: expected a list, not a whole number"
    )


def test_a_mistake_in_the_policy_of_a_pyproject_is_told_with_its_line(tmp_path: Path) -> None:
    text = "[tool.vnicaudit]\nselect = []\n\n[tool.vnicaudit.policy]\nqueues = -1\n"
    assert complaint(tmp_path, text, "pyproject.toml") == (
        'pyproject.toml:5: queues: expected "keep", "auto" or a number from 1'
    )


def test_a_named_pyproject_must_have_the_table(tmp_path: Path) -> None:
    message = "pyproject.toml: has no table [tool.vnicaudit]"
    assert complaint(tmp_path, "[tool.x]\na = 1\n", "pyproject.toml") == message
    assert complaint(tmp_path, "[tool]\nvnicaudit = 1\n", "pyproject.toml") == message


def test_a_named_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.toml: No such file or directory$"):
        load_settings(str(tmp_path / "gone.toml"))


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "vnicaudit.toml"
    path.write_bytes(b"select = []\n# caf\xe9\n")
    with pytest.raises(UsageError, match=r"vnicaudit\.toml:2: not UTF-8$"):
        load_settings(str(path))


def test_a_file_without_end(tmp_path: Path) -> None:
    path = tmp_path / "vnicaudit.toml"
    path.write_bytes(b"#" * (file.MAX_BYTES + 1))
    with pytest.raises(UsageError, match=r"larger than 1 MiB: not a settings file$"):
        load_settings(str(path))


def test_nesting_without_end(tmp_path: Path) -> None:
    said = complaint(tmp_path, "x = " + "[" * 100_000)
    assert said.startswith("vnicaudit.toml:1: not valid TOML: ")


def test_a_limit_is_a_setting_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(str(write(tmp_path, "host-deadline = 20\nretries = 0\n"))).settings
    monkeypatch.setenv("VNICAUDIT_RETRIES", "5")
    found = environment(settings)
    assert (found.host_deadline, found.retries, found.parallel) == (20, 5, 32)
    assert complaint(tmp_path, "deadline = nan\n") == (
        "vnicaudit.toml:1: deadline: expected a number of at least 0.1"
    )
