"""``--redact`` end to end: names of a site in files of each kind, and a search of all output."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.reports.redaction.planting import unpacked
from tests.rows import rows
from vnicaudit.reports.formats import formats

KEY = "0123456789abcdef" * 4
UUID, MAC = "6f1f9a90-6f0c-4f2a-9bb4-2b4bd9b9c001", "52:54:00:ac:3e:01"
IDS = "|".join((UUID, UUID.replace("-", ""), MAC, MAC.replace(":", ""), "2b:4b:d9"))
PLANTED = re.compile(rf"acme|{IDS}|192\.0\.2\.77|198\.51\.100\.7", re.IGNORECASE)

XML = f"""\
<domain type='kvm'>
  <name>acme mail</name><uuid>{UUID}</uuid><vcpu>4</vcpu>
  <metadata><vnicaudit:suppress xmlns:vnicaudit='https://vnicaudit.invalid/1'>[]</vnicaudit:suppress></metadata>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <mac address='{MAC}'/><source bridge='acme-br7'/><target dev='acmetap0'/>
      <model type='rtl8139'/><mtu size='9000'/>
    </interface>
    <interface type='network'>
      <mac address='{MAC}'/><source network='acme-backbone'/><model type='acmenic'/>
      <driver name='vhost' queues='acme'/>
    </interface>
    <interface type='vdpa'><source dev='/dev/acme-vdpa-0'/><model type='virtio'/></interface>
  </devices>
