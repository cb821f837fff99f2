"""The periodic jobs of the how-to: their files are parsed, and their commands run as Zuul, Jenkins
and GitLab run them. (None of the three can be had in a test; Zuul's files were tried with Zuul
14.3's own parsers and ansible-core 2.18.)"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.nodes import SequenceNode

from tests.docs.pages import ROOT
from tests.not_run import not_run
from tests.pipelines.project import SCRIPTS, bash, copy_of_this, needs_packages, page, parse
from vnicaudit.audit.settings.settings import load_settings

FILES = {
    block.mark.removeprefix("file: "): block.text
    for block in page("openstack-gate.md")
    if block.mark.startswith("file: ")
}
CLOUD = "openstack:prod"
SECRET = "not-this-one"
BAD = "[libvirt]\nuse_virtio_for_bridges = false\n"
GOOD = "[libvirt]\nuse_virtio_for_bridges = true\n"
PATH = f"{SCRIPTS}:{os.environ['PATH']}"

Run = Callable[[str], subprocess.CompletedProcess[str]]
"""Runs what a job runs, with another target in place of the cloud."""


class _Constructor(SafeConstructor):
    """Of Zuul's YAML, which has a tag of its own."""


def _encrypted(loader: _Constructor, node: SequenceNode) -> list[str]:
    return [str(chunk) for chunk in loader.construct_sequence(node)]


_Constructor.add_constructor("!encrypted/pkcs1-oaep", _encrypted)


def zuul(name: str) -> dict[str, dict[str, Any]]:
    """The objects of one of Zuul's files, by their kind."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    return {kind: value for entry in yaml.load(FILES[name]) for kind, value in entry.items()}


JOB = zuul("zuul.yaml")["job"]
(PLAY,) = YAML(typ="safe").load(FILES["playbooks/vnicaudit.yaml"])
BLOCK: dict[str, Any] = PLAY["tasks"][-1]
PUT, AUDIT = BLOCK["block"]
REMOVE, NAME = BLOCK["always"]


def rendered(value: Any, known: dict[str, Any]) -> Any:
    """A value of the playbook with its expressions filled in: names, and sums of them."""
    if isinstance(value, list):
        return [rendered(item, known) for item in value]
    if sum_of := re.fullmatch(r"\{\{ (\w+(?: \+ \w+)+) \}\}", value):
        return [word for name in sum_of[1].split(" + ") for word in rendered(known[name], known)]
    return re.sub(r"\{\{ ([\w.]+) \}\}", lambda name: rendered(known[name[1]], known), value)


def variables(folder: Path) -> dict[str, Any]:
    """What Zuul and the playbook set, with the node's home in a folder."""
    own = {"ansible_user_dir": str(folder), "zuul.project.src_dir": "src"}
    return {**own, **JOB["vars"], **PLAY["vars"], **AUDIT["vars"]}


