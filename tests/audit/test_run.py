"""What a run counts and says of its targets, and what the guests use of their host."""

import datetime
import inspect
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from msgspec.structs import replace

from tests.platforms.stand_ins import platforms_with
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.effective.resolve import uses_of
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.tally import MAX_ERRORS
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.wiring.platforms import PlatformRegistry, every_platform
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import Location
from vnicaudit.model.fleet import LiveDomain, LiveOptions
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.report import Audited, ReadError
from vnicaudit.platforms.domain_xml import read

KVM = DomainConfig(type="kvm", arch="x86_64", nics=1)
BRIDGE = NicConfig(type="bridge", actual_type="bridge", model="virtio")
RULES = ("VNIC002", "VNIC023")

XML = (
    "<domain type='kvm'><name>{name}</name><os><type arch='x86_64' machine='pc'>hvm</type></os>"
    "<devices>{nics}</devices></domain>"
)
E1000 = "<interface type='bridge'><source bridge='br0'/><model type='e1000'/></interface>"


def guest(*nics: NicConfig, config: DomainConfig = KVM) -> Domain:
    here = Location("t")
    return Domain("guest", config, here, tuple(Nic(i, nic, here) for i, nic in enumerate(nics)))


class TestUses:
    def test_actual_types(self) -> None:
        network = NicConfig(type="network", actual_type="direct", model="e1000")
        unknown = NicConfig(type="network")
        assert uses_of(guest(network, unknown), HostConfig()) == {"direct"}

    @pytest.mark.parametrize("kind", ["bridge", "ethernet", "direct"])
    def test_virtio_on_a_tap(self, kind: str) -> None:
        nic = replace(BRIDGE, type=kind, actual_type=kind)
        assert uses_of(guest(nic), HostConfig()) == {kind, "kvm-tap"}

    def test_virtio_by_default(self) -> None:
        nic = replace(BRIDGE, model=None)
        s390 = DomainConfig(type="kvm", arch="s390x")
        assert uses_of(guest(nic, config=s390), HostConfig()) == {"bridge", "kvm-tap"}
        nowhere = DomainConfig(type="kvm")
        assert uses_of(guest(nic, config=nowhere), HostConfig(arch="s390x")) == {
            "bridge", "kvm-tap",
        }  # fmt: skip
        assert uses_of(guest(nic), HostConfig()) == {"bridge"}, "rtl8139 on x86"

    @pytest.mark.parametrize(
        "nic",
        [
            replace(BRIDGE, model="virtio-net-pci"),
            replace(BRIDGE, model="virtio-gpu"),
            replace(BRIDGE, driver_name="qemu"),
        ],
        ids=["by QEMU's name", "no NIC", "switched off"],
    )
    def test_what_never_opens_vhost_net(self, nic: NicConfig) -> None:
        assert uses_of(guest(nic), HostConfig()) == {"bridge"}

    def test_not_kvm(self) -> None:
        assert uses_of(guest(BRIDGE, config=DomainConfig(type="qemu")), HostConfig()) == {"bridge"}

    def test_vhost_user(self) -> None:
        nic = replace(BRIDGE, type="vhostuser", actual_type="vhostuser")
        assert uses_of(guest(nic), HostConfig()) == {"vhostuser"}


def run(platforms: PlatformRegistry | None = None, stdin: BinaryIO | None = None) -> AuditRun:
    suppressor = Suppressor((), datetime.date(2026, 11, 21), RULES)
    return AuditRun(
        AuditWork(RULES, Assumptions(), suppressor, {}, platforms or every_platform()),
        RunOptions(jobs=1),
        stdin=stdin,
    )


def write(folder: Path, name: str, *, nics: int) -> str:
    path = folder / f"{name}.xml"
    path.write_text(XML.format(name=name, nics=E1000 * nics))
    return str(path)


def test_a_configuration_from_standard_input_has_a_title() -> None:
    text = io.BytesIO(b"[libvirt]\nrx_queue_size = 300\n")
    (product,) = run(stdin=text).items(["-"])
    assert isinstance(product, Audited)
    assert (product.subject, product.title) == ("-", "standard input")


def test_no_target_at_all() -> None:
    """As for fixes, where standard input alone is named."""
    nothing = run()
    assert list(nothing.items([])) == []
    assert nothing.results == ()


