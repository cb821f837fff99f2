"""Which change has which rank, and why, by values."""

import random

import msgspec
import pytest

from tests.drawing import drawn_seed
from tests.fleet.ranking_records import VIRTIO, Problem, audit, guest, reading, traffic
from vnicaudit.fleet.ranking import NO_TRAFFIC, PLAN, rank
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Change, OutsideOwner
from vnicaudit.model.fix import Advice, EditElement, SetOption, SetProperty
from vnicaudit.model.fleet import HostReading
from vnicaudit.model.ranking import ChangePlace, GainEstimate, MeasuredGain, RankedChange
from vnicaudit.model.report import Audited, Placed

MEGABYTE = 1_000_000
UNSAFE = Change("model", "e1000", "virtio", False, "no driver is known")


def names(*readings: HostReading) -> list[str]:
    """The guests, in the order of their ranks."""
    return [one.place.name for one in rank(audit("h"), readings).changes]


def ranked(*guests: Audited) -> tuple[RankedChange, ...]:
    return rank(audit("h"), [reading("h", guests)]).changes


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Problem(severity="high", confidence="low"), Problem(severity="medium")),
        (Problem(confidence="high"), Problem(confidence="medium")),
        (Problem(), Problem(change=UNSAFE)),
        (Problem(change=UNSAFE), Problem(change=None)),
        (Problem(change=None), Problem(change=None, owner=OutsideOwner("acme"))),
        (Problem(change=None), Problem(change=None, fix="")),
    ],
)
def test_one_criterion_after_the_other_decides(first: Problem, second: Problem) -> None:
    """Whatever the names, which decide last."""
    for names_ in (("a", "b"), ("b", "a")):
        found = ranked(guest(names_[0], first), guest(names_[1], second))
        assert [one.place.name for one in found] == list(names_)


def test_drops_come_before_bytes_and_bytes_before_the_safety_of_the_change() -> None:
    guests = [
        guest("busy", Problem(change=UNSAFE)),
        guest("dropping", Problem(change=UNSAFE)),
        guest("idle", Problem()),
        guest("severe", Problem(severity="error", change=None)),
    ]
    counters = [traffic("busy", rate=90 * MEGABYTE), traffic("dropping", drops=3), traffic("idle")]
    assert names(reading("h", guests, counters)) == ["dropping", "severe", "busy", "idle"]


def test_guests_that_are_shut_off_come_last_and_guests_that_lose_packets_first() -> None:
    off = guest("off", Problem(severity="error"), active=False)
    low = guest("low", Problem(severity="low"))
    unknown = guest("unknown", Problem(severity="high"), active=None)
    counters = [traffic("low", drops=3)]
    assert names(reading("h", [off, low, unknown], counters)) == ["low", "unknown", "off"]
    (one,) = ranked(off)
    assert one.reason == "shut off; certain, safe; 1 NIC"
    (both,) = rank(audit("h"), [reading("h", [off, low])], per_place=False).changes
    assert (both.guests, both.shut_off) == (2, 1)
    assert both.reason.startswith("1 of 2 guests shut off; certain, safe; ")


def test_of_the_same_change_the_guests_stand_out_that_lose_most_packets() -> None:
    guests = [guest(f"g{n}", Problem()) for n in range(9)]
    guests.append(guest("alone", Problem(change=UNSAFE)))
    counters = [traffic(f"g{n}", drops=n * 10) for n in range(1, 6)]
    counters += [traffic("g7", drops=0), traffic("alone", drops=5000)]
    ranking = rank(audit("h"), [reading("h", guests, counters)], per_place=False)
    found = [(one.place.name, one.places, one.elsewhere) for one in ranking.changes]
    assert found == [("alone", 1, 0), ("", 9, 0), ("g3", 1, 8), ("g4", 1, 8), ("g5", 1, 8)]
    assert ranking.candidates == 5
    assert "8 more places need the same" in ranking.changes[2].reason


def test_the_next_step_is_a_plan() -> None:
    words, edit = "Set it (virsh edit), then power off", EditElement("model", "virtio")
    guests = [guest("a", Problem(fix=words, fixes=(edit,)))]
    ranking = rank(audit("h"), [reading("h", guests)])
    assert ranking.changes[0].fix == "Set it (vnicaudit plan -i), then power off"
    assert PLAN in ranking.notes
    of_nova = rank(audit("h"), [reading("h", [guest("a", Problem(owner="nova"))])])
    assert PLAN not in of_nova.notes


def test_what_differs_little_is_decided_by_safety() -> None:
    """1.3 and 9.9 drops per second are of one step, 1,300 are of another."""
    guests = [guest("a", Problem(change=UNSAFE)), guest("b", Problem()), guest("c", Problem())]
    counters = [traffic("a", drops=9), traffic("b", drops=2), traffic("c", drops=1300)]
    assert names(reading("h", guests, counters)) == ["c", "b", "a"]


