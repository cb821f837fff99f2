"""What is asked of a cloud to change it, and what is made of its answers.

``data/control.json`` was recorded from Nova 34.0.0, Neutron 29.0.0 and Glance 33.0.0: each request
as it was made here, and what came back. A request that differs from it is an error.
"""

import contextlib
import copy
import io
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import rows
from vnicaudit.errors import ActionError, GoneError, NoResponseError, RefusedError, TargetError
from vnicaudit.model.runs import FlavorState
from vnicaudit.platforms.openstack import control
from vnicaudit.platforms.openstack import servers as states
from vnicaudit.platforms.openstack.client import AnswerError, ChangingClient
from vnicaudit.platforms.openstack.connect import CloudLogin, ServiceEndpoint
from vnicaudit.platforms.openstack.session import keystone_errors

RECORDED: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "data/control.json").read_text()
)
SERVER = "046ce9a3-61c9-479b-8ce5-6a3851534cdb"
NOBODY = "00000000-0000-4000-8000-000000000000"
DELETED = "d65bfc1e-0543-4fd6-ad7e-5ba9bb005843"
IMAGE = "2a147686-bd84-4a85-ab5a-a34bdec2f233"
FLAVOR = "c202cbe4-e125-4348-8a91-a16c59db0641"
COPY = "7f3b1c1e-0000-5000-8000-0000000000aa"
MAC = "fa:16:3e:b0:78:b6"
_URLS = {
    "compute": "http://127.0.0.1:8774/v2.1",
    "image": "http://127.0.0.1:9292/v2",
    "network": "http://127.0.0.1:9696/v2.0",
}

Locate = Callable[[CloudLogin, str], ServiceEndpoint]


class Session:
    """Answers as was recorded, in that order, and lets nothing else be asked."""

    def __init__(self) -> None:
        self.asking = SimpleNamespace()
        self.expected: list[dict[str, Any]] = []
        self.instead: list[Exception | int | threading.Event] = []
        """An error, a status, or that nothing comes until then."""
        self.times = 0
        self.pauses = (0.0, 0.0, 0.0)

    def masked(self, text: str) -> str:
        """No token is known."""
        return text

    def request(self, url: str, method: str, **given: Any) -> requests.Response:
        """As keystoneauth's."""
        self.times += 1
        if self.instead:
            error = self.instead.pop(0)
            if isinstance(error, Exception):
                raise error
            if isinstance(error, threading.Event):
                error.wait()
                raise requests.ConnectionError("nobody waits any more")
            return _answer(error, {"message": "recorded nowhere"})
        wanted = self.expected.pop(0)
        sent = given.get("data")
        made = {
            "method": method,
            "path": urlsplit(url).path,
            "query": [list(pair) for pair in given.get("params") or ()],
            "microversion": given["microversion"],
            "content": given["headers"].get("Content-Type"),
            "sent": None if sent is None else json.loads(sent),
        }
        asked = {name: value for name, value in made.items() if value not in (None, [])}
        assert asked == {
            name: value for name, value in wanted.items() if name not in ("status", "said")
        }
        return _answer(wanted["status"], wanted["said"])


def _answer(status: int, said: object) -> requests.Response:
    answer = requests.Response()
    answer.status_code = status
    answer.raw = io.BytesIO((said if isinstance(said, str) else json.dumps(said)).encode())
    answer.headers["x-openstack-request-id"] = "req-1"
    return answer


@pytest.fixture
def session() -> Session:
    """The one that the cloud is asked through."""
    return Session()


def located(_cloud: object, service: str) -> ServiceEndpoint:
    """Where a service of the recorded cloud is."""
    if service not in _URLS:
        raise keystone_errors.EndpointNotFound(f"no {service}")
    return ServiceEndpoint(_URLS[service], (2, 104) if service == "compute" else None)


@pytest.fixture
def cloud(session: Session) -> control.Control:
    """The cloud whose answers were recorded."""
    return connected(session)


def connected(session: Session, locate: Locate = located) -> control.Control:
    """The cloud that is asked through that session."""

    def login(name: str, *, deadline: float, **_total: object) -> CloudLogin:
        return entered(session, locate)._replace(name=name, deadline=deadline)

    return control.connect("prod", deadline=30.0, login=login)


def entered(session: Session, locate: Locate = located) -> CloudLogin:
    """The login of that session."""
    there: Any = session
    region: Any = None
    return CloudLogin("prod", region, there, 30.0, frozenset({"admin"}), locate=locate)


