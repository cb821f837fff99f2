"""Files that Nova reads together: a later one overrides, each is judged for what stands in it."""

import os
from pathlib import Path

import pytest

from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import Audited
from vnicaudit.platforms.nova_conf.siblings import load_order, read_together, read_with_siblings

OFF = "[libvirt]\nuse_virtio_for_bridges = false\n"
ON = "[libvirt]\nuse_virtio_for_bridges = true\n"


def judge(file: Path, rule: str = "VNIC060") -> Audited:
    config = read_with_siblings(file.read_bytes(), target="t", file=str(file))[0]
    return DescriptionAuditor([rule], every_platform().wordings).audit(config, "t")


def places(audited: Audited) -> list[str]:
    return [str(finding.location) for finding in audited.findings]


def test_order_is_that_of_oslo_config(tmp_path: Path) -> None:
    for name in ("nova.conf", "nova-compute.conf", "nova-api.conf"):
        (tmp_path / name).touch()
    for folder in ("nova.conf.d", "nova-compute.conf.d"):
        (tmp_path / folder).mkdir()
        for name in ("20.conf", "10.conf", ".hidden.conf", "note.txt"):
            (tmp_path / folder / name).touch()
    order = [os.path.relpath(path, tmp_path) for path in load_order(f"{tmp_path}/nova.conf")]
    assert order == [
        "nova.conf",
        "nova-compute.conf",
        "nova.conf.d/10.conf",
        "nova.conf.d/20.conf",
        "nova-compute.conf.d/10.conf",
        "nova-compute.conf.d/20.conf",
    ]
    assert load_order(f"{tmp_path}/nova.conf.d/10.conf") == load_order(f"{tmp_path}/nova.conf")


def test_a_file_by_another_name_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").touch()
    assert load_order(f"{tmp_path}/nova-api.conf") == (f"{tmp_path}/nova-api.conf",)


