"""What is asked of an API server, and what becomes of its answers."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.platforms.kubevirt.live.api_server import (
    EXPIRED,
    TOKEN,
    Asked,
    FakeServer,
    Item,
    Reply,
    kubeconfig,
    status,
    vm,
)
from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.kubevirt.live import client
from vnicaudit.platforms.kubevirt.live.lists import RESOURCES, Lists

VMS = "kubevirt.io/v1/virtualmachines"


def read(target: str = "kube:prod", live: LiveOptions | None = None) -> tuple[Lists, list[Item]]:
    """All lists of a cluster, and the virtual machines."""
    lists = Lists(client.Cluster(target, live or LiveOptions()))
    machines = [one for kind, page in lists.pages if kind == "VirtualMachine" for one in page]
    return lists, machines


def names(machines: list[Item]) -> list[str]:
    return [one["metadata"]["name"] for one in machines]


def test_every_list_is_read_and_nothing_else_is_asked(cluster: FakeServer) -> None:
    cluster.lists[VMS] = [vm("a"), vm("b")]
    lists, machines = read()
    assert names(machines) == ["a", "b"]
    assert lists.unread == {}
    assert sorted(lists.read) == sorted(one.plural for one in RESOURCES)
    assert {one.method for one in cluster.asked} == {"GET"}
    assert not any("watch" in one.query for one in cluster.asked)
    listed = [one for one in cluster.asked if one.path.rstrip("/") != "/apis"]
    assert {one.query["limit"] for one in listed} == {"500"}
    selectors = {one.path.rpartition("/")[2]: one.query.get("labelSelector") for one in listed}
    assert selectors["controllerrevisions"] == "instancetype.kubevirt.io/object-kind"


def test_what_may_be_secret_and_who_wrote_what_is_dropped(cluster: FakeServer) -> None:
    secret = vm("a")
    spec = secret["spec"]["template"]["spec"]
    spec["accessCredentials"] = [{"sshPublicKey": {"source": "planted"}}]
    spec["volumes"].append({"name": "s", "sysprep": {"secret": {"name": "planted"}}})
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    secret["metadata"]["annotations"] = {applied: "planted"}
    cluster.lists[VMS] = [secret]
    _lists, (found,) = read()
    assert "planted" not in str(found)
    assert "managedFields" not in found["metadata"]
    assert applied in found["metadata"]["annotations"]  # who owns it is told by its key
    volumes = found["spec"]["template"]["spec"]["volumes"]
    assert volumes == [{"name": "ci", "cloudInitNoCloud": {}}, {"name": "s", "sysprep": {}}]


def test_the_shipped_role_lists_what_is_read_and_nothing_else() -> None:
    file = Path(__file__).parents[4] / "docs/how-to/clusters/clusterrole.yaml"
    rules = YAML(typ="safe").load(file)["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list"}
    granted = [
        (group, resource)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    ]
    assert sorted(granted) == sorted((one.group, one.plural) for one in RESOURCES)


def test_pages_are_followed(cluster: FakeServer) -> None:
    cluster.lists[VMS] = [vm(f"v{n}") for n in range(1200)]
    _lists, machines = read()
    assert len({*names(machines)}) == len(machines) == 1200
    assert cluster.listed["virtualmachines"] == 3


def test_one_namespace(cluster: FakeServer) -> None:
    cluster.lists[VMS] = [vm("a"), vm("b", "mail")]
    cluster.forbidden = {"nodes"}
    lists, machines = read("kube:prod/mail")
    assert names(machines) == ["b"]
    (reason,) = lists.unread.values()
    assert reason.endswith("kubectl --context prod auth can-i list nodes")
    paths = {one.path for one in cluster.asked}
    assert "/apis/kubevirt.io/v1/namespaces/mail/virtualmachineinstances" in paths
    assert "/apis/kubevirt.io/v1/virtualmachineinstances" not in paths
    assert "/apis/kubevirt.io/v1/kubevirts" in paths  # what it says is true of every namespace


def test_a_context_may_have_a_slash(cluster: FakeServer) -> None:
    cluster.lists[VMS] = [vm("a"), vm("b", "mail")]
    assert names(read("kube:team/eu")[1]) == ["a", "b"]
    assert names(read("kube:team/eu/mail")[1]) == ["b"]


def test_a_version_that_serves_a_list_is_found(cluster: FakeServer) -> None:
    group = "instancetype.kubevirt.io"
    cluster.lists[f"{group}/v1beta1/virtualmachinepreferences"] = [vm("old")]
    cluster.lists[f"{group}/v2/other"] = []
    lists = Lists(client.Cluster("kube:prod", LiveOptions()))
    found = [page for kind, page in lists.pages if kind == "VirtualMachinePreference"]
    assert [names(page) for page in found] == [["old"]]


def test_the_missing_right_is_named(cluster: FakeServer) -> None:
    cluster.lists[VMS] = [vm("a")]
    cluster.forbidden = {"virtualmachineinstances"}
    lists, machines = read()
    assert names(machines) == ["a"]
    assert lists.unread == {
        "virtualmachineinstances": "no right to list virtualmachineinstances.kubevirt.io: what "
        "virtual machines run with is not judged. Grant it "
        "(docs/how-to/clusters/clusterrole.yaml), then check it: kubectl --context prod auth "
        "can-i list virtualmachineinstances.kubevirt.io -A"
    }
    assert "virtualmachineinstances" not in lists.read


def expiring(server: FakeServer, times: int, token: str) -> None:
    """The list of VMs expires so many times, each time before its second page."""
    left = [times]

    def intercept(asked: Asked) -> Reply | None:
        late = asked.path.endswith("/virtualmachines") and "continue" in asked.query
        if not late or not left[0]:
            return None
        left[0] -= 1
        return status(410, "Expired", EXPIRED, **({"continue": token} if token else {}))

    server.lists[VMS] = [vm(f"v{n:04}") for n in range(1200)]
    server.intercept = intercept


@pytest.mark.parametrize(
    ("times", "token", "pages"),
    [(1, "500", 7), (1, "", 5), (2, "500", 6)],
    ids=[
        "goes on, and is read again",
        "without a token it starts over",
        "the second time it starts over",
    ],
)
def test_a_list_that_expires(cluster: FakeServer, times: int, token: str, pages: int) -> None:
    expiring(cluster, times, token)
    lists, machines = read()
    assert names(machines) == [f"v{n:04}" for n in range(1200)]  # each once
    (note,) = lists.notes
    assert note == (
        "the list of virtualmachines.kubevirt.io expired while it was read: it is of two moments"
    )
    assert cluster.listed["virtualmachines"] == pages
    assert lists.unread == {}


def test_of_a_list_that_expired_it_is_told_what_changed_in_between(cluster: FakeServer) -> None:
    def happens(asked: Asked) -> Reply | None:
        late = asked.path.endswith("/virtualmachines") and "continue" in asked.query
        if not late or changed:
            return None
        found = cluster.lists[VMS]
        changed.append(found[0]["metadata"]["name"])
        found[0] = vm("v0000", model="virtio")
        found[0]["metadata"]["resourceVersion"] = "9"
        cluster.lists[VMS] = [*found[:5], *found[6:], vm("w")]
        return status(410, "Expired", EXPIRED, **{"continue": "500"})

    changed: list[str] = []
    cluster.lists[VMS] = [vm(f"v{n:04}") for n in range(600)]
    cluster.intercept = happens
    lists, machines = read()
    # the one at the border of two pages was passed over by the token
    assert {*names(machines)} == {f"v{n:04}" for n in range(600)} | {"w"}
    assert len(machines) == 601
    assert lists.notes == [
        "the list of virtualmachines.kubevirt.io expired while it was read: it is of two moments; "
        "changed in between, and judged as before: web/v0000; deleted in between: web/v0005"
    ]


def test_a_list_that_expires_again_while_it_is_read_again(cluster: FakeServer) -> None:
    def happens(asked: Asked) -> Reply | None:
        if asked.path.endswith("/virtualmachines") and "continue" in asked.query:
            number.append(len(number))
            if number[-1] in (0, 3):
                return status(410, "Expired", EXPIRED, **{"continue": "500"})
        return None

    number: list[int] = []
    cluster.lists[VMS] = [vm(f"v{n:04}") for n in range(1200)]
    cluster.intercept = happens
    lists, machines = read()
    assert len(machines) == 1200
    (note,) = lists.notes
    assert note.endswith("; expired again, so that what changed in between is not known")


def test_a_list_that_always_expires_is_not_read(cluster: FakeServer) -> None:
    expiring(cluster, 9, "500")
    lists, machines = read()
    assert len(machines) == 500
    assert lists.unread["virtualmachines"].startswith("virtualmachines.kubevirt.io: 410: The prov")


def test_a_server_that_limits_requests_is_waited_for(cluster: FakeServer) -> None:
    cluster.lists[VMS] = [vm("a")]
    once = [Reply(429, b"{}", (("Retry-After", "0"),)), Reply(503, b"<html>")]
    cluster.intercept = lambda asked: once.pop() if once and "/nodes" in asked.path else None
    lists, machines = read()
    assert names(machines) == ["a"]
    assert cluster.listed["nodes"] == 3
    assert lists.unread == {}


def test_a_wait_that_is_too_long_is_not_waited_for(cluster: FakeServer) -> None:
    busy = Reply(429, b"{}", (("Retry-After", "3600"),))
    cluster.intercept = lambda asked: busy if "/nodes" in asked.path else None
    lists, _machines = read()
    assert lists.unread == {"nodes": "nodes: 429: Too Many Requests"}
    assert cluster.listed["nodes"] == 1


def test_of_a_refusal_only_the_beginning_is_read(cluster: FakeServer) -> None:
    long = status(400, "BadRequest", "x" * 1_000_000)
    cluster.intercept = lambda asked: long if "/nodes" in asked.path else None
    lists, _machines = read()
    assert lists.unread == {"nodes": "nodes: 400: Bad Request"}


def test_smaller_pages_where_an_answer_is_too_large(
    cluster: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST_BYTES", 20_000)
    cluster.lists[VMS] = [vm(f"v{n}") for n in range(60)]
    _lists, machines = read()
    assert len({*names(machines)}) == 60
    limits = [one.query["limit"] for one in cluster.asked if one.path.endswith("/virtualmachines")]
    assert limits == ["500", "50", "5", *["5"] * 11]


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b"[" * 100_000], ids=len)
def test_an_answer_that_is_no_object(cluster: FakeServer, body: bytes) -> None:
    cluster.intercept = lambda asked: Reply(200, body) if "/nodes" in asked.path else None
    with pytest.raises(TargetError, match="not a JSON object"):
        read()


def test_objects_that_are_none_are_passed_over(cluster: FakeServer) -> None:
    odd: list[Item] = [{"metadata": 3}, {"x": 1}]
    cluster.lists[VMS] = [*odd, vm("a")]
    assert names(read()[1]) == ["a"]


def test_credentials_that_expire_are_read_again(cluster: FakeServer, tmp_path: Path) -> None:
    cluster.lists[VMS] = [vm(f"v{n}") for n in range(600)]

    def renewed(asked: Asked) -> Reply | None:
        if "continue" in asked.query and cluster.token == TOKEN:
            cluster.token = "the-next-one"
            kubeconfig(tmp_path / "config", cluster.url, user={"token": cluster.token})
        return None

    cluster.intercept = renewed
    lists, machines = read()
    assert len(machines) == 600
    assert lists.unread == {}


def test_credentials_that_expire_at_the_last_attempt(cluster: FakeServer, tmp_path: Path) -> None:
    answers = [*[Reply(503, b"{}")] * 2, status(401, "Unauthorized", "expired")]

    def away(asked: Asked) -> Reply | None:
        if "/nodes" not in asked.path or not answers:
            return None
        if len(answers) == 1:
            cluster.token = "the-next-one"
            kubeconfig(tmp_path / "config", cluster.url, user={"token": cluster.token})
        return answers.pop(0)

    cluster.intercept = away
    lists, _machines = read()
    assert lists.unread == {}
    assert cluster.listed["nodes"] == 4


def test_a_refused_token_is_told_without_it(cluster: FakeServer) -> None:
    cluster.intercept = lambda asked: status(401, "Unauthorized", f"bad token {asked.token}")
    with pytest.raises(TargetError) as raised:
        read()
    assert str(raised.value) == (
        "kube:prod: 401: bad token ***; log in again, then check with kubectl --context prod "
        "version"
    )
    assert raised.value.failure == "authentication"


def test_no_redirect_is_followed(cluster: FakeServer) -> None:
    away = Reply(302, b"", (("Location", f"{cluster.url}/elsewhere"),))
    cluster.intercept = lambda asked: away if "/nodes" in asked.path else None
    lists, _machines = read()
    assert "nodes" in lists.unread
    assert not any("elsewhere" in one.path for one in cluster.asked)
