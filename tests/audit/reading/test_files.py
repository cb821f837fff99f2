"""Files: recognised by content, hostile ones named and survived."""

import io
import os
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.audit.reading.files import HEAD, MAX_BYTES, WHOLE, read_file, read_stream
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Content, FileKind, FileKinds, Item
from vnicaudit.model.report import ReadError

DOMAIN = """<domain type='kvm'><name>{name}</name>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices>
<interface type='bridge'><source bridge='br0'/>
<model type='e1000'/></interface>
</devices></domain>
"""

NOT_RECOGNISED = (
    "not recognised: none of libvirt domain XML, nova.conf, Nova options of a deployment tool "
)
CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n"
MACHINE = b"""\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata:
  name: vmi
spec:
  domain:
    devices:
      interfaces: [{name: default, masquerade: {}}]
"""
ATTACHMENT = b"""\
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: net
"""


def read(path: Path, *, explicit: bool = True) -> list[object]:
    return list(read_file(str(path), "target", every_platform().files, explicit=explicit))


def names(items: list[object]) -> list[str]:
    return [item.name for item in items if isinstance(item, Domain)]


def one_error(items: list[object]) -> ReadError:
    errors = [item for item in items if isinstance(item, ReadError)]
    assert len(errors) == 1, items
    return errors[0]


def write(tmp_path: Path, data: bytes, name: str = "file") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_one_domain_with_its_line_and_xpath(tmp_path: Path) -> None:
    path = write(tmp_path, DOMAIN.format(name="a").encode())
    (domain,) = read(path)
    assert isinstance(domain, Domain)
    nic = domain.nics[0]
    assert (nic.location.line, nic.location.xpath) == (4, "/domain/devices/interface[1]")
    assert dict(nic.lines)["model"] == 5


def test_several_documents_in_one_file(tmp_path: Path) -> None:
    text = "".join(DOMAIN.format(name=name) for name in ("a", "b", "c"))
    items = read(write(tmp_path, text.encode()))
    assert names(items) == ["a", "b", "c"]
    third = items[2]
    assert isinstance(third, Domain)
    assert third.nics[0].location.line == 4 + 12
    assert third.nics[0].location.xpath == "/domain[3]/devices/interface[1]"


def test_log_lines_before_and_after_the_document(tmp_path: Path) -> None:
    text = (
        "2026-11-21 01:02:03.4+0000: 123: info : libvirt version: 9.0.0\n"
        "<?xml version='1.0' encoding='utf-8'?>\n" + DOMAIN.format(name="ä") + "\n$ \n"
    )
    items = read(write(tmp_path, text.encode()))
    assert names(items) == ["ä"]
    assert isinstance(items[0], Domain)
    assert items[0].nics[0].location.line == 6


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "utf-8-sig"])
def test_any_encoding_xml_allows(tmp_path: Path, encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{declared}'?>\n" + DOMAIN.format(name="grün")
    assert names(read(write(tmp_path, text.encode(encoding)))) == ["grün"]


def test_status_snapshot_and_checkpoint_documents(tmp_path: Path) -> None:
    domain = DOMAIN.format(name="a")
    for root, form in (("domstatus", "live"), ("domainsnapshot", "dump")):
        text = f"<{root} state='running'>\n{domain}</{root}>"
        (found,) = read(write(tmp_path, text.encode()))
        assert isinstance(found, Domain)
        assert found.declared.form == form
        assert found.nics[0].location.xpath == f"/{root}/domain/devices/interface[1]"


def test_a_save_image_is_read_for_its_definition(tmp_path: Path) -> None:
    xml = DOMAIN.format(name="saved").encode() + b"\0"
    header = b"LibvirtQemudSave" + struct.pack("<5I", 2, len(xml), 1, 0, 0) + bytes(56)
    assert names(read(write(tmp_path, header + xml + os.urandom(300_000)))) == ["saved"]


def test_a_cut_save_image_is_named(tmp_path: Path) -> None:
    header = b"LibvirtQemudSave" + struct.pack("<5I", 2, 99999, 1, 0, 0) + bytes(56)
    error = one_error(read(write(tmp_path, header + b"<domain>")))
    assert error.message == "a libvirt save image that is truncated or of an unknown version"


def test_truncated_xml_is_named_with_its_line(tmp_path: Path) -> None:
    text = DOMAIN.format(name="a")
    items = read(write(tmp_path, text[:-30].encode()))
    error = one_error(items)
    assert error.message.startswith("not well-formed XML: ")
    assert error.line == 5
    assert not names(items)


def test_documents_before_a_broken_one_are_kept(tmp_path: Path) -> None:
    text = DOMAIN.format(name="a") + DOMAIN.format(name="b")[:-40]
    items = read(write(tmp_path, text.encode()))
    assert names(items) == ["a"]
    assert (one_error(items).line or 0) > 7


def test_entities_are_not_expanded_and_nothing_is_fetched(tmp_path: Path) -> None:
    secret = write(tmp_path, b"secret", "secret")
    text = (
        f"<?xml version='1.0'?>\n<!DOCTYPE domain [<!ENTITY x SYSTEM 'file://{secret}'>]>\n"
        "<domain type='kvm'><name>&x;</name></domain>"
    )
    error = one_error(read(write(tmp_path, text.encode(), "evil.xml")))
    assert error.message.startswith("has a document type declaration")
    assert error.line == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_entity_bomb_is_refused(tmp_path: Path, encoding: str) -> None:
    levels = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 12))
    text = (
        f"<!DOCTYPE domain [<!ENTITY e0 'lol'>{levels}]>"
        "<domain type='&e11;'><name>&e11;</name></domain>"
    )
    error = one_error(read(write(tmp_path, text.encode(encoding))))
    assert error.message.startswith(("has a document type", "not well-formed XML"))