@pytest.fixture
def run_zuul(tmp_path: Path) -> Run:
    known = variables(tmp_path)
    for name in ("vnicaudit_reports", "vnicaudit_secrets"):
        Path(rendered(known[name], known)).mkdir(parents=True)
    Path(rendered(known["vnicaudit_home"], known)).symlink_to(Path(SCRIPTS).parent)

    def run(target: str) -> subprocess.CompletedProcess[str]:
        task = AUDIT["ansible.builtin.command"]
        folder = Path(rendered(task["chdir"], known))
        folder.mkdir(exist_ok=True)
        file = Path(rendered(PUT["ansible.builtin.copy"]["dest"], known))
        file.write_text(FILES["clouds.yaml"].replace("keystone.example.org", "127.0.0.1"))
        assert rendered(AUDIT["environment"]["OS_CLIENT_CONFIG_FILE"], known) == str(file)
        argv = [target if word == CLOUD else word for word in rendered(task["argv"], known)]
        return subprocess.run(
            argv, cwd=folder, env={"PATH": PATH, "OS_CLIENT_CONFIG_FILE": str(file)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def run_jenkins(tmp_path: Path) -> Run:
    (file,) = [block.text for block in page("openstack-gate.md") if block.language == "groovy"]
    ((variable, script),) = re.findall(
        r"file\(credentialsId: '[^']+', variable: '(\w+)'\).*?sh '''(.*?)'''", file, re.DOTALL
    )
    return _shell(tmp_path, script, {variable: str(_clouds(tmp_path)), "PATH": PATH}, ("-xe",))


@pytest.fixture
def run_gitlab(tmp_path: Path) -> Run:
    template = parse((ROOT / "templates/gitlab/vnicaudit.gitlab-ci.yml").read_text("utf-8"))
    job: Any = template["vnicaudit"]
    settings: Any = {**template["variables"], **gitlab()["variables"]}  # type: ignore[dict-item]
    script = f"environment={Path(SCRIPTS).parent}\n{job['script'][1]}"
    file = {"OS_CLIENT_CONFIG_FILE": str(_clouds(tmp_path))}

    def run(target: str) -> subprocess.CompletedProcess[str]:
        assert settings["VNICAUDIT_TARGETS"] == CLOUD
        given = {**settings, **file, "VNICAUDIT_TARGETS": target}
        return bash(script, tmp_path, given, ("-eo", "pipefail"))

    return run


def _clouds(folder: Path) -> Path:
    """clouds.yaml of the page, with a Keystone that is not there."""
    file = folder / "secret-clouds"
    file.write_text(FILES["clouds.yaml"].replace("keystone.example.org", "127.0.0.1"))
    return file


def _shell(folder: Path, script: str, environment: dict[str, str], options: tuple[str]) -> Run:
    return lambda target: bash(
        script.replace("\\\n", " ").replace(CLOUD, target), folder, environment, options
    )


def gitlab() -> dict[str, object]:
    """What goes into .gitlab-ci.yml."""
    (text,) = [b.text for b in page("openstack-gate.md") if b.text.startswith("include:")]
    return parse(text)


JOBS = ("run_zuul", "run_jenkins", "run_gitlab")


@pytest.mark.parametrize("name", JOBS)
class TestEveryJob:
    def test_findings_fail_it_and_reports_are_there(
        self, name: str, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        run: Run = request.getfixturevalue(name)
        (tmp_path / "nova.conf").write_text(BAD)
        ended = run(str(tmp_path / "nova.conf"))
        assert ended.returncode == 1, ended.stderr
        assert "VNIC060" in ended.stdout
        (junit,) = tmp_path.rglob("vnicaudit-junit.xml")
        (suite,) = etree.parse(str(junit)).getroot()
        assert suite.get("failures") == "1"

    def test_nothing_found_and_it_succeeds(
        self, name: str, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        (tmp_path / "nova.conf").write_text(GOOD)
        assert request.getfixturevalue(name)(str(tmp_path / "nova.conf")).returncode == 0

    def test_a_cloud_that_does_not_answer_fails_it_and_no_secret_is_shown(
        self, name: str, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        if importlib.util.find_spec("openstack") is None:
            not_run("openstack-gate", "openstacksdk is not installed (pip install openstacksdk)")
        ended = request.getfixturevalue(name)(CLOUD)
        assert ended.returncode == 4, ended.stdout + ended.stderr
        assert CLOUD in ended.stdout + ended.stderr
        written = [file.read_text() for file in tmp_path.rglob("*vnicaudit*.*") if file.is_file()]
        assert not [text for text in (ended.stdout, ended.stderr, *written) if SECRET in text]


class TestZuul:
    def test_the_job_has_the_secret_and_runs_the_playbook_of_the_page(self) -> None:
        objects = zuul("zuul.yaml")
        assert JOB["run"] in FILES
        (use,) = JOB["secrets"]
        assert use["secret"] == objects["secret"]["name"]
        (field,) = objects["secret"]["data"]
        assert PUT["ansible.builtin.copy"]["content"] == f"{{{{ {use['name']}.{field} }}}}"
        assert objects["project"] == {"periodic": {"jobs": [JOB["name"]]}}
        pipeline = zuul("pipelines.yaml")["pipeline"]
        assert (pipeline["name"], pipeline["post-review"]) == ("periodic", True)

    def test_the_secret_is_written_for_one_reader_and_not_logged(self, tmp_path: Path) -> None:
        known = variables(tmp_path)
        assert (PUT["ansible.builtin.copy"]["mode"], PUT["no_log"]) == ("0600", True)
        folder = Path(rendered(PUT["ansible.builtin.copy"]["dest"], known)).parent
        modes = {
            rendered(item["path"], known): item["mode"]
            for task in PLAY["tasks"] if "loop" in task for item in task["loop"]
        }  # fmt: skip
        assert modes[str(folder)] == "0700"
        gone = REMOVE["ansible.builtin.file"]
        assert (rendered(gone["path"], known), gone["state"]) == (str(folder), "absent")

    def test_no_exit_code_is_hidden(self) -> None:
        for task in (*PLAY["tasks"], *BLOCK["block"]):
            assert not task.keys() & {"ignore_errors", "failed_when", "rescue"}

    def test_the_artifacts_are_the_reports(self, run_zuul: Run, tmp_path: Path) -> None:
        (tmp_path / "nova.conf").write_text(GOOD)
        run_zuul(str(tmp_path / "nova.conf"))
        artifacts = NAME["zuul_return"]["data"]["zuul"]["artifacts"]
        folder = Path(rendered(PLAY["vars"]["vnicaudit_reports"], variables(tmp_path)))
        assert {entry["url"] for entry in artifacts} == {path.name for path in folder.iterdir()}

    def test_what_it_installs_can_be_installed(self, tmp_path: Path) -> None:
        """pip takes the package as it is written, with the extra."""
        needs_packages("openstack-gate")
        package = tmp_path / "package"
        package.mkdir()
        copy_of_this(package)
        name, _, url = JOB["vars"]["vnicaudit_package"].partition(" @ ")
        assert url.startswith("git+https://git.example.org/")
        argv = PLAY["tasks"][1]["ansible.builtin.command"]["argv"]
        words = ["--dry-run" if word == "--quiet" else word for word in argv[1:-1]]
        ended = subprocess.run(
            [sys.executable, *words, f"{name} @ {package.as_uri()}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr


class TestGitlab:
    def test_it_runs_by_schedule_alone(self) -> None:
        job: Any = gitlab()["vnicaudit"]
        assert job["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "schedule"'}]
        assert "allow_failure" not in job

    def test_the_file_is_not_passed_on_in_variables(self) -> None:
        """There it would be the content, not the path."""
        assert "OS_CLIENT_CONFIG_FILE" not in FILES["clouds.yaml"]
        assert not [value for value in gitlab()["variables"].values() if "$" in value]  # type: ignore[attr-defined]


def test_the_access_rules_let_nothing_be_changed_or_downloaded() -> None:
    rules = json.loads(FILES["access-rules.json"])
    assert {rule["method"] for rule in rules} == {"GET"}
    assert [rule["path"] for rule in rules if rule["service"] == "image"] == ["/v2/images"]


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")  # openstacksdk, whatever is read
def test_openstacksdk_takes_the_clouds_yaml(tmp_path: Path) -> None:
    if importlib.util.find_spec("openstack") is None:
        not_run("openstack-gate", "openstacksdk is not installed (pip install openstacksdk)")
    from openstack.config import OpenStackConfig

    file = tmp_path / "clouds.yaml"
    file.write_text(FILES["clouds.yaml"])
    config = OpenStackConfig(config_files=[str(file)], load_envvars=False).get_one("prod")
    assert config.config["auth_type"] == "v3applicationcredential"
    assert config.config["auth"]["application_credential_secret"] == SECRET


def test_the_settings_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "vnicaudit.toml"
    file.write_text(FILES["vnicaudit.toml"])
    assert load_settings(str(file)).file == str(file)
