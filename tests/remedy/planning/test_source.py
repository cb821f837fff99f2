"""Definitions that may be changed, and where they come from."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.platforms.stand_ins import platforms_with
from tests.remedy.planning.planned import HOST, RUNNING, definition, in_file, interface, live
from vnicaudit.audit.reading import files
from vnicaudit.audit.reading.selection import Exclusion, RunOptions, Selection
from vnicaudit.audit.reading.targets import SeenFiles, Target, target_of
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.fleet import LiveDefinition
from vnicaudit.model.host import Host, Network
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.remedy.planning import source as module
from vnicaudit.remedy.planning.source import DomainSource, sources, with_actual_types

TEXT = definition(interface("e1000"))
NOVA_CONF = "[libvirt]\nuse_virtio_for_bridges = False\n"


def read(
    path: Path,
    options: RunOptions = RunOptions(),  # noqa: B008
) -> list[DomainSource | ReadError | NotJudged]:
    return list(sources(Target(str(path), "path"), options, every_platform(), SeenFiles(())))


def test_a_file_is_a_definition_with_its_text(tmp_path: Path) -> None:
    (found,) = in_file(tmp_path / "a.xml", TEXT)
    assert found.text == TEXT.encode()
    assert found.file == found.name == str(tmp_path / "a.xml")
    assert found.running is found.domain
    assert found.alone


def test_a_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan may be applied from another folder."""
    (tmp_path / "a.xml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    (found,) = sources(Target("a.xml", "path"), RunOptions(), every_platform(), SeenFiles(()))
    assert isinstance(found, DomainSource)
    assert (found.target, found.file) == ("a.xml", str(tmp_path / "a.xml"))


def test_one_of_several_is_not_alone(tmp_path: Path) -> None:
    first, second = in_file(tmp_path / "a.xml", TEXT + TEXT)
    assert not first.alone
    assert not second.alone


def test_a_folder_gives_its_definitions_and_passes_over_the_rest(tmp_path: Path) -> None:
    (tmp_path / "b.xml").write_text(TEXT)
    (tmp_path / "a.xml").write_text(TEXT)
    (tmp_path / "nova.conf").write_text(NOVA_CONF)
    (tmp_path / "README").write_text("no definition\n")
    found = read(tmp_path)
    assert [os.path.basename(one.file or "") for one in found] == ["a.xml", "b.xml"]


def test_what_is_excluded_is_not_planned(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(TEXT)
    (tmp_path / "b.xml").write_text(TEXT)
    options = RunOptions(selection=Selection((Exclusion(("a.*",)),)))
    assert [os.path.basename(one.file or "") for one in read(tmp_path, options)] == ["b.xml"]


@pytest.mark.parametrize(
    "text",
    [NOVA_CONF, "openstack image set --property hw_vif_model=e1000 old\n"],
    ids=["nova.conf", "image"],
)
def test_a_file_without_domains_is_no_target(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read(path)
    assert str(error.value) == (
        f"{path}: it has no domain whose NICs could be changed; `vnicaudit audit` shows "
        "what is wrong with it, and --fix corrects a configuration"
    )


def test_a_file_that_is_not_recognised_is_an_error_where_it_was_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("nothing\n")
    (error,) = read(path)
    assert isinstance(error, ReadError)
    assert error.message.startswith("not recognised")
    assert read(tmp_path) == []


def test_a_definition_that_breaks_off_is_an_error_in_a_folder_too(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(TEXT + TEXT[:200])
    first, error = read(tmp_path)
    assert isinstance(first, DomainSource)
    assert isinstance(error, ReadError)


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_no_file_is_not_waited_for(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    assert read(path) == [ReadError("not a regular file", str(path))]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    assert read(path) == [ReadError("No such file or directory", str(path))]


def test_a_file_that_is_too_large_is_not_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beginning could be a definition."""
    monkeypatch.setattr(module, "MAX_BYTES", len(TEXT))
    monkeypatch.setattr(files, "MAX_BYTES", len(TEXT))
    (tmp_path / "a.xml").write_text(TEXT + "\n")
    (error,) = read(tmp_path / "a.xml")
    assert isinstance(error, ReadError)
    assert error.message.startswith("larger than")


def test_standard_input_cannot_be_changed() -> None:
    with pytest.raises(UsageError) as error:
        list(
            sources(
                target_of("-", every_platform().targets),
                RunOptions(),
                every_platform(),
                SeenFiles(()),
            )
        )
    assert str(error.value) == "standard input cannot be changed: name a file or a libvirt URI"


def test_a_live_host() -> None:
    known = live(definition(interface("e1000"), name="web"), RUNNING)

    def definitions(uri: str, _options: object) -> Iterator[Host | LiveDefinition | ReadError]:
        yield Host(uri)
        yield LiveDefinition(known.running, known.domain, known.text, HOST, local=False)
        yield ReadError("domain 'x': not read: gone")
        raise TargetError("no answer within 30 s", file=uri)

    there = platforms_with(definitions=definitions)
    found, gone, silent = sources(
        Target("qemu:///system", "libvirt"), RunOptions(), there, SeenFiles(())
    )
    assert isinstance(found, DomainSource)
    assert (found.target, found.name, found.file, found.local, found.host) == (
        "qemu:///system", "web", None, False, HOST,
    )  # fmt: skip
    assert gone == ReadError("domain 'x': not read: gone")
    assert silent == ReadError("no answer within 30 s", "qemu:///system")


def test_types_that_networks_resolve_to_are_kept() -> None:
    networks = (Network("default", "direct"),)
    known = live(definition(interface("e1000", kind="network")), networks=networks).domain
    again = live(definition(interface("virtio", kind="network"))).domain
    assert again.nics[0].declared.actual_type is None
    assert with_actual_types(again, known).nics[0].declared.actual_type == "direct"
    bridged = live(definition(interface("virtio"))).domain
    assert with_actual_types(bridged, known).nics[0].declared.actual_type == "bridge"
    fewer = replace(known, nics=())
    assert with_actual_types(again, fewer) == again
