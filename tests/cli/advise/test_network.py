"""``vnicaudit advise network``: what it reads and writes, and its exit codes."""

import json
import re
import shlex
from pathlib import Path

import click
import msgspec
import pytest

from tests.cli.command import vnicaudit
from tests.cli.inside import inside
from tests.docs.pages import ROOT
from vnicaudit.cli.commands import cli
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.attachments import attachment_table
from vnicaudit.model.scenario import (
    FlowNetwork,
    NetworkNeeds,
    Scenario,
    ScenarioPlatform,
    TrafficFlow,
)

TEMPLATE = ROOT / "templates/advise/scenario.toml"
SCENARIOS = Path(__file__).with_name("scenarios")


def test_init_prints_the_template_and_writes_it_to_a_new_file(tmp_path: Path) -> None:
    printed = inside("advise", "network", "--init")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout == TEMPLATE.read_text("utf-8")
    done = inside("advise", "network", "--init", "-o", "new.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "new.toml: edit it, then run: vnicaudit advise network new.toml\n"
    assert (tmp_path / "new.toml").read_text("utf-8") == printed.stdout


def test_init_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[platform]\n")
    done = inside("advise", "network", "--init", "-o", "mine.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: mine.toml exists and was not replaced; choose another name\n"
    assert (tmp_path / "mine.toml").read_text() == "[platform]\n"


def test_the_template_explains_every_key_in_one_line() -> None:
    text = TEMPLATE.read_text("utf-8")
    keys = re.findall(r"^#?(\w+) = .*\S +# (?=\S)", text, re.MULTILINE)
    records = (ScenarioPlatform, NetworkNeeds, TrafficFlow, FlowNetwork)
    known = {one.encode_name for kind in records for one in msgspec.structs.fields(kind)}
    assert set(keys) == known - {"network"}


def test_every_key_of_the_template_is_accepted(tmp_path: Path) -> None:
    """Also those behind a ``#``, as an operator would say them."""
    text = re.sub(r"^#(?=\[|\w+ = )", "", TEMPLATE.read_text("utf-8"), flags=re.MULTILINE)
    (tmp_path / "all.toml").write_text(text)
    done = inside("advise", "network", "all.toml", "--format", "json", cwd=tmp_path)
    assert done.stderr == ""
    assert json.loads(done.stdout)["schema"] == "vnicaudit.advice/1"


def test_standard_input_and_files_of_each_format(tmp_path: Path) -> None:
    text = TEMPLATE.read_bytes()
    whole = vnicaudit("advise", "network", "-", stdin=text, cwd=tmp_path)
    assert whole.stdout.startswith("frontend-stock  pod to pod  across nodes  request/response")
    for name, begins in (
        ("a.md", "## vnicaudit advise network\n"),
        ("a.json", '{"schema":'),
        ("a.txt", "fr"),
    ):
        done = inside("advise", "network", TEMPLATE, "-o", name, cwd=tmp_path)
        assert (done.stdout, done.stderr) == ("", "")
        assert (tmp_path / name).read_text().startswith(begins)


def test_files_that_cannot_be_scenarios(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text("#" * 1_100_000)
    for name, told in (
        ("large.toml", "larger than 1 MiB: not a scenario"),
        ("none.toml", "No such file or directory"),
        (".", "not a regular file"),
    ):
        done = inside("advise", "network", name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"Error: {name}: {told}\n"


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    for words, told in (
        ((), "name a SCENARIO.toml"),
        (("--init", "a.toml"), "--init reads no scenario: use it alone, or with --output"),
        (("kube:prod",), "kube:prod: name the flows with --flows FLOWS.toml"),
        ((TEMPLATE, "--flows", "f.toml"), "--flows goes with kube:CONTEXT"),
        ((TEMPLATE, "-o", "a.sarif"), "a.sarif: the file name does not tell the format"),
        ((TEMPLATE, "-o", "a.toml"), "a.toml: the file name does not tell the format"),
        ((TEMPLATE, "-o", "advice"), "advice: the file name does not tell the format"),
        ((TEMPLATE, "--format", "text", "-o", "a.gz"), "writes no compressed files"),
        (("--init", "-o", "a.json"), "a.json: a scenario is TOML: name it scenario.toml"),
        (("--init", "-o", "a.toml.gz"), "writes no compressed files"),
        (("--init", "--format", "json"), "--init reads no scenario: use it alone"),
    ):
        done = inside("advise", "network", *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


@pytest.mark.parametrize("place", ["mine.toml", "./mine.toml", "link.toml"])
def test_a_report_never_replaces_what_it_is_made_of(tmp_path: Path, place: str) -> None:
    text = TEMPLATE.read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "link.toml").symlink_to("mine.toml")
    for words in (("mine.toml",), ("kube:prod", "--flows", "mine.toml")):
        more = ("--format", "text", "-o", place)
        done = inside("advise", "network", *words, *more, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"Error: {place} is read: write the report to another file\n"
    assert (tmp_path / "mine.toml").read_text("utf-8") == text


def test_names_cannot_reach_the_terminal_as_commands(tmp_path: Path) -> None:
    name = "\\u001b[2J\\u202e::error::x"
    (tmp_path / "a.toml").write_text(f'[[flow]]\nname = "{name}"\nfrom = "pod"\nto = "pod"\n')
    for form in ("text", "markdown", "json"):
        done = inside("advise", "network", "a.toml", "--format", form, cwd=tmp_path)
        assert "\x1b" not in done.stdout
        assert "\u202e" not in done.stdout
        assert not re.search(r"^::", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(("name", "code"), [("shop", 1), ("guests", 2)])
def test_the_answer_of_a_scenario(name: str, code: int) -> None:
    """Written by: cd tests/cli/advise/scenarios; vnicaudit advise network NAME.toml > NAME.txt"""
    done = inside("advise", "network", f"{name}.toml", cwd=SCENARIOS)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == (SCENARIOS / f"{name}.txt").read_text("utf-8")


def test_exit_codes(tmp_path: Path) -> None:
    """2 for facts that are missing comes before 1 for an attachment that is advised against."""
    text = (SCENARIOS / "shop.toml").read_text("utf-8")
    unknown = '[[flow]]\nname = "a"\nfrom = "pod"\nto = "pod"\n'
    for scenario, code in (
        (TEMPLATE.read_text("utf-8"), 0),
        (text, 1),
        (text.replace('present = "default"', ""), 0),
        (f"{text}\n{unknown}", 2),
    ):
        (tmp_path / "a.toml").write_text(scenario)
        for form in ("text", "json", "markdown"):
            done = inside("advise", "network", "a.toml", "--format", form, cwd=tmp_path)
            assert (done.returncode, done.stderr) == (code, "")
            assert done.stdout


@pytest.mark.parametrize("command", attachment_table().command.values())
def test_a_command_that_measures_is_a_command_line(command: str) -> None:
    program, group, name, *words = shlex.split(command, comments=True)
    assert (program, group, name) == ("vnicaudit", "bench", "run")
    bench = cli.get_command(click.Context(cli), group)
    assert isinstance(bench, click.Group)
    run = bench.get_command(click.Context(bench), name)
    assert run is not None
    run.make_context(name, words)


def test_write_makes_files_and_names_facts_that_are_missing(tmp_path: Path) -> None:
    text = (SCENARIOS / "shop.toml").read_text("utf-8")
    (tmp_path / "a.toml").write_text(text)
    done = inside("advise", "network", "a.toml", "--write", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "Not written: " in done.stderr
    assert "flow.network.device" in done.stderr
    network = "[flow.network]\nnamespace = 'shop'\nworkload = 'Deployment/frontend'\n"
    network += "device = 'enc2'\nrx_queues = 1\nvlan = 0\naddresses = ['192.0.2.10/24']\n"
    head, mark, tail = text.partition('[[flow]]\nname = "backup"')
    (tmp_path / "a.toml").write_text(f"{head}{network}{mark}{tail}")
    done = inside("advise", "network", "a.toml", "--write", "out", cwd=tmp_path)
    assert "Not written: " not in done.stderr
    assert done.returncode == 1
    assert "in out: review them; nothing was applied" in done.stderr
    assert any(
        "NetworkAttachmentDefinition" in one.read_text() for one in (tmp_path / "out").iterdir()
    )


ONE_NIC = """
[platform]
kind = "z-kvm"
sdn = "openshift-sdn"
spare_nics = 1
multus = true
[needs]
effort = "any"
network_policy = false
"""
A_FLOW = """
[[flow]]
name = "{name}"
from = "pod"
to = "{to}"
nodes = "cross"
pods_per_node = 1
priority = "latency"
pattern = "rr"
connections = {connections}
[flow.network]
namespace = "shop"
workload = "StatefulSet/{name}"
device = "{device}"
rx_queues = 1
addresses = ["192.0.2.{connections}/24"]
"""


def test_a_nic_that_flows_want_in_two_ways_is_told_and_the_rest_is_written(tmp_path: Path) -> None:
    flows = (
        ("shop", "pod", 250, "enc1"), ("db", "external", 50, "enc1"), ("lan", "pod", 240, "enc2"),
    )  # fmt: skip
    text = ONE_NIC + "".join(
        A_FLOW.format(name=name, to=to, connections=connections, device=device)
        for name, to, connections, device in flows
    )
    (tmp_path / "a.toml").write_text(
        text.replace('to = "external"\nnodes = "cross"', 'to = "external"')
    )
    done = inside("advise", "network", "a.toml", "--write", "out", cwd=tmp_path)
    assert done.returncode == 2
    ways = "NIC enc1 can be only one of: parent of IPVLAN (flow shop), given to a pod (flow db)"
    for flow in ("shop", "db"):
        assert f"Not written: {flow}-network.yaml of flow {flow}: {ways}\n" in done.stderr
        assert f"Not written: {flow}-pod.yaml of flow {flow}: {ways}\n" in done.stderr
    assert "RFS of NIC enc1 can be only one of: on (flow shop), off (flow db)\n" in done.stderr
    written = {one.name for one in (tmp_path / "out").iterdir()}
    assert written == {"lan-network.yaml", "lan-pod.yaml"}


CLUSTER_SCENARIO = Scenario(
    platform=ScenarioPlatform(kind="x86", sdn="ovn-kubernetes"),
    flows=(TrafficFlow(name="a", source="pod", to="pod", nodes="same", pattern="rr"),),
)


def test_a_cluster_completes_the_scenario(tmp_path: Path) -> None:
    def read(target: str, deadline: float, given: Scenario) -> tuple[Scenario, tuple[str, ...]]:
        assert (target, deadline, given.flows[0].name) == ("kube:prod", 5.0, "a")
        return CLUSTER_SCENARIO, ("platform.kind: nodes say \x1b[1m",)

    (tmp_path / "flows.toml").write_text('[[flow]]\nname = "a"\nfrom = "pod"\nto = "pod"\n')
    words = ("VNICAUDIT_DEADLINE=5", "advise", "network", "kube:prod", "--flows", "flows.toml")
    done = inside(*words, cwd=tmp_path, wiring=Wiring(cluster_scenario=read))
    assert (done.returncode, done.stderr) == (0, "Note: platform.kind: nodes say \\x1b[1m\n")
    assert done.stdout.startswith(
        "a  pod to pod  on one node  request/response\n  Network   the def"
    )
    quiet = inside(*words, "-q", cwd=tmp_path, wiring=Wiring(cluster_scenario=read))
    assert (quiet.stdout, quiet.stderr) == (done.stdout, "")


def test_a_cluster_that_is_not_there_is_4(tmp_path: Path) -> None:
    def read(target: str, deadline: float, given: Scenario) -> tuple[Scenario, tuple[str, ...]]:
        raise TargetError(f"{given.flows[0].name}, {deadline:g} s: no answer", file=target)

    (tmp_path / "flows.toml").write_text('[[flow]]\nname = "a"\nfrom = "pod"\nto = "pod"\n')
    words = ("VNICAUDIT_DEADLINE=5", "advise", "network", "kube:prod", "--flows", "flows.toml")
    done = inside(*words, cwd=tmp_path, wiring=Wiring(cluster_scenario=read))
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "Error: kube:prod: a, 5 s: no answer\n"
