"""Settings of hosts in the words of the programs that set them there."""

import configparser
import json
import shutil
import subprocess
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from tests.rows import rows
from vnicaudit.knowledge.fixes.host_owners import owners_way
from vnicaudit.knowledge.host_settings import HostSetting, setting_of
from vnicaudit.model.host_facts import HostFacts, HostLink, Qeth, SettingOwner
from vnicaudit.model.plan import OwnerFile

LINKS = (
    HostLink(name="ens3", physical=True), HostLink(name="bond1", kind="bond"),
    HostLink(name="br1", kind="bridge"), HostLink(name="vlan10", kind="vlan"),
    HostLink(name="osa0", qeth=Qeth(device="0.0.f500")),
)  # fmt: skip
FACTS = HostFacts(links=LINKS, tuned_profile="virtual-host")
ENTRIES = HostSetting("sysctl", name="net.core.rps_sock_flow_entries")
OF_ENS3 = {
    HostSetting("feature", "ens3", "tcp-segmentation-offload"): "on",
    HostSetting("feature", "ens3", "generic-receive-offload"): "on",
    HostSetting("ring", "ens3", "rx"): "4096",
    HostSetting("mtu", "ens3"): "9000",
    HostSetting("rps", "ens3", "rx-0"): "f",
}


def loaded(text: str) -> Any:
    return yaml.safe_load(text.encode())


def way(
    name: str, settings: dict[HostSetting, str], evidence: str = "/x", **sets: object
) -> list[str]:
    """The sentences and the texts of files for an owner of that name. A file's name is in the
    sentence before it."""
    owner = SettingOwner(name=name, evidence=evidence, **sets)  # type: ignore[arg-type]
    texts: list[str] = []
    for one in owners_way(owner, settings, FACTS):
        if isinstance(one, OwnerFile):
            assert one.name.startswith(f"{name}-vnicaudit-")
            assert one.name in texts[-1]
            assert one.text.endswith("\n")
        texts.append(one if isinstance(one, str) else one.text)
    return texts


def test_a_machine_config_has_the_files_that_a_host_of_its_own_gets() -> None:
    sentence, text = way("machine-config", {ENTRIES: "8192"} | OF_ENS3)
    assert "its nodes are restarted" in sentence
    config = loaded(text)["spec"]["config"]
    assert config["ignition"] == {"version": "3.2.0"}
    files = {one["path"]: one for one in config["storage"]["files"]}
    assert len(files) == 6
    sysctl = files["/etc/sysctl.d/99-vnicaudit-net.core.rps_sock_flow_entries.conf"]
    assert sysctl["mode"] == 0o644
    assert unquote(sysctl["contents"]["source"].partition(",")[2]) == (
        "# Proposed by vnicaudit\nnet.core.rps_sock_flow_entries = 8192\n"
    )
    rule = files["/etc/udev/rules.d/90-vnicaudit-ens3-ring-rx.rules"]["contents"]["source"]
    assert 'NAME=="ens3", RUN+="/sbin/ethtool -G $name rx 4096"\n' in unquote(rule)


@pytest.mark.skipif(
    shutil.which("ignition-validate") is None, reason="ignition-validate is not installed"
)
def test_ignition_takes_the_files_of_a_machine_config() -> None:
    _sentence, text = way("machine-config", {ENTRIES: "8192"} | OF_ENS3)
    config = json.dumps(loaded(text)["spec"]["config"])
    words = ["ignition-validate", "-"]
    ran = subprocess.run(words, input=config, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_child_profile_of_tuned_changes_these_settings_alone() -> None:
    _sentence, text = way("tuned", {ENTRIES: "8192"} | OF_ENS3)
    profile = configparser.ConfigParser()
    profile.read_string(text)
    assert {name: dict(profile[name]) for name in profile.sections()} == {
        "main": {"include": "virtual-host"},
        "sysctl": {"net.core.rps_sock_flow_entries": "8192"},
        "net_ens3": {
            "type": "net", "devices": "ens3", "features": "tso on gro on", "ring": "rx 4096",
            "mtu": "9000",
        },
        "sysfs": {"/sys/class/net/ens3/queues/rx-0/rps_cpus": "f"},
    }  # fmt: skip


def test_governors_are_of_the_plugin_for_cpus() -> None:
    _sentence, text = way("tuned", {HostSetting("governor", name="cpu0"): "performance"})
    assert text == "[main]\ninclude=virtual-host\n[cpu]\ngovernor=performance\n"


def test_a_performance_profile_has_a_tuned_object_above_it() -> None:
    evidence = "/etc/tuned/openshift-node-performance-fast/tuned.conf"
    sentence, text = way("performance-profile", {ENTRIES: "8192"}, evidence)
    assert "role of the node's pool" in sentence
    tuned = loaded(text)
    assert tuned["spec"]["profile"][0]["data"] == (
        "[main]\ninclude=openshift-node-performance-fast\n[sysctl]\n"
        "net.core.rps_sock_flow_entries=8192\n"
    )
    assert tuned["spec"]["recommend"][0]["profile"] == "vnicaudit-host"
    (annotation,) = way("performance-profile", OF_ENS3, sets=("rps",))
    assert "performance.openshift.io/enable-rps" in annotation


def test_a_policy_of_nmstate_has_what_nmstate_knows() -> None:
    _sentence, text = way("nmstate", OF_ENS3)
    assert loaded(text)["spec"]["desiredState"]["interfaces"] == [{
        "name": "ens3", "type": "ethernet", "state": "up", "mtu": 9000,
        "ethtool": {
            "ring": {"rx": 4096}, "feature": {"tx-tcp-segmentation": True, "rx-gro": True},
        },
    }]  # fmt: skip


@rows
def test_a_file_for_an_owner_or_nothing(
    owner: str, settings: dict[str, str], text: object | None
) -> None:
    named = {one: value for field, value in settings.items() if (one := setting_of(field))}
    assert len(named) == len(settings)
    found = way(owner, named, "/a/b/c")
    assert [loaded(each) for each in found[1:]] == ([] if text is None else [text])
    assert len(found) == (0 if text is None else 2)


def test_kolla_sets_a_mask_from_its_file_and_one_sysctl_for_all_computes() -> None:
    mask = HostSetting("ovs", name="pmd-cpu-mask")
    calls = HostSetting("sysctl", name="net.bridge.bridge-nf-call-iptables")
    file = "/etc/kolla/ovsdpdk-db/ovs-dpdkctl.conf"
    sentence, text = way("kolla", {mask: "0x6", calls: "0"}, file, sets=(mask.name,))
    assert file in sentence
    assert text == "[ovs]\npmd_coremask = 0x6\n"
    (sentence,) = way("kolla", {mask: "0x6", calls: "0"}, sets=(calls.name,))
    assert "set_sysctl: false" in sentence


def test_chzdev_keeps_what_a_rule_of_zdev_sets() -> None:
    (sentence,) = way("zdev", {HostSetting("qeth", "osa0", "buffer_count"): "128"})
    assert sentence.startswith("chzdev -p 0.0.f500 buffer_count=128 sets it")
    (sentence,) = way("zdev", {HostSetting("vnicc", "osa0", "flooding"): "1"})
    assert "0.0.f500 vnicc/flooding=1 " in sentence