def test_a_gigabyte_of_text_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.xml"
    with open(path, "wb") as file:
        file.write(b"<domain type='kvm'>\n")
        file.truncate(1 << 30)
    error = one_error(read(path))
    assert error.message == f"larger than {MAX_BYTES >> 20} MiB (1024 MiB): not read"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty: nothing to read"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), NOT_RECOGNISED),
        (b"hello\n", NOT_RECOGNISED),
        (b"hello\n" * 20_000, NOT_RECOGNISED),
        (CONFIG_MAP * 2_000, NOT_RECOGNISED),
        (b"<network><name>n</name></network>", "a libvirt <network> document: it describes no NIC"),
        (b"<html></html>", "XML with the root <html>: not a libvirt domain"),
    ],
)
def test_other_content_is_an_error_when_named_and_passed_over_in_a_folder(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = write(tmp_path, data)
    assert one_error(read(path)).message.startswith(message)
    assert read(path, explicit=False) == []


def test_a_document_without_a_domain_is_named(tmp_path: Path) -> None:
    """A snapshot without its definition; a domain in somebody else's namespace."""
    message = "recognised as libvirt domain XML, but it contains nothing to judge: no domain"
    for text in (
        "<domainsnapshot><name>s</name></domainsnapshot>",
        "<domain xmlns='urn:other' type='kvm'><name>x</name></domain>",
    ):
        path = write(tmp_path, text.encode())
        assert one_error(read(path)).message == message
        large = write(tmp_path, text.encode() + b"\n" * 100_000, "large")
        assert one_error(read(large)).message == message
        assert read(path, explicit=False) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"<domainsnapshot><name>s</name></domainsnapshot>",
            "recognised as libvirt domain XML, but it contains nothing to judge: no domain",
        ),
        (
            b"#!/bin/sh\n# openstack image create a\n",
            (
                "recognised as image or flavor definition, but it contains nothing to judge: "
                "no image, flavor or guest of libvirt"
            ),
        ),
    ],
)
def test_what_was_looked_for_is_said(tmp_path: Path, data: bytes, message: str) -> None:
    path = write(tmp_path, data)
    assert read(path) == [ReadError(message, str(path))]
    assert list(read_stream(io.BytesIO(data), "-", every_platform().files)) == [
        ReadError(message, "-")
    ]
    assert read(path, explicit=False) == []


def test_attachments_by_themselves_are_in_order(tmp_path: Path) -> None:
    for found in (
        read(write(tmp_path, ATTACHMENT)),
        read(write(tmp_path, CONFIG_MAP * 2_000 + ATTACHMENT)),
        read_stream(io.BytesIO(ATTACHMENT), "-", every_platform().files),
    ):
        assert [type(each).__name__ for each in found] == ["ClusterFacts"]


def test_a_machine_behind_64_kib_of_other_objects(tmp_path: Path) -> None:
    data = CONFIG_MAP * 2_000 + MACHINE
    assert names(read(write(tmp_path, data))) == ["vmi"]
    assert names(list(read_stream(io.BytesIO(data), "-", every_platform().files))) == ["vmi"]


@pytest.mark.parametrize("prefix", [b"", b"\n" * HEAD, b"\n" * WHOLE])
def test_a_file_and_standard_input_are_told_by_the_same_bytes(
    tmp_path: Path, prefix: bytes
) -> None:
    data = prefix + b"[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n"
    from_file = read(write(tmp_path, data), explicit=False)
    from_stream = [
        item
        for item in read_stream(io.BytesIO(data), "-", every_platform().files)
        if not isinstance(item, ReadError)
    ]
    assert len(from_file) == len(from_stream) == (0 if len(prefix) == WHOLE else 1)


def _without_end(content: Content) -> Iterator[Item]:
    yield from _without_end(content)


