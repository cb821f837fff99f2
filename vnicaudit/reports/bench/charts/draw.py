"""Charts -> SVG text. Only this module creates figures of matplotlib."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lxml import etree

from vnicaudit.errors import MissingExtraError
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.charts import dots, latencies, sweep
from vnicaudit.reports.bench.charts.chart import WIDTH, Chart, settle
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def charts(result: BenchResult) -> list[Chart]:
    """All charts of this measurement, not yet drawn."""
    return [*dots.charts(result), *sweep.charts(result), *latencies.charts(result)]


def svg(chart: Chart) -> str:
    """One chart as an SVG document, without date and version: the same measurement gives the same
    text."""
    with _matplotlib():
        stream = io.BytesIO()
        _figure(chart).savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue().decode()


def _figure(chart: Chart) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, chart.height), layout="constrained")
    figure.suptitle("\n".join(chart.title), x=0.01, ha="left", fontsize="large")
    chart.draw(figure.subplots())
    return figure


@contextmanager
def _matplotlib() -> Iterator[None]:
    """matplotlib with our settings and none of the user's. Its warnings are suppressed: they are
    about fonts that lack a character of some name."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("a chart", "charts") from None
    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        settle()
        yield


_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_PAGE = {"#000000": "currentColor", "#ffffff": "none", "#e0e0e0": "var(--rule)"}
"""Colours of a chart on white paper -> colours of the page that contains it."""
_COLOR = re.compile("|".join(_PAGE))
_FONT = re.compile(
    r"(?:(?P<style>italic|oblique) )?(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+px) (?P<family>.+)"
)
"""``font`` as written by matplotlib before 3.9."""
_URL = re.compile(r"url\(#([^()]+)\)")


def inline(chart: Chart, number: int) -> str:
    """An ``<svg>`` element as wide as its container. ``number``: unique number of the chart on the
    page."""
    root = etree.fromstring(svg(chart).encode(), _parser())
    for part in (*root.iter(f"{_SVG}metadata"), *root.iter(f"{_SVG}style")):
        parent = part.getparent()
        if parent is not None:
            parent.remove(part)
    _rename(root, f"chart{number}-")
    _themed(root)
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    _describe(root, chart, f"chart{number}")
    etree.cleanup_namespaces(root)
    return etree.tostring(root, encoding="unicode")


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def _rename(root: etree._Element, prefix: str) -> None:
    """Add a prefix to ids that are referred to, and remove the others."""
    wanted = set(_URL.findall(etree.tostring(root, encoding="unicode")))
    wanted |= {href[1:] for part in root.iter() if (href := part.get(_HREF))}
    for part in root.iter():
        name = part.attrib.pop("id", None)
        if name in wanted:
            part.set("id", f"{prefix}{name}")
        for key, value in part.items():
            if key == _HREF:
                part.set(key, f"#{prefix}{value[1:]}")
            elif "url(#" in value:
                part.set(key, _URL.sub(rf"url(#{prefix}\1)", value))


def _themed(root: etree._Element) -> None:
    """Use the page's ink, paper and grid colours, which are dark in dark mode. Styles become
    attributes, since the page's content policy does not apply inline styles."""
    for part in root.iter():
        if style := part.attrib.pop("style", None):
            for name, value in _properties(_COLOR.sub(lambda found: _PAGE[found[0]], style)):
                part.set(name, value)


def _properties(style: str) -> Iterator[tuple[str, str]]:
    """Names and values of a ``style``. ``font``, which is not an attribute, is split into its
    parts."""
    for declaration in style.split(";"):
        name, _, value = (piece.strip() for piece in declaration.partition(":"))
        if name == "font" and (parts := _FONT.fullmatch(value)):
            yield from ((f"font-{key}", part) for key, part in parts.groupdict().items() if part)
        elif name:
            yield name, value


def _describe(root: etree._Element, chart: Chart, name: str) -> None:
    """Add a title and a description for screen readers."""
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-about")
    root.insert(0, _text_element("title", f"{name}-title", ": ".join(chart.title)))
    root.insert(1, _text_element("desc", f"{name}-about", chart.about))


def _text_element(kind: str, name: str, text: str) -> etree._Element:
    part = etree.Element(f"{_SVG}{kind}", id=name)
    part.text = safe(text)
    return part
