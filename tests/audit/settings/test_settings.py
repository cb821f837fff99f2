"""The settings file: where it is found, what it may say, and how a mistake in it is told."""

import datetime
from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.audit.judging.catalogue import RuleOptions
from vnicaudit.audit.settings import file, settings
from vnicaudit.audit.settings.keys import PolicyTable, Settings, SuppressTable
from vnicaudit.audit.settings.settings import LoadedSettings, load_settings
from vnicaudit.errors import UsageError
from vnicaudit.knowledge.nova_conf.options import releases

FULL = """\
select = ["VNIC00", "VNIC020"]
ignore = ["VNIC009"]
fail-on = "medium"
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
        fail_on="medium",
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
    assert LoadedSettings().settings.fail_on == "low"
    assert LoadedSettings().baseline is None


def test_the_nearest_folder_wins(tmp_path: Path) -> None:
    write(tmp_path, 'fail-on = "high"\n')
    near = write(tmp_path / "a", 'fail-on = "error"\n')
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    assert load_settings(None, tmp_path / "a" / "b" / "c").file == str(near)
    assert load_settings(None, tmp_path / "a").settings.fail_on == "error"
    assert load_settings(None, tmp_path).settings.fail_on == "high"


def test_the_current_folder_is_where_the_search_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 'fail-on = "high"\n')
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert load_settings(None).settings.fail_on == "high"


def test_in_one_folder_vnicaudit_toml_wins(tmp_path: Path) -> None:
    write(tmp_path, '[tool.vnicaudit]\nfail-on = "error"\n', "pyproject.toml")
    assert load_settings(None, tmp_path).settings.fail_on == "error"
    write(tmp_path, 'fail-on = "high"\n')
    assert load_settings(None, tmp_path).settings.fail_on == "high"


@pytest.mark.parametrize(
    "text",
    ["[tool.black]\nline-length = 90\n", "broken = [\n", "# vnicaudit\n", 'tool = "vnicaudit"\n'],
    ids=["another tool", "broken, none of ours", "only named", "tool is no table"],
)
def test_a_pyproject_without_the_table_is_passed_over(tmp_path: Path, text: str) -> None:
    upper = write(tmp_path, 'fail-on = "high"\n')
    write(tmp_path / "a", text, "pyproject.toml")
    assert load_settings(None, tmp_path / "a").file == str(upper)


def test_a_folder_by_that_name_is_passed_over(tmp_path: Path) -> None:
    upper = write(tmp_path, 'fail-on = "high"\n')
    (tmp_path / "a" / "vnicaudit.toml").mkdir(parents=True)
    assert load_settings(None, tmp_path / "a").file == str(upper)


def test_the_named_file_wins_whatever_it_is_called(tmp_path: Path) -> None:
    write(tmp_path, 'fail-on = "high"\n')
    named = write(tmp_path, 'fail-on = "info"\n', "other.cfg")
    assert load_settings(str(named), tmp_path).settings.fail_on == "info"


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


MISTAKES = {
    "unknown key": (
        '\nfail_on = "high"\n',
        "vnicaudit.toml:2: unknown key 'fail_on'; did you mean 'fail-on'?",
    ),
    "unknown key, nothing close": ("colour = true\n", "vnicaudit.toml:1: unknown key 'colour'"),
    "unknown table": (
        "[suppres]\n",
        "vnicaudit.toml:1: unknown key 'suppres'; did you mean 'suppress'?",
    ),
    "unknown key in a suppression": (
        '[[suppress]]\nrule = "VNIC001"\nreason = "r"\nexpires = 2027-01-31\n',
        "vnicaudit.toml:4: unknown key 'expires' in [[suppress]]",
    ),
    "misspelt key in the second suppression": (
        '[[suppress]]\nrule = "VNIC001"\nreason = "r"\n\n'
        '[[suppress]]\nrule = "VNIC001"\nreasn = "r"\n',
        "vnicaudit.toml:7: unknown key 'reasn' in [[suppress]]; did you mean 'reason'?",
    ),
    "wrong type": (
        "deadline = 3\nselect = 'VNIC001'\n",
        "vnicaudit.toml:2: select: expected `array`, got `str`",
    ),
    "wrong type in a list": (
        "select = [\n  1,\n]\n",
        "vnicaudit.toml:1: select: expected `str`, got `int`",
    ),
    "wrong word": ("fail-on = 'hi'\n", "vnicaudit.toml:1: fail-on: expected one of info, low, "
                   "medium, high, error, never, not 'hi'"),
    "a deadline that is none": (
        "deadline = 0\n",
        "vnicaudit.toml:1: deadline: expected `float` > 0.0",
    ),
    "a suppression that is no table": (
        "suppress = 'VNIC001'\n",
        "vnicaudit.toml:1: suppress: expected `array`, got `str`",
    ),
    "no reason": (
        '\n[[suppress]]\nrule = "VNIC001"\n',
        "vnicaudit.toml:2: 'reason' is missing in [[suppress]]",
    ),
    "an empty reason": (
        '[[suppress]]\nrule = "VNIC001"\nreason = "  "\n',
        "vnicaudit.toml:3: 'reason' is empty in [[suppress]]: say why it is accepted",
    ),
    "no rule": (
        '[[suppress]]\nreason = "r"\n',
        "vnicaudit.toml:1: 'rule' is missing in [[suppress]]",
    ),
    "no such rule": (
        '[[suppress]]\nrule = "NIC001"\nreason = "r"\n',
        "vnicaudit.toml:2: no rule begins with 'NIC001'; did you mean 'VNIC001'?",
    ),
    "the number of no rule": (
        '[[suppress]]\nrule = "VNIC099"\nreason = "r"\n',
        "vnicaudit.toml:2: no rule begins with 'VNIC099'; `vnicaudit rules` lists them",
    ),
    "an empty rule, which would be all": (
        '[[suppress]]\nrule = ""\nreason = "r"\n',
        "vnicaudit.toml:2: no rule begins with ''; `vnicaudit rules` lists them",
    ),
    "a table of no rule": (
        '[rules.VNIC01]\nseverity = "low"\n',
        "vnicaudit.toml:1: no rule 'VNIC01'; `vnicaudit rules` lists them",
    ),
    "no such severity": (
        '[rules.VNIC001]\n\nseverity = "severe"\n',
        "vnicaudit.toml:3: severity: expected one of info, low, medium, high, error, not 'severe'",
    ),
    "a key that no rule has": (
        '[rules.VNIC001]\nseverty = "low"\n',
        "vnicaudit.toml:2: unknown key 'severty' in [rules.VNIC001]; did you mean 'severity'?",
    ),
    "a key that this rule has not": (
        '[rules.VNIC033]\nmin-vcpus = 8\n',
        "vnicaudit.toml:2: unknown key 'min-vcpus' in [rules.VNIC033]",
    ),
    "a value that a rule does not take": (
        '[rules.VNIC001]\nseverity = "low"\n[rules.VNIC033]\nminimum = 600\n',
        "vnicaudit.toml:4: minimum: invalid enum value 600",
    ),
    "a number that is too small": (
        '[rules.VNIC030]\nmin-vcpus = 1\n',
        "vnicaudit.toml:2: min-vcpus: expected `int` >= 2",
    ),
    "rules that are no tables": (
        'rules = "VNIC001"\n',
        "vnicaudit.toml:1: rules: expected tables such as [rules.VNIC001]",
    ),
    "a rule that is no table": (
        "[rules]\nVNIC001 = 'low'\n",
        "vnicaudit.toml:1: rules: expected tables such as [rules.VNIC001]",
    ),
    "a group that is not there": (
        'ignore = ["modles"]\n',
        "vnicaudit.toml:1: no rule or group is called 'modles'; did you mean 'models'?",
    ),
    "no such rule selected": (
        'select = ["ABC"]\n',
        "vnicaudit.toml:1: no rule begins with 'ABC'; `vnicaudit rules` lists them",
    ),
    "a bad date": (
        '[[suppress]]\nrule = "VNIC001"\nreason = "r"\nuntil = "soon"\n',
        "vnicaudit.toml:4: until: expected a date such as 2027-01-31",
    ),
    "a date that does not exist": (
        '[[suppress]]\nrule = "VNIC001"\nreason = "r"\nuntil = "2027-02-30"\n',
        "vnicaudit.toml:4: until: expected a date such as 2027-01-31",
    ),
    "a date with a time": (
        '[[suppress]]\nrule = "VNIC001"\nreason = "r"\nuntil = 2027-01-31T00:00:00Z\n',
        "vnicaudit.toml:4: until: expected a date such as 2027-01-31",
    ),
    "a version that is none": (
        'assume-qemu = "latest"\n',
        "vnicaudit.toml:1: assume-qemu: not a version: 'latest' (expected for example 10.0.13)",
    ),
    "a release of Nova that is none": (
        'nova-release = "Zaphod"\n',
        "vnicaudit.toml:1: nova-release: unknown Nova release 'Zaphod' (known: "
        f"{releases()[0]} to {releases()[-1]})",
    ),
    "an address of the documentation that is none": (
        'docs-url = "docs/"\n',
        "vnicaudit.toml:1: docs-url: expected an address such as https://docs.example.org/vnicaudit",
    ),
    "unknown key in the policy": (
        "[policy]\n\nqueue = 4\n",
        "vnicaudit.toml:3: unknown key 'queue' in [policy]; did you mean 'queues'?",
    ),
    "queues that are none": (
        'fail-on = "low"\n\n[policy]\nrx-queue-size = 256\n"queues" = 0\n\n[[suppress]]\n'
        'rule = "VNIC001"\nreason = "r"\n',
        'vnicaudit.toml:5: queues: expected "keep", "auto" or a number from 1',
    ),
    "a word for queues": (
        "[policy]\nqueues = 'all'\n",
        'vnicaudit.toml:2: queues: expected "keep", "auto" or a number from 1',
    ),
    "a ring that QEMU does not take": (
        "[policy]\ntx-queue-size = 2048\n",
        'vnicaudit.toml:2: tx-queue-size: expected "keep", 256, 512 or 1024',
    ),
    "no vectors": (
        "[policy]\nvectors-max = 0\n",
        "vnicaudit.toml:2: vectors-max: expected a number from 1",
    ),
    "a policy in one line": (
        "\npolicy = {queues-max = 1.5}\n",
        "vnicaudit.toml:2: queues-max: expected a number from 1",
    ),
    "a policy at the top": (
        "\npolicy.queues-max = '8'\n",
        "vnicaudit.toml:2: queues-max: expected a number from 1",
    ),
    "a policy that is no table": (
        "policy = 'auto'\n",
        "vnicaudit.toml:1: policy: expected `object`, got `str`",
    ),
    "patterns that are no list": (
        'exclude = "vendor"\n',
        "vnicaudit.toml:1: exclude: expected `array`, got `str`",
    ),
    "a version without quotes": (
        "assume-qemu = 10.0\n",
        "vnicaudit.toml:1: assume-qemu: expected `str`, got `float`",
    ),
}  # fmt: skip


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
        "pyproject.toml:5: select: expected `array`, got `int`"
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
