"""The modules that a zygote imports before any program, and which zygote a program needs.

A fork costs in proportion to its parent's memory. A zygote with all common modules takes three times
as long to fork as one with the modules that most programs need, so it starts only on demand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LIGHT: tuple[str, ...] = tuple(
    """
abc array ast bisect builtins cmath collections collections.abc copy dataclasses datetime
decimal enum fractions functools heapq io itertools math numbers operator random re statistics
string struct sys textwrap time traceback types typing unittest
    """.split()  # noqa: SIM905 - a list of names reads better as a text
)
# modules that are not installed are left out
COMMON: tuple[str, ...] = LIGHT + tuple(
    """
asyncio base64 calendar codecs contextlib csv ctypes difflib encodings.idna errno fnmatch gc
glob hashlib html inspect json keyword logging os os.path pathlib pprint queue reprlib secrets
shutil sqlite3 tempfile threading token tokenize unicodedata unittest.mock urllib.parse uuid
warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo numpy numpy.fft numpy.linalg numpy.ma
numpy.polynomial numpy.random numpy.testing
    """.split()  # noqa: SIM905
)
_IMPORTED = re.compile(r"\bimport\b|\b__import__\b")
_NAMES = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))", re.M)


def imports_only(light: Sequence[str], *sources: str) -> bool:
    """Whether the text of programs shows that they import only modules of ``light``."""
    known = set(light)
    for source in sources:
        imports = 0
        for match in _NAMES.finditer(source):
            imports += 1
            names = match[1] or match[2]
            for name in names.split(","):
                if name.partition(" as ")[0].strip() not in known:
                    return False
        if imports != len(_IMPORTED.findall(source)):
            return False
    return True