def _without_memory(content: Content) -> Iterator[Item]:
    raise MemoryError(content.path)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (_without_end, "nested too deeply to be read; please report this"),
        (_without_memory, "not enough memory to read it"),
    ],
)
def test_a_reader_at_its_end_costs_the_file(
    tmp_path: Path,
    broken: Callable[[Content], Iterator[Item]],
    message: str,
) -> None:
    kind = FileKind("test", "test", "code", lambda head: head.startswith(b"test"), broken)
    kinds = FileKinds((kind,), every_platform().files.unjudged)
    path = write(tmp_path, b"test")
    found = list(read_file(str(path), "target", kinds, explicit=False))
    assert found == [ReadError(message, str(path))]
    assert list(read_stream(io.BytesIO(b"test"), "-", kinds)) == [ReadError(message, "-")]


def test_ten_thousand_nics_in_one_domain(tmp_path: Path) -> None:
    nic = "<interface type='bridge'>\n<source bridge='b'/>\n<model type='virtio'/></interface>\n"
    text = f"<domain type='kvm'><name>x</name><devices>\n{nic * 10_000}</devices></domain>"
    (domain,) = read(write(tmp_path, text.encode()))
    assert isinstance(domain, Domain)
    assert len(domain.nics) == 10_000
    assert domain.nics[-1].location.line == 2 + 9999 * 3


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    assert one_error(read(tmp_path / "none")).message == "No such file or directory"
    assert one_error(read(tmp_path)).message == "not a regular file"


def test_a_pipe_with_a_writer_is_read_to_its_end() -> None:
    reading, writing = os.pipe()

    def feed() -> None:
        with open(writing, "wb") as file:
            for line in DOMAIN.format(name="piped").splitlines(keepends=True):
                file.write(line.encode())
                file.flush()

    thread = threading.Thread(target=feed)
    thread.start()
    items = read(Path(f"/dev/fd/{reading}"))
    thread.join()
    os.close(reading)
    assert names(items) == ["piped"]


def test_a_pipe_nobody_writes_to_ends_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert one_error(read(pipe)).message == "empty: nothing to read"


def test_standard_input_is_recognised_by_content() -> None:
    items = list(
        read_stream(io.BytesIO(DOMAIN.format(name="in").encode()), "-", every_platform().files)
    )
    assert names(list(items)) == ["in"]


def test_what_of_a_domain_cannot_be_read_comes_behind_it(tmp_path: Path) -> None:
    namespace = "http://libvirt.org/schemas/domain/qemu/1.0"
    cut = (
        f"<q:commandline xmlns:q='{namespace}'>\n<q:arg value='-device'/>\n"
        '<q:arg value=\'{"driver":"e1000"\'/>\n</q:commandline></domain>'
    )
    first = DOMAIN.format(name="a").replace("</domain>", cut)
    path = write(tmp_path, (first + DOMAIN.format(name="b")).encode())
    items = read(path)
    assert names(items) == ["a", "b"]
    assert items[1] == ReadError(
        "<qemu:arg> not understood: -device: JSON that is cut off or malformed", str(path), 8
    )
    assert list(read_stream(io.BytesIO(first.encode()), "-", every_platform().files))[
        1
    ] == ReadError("<qemu:arg> not understood: -device: JSON that is cut off or malformed", "-", 8)


def test_a_log_read_from_its_end_keeps_its_lines(tmp_path: Path) -> None:
    stamp = "2024-05-06 07:08:09.100+0000: "
    before = f"{stamp}shutting down, reason=destroyed\n" * 3000
    start = (
        f"{stamp}starting up libvirt version: 9.0.0, qemu version: 7.2.2\n"
        "/usr/bin/qemu-system-x86_64 \\\n-accel kvm \\\n-nodefaults \\\n"
        "-netdev tap,fd=3,id=hostnet0 \\\n-device virtio-net-pci,netdev=hostnet0,id=net0\n"
        f"{stamp}1: warning : Unable to open vhost-net. Opened so far 0, requested 1\n"
    )
    (domain,) = read(write(tmp_path, (before + start).encode()))
    assert isinstance(domain, Domain)
    assert (domain.location.line, domain.nics[0].location.line) == (3002, 3006)
    assert dict(domain.nics[0].places)["log_warning"].line == 3007
    (cut,) = read(write(tmp_path, (before + start[:-150]).encode()))
    assert isinstance(cut, ReadError)
    assert cut.line == 3002


@rows
def test_a_page_that_quotes_a_command_line_counts_only_where_it_is_named(
    tmp_path: Path, text: str, found: bool
) -> None:
    path = write(tmp_path, text.encode(), "page.txt")
    assert read(path)
    assert (
        bool(list(read_file(str(path), str(tmp_path), every_platform().files, explicit=False)))
        is found
    )


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_nova_conf_in_utf_16_is_named(tmp_path: Path, codec: str) -> None:
    text = "\ufeff[libvirt]\nuse_virtio_for_bridges = false\n"
    path = write(tmp_path, text.encode(codec), "nova.conf")
    (error,) = read_file(str(path), str(tmp_path), every_platform().files, explicit=False)
    assert error == ReadError(
        "UTF-16: Nova does not read it either; save it as UTF-8", str(path), 1
    )
