"""What dnsperf prints, of two versions."""

from pathlib import Path

import pytest

from vnicaudit.bench.engines._dnsperf_batch import Bucket, Statistics, percentile, statistics
from vnicaudit.errors import MeasureError

DATA = Path(__file__).parent / "data" / "dnsperf"

WHOLE = ("max", "rate", "tcp", "nxdomain", "refused", "one", "all-lost", "all-lost-tcp", "lossy")
VERSIONS = ("2.10.0", "2.14.0")
FILES = [
    *(f"{version}/{name}.txt" for version in VERSIONS for name in WHOLE),
    "2.14.0/histogram.txt",
    "2.14.0/histogram-tcp.txt",
]


def text(name: str) -> str:
    return (DATA / name).read_text("utf-8")


def is_tcp(name: str) -> bool:
    return "tcp" in name


@pytest.mark.parametrize("name", FILES)
def test_every_number_is_that_of_its_line(name: str) -> None:
    read = statistics(text(name), connected=is_tcp(name))
    lines = [line.split() for line in text(name).splitlines()]
    assert ["Queries", "sent:", str(read.sent)] in lines
    assert ["Queries", "completed:", str(read.completed)] in [line[:3] for line in lines]
    assert ["Queries", "lost:", str(read.lost_queries)] in [line[:3] for line in lines]
    assert ["Run", "time", "(s):", f"{read.seconds:.6f}"] in lines
    assert ["Queries", "per", "second:", f"{read.rate:.6f}"] in lines
    mean, least, most = (f"{us / 1e6:.6f}" for us in (read.mean, read.least, read.most))
    latency = ["Average", "Latency", "(s):", mean, "(min", f"{least},", "max", f"{most})"]
    assert lines.index(latency) < len(lines)


@pytest.mark.parametrize("name", FILES)
def test_cut_off_anywhere_it_measured_nothing(name: str) -> None:
    whole = text(name)
    for end in range(len(whole)):
        try:
            read = statistics(whole[:end], connected=is_tcp(name))
        except MeasureError:
            continue
        # 2.10 has no second block where no connection came about, so it may have been left out
        assert is_tcp(name)
        assert (read.completed, read.useful, read.rate) == (0, 0, 0.0)


@pytest.mark.parametrize("version", VERSIONS)
def test_codes(version: str) -> None:
    refused = statistics(text(f"{version}/refused.txt"), connected=False)
    assert refused.codes == {"REFUSED": refused.completed}
    assert refused.useful == 0
    mixed = statistics(text(f"{version}/nxdomain.txt"), connected=False)
    assert set(mixed.codes) == {"NOERROR", "NXDOMAIN"}
    assert mixed.useful == mixed.completed


@pytest.mark.parametrize("version", VERSIONS)
def test_connections(version: str) -> None:
    assert statistics(text(f"{version}/all-lost-tcp.txt"), connected=True).completed == 0
    assert statistics(text(f"{version}/tcp.txt"), connected=True).completed > 0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("interrupted", r"dnsperf ended early \(interruption\)"),
        ("end-of-file", r"dnsperf ended early \(end of file\)"),
        ("no-such-host", "dnsperf printed no statistics; its last line: Version 2"),
        ("options", "dnsperf printed no statistics$"),  # it printed its usage page
    ],
)
def test_what_is_no_measurement(version: str, name: str, message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        statistics(text(f"{version}/{name}.txt"), connected=False)


def test_a_dnsperf_that_was_killed() -> None:
    with pytest.raises(MeasureError, match=r"no statistics; its last line: \[Status\] Stopping"):
        statistics(text("2.14.0/killed.txt"), connected=True)


def test_unexpected_answers_have_a_line_after_2_14() -> None:
    whole = text("2.14.0/max.txt")
    lost = next(line for line in whole.splitlines(keepends=True) if "lost:" in line)
    newer = whole.replace(lost, f"{lost}  Unexpected IDs:       17 (0.01%)\n")
    assert statistics(newer, connected=False) == statistics(whole, connected=False)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("NOERROR 2000 (100.00%)", "NOERROR 1999 (100.00%)", "response codes do not add up"),
        (
            "answer count\n",
            "answer count\n  9.000000 - 9.000000:  1\n",
            "histogram does not add up",
        ),
    ],
)
def test_what_does_not_add_up(old: str, new: str, message: str) -> None:
    whole = text("2.14.0/histogram.txt")
    assert old in whole
    with pytest.raises(MeasureError, match=message):
        statistics(whole.replace(old, new), connected=False)


def test_a_run_of_no_time_has_no_rate() -> None:
    whole = text("2.10.0/one.txt")
    line = next(line for line in whole.splitlines() if "Run time" in line)
    with pytest.raises(MeasureError, match="a run time of zero"):
        statistics(whole.replace(line, "  Run time (s):         0.000000"), connected=False)


def with_buckets(*buckets: Bucket, most: float = 1e6) -> Statistics:
    recorded = statistics(text("2.14.0/histogram.txt"), connected=False)
    return recorded._replace(histogram=buckets, most=most)


def test_percentiles_are_those_of_the_recorded_histogram() -> None:
    read = statistics(text("2.14.0/histogram.txt"), connected=False)
    for share in (0.5, 0.99):
        found = percentile([read], share)
        assert found is not None
        below = sum(bucket.answers for bucket in read.histogram if bucket.high <= found)
        less = sum(bucket.answers for bucket in read.histogram if bucket.high < found)
        assert less < share * read.completed <= below
    assert read.least <= read.histogram[0].high
    assert read.most <= read.histogram[-1].high


def test_percentiles_of_several_generators_are_of_all_their_answers() -> None:
    runs = [with_buckets(Bucket(10, 10, 900)), with_buckets(Bucket(1000, 1031, 100))]
    assert percentile(runs, 0.5) == 10
    assert percentile(runs, 0.9) == 10
    assert percentile(runs, 0.99) == 1031


def test_no_percentile_is_above_the_largest() -> None:
    """Seen: 99.9 % within 49,151 us (the end of its bucket), and none above 48,675 us."""
    run = with_buckets(Bucket(10, 10, 900), Bucket(48_128, 49_151, 100), most=48_675)
    assert percentile([run], 0.99) == 48_675


def test_percentiles_are_never_made_up() -> None:
    assert percentile([with_buckets(Bucket(10, 10, 900)), with_buckets()], 0.5) is None
    assert percentile([with_buckets(Bucket(10, 10, 99))], 0.99) is None
    assert percentile([with_buckets(Bucket(10, 10, 100))], 0.99) == 10
    assert percentile([with_buckets(Bucket(10, 10, 999))], 0.999) is None