class TestFiles:
    def test_counts(self, tmp_path: Path) -> None:
        write(tmp_path, "one", nics=1)
        write(tmp_path, "three", nics=3)
        write(tmp_path, "none", nics=0)
        going = run()
        items = list(going.items([str(tmp_path)]))
        assert sorted(item.subject for item in items if isinstance(item, Audited)) == [
            "none", "one", "three",
        ]  # fmt: skip
        summary = going.summary
        assert (summary.domains, summary.nics, summary.findings) == (3, 4, 4)
        assert summary.by_rule == {"VNIC002": 4}
        assert sum(summary.by_severity.values()) == 4
        (result,) = going.results
        assert (result.status, result.error, result.domains, result.nics) == ("ok", None, 3, 4)

    def test_in_the_order_of_the_command_line(self, tmp_path: Path) -> None:
        names = [write(tmp_path, name, nics=1) for name in ("zoo", "ape", "mid")]
        going = run()
        list(going.items([*names, names[0]]))
        assert [result.target for result in going.results] == names, "each once"

    def test_one_unreadable_file_of_two(self, tmp_path: Path) -> None:
        write(tmp_path, "good", nics=1)
        bad = tmp_path / "bad.xml"
        bad.write_text("<domain type='kvm'>\n<name>")
        going = run()
        list(going.items([str(tmp_path)]))
        (result,) = going.results
        assert (result.status, result.domains, result.unread) == ("partial", 1, 1)
        (error,) = result.errors
        assert error.file == str(bad)
        assert (result.error or "").startswith(f"{bad}:2: ")

    def test_errors_kept_are_bounded_and_counted(self, tmp_path: Path) -> None:
        for number in range(MAX_ERRORS + 3):
            (tmp_path / f"{number:04}.xml").write_text("<domain type=")
        going = run()
        list(going.items([str(tmp_path)]))
        (result,) = going.results
        assert (result.status, len(result.errors), result.unread) == (
            "failed", MAX_ERRORS, MAX_ERRORS + 3,
        )  # fmt: skip
        assert (result.error or "").startswith(f"{tmp_path}/0000.xml")
        assert (result.error or "").endswith(f" (and {MAX_ERRORS + 2} more)")


class TestLive:
    URI = "qemu+ssh://hv1/system"

    @pytest.fixture
    def live(self) -> list[LiveDomain | ReadError]:
        """What the host has, after the host itself; tests add to it."""
        return []

    @pytest.fixture
    def platforms(self, live: list[LiveDomain | ReadError]) -> PlatformRegistry:
        host = Host("hv1", HostConfig(arch="s390x", vhost_net=False))

        def read(uri: str, options: LiveOptions) -> Iterator[Host | LiveDomain | ReadError]:
            del uri, options
            yield host
            yield from live

        return platforms_with(read=read)

    def test_the_host_is_judged_by_what_its_guests_use(
        self, live: list[LiveDomain | ReadError], platforms: PlatformRegistry
    ) -> None:
        plain = DomainConfig(type="kvm")
        nic = replace(BRIDGE, model=None)
        live.append(LiveDomain(guest(nic, config=plain), HostConfig(arch="s390x")))
        going = run(platforms)
        items = list(going.items([self.URI]))
        last = items[-1]
        assert isinstance(last, Audited)
        assert [(finding.rule, finding.owner) for finding in last.findings] == [("VNIC023", "host")]

    def test_a_host_nobody_needs_vhost_net_on(
        self, live: list[LiveDomain | ReadError], platforms: PlatformRegistry
    ) -> None:
        live.append(LiveDomain(guest(replace(BRIDGE, model="e1000")), HostConfig()))
        items = list(run(platforms).items([self.URI]))
        rules = [f.rule for item in items if isinstance(item, Audited) for f in item.findings]
        assert rules == ["VNIC002"]

    def test_files_are_read_first_and_told_in_order(
        self,
        live: list[LiveDomain | ReadError],
        platforms: PlatformRegistry,
        tmp_path: Path,
    ) -> None:
        live.append(ReadError("no answer in 30 seconds"))
        path = write(tmp_path, "file", nics=1)
        going = run(platforms)
        items = list(going.items([self.URI, path]))
        assert [item.scope for item in items if isinstance(item, Audited)] == ["domain", "host"]
        assert [(result.target, result.status) for result in going.results] == [
            (self.URI, "failed"),
            (path, "ok"),
        ]
        assert going.results[0].error == f"{self.URI}: no answer in 30 seconds"


def test_a_file_is_parsed_at_most_eight_frames_below_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each frame would be a wrapper for one special case."""
    frames: list[str] = []

    def parse(data: bytes, *, target: str, file: str) -> Iterator[Domain]:
        del data, target, file
        frames.extend(each.function for each in inspect.stack())
        return iter(())

    monkeypatch.setattr(read, "read_bytes", parse)
    path = tmp_path / "a.xml"
    path.write_text(XML.format(name="a", nics=E1000))
    list(run().items([str(path)]))
    between = frames[frames.index("read_content") + 1 : frames.index("items") + 1]
    assert len(between) <= 8, between