def test_what_a_later_file_overrides_is_not_reported(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(OFF)
    (tmp_path / "nova-compute.conf").write_text(ON)
    assert judge(tmp_path / "nova.conf").findings == ()
    assert judge(tmp_path / "nova-compute.conf").findings == ()


def test_what_is_in_effect_is_reported_once_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(OFF)
    (tmp_path / "nova.conf.d").mkdir()
    (tmp_path / "nova.conf.d" / "10.conf").write_text("# here\n" + OFF)
    assert judge(tmp_path / "nova.conf").findings == ()
    found = judge(tmp_path / "nova.conf.d" / "10.conf")
    assert places(found) == [f"{tmp_path}/nova.conf.d/10.conf:3:26"]


def test_a_driver_named_in_another_file_counts(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text("[DEFAULT]\ncompute_driver = ironic.IronicDriver\n")
    (tmp_path / "nova-compute.conf").write_text(OFF)
    assert judge(tmp_path / "nova-compute.conf").findings == ()


def test_a_dead_option_is_reported_in_each_file_it_stands_in(tmp_path: Path) -> None:
    dead = "[DEFAULT]\nlibvirt_use_virtio_for_bridges = true\n"
    (tmp_path / "nova.conf").write_text(dead)
    (tmp_path / "nova-compute.conf").write_text("\n" + dead)
    found = [judge(tmp_path / name, "VNIC061") for name in ("nova.conf", "nova-compute.conf")]
    assert [places(audited) for audited in found] == [
        [f"{tmp_path}/nova.conf:2:1"],
        [f"{tmp_path}/nova-compute.conf:3:1"],
    ]
    assert found[0].findings[0].fingerprint != found[1].findings[0].fingerprint


def test_a_sibling_that_cannot_be_read_leaves_the_verdict_open(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(OFF)
    (tmp_path / "nova-compute.conf").write_text("not an ini file\n")
    audited = judge(tmp_path / "nova.conf")
    assert audited.findings == ()
    assert [(skipped.rule, skipped.needs.split(" (")[0]) for skipped in audited.skipped] == [
        ("VNIC060", "[libvirt] use_virtio_for_bridges")
    ]


def test_a_later_template_may_override_what_is_not_seen(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(OFF)
    (tmp_path / "nova-compute.conf").write_text("[libvirt]\n{% include 'more' %}\n")
    audited = judge(tmp_path / "nova.conf")
    assert (audited.findings, [skipped.rule for skipped in audited.skipped]) == ((), ["VNIC060"])


def test_an_earlier_template_cannot(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text("[libvirt]\n{% include 'more' %}\n")
    (tmp_path / "nova-compute.conf").write_text("[DEFAULT]\ncompute_driver=libvirt.L\n" + OFF)
    found = judge(tmp_path / "nova-compute.conf")
    assert places(found) == [f"{tmp_path}/nova-compute.conf:4:26"]


def test_a_link_that_leads_nowhere_is_not_read_by_nova_either(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(OFF)
    (tmp_path / "nova-compute.conf").symlink_to(tmp_path / "missing")
    assert places(judge(tmp_path / "nova.conf")) == [f"{tmp_path}/nova.conf:2:26"]


def test_a_finding_survives_that_lines_move(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(OFF)
    before = judge(tmp_path / "nova.conf").findings[0]
    (tmp_path / "nova.conf").write_text("# one more line\n" + OFF)
    after = judge(tmp_path / "nova.conf").findings[0]
    assert (before.location.line, after.location.line) == (2, 3)
    assert before.fingerprint == after.fingerprint


def test_an_audited_file_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(OFF)
    audited = judge(tmp_path / "nova.conf")
    assert (audited.scope, audited.owner) == ("config", "nova")
    assert audited.subject == str(tmp_path / "nova.conf")


@pytest.mark.parametrize("name", ["nova.conf", "nova-compute.conf", "nova.conf.d/10.conf"])
def test_what_is_not_on_disk_counts_in_its_place(tmp_path: Path, name: str) -> None:
    (tmp_path / "nova-compute.conf.d").mkdir()
    (tmp_path / "nova-compute.conf.d/10.conf").write_text("[libvirt]\nvirt_type = qemu\n")
    found = read_with_siblings(OFF.encode(), target="t", file=f"{tmp_path}/{name}")[0]
    assert [(o.file, o.value) for o in found.options] == [
        (f"{tmp_path}/{name}", "false"),
        (f"{tmp_path}/nova-compute.conf.d/10.conf", "qemu"),
    ]
    assert [option.value for option in found.own] == ["false"]


@pytest.mark.parametrize("name", ["/nova.conf", "/./nova.conf", "nova.conf.d//10.conf"])
def test_a_path_may_be_spelled_in_another_way(tmp_path: Path, name: str) -> None:
    (tmp_path / "nova.conf.d").mkdir()
    for file in ("nova.conf", "nova.conf.d/10.conf"):
        (tmp_path / file).write_text("[libvirt]\nmax_queues = 1\n")
    found = read_with_siblings(OFF.encode(), target="t", file=f"{tmp_path}/{name}")[0]
    assert [option.value for option in found.own] == ["false"]
    assert len(found.options) == 2


def test_a_hidden_file_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(ON)
    (tmp_path / "nova.conf.d").mkdir()
    hidden = f"{tmp_path}/nova.conf.d/.10.conf"
    assert load_order(hidden) == (hidden,)
    found = read_with_siblings(OFF.encode(), target="t", file=hidden)[0]
    assert [option.value for option in found.options] == ["false"]


def test_a_copy_beside_nova_conf_is_of_no_compute_node(tmp_path: Path) -> None:
    (tmp_path / "node1.conf").write_text(OFF)
    file = f"{tmp_path}/node1.conf"
    assert read_with_siblings(OFF.encode(), target="t", file=file)[0].compute
    (tmp_path / "nova.conf").write_text(OFF)
    assert not read_with_siblings(OFF.encode(), target="t", file=file)[0].compute
    (together,) = read_together((file,), "t")
    assert isinstance(together, NovaConfig)
    assert not together.compute
    both = read_together((f"{tmp_path}/nova.conf", file), "t")
    assert [one.compute for one in both if isinstance(one, NovaConfig)] == [True, True]
