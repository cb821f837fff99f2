"""``agent://``, with a guest that is this machine."""

import base64
from contextlib import closing
from pathlib import Path

import pytest

from tests.adapters import open_endpoint
from tests.bench.endpoints.fake_guest import FakeHost, FakeMachine, agent_error
from tests.bench.endpoints.left import gone, until
from vnicaudit.bench.endpoints import agent
from vnicaudit.errors import EndpointError, MissingExtraError, TargetError
from vnicaudit.model.host import GuestInterface
from vnicaudit.remedy.hypervisor import Hypervisor

INSTALL = (
    "install and start qemu-guest-agent in the guest, and give the domain its channel"
    " (<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>)"
)


def test_programs_run_in_the_guest() -> None:
    host = FakeHost(FakeMachine())
    with closing(open_endpoint("agent://web01?address=192.0.2.1", connect=host.connect)) as session:
        ran = session.run(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"given")
        assert (ran.code, ran.stdout, ran.stderr) == (3, "given", "err\n")
        assert ran.endpoint == "agent://web01?address=192.0.2.1"
        words = ["", "a b", "$HOME", "'", '"', "\\n", "%s", "ä\nb", ";reboot"]
        said = session.run(["printf", "<%s>", *words]).stdout
        assert said == "".join(f"<{word}>" for word in words)
        data = bytes(range(256)) * 1000
        assert Path(session.put_file("data", data)).read_bytes() == data
        long = session.run(["sh", "-c", "yes | head -c 1500000"])
        assert long.stdout == "y\n" * 750_000
        started = session.start(["sleep", "100"], seconds=60)
        assert started.running()
        assert started.stop().code is None
    until(lambda: gone(session.folder), "nothing is left")
    assert host.closed == 1
    assert host.uris == ["qemu:///system"]


def test_a_host_elsewhere_is_asked() -> None:
    host = FakeHost(FakeMachine())
    open_endpoint("agent://web01?connect=qemu+ssh://root@kvm7/system", connect=host.connect).close()
    assert host.uris == ["qemu+ssh://root@kvm7/system"]


def test_a_domain_that_is_not_there() -> None:
    host = FakeHost(FakeMachine())
    with pytest.raises(EndpointError) as error:
        open_endpoint("agent://web02", connect=host.connect)
    assert str(error.value) == (
        "agent://web02: cannot find domain web02:"
        " Domain not found: no domain with matching name 'web02'"
    )
    assert host.closed == 1


def test_a_domain_that_is_off() -> None:
    host = FakeHost(FakeMachine(off=True))
    with pytest.raises(EndpointError, match=r"^agent://web01: the domain is off: start it$"):
        open_endpoint("agent://web01", connect=host.connect)
    assert host.closed == 1


def test_an_agent_that_is_not_there() -> None:
    text = "Guest agent is not responding: QEMU guest agent is not connected"
    host = FakeHost(FakeMachine({"guest-ping": agent_error(text)}))
    with pytest.raises(EndpointError) as error:
        open_endpoint("agent://web01", connect=host.connect)
    assert str(error.value) == (
        f"agent://web01: cannot ask the guest's agent (guest-exec): {text}; {INSTALL}"
    )


def test_an_agent_that_may_not_run_programs() -> None:
    text = "internal error: unable to execute QEMU agent command 'guest-exec': " + (
        "Command guest-exec has been disabled"
    )
    host = FakeHost(FakeMachine({"guest-exec": agent_error(text)}))
    with pytest.raises(EndpointError) as error:
        open_endpoint("agent://web01", connect=host.connect)
    assert str(error.value).endswith(
        "has been disabled; its agent may not run programs: allow guest-exec and "
        "guest-exec-status (--allow-rpcs and --block-rpcs of qemu-ga; on Red Hat systems, "
        "see /etc/sysconfig/qemu-ga)"
    )


def test_no_libvirt_there() -> None:
    def refused(uri: str, *, deadline: float) -> Hypervisor:
        raise TargetError(f"cannot connect within {deadline:g} s", file=uri)

    with pytest.raises(EndpointError) as error:
        open_endpoint("agent://web01", connect=refused)
    assert str(error.value) == "agent://web01: qemu:///system: cannot connect within 30 s"


def test_no_libvirt_installed_here() -> None:
    def missing(uri: str, *, deadline: float) -> Hypervisor:
        del uri, deadline
        raise MissingExtraError("reading a live libvirt", "libvirt")

    with pytest.raises(MissingExtraError) as error:
        open_endpoint("agent://web01", connect=missing)
    assert (
        str(error.value)
        == "agent:// needs an optional package: pip install '.[libvirt]' in a checkout of vnicaudit"
    )


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"guest-exec": 7}, "the guest's agent did not answer guest-exec with an object"),
        ({"guest-exec-status": []}, (
            "the guest's agent did not answer guest-exec-status with an object"
        )),
        ({"guest-exec-status": {"exited": True}}, "there was no answer (code 255)"),
        ({"guest-exec-status": {"exited": True, "exitcode": 0, "out-truncated": True}},
         "the guest's agent sent an incomplete answer"),
        ({"guest-exec-status": {"exited": True, "exitcode": 0, "out-data": "x"}},
         "the guest's agent sent invalid output"),
        ({"guest-exec-status": {"exited": True, "exitcode": 0, "out-data": "ä"}},
         "the guest's agent sent invalid output"),
        ({"guest-exec-status": {"exited": True, "exitcode": 0, "out-data": {"a": 1}}},
         "the guest's agent sent invalid output"),
        ({"guest-exec-status": {
            "exited": True, "exitcode": "0",
            "err-data": base64.b64encode(b"\x1b[2Jsh: no\n").decode()}},
         "[2Jsh: no"),
    ],
)  # fmt: skip
def test_a_guest_may_answer_anything(broken: dict[str, object], message: str) -> None:
    host = FakeHost(FakeMachine(broken))
    with pytest.raises(EndpointError) as error:
        open_endpoint("agent://web01", connect=host.connect)
    assert str(error.value) == f"agent://web01: {message}"
    assert host.closed == 1


def test_a_guest_that_does_not_answer_in_time() -> None:
    machine = FakeMachine({"guest-exec-status": {"exited": False}})
    guest = agent.GuestTransport(FakeHost(machine).as_host(), FakeHost(machine).find("web01"))
    with pytest.raises(EndpointError, match=r"^.* did not end in the guest within 0\.01 s$"):
        guest.run(["sleep", "0"], 0.01)


def test_its_interfaces_are_listed_without_a_program() -> None:
    listed = [{"name": "eth0", "hardware-address": "52:54:00:00:00:01", "ip-addresses": [
        {"ip-address-type": "ipv4", "ip-address": "192.0.2.7", "prefix": 24}]}]  # fmt: skip
    host = FakeHost(FakeMachine({"guest-network-get-interfaces": listed}))
    with closing(open_endpoint("agent://web01", connect=host.connect)) as session:
        assert session.interfaces() == [
            GuestInterface("eth0", "52:54:00:00:00:01", ("192.0.2.7/24",))
        ]


def test_where_the_agent_lists_no_interfaces() -> None:
    host = FakeHost(FakeMachine({"guest-network-get-interfaces": agent_error("disabled")}))
    with (
        closing(open_endpoint("agent://web01", connect=host.connect)) as session,
        pytest.raises(EndpointError, match=r"^agent://web01: cannot ask the guest's agent"),
    ):
        session.interfaces()
