"""Settings of Sphinx for the documentation site; ``docs/_site/build.py`` starts it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from docutils import nodes

from llmzoo.version import __version__

project = "llmzoo"
author = "The llmzoo developers"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
napoleon_numpy_docstring = False  # ours are shorter; _parameters reads them
templates_path: list[str] = []
exclude_patterns: list[str] = []

# anchors as GitHub makes them, so that a link works there and here
myst_heading_anchors = 4

# the API is read without the packages of the extras: the site can be built where they are absent
autodoc_mock_imports = [
    "llmzoo.serve.generated",
    *("accelerate", "comlrl", "datasets", "grpc", "grpc_health", "httpx", "matplotlib", "mcp"),
    *("openai", "openenv", "peft", "ray", "rllm", "safetensors", "torch", "transformers", "trl"),
    *("verifiers", "vllm", "google"),
]
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
toc_object_entries = False  # thousands of them in every page's navigation would take minutes
add_module_names = False
smartquotes = False  # -- is an option here, not a dash
default_role = "code"  # `name` in a docstring, as in Markdown

html_theme = "furo"
html_title = f"llmzoo {release}"
html_static_path = ["static"]
html_logo = html_favicon = "static/logo.svg"
html_css_files = ["style.css"]
html_js_files = ["copy.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options: dict[str, Any] = {
    "light_css_variables": {
        "color-brand-primary": "#0b6e5d",
        "color-brand-content": "#0b6e5d",
        "color-brand-visited": "#0b6e5d",
        "color-api-name": "#0b6e5d",
    },
    "dark_css_variables": {
        "color-brand-primary": "#5fd3bc",
        "color-brand-content": "#5fd3bc",
        "color-brand-visited": "#5fd3bc",
        "color-api-name": "#5fd3bc",
    },
    "footer_icons": [],
}
pygments_style = "tango"
pygments_dark_style = "one-dark"


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _parameters)
    app.connect("autodoc-process-signature", _fields)
    app.connect("doctree-read", _dashes)
    app.connect("doctree-read", _line_anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fields(
    app: Any,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    given: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """A dataclass is shown with the defaults of its fields; their types stand below it."""
    if not (isinstance(thing, type) and dataclasses.is_dataclass(thing)):
        return given, returned
    shown = []
    for field in dataclasses.fields(thing):
        if field.default is not dataclasses.MISSING:
            shown.append(f"{field.name}={field.default!r}")
        elif field.default_factory is not dataclasses.MISSING:
            shown.append(f"{field.name}={field.default_factory()!r}")
        else:
            shown.append(field.name)
    return f"({', '.join(shown)})", None


def _dashes(app: Any, doctree: Any) -> None:
    """Sphinx sets two hyphens between a parameter and its description."""
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" \N{EN DASH} "))


def _line_anchors(app: Any, doctree: Any) -> None:
    """Every line of a shown file has the anchor ``L-`` and its number; docs/_site/stage.py links there."""
    if app.env.docname.startswith("repository/"):
        for block in doctree.findall(nodes.literal_block):
            block.setdefault("highlight_args", {})["lineanchors"] = "L"


_ENTRY = re.compile(r"(\*{0,2}[a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*): (.*)")


def _parameters(
    app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    """Paragraphs in which every line is ``name, name: text`` become lists of parameters."""
    found: list[str] = []
    for paragraph in "\n".join(lines).split("\n\n"):
        rows = paragraph.split("\n")
        if rows[0] == "Parameters":
            rows = rows[2:]  # without the heading and its line
        starts = [row for row in rows if not row.startswith(" ")]
        if starts and all(map(_ENTRY.fullmatch, starts)):
            rows = [
                _ENTRY.sub("- **\\1** \N{EN DASH} \\2", row)
                if row in starts
                else f"  {row.strip()}"
                for row in rows
            ]
        found += [*rows, ""]
    lines[:] = found
