"""Hosts by each way that leads to them: containers and pods, a libvirt with its host, and ssh with
sudo."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.bench.endpoints.private_sshd import PrivateSshd, private_sshd
from tests.not_run import not_run
from tests.remedy.applying.fakes import Stage
from tests.remedy.applying.settings_host import step_to
from tests.rig.domain_xml import Nic
from tests.rig.errors import Missing, RigError
from tests.rig.guests import Guest, GuestFactory
from tests.rig.process import require, run
from tests.rig.product import found_at, nic_of, report_here
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.platforms.host.visiting.visit import read_visit
from vnicaudit.remedy.hypervisor import CloudAccess

pytestmark = pytest.mark.rig

OWN = f"vnah{os.getpid()}"
# as the package podman-docker has it
DOCKER = '#!/bin/sh\nexec podman "$@"\n'
# FAKE: what "kubectl exec POD -- WORDS" runs in a pod's container is run in a container of podman
KUBECTL = (
    '#!/bin/sh\n[ "$1 $3" = "exec --" ] || exit 64\npod=$2; shift 3\nexec podman exec "$pod" "$@"\n'
)


@contextmanager
def _container(*options: str) -> Iterator[str]:
    """One with this machine's programs, above what is there, and with links of its own. Where the
    usual runtime does not know the cgroups of this machine, the other one does."""
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
    words = ("run", "--detach", "--network", "none", "--name", OWN, *limits, *options)
    errors = []
    try:
        for runtime in ("crun", "runc"):
            start = ("podman", "--runtime", runtime, *words, "--rootfs", "/:O", "sleep", "600")
            try:
                run(*start)
                break
            except RigError as error:
                errors.append(str(error))
                run("podman", "rm", "--force", "--ignore", OWN)
        else:
            not_run("rig", "; ".join(errors))
        yield OWN
    finally:
        run("podman", "rm", "--force", "--time", "0", "--ignore", OWN)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        require("podman")
    except Missing as error:
        not_run("rig", str(error))
    for name, text in (("docker", DOCKER), ("kubectl", KUBECTL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.usefixtures("programs")
def test_a_container_is_read_by_each_of_its_programs(tmp_path: Path) -> None:
    """It is named, and no setting of it is changed: it has not the host's own."""
    log = tmp_path / "termination-log"  # Kubernetes mounts it into each container
    log.touch()
    for options, kinds in (
        ((), {"podman": "podman", "docker": "podman"}),
        (("--volume", f"{log}:/dev/termination-log"), {"kubectl": "kubernetes"}),
    ):
        with _container(*options) as name:
            number = run("podman", "exec", name, "uname", "-n").strip()
            for scheme, kind in kinds.items():
                url = f"{scheme}://{name}"
                assert found_at(url, "--window", "0") == []
                host, facts, *guests = read_visit(url, LiveOptions(window=0))
                assert isinstance(host, Host)
                assert isinstance(facts, HostFacts)
                assert (host.name, facts.container, guests) == (number, kind, [])
                assert [link.name for link in facts.links or ()] == ["lo"]
                stage = Stage(tmp_path / f"{scheme}-state")
                step = step_to(facts, url, {"queue-length:lo": "500"})
                assert [one.code for one in step.blocked] == ["operator-only"]
                (unit,) = stage.apply((step,), stage.context()).run.steps
                assert (unit.outcome, unit.codes) == ("refused", ("state",))


@pytest.fixture(scope="module")
def narrow(x86_guest: GuestFactory) -> Iterator[tuple[Guest, str]]:
    """A guest whose tap is narrower than its NIC, and the tap."""
    with x86_guest(Nic("virtio", extra="<mtu size='1500'/>"), boot=False) as guest:
        guest.start()
        tap = nic_of(report_here("nics", "qemu:///system"), guest.name)["target_dev"]
        run("ip", "link", "set", tap, "mtu", "1400")
        yield guest, tap


def test_a_libvirt_of_this_machine_and_its_host(narrow: tuple[Guest, str]) -> None:
    """The tap is judged with the NIC, and not told again."""
    guest, tap = narrow
    words = ("--host-facts", "--window", "0", "--select", "VNIC048")
    findings = report_here("audit", "qemu:///system", *words)["findings"]
    assert [one["about"]["name"] for one in findings].count(guest.name) == 1
    assert f"link/{tap}" not in [one["location"]["xpath"] for one in findings]


def test_a_libvirt_over_ssh_and_its_host(narrow: tuple[Guest, str], sshd: PrivateSshd) -> None:
    guest, tap = narrow
    keys = f"keyfile={sshd.folder}/user&known_hosts={sshd.folder}/known&no_verify=1"
    uri = f"qemu+ssh://root@127.0.0.1:{sshd.port}/system?{keys}"
    words = ("--host-facts", "--window", "0", "--select", "VNIC048")
    found = {one["location"]["xpath"]: one for one in report_here("audit", uri, *words)["findings"]}
    finding = found[f"link/{tap}"]
    assert f"carries {guest.name} with 1500" in finding["message"]


@pytest.fixture
def sshd() -> Iterator[PrivateSshd]:
    with TemporaryDirectory(prefix="sshd-", dir="/tmp") as folder, ExitStack() as stack:
        Path(folder).chmod(0o755)  # sshd reads keys as the user who logs in
        yield stack.enter_context(private_sshd(Path(folder)))


@pytest.fixture
def operator() -> Iterator[str]:
    """A user who may do everything by sudo, and nothing without it."""
    try:
        require("sudo", "useradd", "userdel")
    except Missing as error:
        not_run("rig", str(error))
    rule = Path(f"/etc/sudoers.d/{OWN}")
    run("useradd", "--no-create-home", "--shell", "/bin/sh", "--password", "*", OWN)
    try:
        rule.write_text(f"{OWN} ALL=(ALL) NOPASSWD: ALL\n")
        rule.chmod(0o440)
        yield OWN
    finally:
        rule.unlink()
        run("userdel", "--force", OWN)  # sshd may end its processes a moment later


@pytest.fixture
def veth() -> Iterator[str]:
    run("ip", "link", "add", OWN, "type", "veth", "peer", "name", f"{OWN}p")
    try:
        yield OWN
    finally:
        run("ip", "link", "delete", OWN)


def test_a_setting_by_ssh_with_sudo(
    operator: str, veth: str, sshd: PrivateSshd, tmp_path: Path
) -> None:
    def seen() -> str:
        return run("ip", "-d", "link", "show", "dev", veth)

    before, stage = seen(), Stage(tmp_path)
    url, plain = (sshd.url(more, user=operator) for more in ("&sudo=true", ""))
    stage.reach = CloudAccess(trusted=frozenset({url, plain}))
    with closing(stage.adapters.host(url, 60)) as place:
        facts = place.facts()
    step = step_to(facts, url, {f"queue-length:{veth}": "500"})
    (unit,) = stage.apply((step,), stage.context()).run.steps
    assert unit.outcome == "applied"
    assert " qlen 500" in seen()
    (back,) = stage.rollback(stage.context())
    assert [one.outcome for one in back.run.steps] == ["applied"]
    assert seen() == before
    step = step_to(facts, plain, {f"queue-length:{veth}": "500"})
    (unit,) = stage.apply((step,), stage.context()).run.steps
    assert "Operation not permitted" in unit.message
    assert seen() == before
