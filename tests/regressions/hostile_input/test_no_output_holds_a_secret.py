"""``audit --diff`` printed ``transport_url``, ``admin_password`` and the ``passwd`` of graphics in
its context lines, which ``plan`` masked; an endpoint's URL with a mistyped scheme was echoed with
its password. So: a secret in every place that may hold one, every command, every format, every
verbosity, and a search of all that was written."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import vnicaudit
from tests.cli.inside import inside
from tests.regressions.hostile_input.planted import DOMAIN_XML, FILES, SECRET, plant
from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.platforms import PlatformRegistry
from vnicaudit.reports.formats import formats
from vnicaudit.text.secrets import masked, masked_message

DEBUG = {"VNICAUDIT_DEBUG": "1"}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("planted"))


def silent(result: subprocess.CompletedProcess[str]) -> None:
    """That neither stream has the secret; a line of it that has, where one does."""
    for stream in (result.stdout, result.stderr):
        assert [line for line in stream.splitlines() if SECRET in line] == [], result.args


def written(folder: Path) -> Iterator[Path]:
    """Files below a folder that hold the secret."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and SECRET.encode() in path.read_bytes():
            yield path


@pytest.mark.parametrize("name", FILES)
def test_masking_leaves_no_secret_and_every_line(name: str) -> None:
    shown = masked(FILES[name])
    assert SECRET not in shown
    assert "***" in shown
    assert shown.count("\n") == FILES[name].count("\n")
    assert shown.count("hw_vif_model") == FILES[name].count("hw_vif_model")
    assert shown.count("e1000") == FILES[name].count("e1000")


@pytest.mark.parametrize("format_", sorted(formats()))
@pytest.mark.parametrize("part", ["whole", "broken"])
def test_no_format_of_an_audit_holds_a_secret(format_: str, part: str, planted: Path) -> None:
    place = planted / f"{part}-{format_}.out"
    result = inside(
        "audit", planted / part, "-v", "--format", format_, "--output", place,
        "--format", "text", "--output", "-", env=DEBUG,
    )  # fmt: skip
    assert result.returncode in (1, 4)
    silent(result)
    assert place.stat().st_size > 0
    assert SECRET not in place.read_text()


@pytest.mark.parametrize("part", ["whole", "broken"])
def test_no_file_named_by_itself_is_quoted_with_its_secret(part: str, planted: Path) -> None:
    for path in sorted((planted / part).rglob("*")):
        if path.is_file():
            silent(inside("audit", path, "-v", env=DEBUG))
            silent(inside("nics", path, "-v", env=DEBUG))


def test_no_diff_holds_a_secret(planted: Path) -> None:
    result = inside("audit", planted / "whole", "--diff", "--include-unsafe", env=DEBUG)
    silent(result)
    assert "-rx_queue_size = 2048" in result.stdout
    assert (
        "-    <interface type='bridge'><source bridge='br0'/><model type='rtl8139'/>"
        in result.stdout
    )
    assert "model: e1000" in result.stdout
    assert "transport_url" not in result.stdout
    assert "passwd" not in result.stdout


