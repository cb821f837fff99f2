"""Units, the cron line and the CronJob under templates/schedule/."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
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
        for line in re.findall(rf"{PROGRAM} ([^;\n]*)", text):
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
    lines = [line for line in text.splitlines() if line[0].isdigit()]
    assert len(lines) == 2
    for line in lines:
        *when, user, program = line.split(maxsplit=6)
        assert all(re.fullmatch(r"\d+|\*", word) for word in when)
        assert user in ("root", "vnicaudit")
        assert re.match(rf"cd /etc(;| &&) {PROGRAM} audit ", program)


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


GUEST = """<domain type='kvm'>
  <name>{0}</name>
  <uuid>6f0c1d5e-0000-4000-8000-0000000000{1}</uuid>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <mac address='52:54:00:1f:0d:{1}'/>
      <source bridge='br0'/>
      <model type='{2}'/>
    </interface>
  </devices>
</domain>
"""
SETTINGS = """
[[suppress]]
rule = "VNIC002"
domain = "pbx"
reason = "the vendor supports e1000 only"
"""


class Machine:
    """The files that the unit and the cron line name, below one folder, where guests are files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("etc", "guests", "var/lib/vnicaudit", "var/lib/prometheus/node-exporter"):
            (folder / name).mkdir(parents=True)
        self.add("pbx", "01", "e1000")
        self.add("web", "02", "rtl8139")

    def add(self, name: str, number: str, model: str) -> None:
        (self.folder / f"guests/{name}.xml").write_text(GUEST.format(name, number, model))

    def run(self, command: str) -> tuple[int, str]:
        """As systemd and cron run it: from /, without a terminal, output and errors together."""
        command = re.sub("(?<= )/(etc|var)", rf"{self.folder}/\1", command)
        command = command.replace(PROGRAM, f"{sys.executable} -m vnicaudit")
        command = command.replace("qemu:///system", f"{self.folder}/guests")
        ended = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout

    def cron(self) -> str:
        """A night by cron: the mail."""
        (line,) = re.findall(r"^\d.* root  (.*)$", (FOLDER / "vnicaudit.cron").read_text(), re.M)
        return self.run(line)[1]

    def unit(self) -> str:
        """A night by systemd: the journal."""
        text = (FOLDER / "vnicaudit.service").read_text().replace("\\\n", " ")
        (cwd,) = re.findall("^WorkingDirectory=(.*)$", text, re.MULTILINE)
        lines = re.findall("^ExecStart=(-?)(.*)$", text, re.MULTILINE)
        ended = [self.run(f"cd {cwd} && {line}") for _ignored, line in lines]
        assert [ignored for ignored, _line in lines] == ["-", ""], "the last decides for the unit"
        assert ended[-1][0] in (1, 4)
        return "".join(printed for _code, printed in ended)


@pytest.mark.parametrize("night", [Machine.unit, Machine.cron])
def test_a_night_tells_what_is_new(night: Callable[[Machine], str], tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (tmp_path / "etc/vnicaudit.toml").write_text(SETTINGS)
    first = night(machine)
    assert "VNIC001" in first
    assert "VNIC002" not in first, "accepted by /etc/vnicaudit.toml"
    assert night(machine) == ""

    machine.add("mail", "03", "rtl8139")
    planted = night(machine)
    assert "52:54:00:1f:0d:03" in planted
    assert "52:54:00:1f:0d:02" not in planted
    assert night(machine) == ""

    cut = tmp_path / "guests/cut.xml"
    cut.write_text(GUEST.format("cut", "04", "virtio")[:200])
    (tmp_path / "guests/web.xml").unlink()
    unread = night(machine)
    assert "cut.xml" in unread
    assert "VNIC" not in unread
    cut.unlink()
    machine.add("web", "02", "rtl8139")
    assert night(machine) == "", "known before it could not be read"


def test_the_unit_writes_everything_for_programs(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.unit()
    machine.unit()
    metrics = (tmp_path / "var/lib/prometheus/node-exporter/vnicaudit.prom").read_text()
    assert 'vnicaudit_findings{rule="VNIC001"' in metrics
    report = json.loads((tmp_path / "var/lib/vnicaudit/report.json").read_text())
    assert {"VNIC001", "VNIC002"} <= {one["rule"] for one in report["findings"]}
