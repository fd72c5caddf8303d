"""The modules in docs/ that write pages."""

from __future__ import annotations

import importlib
import sys

from pages import ROOT

sys.path.insert(0, str(ROOT / "docs"))
try:
    build = importlib.import_module("build")
    details = importlib.import_module("details")
    papers = importlib.import_module("papers")
    notebooks = importlib.import_module("notebooks")
    address = importlib.import_module("address")
finally:
    sys.path.remove(str(ROOT / "docs"))
