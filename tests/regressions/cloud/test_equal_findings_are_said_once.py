"""100,000 servers with one problem gave 62 MB of text: the same six lines of fix for each, and a
plan with twenty equal lines for every server."""

import json
import re
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from tests.audit.clouds import TARGET, FakeCloud, config, image, port, server
from tests.cli.inside import inside as anywhere
from tests.rows import rows
from vnicaudit.model.domain import Server
from vnicaudit.reports import grouped
from vnicaudit.reports.plan.steps import PlanGroupBy
from vnicaudit.reports.writers import GROUP_BY

CLOUD = FakeCloud()
inside = partial(anywhere, wiring=CLOUD.wiring)
SERVERS = 60
IMAGES = {1: "jammy", 2: "focal"}


def placed(number: int) -> Server:
    """Every third is of another project and host, every other of another image."""
    named = IMAGES[number % 2 + 1]
    kept = replace(config(hw_vif_model="rtl8139"), image=image(named))
    made = server(number, port("rtl8139"), kept=kept)
    assert made.cloud is not None
    which = number % 3
    told = replace(
        made.cloud,
        vm_state="active",
        project=f"p{which}",
        project_name=f"team-{which}",
        host=f"cmp{which}",
        image=f"image-{named}",
    )
    return replace(made, cloud=told)


@pytest.fixture(autouse=True)
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeCloud:
    monkeypatch.chdir(tmp_path)
    fake = CLOUD.clear()
    fake.clouds["prod"] = [*map(placed, range(1, SERVERS + 1))]
    return fake


def audit(*options: str) -> str:
    result = inside("audit", TARGET, "--select", "VNIC001", *options)
    assert result.returncode == 1
    assert result.stderr == ""
    return result.stdout


@rows
def test_the_fix_is_said_once_for_each_group(by: str, groups: list[str]) -> None:
    text = audit("--group-by", by)
    heads = [line for line in text.splitlines()[1:] if " problems in " in line]
    assert heads == groups
    assert text.count("server start UUID") == len(groups)
    assert "60 problems in 60 of 60 guests (60 high)" in text


@pytest.mark.parametrize(("by", "named"), [("image", "image-jammy"), ("rule", "IMAGE")])
def test_the_fix_of_an_image_is_said_for_what_the_group_has(
    cloud: FakeCloud, by: str, named: str
) -> None:
    cloud.clouds["prod"] = [image("jammy", hw_vif_model="rtl8139")]
    result = inside("audit", TARGET, "--select", "VNIC062", "--level", "never", "--group-by", by)
    words = " ".join(result.stdout.split())
    assert f"image set --property hw_vif_model=virtio {named};" in words
    assert words.count("Unsafe: ") == 1


def test_a_shared_address_is_said(tmp_path: Path) -> None:
    nic = "<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/>"
    for name in ("web-1", "web-2"):
        (tmp_path / f"{name}.xml").write_text(
            f"<domain type='kvm'><name>{name}</name><os><type>hvm</type></os>"
            f"<devices>{nic}<model type='virtio'/></interface></devices></domain>"
        )
    text = inside("audit", tmp_path, "--select", "VNIC016", "--group-by", "rule").stdout
    assert "52:54:00:00:00:01 is the MAC address of NIC 0 of web-1 too" in " ".join(text.split())


def test_some_are_named_and_the_rest_counted() -> None:
    text = audit("--group-by", "rule")
    assert re.search(r"on: web-1, web-2, web-3(, web-\d+)* and \d+ more\n", text)
    assert "web-20 and 40 more" in audit("--group-by", "rule", "-v")


@pytest.mark.parametrize("by", [by for by in GROUP_BY if by != "domain"])
def test_twice_as_many_are_no_more_text(cloud: FakeCloud, by: str) -> None:
    few = audit("--group-by", by)
    cloud.clouds["prod"] = [*map(placed, range(1, 4 * SERVERS + 1))]
    many = audit("--group-by", by)
    assert len(many.splitlines()) == len(few.splitlines())


