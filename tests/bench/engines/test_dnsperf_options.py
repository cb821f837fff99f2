"""What a workload may say, and the messages where it may not."""

from typing import Any

import pytest

from tests.bench.engines.here import Here
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines import _dnsperf_options as options
from vnicaudit.bench.engines import dnsperf
from vnicaudit.bench.engines._dnsperf_batch import DnsperfJob
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload

NAME = {"name": "example.test A"}


def workload(**fields: Any) -> Workload:
    common = {"pattern": "max", "direction": "both", "options": NAME}
    return Workload(id="dns.max", engine="dnsperf", **{**common, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pattern": "fast"}, "dnsperf has no pattern 'fast': max, capacity, rate"),
        ({"direction": "tx"}, "direction must be both: queries go one way and answers the other"),
        ({"size": 64}, "size cannot be set: the size of a query follows from its name"),
        ({"rate": 10.0}, "only pattern rate takes a rate"),
        ({"pattern": "rate"}, "only pattern rate takes a rate"),
        (
            {"pattern": "rate", "rate": 1.0, "generators": 2, "connections": 2},
            "the rate must be at least 1 per second for each generator",
        ),
        ({"seconds": 0.5}, "a run must last at least 1 second"),
        ({"generators": 2}, "each thread of each generator needs a connection of its own"),
        (
            {"options": {**NAME, "threads": "4"}, "connections": 2},
            "each thread of each generator needs a connection of its own",
        ),
        (
            {"generators": 2, "connections": 5},
            "the number of connections must be a multiple of the number of generators",
        ),
        ({"connections": 257}, "dnsperf has at most 256 connections with so many threads"),
        (
            {"options": {}},
            (
                "set either option name (example.org A) or option queries (path of a query "
                "file on the peer)"
            ),
        ),
        (
            {"options": {**NAME, "queries": "/srv/q"}},
            (
                "set either option name (example.org A) or option queries (path of a query "
                "file on the peer)"
            ),
        ),
        (
            {"options": {"name": "example.test"}},
            "option name must be like 'example.org A', not 'example.test'",
        ),
        (
            {"options": {"name": "example.test A\nother.test A"}},
            "option name must be like 'example.org A', not 'example.test A\\nother.test A'",
        ),
        (
            {"options": {**NAME, "prot": "53"}},
            (
                "no option 'prot'; use name, queries, port, transport, outstanding, threads, "
                "search_seconds"
            ),
        ),
        (
            {"options": {**NAME, "transport": "dot"}},
            "option transport must be udp or tcp, not 'dot'",
        ),
        (
            {"options": {**NAME, "port": "0"}},
            "option port must be a number from 1 to 65535, not '0'",
        ),
        (
            {"options": {**NAME, "outstanding": "1_0"}},
            "option outstanding must be a number from 1 to 65536, not '1_0'",
        ),
    ],
)
def test_what_cannot_be_run(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        dnsperf.check(workload(**fields))
    assert str(raised.value) == f"workload dns.max: {message}"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"pattern": "capacity", "generators": 2, "connections": 2},
        {"pattern": "rate", "rate": 2.0, "generators": 2, "connections": 4},
        {"connections": 512, "options": {**NAME, "threads": "2"}},
        {"options": {"queries": "/srv/queries", "transport": "tcp", "port": "5353"}},
        {"options": {"name": "1.2.0.192.in-addr.arpa PTR, _sip._udp.example.test SRV, . NS"}},
    ],
)
def test_what_can_be_run(fields: dict[str, Any]) -> None:
    dnsperf.check(workload(**fields))


def test_the_command_line() -> None:
    asked = {"queries": "/q", "port": "5353", "transport": "tcp", "threads": "2"}
    with Here("peer") as peer:
        ends = Ends(peer, peer, "2001:db8::2")
        job = DnsperfJob(workload(connections=8, generators=2, options=asked), ends)
        found = job.command(options.Load(1.0, 5000, 125), ("-O", "x"))
    assert found == (
        *("dnsperf", "-s", "2001:db8::2", "-p", "5353", "-m", "tcp", "-d", "/q", "-l", "1"),
        *("-t", "1", "-c", "4", "-T", "2", "-q", "125", "-Q", "5000", "-O", "x"),
    )


def test_outstanding_queries_leave_room_for_what_may_be_lost() -> None:
    read = options.options_of(workload())
    assert options.places(read, 1, None) == 100
    assert options.places(read, 1, 40_000, 0.0001) == 100 + 200 + 8
    assert options.places(read, 2, 40_000, 0.0001) == 100 + 100 + 4
    # all places taken by lost queries is always more than the 0.5 % that may be lost
    for rate in (1, 1000, 40_000, 500_000):
        assert options.places(read, 1, rate, 0.0) > 0.005 * rate


def test_outstanding_queries_are_those_that_were_asked_for() -> None:
    read = options.options_of(workload(options={**NAME, "outstanding": "7"}))
    assert options.places(read, 2, 40_000) == 7
