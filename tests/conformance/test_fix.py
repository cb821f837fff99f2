"""Fixing copies of whole folders: our own always, what others have published where it is here."""

import re
from pathlib import Path

import pytest
from lxml import etree

from tests.conformance import fix
from tests.conformance.fix import fix_copy, main, wrong
from tests.rows import rows

CORPORA = Path(__file__).parents[3] / "shared/corpora"
SCHEMA = Path("/usr/share/libvirt/schemas/domain.rng")

_XML = """\
<domain type='kvm'>
  <name>guest \u00e9</name>
  <memory>1048576</memory>
  <vcpu>2</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <!-- the NIC -->
    <interface type='bridge'>
      <source bridge='br0'/>
      <model type="virtio"/>
      <driver   queues='4' />
    </interface>
  </devices>
</domain>
"""
_DECLARED = "<?xml version='1.0' encoding='{}'?>\n"
_VM = """\
# a preference
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachinePreference
metadata:
  name: linux
  labels: {instancetype.kubevirt.io/os-type: linux}
spec:
  devices:
    preferredInterfaceModel: "e1000"   # as ever
"""
_CONF = "[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n[libvirt]\n# big\nrx_queue_size=2048\n"

OWN = {
    "plain.xml": _XML.encode(),
    "crlf.xml": _XML.replace("\n", "\r\n").encode(),
    "latin-1.xml": (_DECLARED.format("ISO-8859-1") + _XML).encode("latin-1"),
    "mark.xml": _XML.encode("utf-8-sig"),
    "log.txt": f"2024-01-01 00:00:00 defined\n{_XML}2024-01-02 00:00:00 defined\n{_XML}".encode(),
    "nova.conf": _CONF.encode(),
    "vm.yaml": _VM.encode(),
}
"""Each with one problem that is safe to fix; the log with two."""


@pytest.fixture
def schema() -> Path | None:
    """libvirt's schema, where libvirt is installed."""
    return SCHEMA if SCHEMA.is_file() else None


@pytest.mark.parametrize("include_unsafe", [False, True])
def test_own_files(tmp_path: Path, schema: Path | None, include_unsafe: bool) -> None:
    for name, data in OWN.items():
        (tmp_path / name).write_bytes(data)
    result = fix_copy(tmp_path, include_unsafe=include_unsafe, schema=schema)
    assert result.failures == []
    assert result.refused == {}
    assert (result.files, result.changed) == (len(OWN), len(OWN))
    assert result.fixed >= len(OWN) + 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == OWN


@pytest.mark.parametrize(
    "folder",
    ["domxml", "libvirt", "novaconf", "novaconf_template", "kubevirt", "kubevirt_embedded"],
)
@pytest.mark.parametrize("more", [[], ["--include-unsafe"]], ids=["safe", "unsafe"])
def test_what_others_have_published(
    folder: str, more: list[str], schema: Path | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (CORPORA / folder).is_dir():
        pytest.skip(f"the files of {folder} are not here")
    options = [*more, *(["--schema", str(schema)] if schema else [])]
    code = main([str(CORPORA / folder), *options])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert re.match(r"\d+ problems fixed in \d+ of \d+ files\n", printed)


@rows
def test_what_is_found_in_a_bad_result(old: str, new: str, says: str) -> None:
    before = _XML.encode()
    found = list(wrong(Path("x.xml"), before, before.replace(old.encode(), new.encode()), None))
    assert any(re.search(says, text) for text in found), found


@pytest.mark.skipif(not SCHEMA.is_file(), reason="libvirt's schema is not here")
def test_what_libvirts_schema_finds() -> None:
    validator = etree.RelaxNG(etree.parse(SCHEMA))
    before = _XML.encode()
    after = before.replace(b"queues='4'", b"queues='some'")
    found = list(wrong(Path("x"), before, after, validator))
    assert found
    assert all(text.startswith("x: against the schema: ") for text in found)


def test_a_second_run_that_fixes_more_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.xml").write_bytes(OWN["plain.xml"])
    monkeypatch.setattr("vnicaudit.remedy.in_place.replace_file", lambda *_, **_options: "")
    monkeypatch.setattr(fix, "wrong", lambda *_: iter(()))
    result = fix_copy(tmp_path, include_unsafe=False, schema=None)
    assert re.search("plain.xml: the second run fixed 1 more", "".join(result.failures))
