"""The sample data of the coding environments is what its sources in ``scripts/samples`` build."""

from __future__ import annotations

import pytest

from scripts.samples import build


@pytest.mark.parametrize("name", build.FILES)
def test_the_data_is_up_to_date(name):
    built = build.text_of(build.FILES[name]())
    assert (build.CODING / name).read_text(encoding="utf-8") == built, (
        "run python scripts/samples/build.py"
    )