@pytest.fixture(autouse=True)
def all_was_asked(session: Session) -> Iterator[None]:
    yield
    assert session.expected == []


def expect(session: Session, *names: str) -> None:
    """What was recorded under these names, in this order."""
    session.expected += [exchange for name in names for exchange in RECORDED[name]]


def expect_volumes(session: Session, *volumes: str) -> None:
    """The server as it was recorded, but with these volumes."""
    recorded = copy.deepcopy(RECORDED["server active"])
    attached = [{"id": volume} for volume in volumes]
    recorded[0]["said"]["server"]["os-extended-volumes:volumes_attached"] = attached
    session.expected += recorded


def test_which_cloud_it_is(cloud: control.Control) -> None:
    assert (cloud.key, cloud.release) == ("http://127.0.0.1:8774/v2.1", (34, 34))


@rows
def test_a_project_in_the_url_is_not_another_cloud(session: Session, url: str, key: str) -> None:
    found = connected(session, lambda _cloud, _service: ServiceEndpoint(url, (2, 90)))
    assert (found.key, found.release) == (key, (24, 25))


def test_a_cloud_without_nova_is_none(session: Session) -> None:
    def nowhere(_cloud: object, service: str) -> ServiceEndpoint:
        raise keystone_errors.EndpointNotFound(f"no {service}")

    with pytest.raises(TargetError, match="the compute service cannot be reached: no compute"):
        connected(session, nowhere)


@rows
def test_a_server(
    cloud: control.Control, session: Session, name: str,
    status: str, vm_state: str, task_state: str | None, power_state: int,
) -> None:  # fmt: skip
    expect(session, name)
    found = cloud.server(SERVER)
    assert (found.id, found.name, found.status) == (SERVER, "ap-2", status)
    assert (found.vm_state, found.task_state, found.power_state) == (
        vm_state, task_state, power_state,
    )  # fmt: skip
    assert (found.host, found.host_status, found.locked) == ("cmp1", "UP", False)
    assert found.stored_properties is not None
    assert found.stored_properties["hw_machine_type"] == "pc"
    error = "Requested hardware 'lan9118' is not supported by the 'kvm' virt driver"
    assert found.fault == (error if status == "ERROR" else "")


@pytest.mark.parametrize(
    ("image", "has_image"),
    [({"image": {"id": IMAGE}}, True), ({"image": ""}, False), ({"image": None}, None), ({}, None)],
)
def test_whether_a_server_was_made_of_an_image(
    image: dict[str, object], *, has_image: bool | None
) -> None:
    """Below microversion 2.98 an image is its id and links alone; of a server that boots from a
    volume it is empty, and it is missing where the server's cell is down."""
    found = states.server_of(json.dumps({"server": {"id": SERVER, **image}}).encode())
    assert (found.has_image, found.stored_properties) == (has_image, None)


def test_what_is_asked_for(cloud: control.Control, session: Session) -> None:
    expect(session, "stop", "start", "hard reboot")
    cloud.stop(SERVER)
    cloud.start(SERVER)
    cloud.hard_reboot(SERVER)


@rows
def test_nova_says_no(
    cloud: control.Control, session: Session, name: str, ask: str, server: str, words: str
) -> None:
    expect(session, name)
    with pytest.raises(AnswerError) as raised:
        getattr(cloud, ask)(server)
    assert words in str(raised.value)
    assert not isinstance(raised.value, NoResponseError)


def test_a_server_that_is_gone(cloud: control.Control, session: Session) -> None:
    """Nova tells what was done to it, though it shows it no more."""
    expect(session, "deleted server")
    with pytest.raises(GoneError, match=f"server {DELETED} no longer exists"):
        cloud.server(DELETED)


def test_a_server_of_another_cloud(cloud: control.Control, session: Session) -> None:
    """Nothing tells that it was deleted: it may be off elsewhere, for an interrupted run."""
    expect(session, "no server")
    with pytest.raises(RefusedError) as raised:
        cloud.server(NOBODY)
    assert raised.value.codes == ("unreadable",)
    assert str(raised.value) == (
        f"Nova does not know server {NOBODY}, not even as deleted (or this user may not see "
        "it): is openstack:prod now another cloud, region or project than when the plan "
        "was made? If it was deleted long ago, remove its step from the plan"
    )


