"""The target keeps its addresses and default routes."""

import json

import pytest

from tests.bench.guards.canned import DATA, NOT_THERE, WAY, Canned, Said, ends, recorded
from vnicaudit.bench.endpoints import ip_output
from vnicaudit.bench.facts.guards import GUARDS, check
from vnicaudit.errors import MeasureError

addresses = GUARDS["addresses"]
ADDR = (DATA / "ip" / "addr.json").read_text("utf-8")


def target() -> Canned:
    return Canned(
        ip=NOT_THERE,
        addr_show=recorded("ip/addr.json"),
        **{
            "-4 route show": recorded("ip/route4.json"),
            "-6 route show": recorded("ip/route6.json"),
        },
    )


def with_address(**entry: object) -> Said:
    """The recorded addresses and one more."""
    found = json.loads(ADDR)
    found[1]["addr_info"].append({"family": "inet6", "scope": "global", "prefixlen": 64, **entry})
    return Said(json.dumps(found))


def test_all_is_as_it_was() -> None:
    here = ends(target())
    rail = check(addresses, here, WAY, addresses.before(here, WAY))
    assert rail.verdict == "ok"
    assert rail.detail == (
        "still there: 192.0.2.2/24, 2001:db8::2/64, default via 192.0.2.1, default via 2001:db8::1"
    )


def test_an_address_and_a_route_are_gone() -> None:
    vm = target()
    kept = addresses.before(ends(vm), WAY)
    vm.answers["addr show"] = Said(ADDR.replace("192.0.2.2", "192.0.2.77"))
    vm.answers["-6 route show"] = recorded("ip/route6-none.json")
    rail = check(addresses, ends(vm), WAY, kept)
    assert rail.verdict == "failed"
    assert rail.detail == ("address 192.0.2.2/24 is gone; default route via 2001:db8::1 is gone")


def test_another_name_of_the_nic_is_no_news() -> None:
    vm = target()
    kept = addresses.before(ends(vm), WAY)
    vm.answers["addr show"] = Said(ADDR.replace('"v1"', '"ens4"'))
    assert check(addresses, ends(vm), WAY, kept).verdict == "ok"


@pytest.mark.parametrize(
    "entry",
    [
        {"local": "2001:db8::99", "temporary": True},
        {"local": "2001:db8::99", "deprecated": True},
        {"local": "fe80::99", "scope": "link"},
    ],
)
def test_what_does_not_last_may_go(entry: dict[str, object]) -> None:
    vm = target()
    vm.answers["addr show"] = with_address(**entry)
    kept = addresses.before(ends(vm), WAY)
    vm.answers["addr show"] = recorded("ip/addr.json")
    assert check(addresses, ends(vm), WAY, kept).verdict == "ok"


def test_a_default_route_without_a_gateway() -> None:
    vm = target()
    vm.answers["-4 route show"] = Said('[{"dst":"default","dev":"wg0","flags":[]}]')
    kept = addresses.before(ends(vm), WAY)
    vm.answers["-4 route show"] = recorded("ip/route4-none.json")
    rail = check(addresses, ends(vm), WAY, kept)
    assert (rail.verdict, rail.detail) == ("failed", "default route via on-link is gone")


def test_where_there_is_no_ip_its_package_is_named() -> None:
    rail = check(addresses, ends(), WAY, addresses.before(ends(), WAY))
    assert rail.verdict == "unknown"
    assert rail.detail == "ip is not installed: iproute2 (apt), iproute (dnf)"


def test_an_ip_without_json_tells_nothing() -> None:
    busybox = Canned(ip=Said(code=1, stderr="ip: invalid argument '-json' to 'ip'"))
    rail = check(addresses, ends(busybox), WAY, addresses.before(ends(busybox), WAY))
    assert rail.verdict == "unknown"
    assert rail.detail == "ip ended with exit code 1: ip: invalid argument '-json' to 'ip'"


def test_cut_off_anywhere_it_is_an_error() -> None:
    for end in range(len(ADDR.rstrip())):
        with pytest.raises(MeasureError):
            ip_output.interfaces(ADDR[:end])
    route = (DATA / "ip" / "route4.json").read_text("utf-8").rstrip()
    for end in range(len(route)):
        with pytest.raises(MeasureError):
            ip_output.routes(route[:end])