</domain>
"""
OTHER = XML.replace(UUID, UUID.replace("c001", "c002")).replace("acme mail", "acme-web")
NOVA = """\
[DEFAULT]
host = kvm7.acme.example
my_ip = 192.0.2.77
acme_option = acme
libvirt_use_virtio_for_bridges = acme
[libvirt]
rx_queue_size = acme
tx_queue_sise = 198.51.100.7
num_pcie_ports = 99
"""
KUBEVIRT = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: acme-pay, namespace: acme-prod}
spec:
  runStrategy: Always
  preference: {name: acme-preference}
  template:
    spec:
      domain:
        cpu: {cores: 8}
        devices:
          interfaces:
            - {name: acme-net, model: e1000, masquerade: {}, macAddress: "52:54:00:ac:3e:01"}
            - {name: acme-net2, model: acme, binding: {name: acme-plugin}}
      networks:
        - {name: acme-net, pod: {}}
        - {name: acme-net2, multus: {networkName: acme-multus}}
"""
QEMU = (
    "qemu-system-x86_64 -name acme-qemu -m 64 -machine q35 -enable-kvm -netdev "
    f"tap,id=acme0,ifname=acmetap1 -device rtl8139,netdev=acme0,mac={MAC}\n"
)
IMAGES = """\
openstack image create --property hw_vif_model=e1000 --property os_distro=acmeos acme-image
openstack flavor create --vcpus 8 --property hw:vif_multiqueue_enabled=acme acme-flavor
"""
FILES = {
    "acme-mail.xml": XML, "acme-web.xml": OTHER, "acme7/nova.conf": NOVA, "pay.yaml": KUBEVIRT,
    "acme-ps.txt": QEMU, "acme.sh": IMAGES, "acme-broken.xml": XML[:-30],
    "acme-tags.xml": XML.replace("</devices>", "</acme>"),
    "vnicaudit.toml": 'docs-url = "https://docs.acme.example/vnicaudit"\n'
    f'[[suppress]]\nrule = "VNIC001"\ndomain = "{UUID}"\nreason = "Acme asks"\n',
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for name, text in FILES.items():
        path = folder / "acme" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    keep_key(folder / "state", KEY)
    return folder


def keep_key(state: Path, text: str, mode: int = 0o600) -> Path:
    """A state directory with that key."""
    state.mkdir(mode=0o700)
    (state / "redaction.key").write_text(text)
    (state / "redaction.key").chmod(mode)
    return state


def command(
    site: Path, *words: str | Path, state: Path | None = None
) -> subprocess.CompletedProcess[str]:
    env = {"NO_COLOR": "1", "VNICAUDIT_STATE": str(state or site / "state")}
    return inside(*words, "--redact", cwd=site / "acme", env=env)


def silent(text: str) -> None:
    assert [line for line in text.splitlines() if PLANTED.search(line)] == []


def test_the_search_finds_what_is_planted(site: Path) -> None:
    result = inside("audit", ".", "-v", cwd=site / "acme")
    assert len(set(PLANTED.findall(result.stdout))) >= 3


@pytest.mark.parametrize("format_", formats())
def test_no_format_of_an_audit_names_the_site(format_: str, site: Path) -> None:
    result = command(
        site, "audit", site / "acme", ".", "-v", "--format", format_, "VNICAUDIT_JOBS=1",
        "--assume-libvirt", "11.0",
    )  # fmt: skip
    assert result.returncode == 4
    assert result.stdout
    silent(unpacked(result.stdout))
    silent(result.stderr)


@pytest.mark.parametrize("by", ["rule", "domain", "image"])
def test_no_grouped_report_names_the_site(by: str, site: Path) -> None:
    result = command(site, "audit", ".", "--group-by", by, "-v")
    assert result.returncode == 4
    silent(result.stdout + result.stderr)


@pytest.mark.parametrize("format_", ["text", "json"])
def test_nics_and_explain_do_not_name_the_site(format_: str, site: Path) -> None:
    for words in (("nics", "."), ("explain", ".", "--nic", MAC), ("explain", ".", "--nic", "0")):
        result = command(site, *words, "-v", "--format", format_)
        assert result.returncode == 4, words
        assert len(result.stdout) > 1000
        silent(result.stdout + result.stderr)


def test_the_report_has_as_many_findings_with_the_same_rules(site: Path) -> None:
    redacted = json.loads(command(site, "audit", ".", "--format", "json").stdout)
    plain = json.loads(inside("audit", ".", "--format", "json", cwd=site / "acme").stdout)
    assert redacted["summary"] == plain["summary"]
    for mine, theirs in zip(redacted["findings"], plain["findings"], strict=True):
        assert mine["rule"] == theirs["rule"]
        assert mine["location"]["line"] == theirs["location"]["line"]
        assert len(mine["fingerprint"]) == len(theirs["fingerprint"])
        assert mine["fingerprint"] != theirs["fingerprint"]


def findings(text: str) -> list[object]:
    return [{**one, "fingerprint": one["fingerprint"]} for one in json.loads(text)["findings"]]


def test_reports_of_one_key_can_be_compared_and_of_another_cannot(
    site: Path, tmp_path: Path
) -> None:
    first, second = (command(site, "audit", ".", "--format", "json").stdout for _ in "ab")
    other = keep_key(tmp_path / "other", KEY[::-1])
    third = command(site, "audit", ".", "--format", "json", state=other).stdout
    assert findings(first) == findings(second)
    marks = {one["fingerprint"] for one in json.loads(first)["findings"]}
    assert marks.isdisjoint(one["fingerprint"] for one in json.loads(third)["findings"])


def test_the_key_is_made_once_for_nobody_else_to_read(site: Path, tmp_path: Path) -> None:
    state = {"VNICAUDIT_STATE": str(tmp_path / "state" / "vnicaudit"), "VNICAUDIT_REDACT": "1"}
    first, second = (
        inside("nics", ".", "--format", "json", cwd=site / "acme", env=state).stdout for _ in "ab"
    )
    assert first == second
    silent(first)
    (key,) = tmp_path.rglob("redaction.key")
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_text().strip()) == 64
    assert [path.name for path in key.parent.iterdir()] == ["redaction.key"]


@rows
def test_a_key_that_others_know_or_that_is_none_is_refused(
    text: str, mode: int, says: str, site: Path, tmp_path: Path
) -> None:
    result = command(site, "audit", ".", state=keep_key(tmp_path / "state", text, mode))
    assert result.returncode == 2
    assert says in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("option", [("--write-baseline", "b.json"), ("--diff",), ("--fix",)])
def test_what_would_not_be_redacted_is_refused(
    option: tuple[str, ...], site: Path, tmp_path: Path
) -> None:
    file = site / "acme" / "acme-mail.xml"
    result = inside("audit", file, "--redact", *option, cwd=tmp_path)
    assert result.returncode == 2
    assert "--redact" in result.stderr
    assert list(tmp_path.iterdir()) == []