def test_an_old_nova_does_not_tell_of_deleted_servers(
    cloud: control.Control, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud, "_highest", (2, 83))
    session.instead = [404]
    with pytest.raises(RefusedError, match="Nova does not know server"):
        cloud.server(NOBODY)
    assert session.times == 1


def test_whether_it_was_deleted_is_not_answered(cloud: control.Control, session: Session) -> None:
    session.instead = [404, *[503] * 4]
    with pytest.raises(NoResponseError, match="503"):
        cloud.server(NOBODY)


def test_ports_and_packets(cloud: control.Control, session: Session) -> None:
    expect(session, "ports", "sent", "sent off")
    (port,) = cloud.ports(SERVER)
    assert (port.mac, port.status) == (MAC, "ACTIVE")
    assert cloud.packets_sent(SERVER) == {MAC: 773}
    assert cloud.packets_sent(SERVER) is None  # it is off


def test_what_went_wrong(cloud: control.Control, session: Session) -> None:
    expect(session, "no trouble", "trouble")
    assert cloud.trouble(SERVER) == ""
    assert cloud.trouble(SERVER) == (
        "Requested hardware 'lan9118' is not supported by the 'kvm' virt driver"
    )


@pytest.mark.parametrize("status", [400, 403, 404, 409, 501])
def test_packets_that_are_not_told(cloud: control.Control, session: Session, status: int) -> None:
    session.instead = [status]
    assert cloud.packets_sent(SERVER) is None


def test_packets_whose_answer_is_lost(cloud: control.Control, session: Session) -> None:
    session.instead = [503] * 4
    with pytest.raises(NoResponseError, match="503"):
        cloud.packets_sent(SERVER)


def test_packets_that_are_refused_otherwise(cloud: control.Control, session: Session) -> None:
    session.instead = [418]
    with pytest.raises(AnswerError, match="418"):
        cloud.packets_sent(SERVER)


def test_more_volumes_than_are_looked_at(cloud: control.Control, session: Session) -> None:
    expect_volumes(session, *(["volume"] * 257))
    with pytest.raises(ActionError, match="it has 257 volumes, and at most 256"):
        cloud.shared_volumes(SERVER)


def test_volumes_are_not_known_where_there_is_no_cinder(
    cloud: control.Control, session: Session
) -> None:
    expect_volumes(session, "volume-1")
    with pytest.raises(NoResponseError, match="block-storage"):
        cloud.shared_volumes(SERVER)


