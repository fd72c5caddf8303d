"""Figures as SVG for the page: without styles, with unique ids and the page's colours."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from llmzoo.report import style

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_DROPPED_TAGS = {f"{_SVG}metadata", f"{_SVG}style"}
# colour of a figure -> the page's variable for it, which differs in the dark
CSS_VARIABLES = {
    style.INK: "--ink",
    style.MUTED: "--muted",
    style.GRID: "--grid",
    style.SURFACE: "--surface",
    **{colour: f"--series-{number}" for number, colour in enumerate(style.SERIES)},
}


def to_inline_svg(figure: Figure, name: str, title: str) -> str:
    """``<svg>`` for a page whose security policy allows no inline style.

    Styles become attributes, ids begin with ``name``, and colours are variables of the page. Screen
    readers read ``title``.
    """
    buffer = io.BytesIO()
    with style.figure_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in _DROPPED_TAGS:
                parent.remove(child)
    for element in root.iter():
        _inline_styles(element, re.sub(r"\W+", "-", name))
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.set("role", "img")
    root.set("aria-label", title)
    ElementTree.register_namespace("", _SVG.strip("{}"))
    return ElementTree.tostring(root, encoding="unicode")


def _inline_styles(element: ElementTree.Element, name: str) -> None:
    element.tag = element.tag.removeprefix(_SVG)
    if element.tag == "svg":
        element.tag = f"{_SVG}svg"
    for declaration in element.attrib.pop("style", "").split(";"):
        key, colon, value = (part.strip() for part in declaration.partition(":"))
        if colon:
            _set_style_attribute(element, key, value)
    if _HREF in element.attrib:
        element.set("href", element.attrib.pop(_HREF))
    for key, value in element.attrib.items():
        if key == "id":
            value = f"{name}-{value}"
        value = re.sub(r"url\(#", f"url(#{name}-", value)
        if key == "href":
            value = f"#{name}-{value.removeprefix('#')}"
        if value in CSS_VARIABLES:
            value = f"var({CSS_VARIABLES[value]})"
        element.set(key, value)


def _set_style_attribute(element: ElementTree.Element, key: str, value: str) -> None:
    """A declaration as an attribute. ``font`` has no attribute; its family is the page's."""
    if key == "font":
        size = re.search(r"([\d.]+)px", value)
        assert size is not None, value
        element.set("font-size", size[1])
    elif key not in ("font-family", "-inkscape-font-specification"):
        element.set(key, value)
