"""Converting NICs of whole folders: our own and generated ones always, what others have published
where it is here."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.conformance.goals import GOALS, Goal
from tests.conformance.rewrite import conversion, main, problems
from tests.conformance.test_fix import CORPORA, SCHEMA
from tests.rows import rows

_EVERYTHING = """\
<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0' xmlns:our="urn:our">
  <name>guest \u00e9 &lt;1&gt;</name>
  <metadata><our:note we='say "so"'><![CDATA[<interface type='x'/>]]></our:note></metadata>
  <memory>1048576</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <graphics type='vnc' passwd='se&amp;cret'/>
    <!-- the NIC: <interface> -->
    <interface type="bridge" trustGuestRxFilters='no'><!-- in it -->
\t\t<model\ttype = "e1000" />
      <mac address='52:54:00:00:00:01'/>
      <our:tag our:of='it'/>
      <source bridge='br0'/> <!-- where -->
      <filterref filter='clean-traffic'><parameter name='IP' value='192.0.2.1'/></filterref>
      <bandwidth><inbound average='1'/></bandwidth><port isolated='yes'/>
      <mtu size='1400'/><rom bar='off'/>
    </interface>
    <interface type='user'/>
    <interface type='network'>
      <mac address='52:54:00:00:00:03'/><source network='default'/>
      <virtualport type='openvswitch'/>
      <model type='virtio'/><driver queues='2'/>
    </interface>
    <interface type='hostdev'>
      <source><address type='pci' domain='0' bus='0' slot='1' function='0'/></source>
    </interface>
  </devices>
  <qemu:commandline><qemu:arg value='-nic'/></qemu:commandline>
</domain>
"""
_S390X = """\
<domain type='kvm'>
  <name>z</name>
  <memory>1048576</memory>
  <os><type arch='s390x' machine='s390-ccw-virtio'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <source bridge='br0'/>
      <model type='e1000'/>
      <rom bar='off'/>
      <acpi index='1'/>
      <address type='pci' domain='0' bus='0' slot='1' function='0'><zpci uid='1' fid='1'/></address>
    </interface>
  </devices>