def test_a_masked_diff_says_that_patch_cannot_apply_it(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(DOMAIN_XML.replace("\n", " "))
    (tmp_path / "b.xml").write_text(DOMAIN_XML)
    said = "# Text that may be secret is shown as ***: patch cannot apply this diff"
    first, second = (
        inside("audit", name, "--diff", "--include-unsafe", cwd=tmp_path).stdout
        for name in ("a.xml", "b.xml")
    )
    assert "passwd='***'" in first
    silent(inside("audit", "a.xml", "--diff", "--include-unsafe", cwd=tmp_path))
    assert first.startswith(said)
    assert second.startswith("--- b.xml\n")


def test_fix_with_diff_shows_no_secret_and_keeps_it_in_the_file(tmp_path: Path) -> None:
    plant(tmp_path)
    before = {name: text.count(SECRET) for name, text in FILES.items()}
    silent(inside("audit", tmp_path / "whole", "--fix", "--diff", "--include-unsafe", env=DEBUG))
    after = {name: (tmp_path / "whole" / name).read_text().count(SECRET) for name in FILES}
    assert after == before
    assert "rx_queue_size = 1024" in (tmp_path / "whole" / "nova.conf").read_text()


def test_standard_input_is_not_quoted_with_its_secret() -> None:
    for text in FILES.values():
        silent(vnicaudit("audit", "-", "--diff", "-v", stdin=text.encode(), env=DEBUG))
        silent(vnicaudit("nics", "-", "-v", stdin=text.encode(), env=DEBUG))
        silent(vnicaudit("audit", "-", "-v", stdin=text[:-40].encode(), env=DEBUG))


def test_explain_and_nics_hold_no_secret(planted: Path) -> None:
    for name in ("mail-02.txt", "mail-03.yaml"):
        for words in (("--format", "json"), ("-v",)):
            result = inside("explain", planted / "whole" / name, "--nic", "0", *words, env=DEBUG)
            silent(result)
            silent(inside("nics", planted / "whole" / name, *words, env=DEBUG))


def test_what_plan_and_apply_write_holds_no_secret_but_the_kept_definitions(tmp_path: Path) -> None:
    plant(tmp_path)
    plan, state = tmp_path / "plan.json", tmp_path / "state"
    xml = tmp_path / "whole" / "mail-01.xml"
    silent(inside("plan", tmp_path / "whole", "--include-unsafe", "-v", env=DEBUG))
    for by in ("project", "host", "rule"):
        grouped = inside(
            "plan", tmp_path / "whole", "--include-unsafe", "--group-by", by, "-v", env=DEBUG
        )
        assert grouped.returncode == 0, grouped.stderr
        silent(grouped)
    silent(inside("plan", xml, "--include-unsafe", "-o", plan, "-v", env=DEBUG))
    assert SECRET not in plan.read_text()
    assert "passwd" not in plan.read_text()
    options = ("--yes", "--include-unsafe", "--state", state)
    silent(inside("apply", plan, "--dry-run", *options, env=DEBUG))
    applied = inside("apply", plan, *options, env=DEBUG)
    assert applied.returncode == 0, applied.stderr
    silent(applied)
    assert "virtio" in xml.read_text()
    (run,) = os.listdir(state / "runs")
    silent(inside("runs", run, "-v", "--state", state, env=DEBUG))
    silent(inside("runs", "--format", "json", "--state", state, env=DEBUG))
    for words in (("--verify", run), ("--recover",)):
        for more in ((), ("-v",)):
            looked = inside("runs", *words, *more, "--state", state, env=DEBUG)
            assert looked.returncode in (0, 1), looked.stderr
            silent(looked)
    undone = inside("rollback", run, "--yes", "--state", state, env=DEBUG)
    assert undone.returncode == 0, undone.stderr
    silent(undone)
    silent(inside("runs", run, "-v", "--state", state, env=DEBUG))
    assert {path.parent.name for path in written(state)} == {"definitions"}


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "run", f"shh://root:{SECRET}@h,local"),
        ("bench", "run", f"ssh://root:{SECRET}@h:x,local"),
        ("audit", f"qemu+shh://root:{SECRET}@h/system"),
        ("audit", f"esx://root:{SECRET}@h/system"),
        ("audit", f"qemu+ssh//root:{SECRET}@h/system"),
        ("nics", f"root:{SECRET}@h"),
        ("plan", f"root:a/{SECRET}@h"),
        ("bench", "run", f"root:{SECRET}@h,local"),
        ("fleet", "inventory", "-i", f"root:{SECRET}@h,"),
        ("fleet", "inventory", "-i", f"qemu+ssh//root:{SECRET}@h/system"),
        ("audit", f"qemu+tls://root:{SECRET}@[h/system"),
        ("nics", f"openstack:https://u:{SECRET}@h"),
        ("audit", f"https://u:{SECRET}@h/a.xml"),
        ("audit", "a.xml", f"--password={SECRET}"),
    ],
)
def test_no_mistyped_address_is_echoed_with_its_password(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    result = inside(*words, cwd=tmp_path)
    assert result.returncode in (2, 4)
    silent(result)
    assert "***" in result.stdout + result.stderr or "password" in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        f"password = {SECRET}\n", f"x = {{ token = '{SECRET}'\n", f"baseline = 'https://u:{SECRET}@h/'\n",
        f"[[suppress]]\nrule = 'password={SECRET}'\nreason='x'\n",
    ],
)  # fmt: skip
def test_settings_are_not_quoted_with_their_secret(text: str, tmp_path: Path) -> None:
    (tmp_path / "vnicaudit.toml").write_text(text)
    (tmp_path / "a.xml").write_text(DOMAIN_XML)
    silent(inside("audit", "a.xml", "-v", cwd=tmp_path, env=DEBUG))


def test_what_is_no_secret_is_shown() -> None:
    for text in (
        "inject_password = false", "hw_vif_model: e1000", "  <mac address='52:54:00:12:34:56'/>",
        "<secret type='ceph' uuid='6f1f9a90-6f0c-4f2a-9bb4-2b4bd9b9c002'/>",
    ):  # fmt: skip
        assert masked(text) == text
    for text in ("unknown key 'x': did you mean 'y'?", "qemu+ssh://root@kvm7/system"):
        assert masked_message(text) == text


def test_a_traceback_holds_no_secret() -> None:
    def fails() -> PlatformRegistry:
        raise ValueError(f"not an integer: password={SECRET}, http://u:{SECRET}@h/")

    result = inside("audit", ".", env=DEBUG, wiring=Wiring(platforms=fails))
    assert result.returncode == 3
    assert "Traceback (most recent call last)" in result.stderr
    assert "not an integer: password=***" in result.stderr
    silent(result)
