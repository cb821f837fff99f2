"""A chart as a piece of an HTML page: what it shows is said in words, and its ids are its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from vnicaudit.reports.bench.charts.chart import Chart
from vnicaudit.reports.bench.charts.draw import svg
from vnicaudit.reports.safe import safe

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_PAGE = {"#000000": "currentColor", "#ffffff": "none", "#e0e0e0": "var(--rule)"}
"""Colours of a chart on white paper -> those of the page it is in."""
_COLOR = re.compile("|".join(_PAGE))
_FONT = re.compile(
    r"(?:(?P<style>italic|oblique) )?(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+px) (?P<family>.+)"
)
"""``font`` as matplotlib before 3.9 writes it."""
_URL = re.compile(r"url\(#([^()]+)\)")


def inline(chart: Chart, number: int) -> str:
    """An ``<svg>`` element as wide as its place. ``number`` tells it from others of the page."""
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
    """Ids that something refers to get a prefix, the others go."""
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
    """Ink, paper and grid are the page's, which is dark where the system is. Styles become
    attributes, since the page's policy applies no style that stands in its markup."""
    for part in root.iter():
        if style := part.attrib.pop("style", None):
            for name, value in _properties(_COLOR.sub(lambda found: _PAGE[found[0]], style)):
                part.set(name, value)


def _properties(style: str) -> Iterator[tuple[str, str]]:
    """Names and values of a ``style``; ``font``, which is no attribute, in its parts."""
    for declaration in style.split(";"):
        name, _, value = (piece.strip() for piece in declaration.partition(":"))
        if name == "font" and (parts := _FONT.fullmatch(value)):
            yield from ((f"font-{key}", part) for key, part in parts.groupdict().items() if part)
        elif name:
            yield name, value


def _describe(root: etree._Element, chart: Chart, name: str) -> None:
    """A title and a description, which are read to who does not see the chart."""
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-about")
    root.insert(0, _text_element("title", f"{name}-title", ": ".join(chart.title)))
    root.insert(1, _text_element("desc", f"{name}-about", chart.about))


def _text_element(kind: str, name: str, text: str) -> etree._Element:
    part = etree.Element(f"{_SVG}{kind}", id=name)
    part.text = safe(text)
    return part