def test_a_share_of_a_quiet_host_is_worth_nothing() -> None:
    quiet = reading("q", [guest("b", Problem())], [traffic("b", rate=100)])
    unknown = reading("u", [guest("a", Problem())])
    assert names(quiet, unknown) == ["a", "b"]


def test_rates_alike_are_told_apart_by_the_share() -> None:
    alone = reading("x", [guest("b", Problem())], [traffic("b", rate=2 * MEGABYTE)])
    others = [traffic("a", rate=3 * MEGABYTE), traffic("else", rate=90 * MEGABYTE)]
    assert names(reading("y", [guest("a", Problem())], others), alone) == ["b", "a"]


def test_the_line_says_why_by_values() -> None:
    problems = [Problem(nic=0), Problem(nic=1), Problem(nic=1, rule="TEST2", severity="medium")]
    counters = [
        traffic("web", 0, rate=30 * MEGABYTE, drops=1200),
        traffic("web", 1, rate=8 * MEGABYTE, drops=4),
        traffic("db", rate=62 * MEGABYTE),
    ]
    (one,) = rank(audit("h"), [reading("h", [guest("web", *problems, nics=3)], counters)]).changes
    assert one.reason == (
        "1,204 drops/s; carries 38 % of this host's bytes (304 Mbit/s); certain, safe; 2 NICs"
    )
    assert (one.rules, one.nics, one.findings) == (("TEST1", "TEST2"), 2, 3)
    assert one.traffic is not None
    assert (one.traffic.nics, one.traffic.drops_per_second, one.traffic.share) == (2, 1204, 0.38)


def test_what_is_not_known_is_not_said_to_be_nothing() -> None:
    problems = [Problem(nic=index) for index in range(3)]
    counters = [traffic("web", 0, rate=None, drops=None), traffic("web", 1)]
    (one,) = rank(audit("h"), [reading("h", [guest("web", *problems, nics=3)], counters)]).changes
    assert "idle; counters known for 2 of 3 NICs" in one.reason
    (none,) = rank(audit("h"), [reading("h", [guest("web", Problem())])]).changes
    assert none.traffic is None
    assert "idle" not in none.reason


def test_traffic_that_was_not_asked_for_is_named_once() -> None:
    plain = [reading("h", [guest("web", Problem())])]
    assert rank(audit("h"), plain).notes == (NO_TRAFFIC, PLAN)
    assert rank(audit("h"), [reading("h", [])]).notes == ()
    known = [reading("h", [guest("web", Problem())], [traffic("web")])]
    assert rank(audit("h", "i"), known).notes == ("1 of 2 hosts could not be read", PLAN)


def test_a_domain_s_finding_cures_all_its_nics_and_a_host_s_none() -> None:
    found = ranked(
        guest("web", Problem(nic=None, change=None), nics=4),
        guest("h", Problem(change=None, rule="TEST3"), nics=0, scope="host"),
    )
    assert [(one.place.kind, one.nics) for one in found] == [("domain", 4), ("host", 0)]
    assert "certain, no change to propose; 1 problem" in found[1].reason


@pytest.mark.parametrize(
    ("problem", "place"),
    [
        (Problem(), ChangePlace("domain", "web", "uuid of web", "h")),
        (Problem(file="main.tf", owner="terraform"), ChangePlace("file", "main.tf")),
        (
            Problem(fixes=(SetOption("rx_queue_size", "512"),), owner="nova"),
            ChangePlace("host", "h", host="h"),
        ),
        (
            Problem(fixes=(Advice((SetProperty("hw_x", "1", "server-image"),)),), owner="nova"),
            ChangePlace("image", "jammy", "i1"),
        ),
        (
            Problem(fixes=(Advice((SetProperty("hw_x", "1", "server"),)),), owner="nova"),
            ChangePlace("domain", "web", "uuid of web", "h"),
        ),
    ],
)
def test_the_place_is_where_one_change_cures_it(problem: Problem, place: ChangePlace) -> None:
    (one,) = ranked(guest("web", problem, placed=Placed("jammy", "i1")))
    assert one.place == place


def test_guests_of_one_place_are_one_change_and_others_are_counted() -> None:
    of_file = Problem(file="main.tf", owner="terraform")
    in_file = ranked(guest("a", of_file), guest("b", of_file), guest("c", of_file, nics=2))
    assert [(each.guests, each.nics, each.hosts) for each in in_file] == [(3, 3, 1)]
    two = ranked(guest("a", Problem()), guest("b", Problem()), guest("c", Problem(change=UNSAFE)))
    assert [(each.place.name, each.elsewhere) for each in two] == [("a", 1), ("b", 1), ("c", 0)]
    assert "1 more place needs the same" in two[0].reason


