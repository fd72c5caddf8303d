"""Settings of Sphinx for the documentation site; ``docs/_site/build.py`` starts it."""

from __future__ import annotations

import re
from typing import Any

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
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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
            rows = [_ENTRY.sub(r":param \1: \2", row) for row in rows]
        found += [*rows, ""]
    lines[:] = found
