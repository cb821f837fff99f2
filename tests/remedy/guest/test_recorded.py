"""The same interface in the words of three versions of iproute2, and answers that are none."""

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.remedy.guest.answers import BATCH, DATA, VERSIONS, Answers, recorded, rich
from tests.remedy.guest.scenario import REFUSED
from tests.rows import rows
from tests.shares import examples
from vnicaudit.errors import GuestError, RefusedError
from vnicaudit.model.guest_network import FOR_EVER, GuestNetwork
from vnicaudit.model.host import GuestExit
from vnicaudit.remedy.guest.agent import Device, batch, with_lifetimes_reduced
from vnicaudit.remedy.guest.network import capture, missing, restore

MAC = "52:54:00:12:34:57"
LINK = "ip -j -d link show"
ADDRESS = "ip -j -d addr show dev eth0"
ROUTES = {"-4": "ip -j -d -4 route show table all", "-6": "ip -j -d -6 route show table all"}
LINES = re.compile(r"((link|addr|route|neigh) (set|property|replace|append|del)( [\w./:@-]+)+\n)*")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_tells_the_same(version: str) -> None:
    network = capture(rich(version), MAC)
    assert (network.name, network.notes) == ("eth0", ())
    lines = batch(network, Device("eth0", "eth0")).decode()
    assert lines == (DATA / "restored.txt").read_text("utf-8")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("what", REFUSED)
def test_a_route_that_cannot_be_put_back_is_refused(version: str, what: str) -> None:
    guest = rich(version)
    guest.answers |= recorded(version)["refused"][what]
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    said = str(error.value)
    assert " cannot be restored as it is: " in said
    assert what.partition("-")[0].replace("several IPv6", "several") in said


@pytest.mark.parametrize("version", VERSIONS)
def test_such_a_route_through_another_interface_is_none_of_ours(version: str) -> None:
    guest = rich(version)
    (route,) = (
        one
        for one in json.loads(recorded(version)["refused"]["encap"][ROUTES["-4"]])
        if "encap" in one
    )
    route["dev"] = "eth1"
    guest.change(ROUTES["-4"], lambda routes: routes.append(route))
    assert capture(guest, MAC).routes == capture(rich(version), MAC).routes


def test_the_record_goes_through_the_journal() -> None:
    network = capture(rich(), MAC)
    text = msgspec.json.encode(msgspec.to_builtins(network))
    assert msgspec.json.decode(text, type=GuestNetwork) == network


def test_an_interface_gets_its_name_back_before_its_settings() -> None:
    network = capture(rich(), MAC)
    lines = batch(network, Device("ens9", "eth0", ("enp0s9", "eth0"))).decode()
    assert lines == (
        "link set dev ens9 down\nlink property del dev ens9 altname eth0\n"
        "link set dev ens9 name eth0\n" + (DATA / "restored.txt").read_text("utf-8")
    )


def test_some_time_later() -> None:
    network = with_lifetimes_reduced(capture(rich(), MAC), 1000.9)
    left = {one.local: (one.valid_life_time, one.preferred_life_time) for one in network.addresses}
    assert left["10.2.0.2"] == (2600, 800)
    assert left["10.1.0.2"] == (FOR_EVER, FOR_EVER)
    assert "fd00:1::2" not in left
    assert "fd77::/64" in [one.dst for one in network.routes]
    assert "fd77::/64" not in [one.dst for one in with_lifetimes_reduced(network, 2000).routes]
    assert with_lifetimes_reduced(network, -5) == network


@rows
def test_an_interface_that_is_not_ours_to_exchange(edit: dict[str, object], message: str) -> None:
    guest = rich()
    guest.change(LINK, lambda links: links[1].update(edit))
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == message


@rows
def test_interfaces_that_stand_on_it(upper: dict[str, object], message: str) -> None:
    guest = rich()
    guest.change(LINK, lambda links: links.append(upper))
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == message


def test_a_bond_with_the_address_of_its_part_is_not_taken_for_it() -> None:
    guest = rich()
    guest.change(LINK, lambda links: links[1].update(master="bond0"))
    guest.change(LINK, lambda links: links.append({"ifname": "bond0", "address": MAC}))
    with pytest.raises(RefusedError, match=r"^eth0 is part of bond0 \(master\) in the guest$"):
        capture(guest, MAC)


