"""Units, the cron line and the CronJob under templates/schedule/."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
import ruamel.yaml

from tests.not_run import not_run
from vnicaudit.cli.commands import cli

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "templates/schedule"
PAGE = ROOT / "docs/how-to/scheduled-audit.md"
PROGRAM = "/opt/vnicaudit/bin/vnicaudit"
EXPOSURE = {"vnicaudit": 17, "vnicaudit-fleet": 15, "vnicaudit-serve": 13, "vnicaudit-bench@": 15}
"""Ten times what `systemd-analyze security` gives, at most."""


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    if program is None:
        not_run("schedules", "systemd-analyze is not installed: apt install systemd")
    return subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units with programs that are there."""
    for path in FOLDER.iterdir():
        if path.suffix in (".service", ".timer"):
            text = path.read_text().replace(PROGRAM, "/bin/true")
            text = re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE)
            (tmp_path / path.name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.*er*")))
def test_systemd_has_no_complaint(name: str, units: Path) -> None:
    """It exits with 0 on a misspelt key: what it prints counts."""
    result = analyze("verify", units / name)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_misspelt_key_would_be_seen(units: Path) -> None:
    path = units / "vnicaudit.service"
    path.write_text(path.read_text().replace("ProtectHome=", "ProtectHom="))
    assert "ProtectHom" in analyze("verify", path).stderr


@pytest.mark.parametrize("name", EXPOSURE)
def test_a_service_is_no_more_exposed_than_the_page_says(name: str, units: Path) -> None:
    path = units / f"{name}.service"
    words = ("security", "--offline=true", f"--threshold={EXPOSURE[name]}", path)
    result = analyze(*words)
    assert result.returncode == 0, result.stdout[-300:]
    assert f"| `{name}.service` | {EXPOSURE[name] / 10} |" in PAGE.read_text()


def test_timers_start_at_times_that_there_are() -> None:
    for path in FOLDER.glob("*.timer"):
        (when,) = re.findall(r"^OnCalendar=(.*)$", path.read_text(), re.MULTILINE)
        result = analyze("calendar", when)
        assert result.returncode == 0
        assert "Next elapse" in result.stdout


def cronjob() -> dict[str, Any]:
    found: dict[str, Any] = ruamel.yaml.YAML(typ="safe").load(FOLDER / "vnicaudit-cronjob.yaml")
    return found


def pod() -> dict[str, Any]:
    found: dict[str, Any] = cronjob()["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return found


def container() -> dict[str, Any]:
    (found,) = pod()["containers"]
    return dict(found)


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Every command of this program in units, in the cron file and in the CronJob."""
    for path in sorted(FOLDER.iterdir()):
        text = path.read_text().replace("\\\n", " ")
        for line in re.findall(rf"{PROGRAM} (.*)$", text, re.MULTILINE):
            yield path.name, shlex.split(line)
    yield "vnicaudit-cronjob.yaml", container()["args"]


@pytest.mark.parametrize(("file", "words"), list(command_lines()))
def test_every_command_is_one_of_this_program(file: str, words: list[str]) -> None:
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, f"{file}: {words[0]}"
        command, words = found, words[1:]
        context = click.Context(command)
    command.make_context(command.name or "", list(words))


def test_the_cron_file_has_a_time_and_a_user_in_each_line() -> None:
    text = (FOLDER / "vnicaudit.cron").read_text().replace("# 7 2", "7 2")
    lines = [line for line in text.splitlines() if line[0] not in "#SM"]
    assert len(lines) == 2
    for line in lines:
        *when, user, program = line.split(maxsplit=6)[:7]
        assert all(re.fullmatch(r"\d+|\*", word) for word in when)
        assert user in ("root", "vnicaudit")
        assert program.startswith(PROGRAM)


def test_kubernetes_knows_every_field_of_the_cronjob() -> None:
    schema = json.loads((Path(__file__).parent / "data/cronjob-batch-v1.json").read_text())
    validator = jsonschema.Draft7Validator(schema)
    assert [error.message for error in validator.iter_errors(cronjob())] == []
    wrong = cronjob()
    wrong["spec"]["concurencyPolicy"] = "Forbid"
    assert not validator.is_valid(wrong)


def test_the_cronjob_does_not_overlap_and_has_no_rights() -> None:
    spec = cronjob()["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["jobTemplate"]["spec"]["backoffLimit"] == 0
    assert pod()["automountServiceAccountToken"] is False
    assert pod()["securityContext"]["runAsNonRoot"] is True
    context = container()["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    mounted = {one["name"] for one in container()["volumeMounts"]}
    assert mounted == {one["name"] for one in pod()["volumes"]}
