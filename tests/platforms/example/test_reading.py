"""A platform that is handed in is read, judged and explained as the shipped ones are."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import run_here as run
from tests.platforms.example.platform import example, with_example
from vnicaudit.audit.workers import SERIAL_BELOW
from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.platforms import PlatformRegistry, every_platform

TEXT = """# inventory/1
[mail-01]
uuid = 6f2c3a52-5d0e-4a35-9d15-3f3b1f1f0a01
nic0 = rtl8139 52:54:00:12:34:56 br0
nic1 = virtio 52:54:00:12:34:57 br0
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    path = tmp_path / "guests.ini"
    path.write_text(TEXT)
    return path


def said(
    capsys: Capture, *arguments: str, code: int, platforms: PlatformRegistry | None = None
) -> Any:
    assert (
        run([*arguments, "--format", "json"], Wiring(platforms=lambda: platforms or with_example()))
        == code
    )
    return json.loads(capsys.readouterr().out)


def test_it_is_recognised_read_and_judged(inventory: Path, capsys: Capture) -> None:
    report = said(capsys, "audit", str(inventory), "--select", "VNIC001", code=1)
    ((target,), (finding,)) = report["targets"], report["findings"]
    assert (target["domains"], target["nics"], target["errors"]) == (1, 2, [])
    assert (finding["rule"], finding["owner"]["name"]) == ("VNIC001", "example")
    assert finding["about"]["mac"] == "52:54:00:12:34:56"
    place = finding["location"]
    assert (place["file"], place["line"], place["xpath"]) == (str(inventory), 4, "mail-01/nic0")
    assert finding["change"]["new"] == "virtio"


def test_what_to_do_is_in_the_words_of_its_owner(inventory: Path, capsys: Capture) -> None:
    report = said(capsys, "audit", str(inventory), code=1)
    fixes = {finding["rule"]: finding["fix"] for finding in report["findings"]}
    model = "Run nicctl FILE MAC virtio, then power the guest off and on."
    assert fixes["VNIC001"] == model
    assert fixes["VNIC009"] == "Give all NICs one model with nicctl."
    assert fixes["VNIC030"].startswith("An inventory has no setting for queues. Unsafe: ")


def test_what_to_do_is_said_once_for_all_of_a_group(inventory: Path, capsys: Capture) -> None:
    inventory.write_text(TEXT.replace("nic0", "server = 41\nnic0") + TEXT.replace(
        "mail-01", "mail-02"
    ).replace("12:34", "12:35").replace("nic0", "server = 42\nnic0"))  # fmt: skip
    wiring = Wiring(platforms=with_example)
    run(["audit", str(inventory), "--select", "VNIC001", "--group-by", "rule"], wiring)
    said = " ".join(capsys.readouterr().out.split())
    fix = "fix: Run nicctl --server UUID FILE MAC virtio, then power the guest off and on. on: mail"
    assert said.count(fix) == said.count("nicctl") == 1


def test_its_nics_are_resolved(inventory: Path, capsys: Capture) -> None:
    nics = said(capsys, "nics", str(inventory), code=0)["nics"]
    assert [nic["model"]["effective"] for nic in nics] == ["rtl8139", "virtio"]


def test_a_nic_is_explained(inventory: Path, capsys: Capture) -> None:
    (found,) = said(capsys, "explain", str(inventory), "--nic", "0", code=0)["layers"][:1]
    assert (found["name"], found["place"]) == ("Inventory", f"{inventory}:4")
    assert {"fact": "model", "value": "rtl8139", "wins": True} in [
        {key: fact[key] for key in ("fact", "value", "wins")} for fact in found["facts"]
    ]


def test_a_target_of_its_own_is_read(inventory: Path, capsys: Capture) -> None:
    report = said(capsys, "audit", f"inventory:{inventory}", "--select", "VNIC001", code=1)
    (target,), (finding,) = report["targets"], report["findings"]
    assert (target["target"], target["status"]) == (f"inventory:{inventory}", "ok")
    assert finding["location"]["target"] == f"inventory:{inventory}"


def test_workers_read_it_too(tmp_path: Path, capsys: Capture) -> None:
    for number in range(SERIAL_BELOW + 1):
        text = TEXT.replace("0a01", f"{number:04x}").replace(
            "12:34", f"{number >> 8:02x}:{number & 255:02x}"
        )
        (tmp_path / f"{number}.ini").write_text(text)
    report = said(capsys, "audit", str(tmp_path), "--select", "VNIC001", "VNICAUDIT_JOBS=2", code=1)
    assert {finding["rule"] for finding in report["findings"]} == {"VNIC001"}
    assert len(report["findings"]) == SERIAL_BELOW + 1


def test_a_line_that_is_wrong_is_named(inventory: Path, capsys: Capture) -> None:
    inventory.write_text(TEXT + "nonsense\n")
    (target,) = said(capsys, "audit", str(inventory), code=4)["targets"]
    assert target["errors"] == [
        {"message": "neither a guest nor an option", "file": str(inventory), "line": 6}
    ]


def test_without_it_the_file_is_nothing(inventory: Path, capsys: Capture) -> None:
    (target,) = said(capsys, "audit", str(inventory), code=4, platforms=every_platform())["targets"]
    assert target["error"].startswith(f"{inventory}: not recognised: none of libvirt domain XML, ")


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two platforms of one name"):
        PlatformRegistry((example(), example()))
