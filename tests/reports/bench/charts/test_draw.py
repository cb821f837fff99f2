"""Charts as SVG."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree
from msgspec.structs import replace

from tests.reports.bench.samples import (
    ALL,
    hostile,
    one_arm,
    side_by_side,
    single_flip,
    sweep,
    two_arms,
)
from vnicaudit.errors import MissingExtraError
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.charts.draw import charts, inline, svg

SVG = "{http://www.w3.org/2000/svg}"
WITHOUT = """
import sys
sys.modules["matplotlib"] = None
from tests.reports.bench.samples import one_arm
from vnicaudit.errors import MissingExtraError
from vnicaudit.reports.bench.registry import load
from vnicaudit.reports.report_file import Options
try:
    list(load("html").render(one_arm(), Options()))
except MissingExtraError as error:
    print(error)
print("".join(load("text").render(one_arm(), Options()))[:17])
"""


def words(text: str) -> str:
    """All text of an SVG document."""
    root = etree.fromstring(text.encode())
    return "\n".join(part.text or "" for part in root.iter(f"{SVG}text"))


def names(result: BenchResult) -> list[str]:
    return [chart.name for chart in charts(result)]


def test_which_charts_there_are() -> None:
    assert names(two_arms()) == [
        "dots-goodput", "dots-query_rate", "dots-transaction_rate", "dots-latency_p99",
        "latency-rr.rr1c-200x1000.c10",
    ]  # fmt: skip
    assert names(sweep()) == [
        "dots-goodput", "dots-transaction_rate", "sweep-size-1", "sweep-connections-2",
    ]  # fmt: skip
    assert names(one_arm()) == ["dots-goodput"]


@pytest.mark.parametrize("result", ALL, ids=lambda result: result.run.design)
def test_a_chart_is_the_same_again_and_names_no_program(result: BenchResult) -> None:
    for chart in charts(result):
        first = svg(chart)
        assert svg(chart) == first
        etree.fromstring(first.encode())
        assert "<dc:date>" not in first
        assert "Matplotlib" not in first


def test_a_title_says_the_design_and_n_and_axes_have_units() -> None:
    (chart,) = charts(single_flip())
    said = words(svg(chart))
    assert "Received payload: before, after\nsingle flip, n = 5; dots: runs" in said
    assert "goodput (higher is better)" in said
    assert "4 Gb/s" in said
    assert "iperf3.tcp.tx.c1.64k" in said
    dots, *_ = charts(two_arms())
    assert "flips, n = 10; bars: 95 % intervals, dots: runs" in words(svg(dots))


def test_a_small_difference_looks_small_a_large_one_is_on_a_logarithmic_scale() -> None:
    (chart,) = charts(single_flip())
    assert words(svg(chart)).startswith("0 Gb/s\n1 Gb/s\n")
    far, *_ = charts(two_arms())
    assert "500 Mb/s\n1 Gb/s\n2 Gb/s\n5 Gb/s" in words(svg(far))


def test_a_sweep_has_its_points_on_the_axis() -> None:
    *_, by_size, by_connections = charts(sweep())
    assert "64 B\n512 B\n1,448 B\n16 KiB\n64 KiB\nbytes of a message" in words(svg(by_size))
    assert "1\n10\n50\n250\nconnections" in words(svg(by_connections))
    assert by_size.about.startswith("64 B: 36.")


def test_percentiles_go_as_far_as_there_are_requests() -> None:
    *_, chart = charts(two_arms())
    said = words(svg(chart))
    assert "50 %\n90 %\n99 %\n99.9 %\n99.99 %\n99.999 %\nrequests answered within" in said
    assert re.match(r"before: 50 % within 6\d\d µs, 90 % within .*; after: 50 %", chart.about)


def test_arms_differ_in_more_than_colour() -> None:
    (chart,) = charts(side_by_side())
    drawn = etree.fromstring(svg(chart).encode())
    shapes = {path.get("d") for path in drawn.iter(f"{SVG}path") if path.get("id")}
    colors = set(re.findall(r"#(?:d55e00|0072b2|009e73)", svg(chart)))
    assert len(colors) == 3
    assert len(shapes) >= 3


def test_a_dollar_is_a_dollar_and_what_does_not_print_is_escaped() -> None:
    said = words(svg(charts(hostile())[0]))
    assert "$x^2$" in said
    assert "\\x1b[2J<script>" in said


def test_long_charts_name_how_many_they_leave_out() -> None:
    result = one_arm()
    workloads = tuple(replace(result.workloads[0], id=f"w{at}") for at in range(70))
    samples = tuple(replace(one, workload=each.id) for each in workloads for one in result.samples)
    (chart,) = charts(replace(result, workloads=workloads, samples=samples))
    assert "(the first 60 of 70 workloads)" in chart.title[0]
    assert "w59" in words(svg(chart))
    assert "w60" not in words(svg(chart))


def test_without_matplotlib_the_extra_is_named_and_other_formats_work() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[4],
    )  # fmt: skip
    said = str(MissingExtraError("a chart", "charts"))
    assert done.stdout.splitlines() == [said, "MEASURED  web-01,"]


def test_settings_of_the_user_do_not_change_a_chart() -> None:
    import matplotlib

    (chart,) = charts(one_arm())
    plain = svg(chart)
    with matplotlib.rc_context({"font.size": 30, "axes.grid": True, "svg.fonttype": "path"}):
        assert svg(chart) == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_in_a_page_ids_are_its_own_and_it_is_said_in_words() -> None:
    chart = charts(two_arms())[1]
    root = etree.fromstring(inline(chart, 7).encode())
    assert root.get("role") == "img"
    assert root.get("width") is None
    ids = [part.get("id") for part in root.iter() if part.get("id")]
    assert ids
    assert len(ids) == len(set(ids))
    assert all(str(name).startswith("chart7-") for name in ids)
    text = inline(chart, 7)
    references = re.findall(r"(?:url\(|href=\")#([^)\"]+)", text)
    assert references
    assert set(references) <= set(ids)
    about = root.find(f"{SVG}desc")
    assert about is not None
    assert about.text == "dnsperf.max.c20: queries 18.0k q/s before, 45.9k q/s after"
    assert str(root.get("aria-labelledby")).split() == ["chart7-title", "chart7-about"]