def test_places_are_put_together_on_request() -> None:
    hosts = [reading(f"h{n}", [guest(f"g{n}{k}", Problem()) for k in range(3)],
                     [traffic(f"g{n}0", rate=MEGABYTE)]) for n in range(2)]  # fmt: skip
    (one,) = rank(audit("h0", "h1"), hosts, per_place=False).changes
    assert (one.places, one.hosts, one.guests, one.nics, one.elsewhere) == (6, 2, 6, 6, 0)
    assert one.place == ChangePlace("many")
    assert "carries 100 % of its 2 hosts' bytes (16 Mbit/s)" in one.reason


def gain(percent: float, before: str = "e1000", after: str = "virtio", **more: str) -> MeasuredGain:
    kinds = {"workload": "bulk", "metric": "throughput", **more}
    low, high = percent - 5, percent + 5
    return MeasuredGain(
        before_nic=before, after_nic=after, percent=percent, low95=low, high95=high,
        workload=kinds["workload"], metric=kinds["metric"],
    )  # fmt: skip


def test_a_gain_is_estimated_from_measurements_of_the_same_change_alone() -> None:
    readings = [reading("h", [guest("web", Problem())])]
    gains = [
        gain(210), gain(190, after="virtio, 4 queues"), gain(250), gain(-3),
        gain(900, before="rtl8139"), gain(800, after="e1000e"), gain(700, workload="other"),
    ]  # fmt: skip
    (one,) = rank(audit("h"), readings, gains).changes
    assert one.estimate == GainEstimate(
        workload="bulk", metric="throughput", measurements=4, percent=200, low=-3, high=250
    )
    assert one.reason.endswith(
        "measured: +200 % throughput of bulk (median of 4 measurements, -3 to +250 %)"
    )
    (single,) = rank(audit("h"), readings, [gain(50)]).changes
    assert single.reason.endswith("(1 measurement, 95 % interval +45 to +55 %)")


@pytest.mark.parametrize(
    "one",
    [
        guest("web", Problem(), model="rtl8139"),
        guest("web", Problem(change=Change("queues", "1", "4", True))),
        guest("web", Problem(change=Change("model", "e1000", None, True))),
        guest("web", Problem(change=None)),
    ],
)
def test_what_was_not_measured_has_no_estimate(one: Audited) -> None:
    (found,) = rank(audit("h"), [reading("h", [one])], [gain(210)]).changes
    assert found.estimate is None
    assert "measured" not in found.reason


def drawn_fleet(random_: random.Random) -> list[HostReading]:
    """Hosts, guests and traffic at random, many of them alike."""
    changes = (None, UNSAFE, VIRTIO, Change("mtu", "1", "2", True))
    hosts = []
    for number in range(6):
        guests, counters = [], []
        for each in range(8):
            problems = [
                Problem(
                    nic=random_.choice((None, 0, 1)), rule=random_.choice(("TEST1", "TEST2")),
                    severity=random_.choice(SEVERITIES), confidence=random_.choice(CONFIDENCES),
                    change=random_.choice(changes), file=random_.choice((None, None, "x.tf")),
                )
                for _ in range(random_.randrange(4))
            ]  # fmt: skip
            name = f"g{number}-{each}"
            guests.append(guest(name, *problems, nics=2))
            rate, drops = random_.randrange(9**8), random_.choice((0, 1, 70))
            seconds = random_.uniform(9, 11)
            counters.append(traffic(name, 0, rate=rate, drops=drops, seconds=seconds))
        hosts.append(reading(f"h{number}", guests, counters))
    return hosts


@pytest.mark.parametrize("per_place", [True, False])
def test_no_order_of_what_is_read_changes_anything(*, per_place: bool) -> None:
    seed = drawn_seed()
    print(f"seed {seed}")
    random_ = random.Random(seed)
    hosts = drawn_fleet(random_)
    about = audit(*(one.host.name for one in hosts))
    gains = [gain(random_.uniform(-9, 300)) for _ in range(5)]
    first = rank(about, hosts, gains, per_place=per_place)
    for _ in range(5):
        shuffled = [
            msgspec.structs.replace(
                one,
                audited=tuple(
                    msgspec.structs.replace(
                        each, findings=tuple(random_.sample(each.findings, len(each.findings)))
                    )
                    for each in random_.sample(one.audited, len(one.audited))
                ),
                traffic=tuple(random_.sample(one.traffic, len(one.traffic))),
            )
            for one in random_.sample(hosts, len(hosts))
        ]
        gains = random_.sample(gains, len(gains))
        assert rank(about, shuffled, gains, per_place=per_place) == first


def test_the_first_ones_of_a_longer_ranking_are_shown() -> None:
    fleet = [reading("h", [guest(f"g{n}", Problem()) for n in range(30)])]
    whole, short = rank(audit("h"), fleet, most=30), rank(audit("h"), fleet, most=7)
    assert short.changes == whole.changes[:7]
    assert (short.candidates, short.findings) == (30, 30)
    assert [one.rank for one in short.changes] == [1, 2, 3, 4, 5, 6, 7]