def test_groups_are_bounded(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "GROUPS", 2)
    text = audit("--group-by", "project")
    assert "project all others  20 problems in 20 guests" in text
    assert "60 problems" in text
    del cloud


def test_different_words_are_counted_apart(cloud: FakeCloud) -> None:
    models = ["rtl8139", "ne2k_pci", "pcnet", "e1000", "e1000e"]
    cloud.clouds["prod"] = [
        server(number, port(model)) for number, model in enumerate(models * 2, 1)
    ]
    text = inside("audit", TARGET, "--select", "VNIC001,VNIC002", "--group-by", "host").stdout
    words = " ".join(text.split())
    assert "2: rtl8139 is emulated packet by packet" in words
    found = json.loads(
        inside("audit", TARGET, "--select", "VNIC001,VNIC002", "--format", "json").stdout
    )["summary"]["findings"]
    assert f"{found} problems in {found} guests" in words


def test_markdown_is_grouped_too() -> None:
    text = audit("--group-by", "image", "--format", "markdown")
    assert "### `image jammy (image-jammy)` (30 problems in 30 guests)" in text
    assert text.count("| **high** |") == len(IMAGES)


def test_json_keeps_every_finding() -> None:
    text = audit("--group-by", "image", "--format", "json", "--format", "text", "-o", "all.json")
    assert " problems in " in text
    report = json.loads(Path("all.json").read_text("utf-8"))
    assert len(report["findings"]) == SERVERS


def test_a_format_that_lists_each_is_refused() -> None:
    result = inside("audit", TARGET, "--group-by", "image", "--format", "json")
    assert result.returncode == 2
    assert "--group-by needs --format text or markdown" in result.stderr


GROUPS = {
    "image": ["image focal (image-focal)", "image jammy (image-jammy)"],
    "flavor": ["flavor m1.small"],
    "project": [f"project team-{n} (p{n})" for n in range(3)],
    "host": [f"host cmp{n}" for n in range(3)],
    "rule": ["rules VNIC001"],
}


@pytest.mark.parametrize("by", GROUPS)
def test_equal_steps_are_shown_once(by: str) -> None:
    result = inside("plan", TARGET, "--group-by", by, "-o", "plan.json")
    assert result.returncode == 0
    shown = len(GROUPS[by])
    assert result.stdout.count("hw_vif_model=virtio") == shown
    for title in GROUPS[by]:
        assert re.search(rf"^{re.escape(title)}.*  {SERVERS // shown} steps, 1 kind$",
                         result.stdout, re.MULTILINE)  # fmt: skip
    each = SERVERS // shown
    assert result.stdout.count(f"{each} steps like this, on {each} guests of 1 target: ") == shown
    assert result.stdout.splitlines()[-1] == "Nothing has been changed."
    assert len(json.loads(Path("plan.json").read_text("utf-8"))["steps"]) == SERVERS


def test_plans_are_grouped_as_audits_are() -> None:
    assert set(get_args(PlanGroupBy)) == {"change", *GROUP_BY} - {"domain", "owner"}
    assert set(GROUPS) == set(GROUP_BY) - {"domain", "owner"}


def test_the_step_on_an_image_is_counted_with_those_on_its_servers(cloud: FakeCloud) -> None:
    cloud.clouds["prod"] = [*cloud.clouds["prod"], image("jammy", hw_vif_model="rtl8139")]
    text = inside("plan", TARGET, "--group-by", "image", "--include-unsafe").stdout
    assert "image jammy (image-jammy)  31 steps, 2 kinds" in text
    assert "image focal (image-focal)  30 steps, 1 kind\n" in text
    assert "images  1 step, 1 kind" in inside(
        "plan", TARGET, "--group-by", "flavor", "--include-unsafe"
    ).stdout  # fmt: skip