def test_volumes_that_others_have_too(
    cloud: control.Control, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers are those of Cinder's API reference (v3, Show a volume's details)."""
    monkeypatch.setitem(_URLS, "block-storage", "http://127.0.0.1:8776/v3/p")
    expect_volumes(session, "alone", "shared")
    for name, servers in (("alone", [SERVER]), ("shared", [SERVER, NOBODY])):
        said = {"volume": {"id": name, "attachments": [{"server_id": one} for one in servers]}}
        session.expected.append(
            {"method": "GET", "path": f"/v3/p/volumes/{name}", "status": 200, "said": said}
        )
    assert cloud.shared_volumes(SERVER) == ("shared",)


@rows
def test_a_volume_that_is_not_shown(
    cloud: control.Control, session: Session, monkeypatch: pytest.MonkeyPatch, status: int,
    words: str,
) -> None:  # fmt: skip
    monkeypatch.setitem(_URLS, "block-storage", "http://127.0.0.1:8776/v3/p")
    expect_volumes(session, "vol")
    session.expected.append(
        {"method": "GET", "path": "/v3/p/volumes/vol", "status": status, "said": {}}
    )
    with pytest.raises(ActionError, match=words):
        cloud.shared_volumes(SERVER)


def test_an_image(cloud: control.Control, session: Session) -> None:
    expect(session, "image", "set image", "image set", "no image")
    before = cloud.image_properties(IMAGE)
    assert (before["hw_vif_model"], before["os_distro"]) == ("rtl8139", "debian12")
    wanted = {"hw_vif_model": "virtio", "os_distro": None, "hw_absent": None}
    cloud.set_image_properties(IMAGE, wanted)
    after = cloud.image_properties(IMAGE)
    assert (after["hw_vif_model"], "os_distro" in after) == ("virtio", False)
    with pytest.raises(ActionError, match="No image found with ID"):
        cloud.image_properties(IMAGE)


def test_a_flavor(cloud: control.Control, session: Session) -> None:
    expect(session, "flavor", "no flavor", "copy flavor", "copy flavor again", "copied flavor")
    expect(session, "flavor servers", "delete flavor", "delete flavor again")
    specs = {"hw:mem_page_size": "large", "hw:vif_multiqueue_enabled": "false"}
    assert cloud.flavor(FLAVOR) == FlavorState(FLAVOR, "ap-private", specs)
    assert cloud.flavor(COPY) is None
    new = {"hw:vif_multiqueue_enabled": None, "hw:x": "1"}
    for _time in range(2):
        cloud.copy_flavor(FLAVOR, COPY, "ap-private-vnic", new)
    made = cloud.flavor(COPY)
    assert made is not None
    assert made.properties == {"hw:mem_page_size": "large", "hw:x": "1"}
    assert cloud.flavor_servers(COPY) == 0
    for _time in range(2):
        cloud.delete_flavor(COPY)


@pytest.mark.parametrize("error", [503, 500, 429, requests.ConnectionError("Connection refused")])
def test_a_question_is_asked_again(
    cloud: control.Control, session: Session, error: Exception | int
) -> None:
    session.instead = [error, error]
    expect(session, "server active")
    assert cloud.server(SERVER).status == "ACTIVE"
    assert session.times == 3


@pytest.mark.parametrize("error", [502, requests.ReadTimeout("read timed out")])
def test_a_cloud_that_does_not_answer_is_silent(
    cloud: control.Control, session: Session, error: Exception | int
) -> None:
    session.instead = [error] * 99
    with pytest.raises(
        NoResponseError, match=r"compute: GET http://127\.0\.0\.1:8774/v2\.1/servers/"
    ):
        cloud.server(SERVER)
    assert session.times == 4
    session.instead = []


def test_an_order_is_given_once(cloud: control.Control, session: Session) -> None:
    session.instead = [requests.ConnectionError("Connection refused")]
    with pytest.raises(NoResponseError, match="nothing is listening there: is the service running"):
        cloud.stop(SERVER)
    assert session.times == 1


def test_an_order_without_an_answer_in_time_may_be_carried_out(session: Session) -> None:
    client = ChangingClient(entered(session))
    cloud = control.Control(client.cloud, client)
    cloud.open()
    client.cloud = client.cloud._replace(deadline=0.5)
    nobody_waits = threading.Event()
    session.instead = [nobody_waits]
    told = r"no answer within 0\.5 s; it may still take effect"
    try:
        with pytest.raises(NoResponseError, match=told):
            cloud.stop(SERVER)
    finally:
        nobody_waits.set()


def test_what_names_a_path_leads_nowhere_else(cloud: control.Control, session: Session) -> None:
    path = "/v2.1/servers/..%2F..%2Fimages%3Fx"
    session.expected += [
        {"method": "GET", "path": path, "microversion": "2.98", "status": 404, "said": ""},
        {"method": "GET", "path": f"{path}/os-instance-actions", "query": [["limit", "1"]],
         "microversion": "2.84", "status": 404, "said": ""},
    ]  # fmt: skip
    with pytest.raises(RefusedError, match="Nova does not know server"):
        cloud.server("../../images?x")


PARSERS = [
    states.server_of, states.volumes_of, states.ports_of, states.sent_of, states.failed_request,
    states.details_of, states.attached_to,
]  # fmt: skip


@pytest.mark.parametrize("parse", PARSERS)
@given(body=st.binary() | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(
        ["server", "id", "ports", "nic_details", "instanceActions", "instanceAction", "events",
         "volume", "attachments", "image", "properties", "fault", "mac_address", "tx_packets"]
    ), inner),
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_whatever_a_cloud_answers(parse: Callable[[bytes], object], body: bytes) -> None:
    """It is understood, or it is said what it is not."""
    with contextlib.suppress(ActionError):
        parse(body)


@pytest.mark.parametrize("name", ["server active", "ports", "sent", "trouble"])
@given(end=st.integers(0, 3000))
def test_answers_that_are_cut_short(name: str, end: int) -> None:
    whole = json.dumps(RECORDED[name][0]["said"]).encode()
    parse = dict(zip(["server active", "ports", "sent", "trouble"],
                     [states.server_of, states.ports_of, states.sent_of, states.failed_request],
                     strict=True))[name]  # fmt: skip
    if end < len(whole):
        with pytest.raises(ActionError, match="the cloud's answer is not"):
            parse(whole[:end])