def test_addresses_that_are_not_put_back() -> None:
    def edit(interfaces: Any) -> None:
        for info in interfaces[-1]["addr_info"]:
            if info["local"] == "fd00::2":
                info["dadfailed"] = info["tentative"] = True
            if info["local"] == "fd00::3":
                info["temporary"] = True

    guest = rich()
    guest.change(ADDRESS, edit)
    network = capture(guest, MAC)
    assert not {"fd00::2", "fd00::3"} & {one.local for one in network.addresses}
    assert network.notes == ("Address fd00::2 is not restored: another machine has it.",)


def test_an_address_that_another_machine_has_now_is_missing() -> None:
    def edit(interfaces: Any) -> None:
        for info in interfaces[-1]["addr_info"]:
            info["dadfailed"] = info["local"] == "fd00::2"

    network = capture(rich(), MAC)
    guest = rich()
    guest.change(ADDRESS, edit)
    assert missing(guest, MAC, network) == ("address fd00::2/64",)


def test_an_address_that_was_still_being_asked_for_is_asked_for() -> None:
    guest = rich()

    def edit(interfaces: Any) -> None:
        for info in interfaces[-1]["addr_info"]:
            info["tentative"] = info["local"] == "fd00::2"

    guest.change(ADDRESS, edit)
    lines = batch(capture(guest, MAC), Device("eth0", "eth0")).decode().splitlines()
    assert [line for line in lines if "fd00::2/64" in line] == ["addr replace fd00::2/64 dev eth0"]


def test_what_the_newest_version_says_of_an_address_goes_back() -> None:
    guest = rich()

    def edit(interfaces: Any) -> None:
        interfaces[-1]["addr_info"][0]["protocol"] = "0x11"

    guest.change(ADDRESS, edit)
    lines = batch(capture(guest, MAC), Device("eth0", "eth0")).decode().splitlines()
    assert "addr replace 10.3.0.2/24 dev eth0 scope link proto 0x11" in lines


def test_empty_objects_of_older_versions_are_passed_over() -> None:
    guest = rich()
    guest.change(ADDRESS, lambda interfaces: interfaces.insert(0, {}))
    assert capture(guest, MAC) == capture(rich(), MAC)


def test_a_guest_without_tc() -> None:
    guest = rich()
    del guest.answers["tc -j qdisc show dev eth0"]
    assert capture(guest, MAC).notes == (
        "The guest has no tc, so it is unknown whether traffic control is set on eth0.",
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (GuestExit(1, b"", b"RTNETLINK answers: Operation not permitted\nCommand failed -:1\n"),
         "RTNETLINK answers: Operation not permitted Command failed -:1"),
        (GuestExit(0), "(nothing)"),  # an agent that gives programs no input
    ],
)  # fmt: skip
def test_an_agent_that_may_read_only(answer: GuestExit, said: str) -> None:
    guest = rich()
    guest.answers[BATCH] = answer
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == f"the guest's agent may not configure eth0 (ip: {said})"
    assert guest.batches == ["link set dev eth0 mtu 1400\nlink show dev eth0\n"]


def test_the_multicast_route_of_an_older_kernel_is_its_own() -> None:
    """Linux before it said ``proto kernel`` of it, as in RHEL 7."""
    guest = rich()
    route = {"dst": "ff00::/8", "dev": "eth0", "table": "local", "metric": 256, "pref": "medium"}
    guest.change(ROUTES["-6"], lambda routes: routes.append(route))
    assert capture(guest, MAC).routes == capture(rich(), MAC).routes


def test_a_guest_that_runs_no_programs() -> None:
    with pytest.raises(RefusedError) as error:
        capture(Answers({}), MAC)
    assert str(error.value) == (
        "the guest's network configuration cannot be read: cannot run ip (it must run "
        "Linux with iproute2, and its agent must allow guest-exec)"
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            GuestExit(1, b"", b"ip: invalid option -- 'j'\nBusyBox v1.36.1 multi-call binary.\n"),
            "ip -j -d link show failed in the guest (ip: invalid option -- 'j' BusyBox v1.36.1 "
            "multi-call binary.): install iproute2 4.17 or later in the guest (busybox's ip will "
            "not do)",
        ),
        (
            "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536",
            "the guest's ip -j -d link show did not answer in JSON: install iproute2 4.17 or "
            "later in the guest (busybox's ip will not do)",
        ),
        (
            '[{"ifname":"eth0","mtu":-1}]',
            "the guest's ip -j -d link show did not answer as expected: Expected `int` >= 0 - at "
            "`$.mtu`",
        ),
        (
            "[" * 100_000,
            "the guest's ip -j -d link show did not answer in JSON: install iproute2 4.17 or "
            "later in the guest (busybox's ip will not do)",
        ),
        ("[" + " " * (9 << 20), "the guest's answer to ip -j -d link show is too long (9 MiB)"),
    ],
)
def test_another_ip(answer: str | GuestExit, message: str) -> None:
    guest = rich()
    guest.answers[LINK] = answer
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == message