</domain>
"""
_DECLARED = "<?xml version='1.0' encoding='{}'?>\n"
_PLAIN = re.sub(r"(?m)^ *<(metadata|qemu|our).*\n| xmlns:\w+=[^ >]+", "", _EVERYTHING)

OWN = {
    "everything.xml": _EVERYTHING.encode(),
    "s390x.xml": _S390X.encode(),
    "crlf.xml": _EVERYTHING.replace("\n", "\r\n").encode(),
    "latin-1.xml": (_DECLARED.format("ISO-8859-1") + _EVERYTHING).encode("latin-1"),
    "mark.xml": _EVERYTHING.encode("utf-8-sig"),
    "one-line.xml": re.sub(r"\s*\n\s*", " ", _EVERYTHING).encode(),
    "two.txt": f"2024-01-01 defined\n{_PLAIN}2024-01-02 defined\n{_S390X}".encode(),
    "running.xml": _EVERYTHING.replace("'kvm'", "'kvm' id='3'", 1).encode(),
    "other.xml": b"<network><name>n</name></network>",
    "image.bin": b"\0\1\2",
}
"""Files with eight definitions to convert: six of them with two emulated NICs and one of virtio,
those of s390x with one; and one definition that runs."""


def _folder(path: Path) -> Path:
    for name, data in OWN.items():
        (path / name).write_bytes(data)
    return path


def test_own_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(_folder(tmp_path))]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "     9 definitions",
        "     8 definitions rewritten to virtio",
        "    14 NICs rewritten to virtio",
        "     8 definitions rewritten to vdpa",
        "    20 NICs rewritten to vdpa",
        "     8 definitions rewritten to vhostuser",
        "    20 NICs rewritten to vhostuser",
        "     3 refused, as somebody else's",
        "     0 failures",
    ]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == OWN


@pytest.mark.skipif(not SCHEMA.is_file(), reason="libvirt's schema is not here")
def test_own_files_by_libvirts_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain.xml").write_bytes(_PLAIN.encode())
    (tmp_path / "s390x.xml").write_bytes(_S390X.encode())
    assert main([str(tmp_path), "--schema", str(SCHEMA)]) == 0
    printed = capsys.readouterr().out
    for goal in GOALS:
        assert f"     2 of them valid by the schema, to begin with ({goal.name})\n" in printed


@pytest.mark.parametrize("folder", ["domxml", "libvirt"])
def test_what_others_have_published(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not (CORPORA / folder).is_dir():
        pytest.skip(f"the files of {folder} are not here")
    schema = ["--schema", str(SCHEMA)] if SCHEMA.is_file() else []
    code = main([str(CORPORA / folder), *schema])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert re.search(r"[1-9]\d* NICs rewritten to vdpa\n", printed)


_BEFORE = _EVERYTHING.encode()
_VIRTIO = GOALS[0]


@rows
def test_what_is_found_in_a_bad_result(old: str, new: str, says: str) -> None:
    done = conversion(_BEFORE, _VIRTIO)
    assert problems(done, None) == []
    assert old.encode() in done.after
    bad = done._replace(after=done.after.replace(old.encode(), new.encode(), 1))
    assert any(text.startswith(says) for text in problems(bad, None)), problems(bad, None)


@pytest.mark.skipif(not SCHEMA.is_file(), reason="libvirt's schema is not here")
def test_what_libvirts_schema_finds() -> None:
    goal = GOALS[1]
    kept = goal._replace(lost=tuple(name for name in goal.lost if name != "virtualport"))
    schema = etree.RelaxNG(etree.parse(SCHEMA))
    found = problems(conversion(_PLAIN.encode(), kept), schema)
    assert found
    assert all(text.startswith("against the schema: ") for text in found)


_BLANK = st.sampled_from(["", " ", "\n", "\n    ", "\r\n\t", "\n\n  "])
_GAP = st.lists(
    st.one_of(
        _BLANK,
        st.sampled_from([
            "<!-- <model type='no'/> -->", "<!--\n-->", "<?pi <interface> ?>", "<![CDATA[\n]]>",
            "<f:x xmlns:f='urn:f' f:model=\"&lt;'\"/>", "<source xmlns='urn:x' bridge='no'/>",
            "<o:model o:type='no'/>",
        ]),
    ),
    max_size=3,
).map("".join)  # fmt: skip
_CHILDREN = {
    "mac": {"address": "52:54:00:aa:bb:cc"},
    "source": {"bridge": "br0", "portid": "&#x27;1&#39;"},
    "model": {"type": "e1000"},
    "target": {"dev": "tap&amp;1"},
    "filterref": {"filter": "a > b"},
    "virtualport": {"type": "openvswitch"},
    "mtu": {"size": "1400"},
    "port": {"isolated": "yes"},
    "link": {"state": "up"},
    "alias": {"name": "ua-1"},
    "address": {"type": "pci", "bus": "0x01", "slot": "0x02"},
    "rom": {"bar": "on"},
    "unheard-of": {"say": "\u00e9", "o:say": "&quot;"},
}


@st.composite
def _attributes(draw: st.DrawFn, given: dict[str, str]) -> str:
    parts = []
    for name in draw(st.permutations(sorted(given))):
        quote = draw(st.sampled_from("'\""))
        around = draw(st.sampled_from(["=", " = ", "\n="]))
        blank = draw(st.sampled_from([" ", "\n", "\r\n      ", "\t"]))
        parts.append(f"{blank}{name}{around}{quote}{given[name]}{quote}")
    return "".join(parts) + draw(st.sampled_from(["", " ", "\n"]))


@st.composite
def _interfaces(draw: st.DrawFn) -> str:
    tags = draw(st.lists(st.sampled_from(sorted(_CHILDREN)), unique=True))
    inside = ""
    for tag in tags:
        text = draw(_attributes(_CHILDREN[tag]))
        close = "/>" if draw(st.booleans()) else f">{draw(_GAP)}</{tag}>"
        inside += f"{draw(_GAP)}<{tag}{text}{close}"
    own = {"type": draw(st.sampled_from(["bridge", "network", "user", "direct"]))}
    own |= draw(st.sampled_from([{}, {"trustGuestRxFilters": "yes"}, {"o:x": "y"}]))
    attributes = draw(_attributes(own))
    if not inside and draw(st.booleans()):
        return f"<interface{attributes}/>"
    return f"<interface{attributes}>{inside}{draw(_GAP)}</interface>"


@st.composite
def _definitions(draw: st.DrawFn) -> str:
    """A domain with up to three NICs, laid out as nobody would."""
    nics = draw(st.lists(_interfaces(), min_size=1, max_size=3))
    devices = "".join(f"{draw(_GAP)}{nic}" for nic in nics) + draw(_GAP)
    arch = draw(st.sampled_from(["x86_64", "s390x"]))
    return (
        f"{draw(_BLANK)}<domain type='kvm' xmlns:o='urn:o'><name>\u00e9</name><os>"
        f"<type arch='{arch}'>hvm</type></os>{draw(_GAP)}<devices>{devices}</devices>"
        f"{draw(_GAP)}</domain>{draw(_BLANK)}"
    )


@given(
    _definitions(),
    st.sampled_from(GOALS),
    st.sampled_from(["utf-8", "utf-8-sig", "iso-8859-1"]),
)
def test_any_layout(text: str, goal: Goal, codec: str) -> None:
    declared = _DECLARED.format(codec) if codec == "iso-8859-1" else ""
    done = conversion((declared + text.lstrip()).encode(codec), goal)
    assert done.made or goal == _VIRTIO
    assert problems(done, None) == []