def test_too_much_to_put_back() -> None:
    guest = rich()
    routes = [{"dst": f"10.{n >> 8}.{n & 255}.0/24", "dev": "eth0"} for n in range(5000)]
    guest.change(ROUTES["-4"], lambda there: there.extend(routes))
    with pytest.raises(
        RefusedError,
        match=r"^eth0 has too many addresses, routes and neighbours in the guest \(5026\)$",
    ):
        capture(guest, MAC)


@rows
def test_words_that_would_be_more_than_one(
    family: str, edit: dict[str, object], message: str
) -> None:
    guest = rich()
    route: dict[str, object] = {"dst": "default", "dev": "eth0", "table": "60"}
    guest.change(ROUTES[family], lambda routes: routes.append(route | edit))
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == message


def test_an_address_label_is_no_interface_of_its_own() -> None:
    """As glibc's getifaddrs has it, which the agent asks."""
    network = capture(rich(), MAC)
    guest = rich()
    guest.names = ("ens9", "ens9:web")
    restore(guest, MAC.upper(), network)
    (lines,) = guest.batches
    assert lines.startswith("link set dev ens9 down\nlink set dev ens9 name eth0\n")


def test_two_interfaces_with_the_address_are_not_chosen_from() -> None:
    guest = rich()
    guest.names = ("ens9", "ens10")
    network = capture(guest, MAC)
    guest.batches.clear()
    with pytest.raises(
        GuestError, match=f"^more than one interface of the guest has the MAC address {MAC}$"
    ):
        restore(guest, MAC, network)
    assert guest.batches == []


def test_an_answer_that_cannot_be_read_afterwards() -> None:
    guest = rich()
    network = capture(guest, MAC)
    guest.answers[LINK] = "what?"
    with pytest.raises(GuestError, match=r"^the guest's ip -j -d link show did not answer in JSON"):
        missing(guest, MAC, network)


@st.composite
def _twisted(draw: st.DrawFn) -> Answers:
    """The recorded guest with one value exchanged for anything."""
    guest = rich(draw(st.sampled_from(VERSIONS)))
    command = draw(st.sampled_from(sorted(guest.answers)).filter(lambda one: " -j" in one))
    answer = guest.answers[command]
    assert isinstance(answer, str)
    objects = json.loads(answer)
    places = list(_places(objects))
    holder, key = draw(st.sampled_from(places))
    holder[key] = draw(
        st.text(max_size=20)
        | st.integers()
        | st.none()
        | st.sampled_from(["eth0", "default", "10.1.0.0/24\nlink del eth1", "fe80::1%a b", "::1"])
        | st.lists(st.text(max_size=5), max_size=2)
        | st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)
    )
    guest.answers[command] = json.dumps(objects)
    return guest


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(_twisted())
def test_no_answer_makes_another_line(guest: Answers) -> None:
    network, refusal = _captured(guest)
    assert refusal.isprintable()
    if network is None:
        return
    assert LINES.fullmatch(batch(network, Device("ens9", network.name)).decode())
    assert all(note.isprintable() for note in network.notes)
    assert msgspec.json.decode(msgspec.json.encode(network), type=GuestNetwork) == network


def _captured(guest: Answers) -> tuple[GuestNetwork | None, str]:
    try:
        return capture(guest, MAC), ""
    except RefusedError as error:
        return None, str(error)


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(sorted(rich().answers)), st.floats(0, 1, exclude_max=True))
def test_a_truncated_answer_is_refused(command: str, part: float) -> None:
    guest = rich()
    answer = guest.answers[command]
    assert isinstance(answer, str)
    cut = answer.rstrip()[: int(len(answer.rstrip()) * part)]
    guest.answers[command] = cut
    if command.startswith("tc") or "netconf" in command or "-j" not in command or not cut:
        return  # a note, or no structure to be cut
    with pytest.raises(RefusedError):
        capture(guest, MAC)
