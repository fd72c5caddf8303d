"""The messages that are shipped are those that the protos make."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import llmzoo.serve

SERVE = Path(llmzoo.serve.__file__).parent
ROOT = SERVE.parents[1]
PROTOS = sorted(file.stem for file in (SERVE / "protos").glob("*.proto"))


def test_generating_them_again_gives_the_same(tmp_path):
    """What ``make stubs`` runs."""
    pytest.importorskip("grpc_tools")
    names = [f"llmzoo/serve/generated/{name}.proto" for name in PROTOS]
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc"),
            f"-Illmzoo/serve/generated={SERVE / 'protos'}",
            *(f"--{kind}_out={tmp_path}" for kind in ("python", "pyi")),
            *names,
        ],
        check=True,
    )
    made = tmp_path / "llmzoo" / "serve" / "generated"
    files = sorted(file.name for file in made.iterdir())
    assert len(files) == 2 * len(PROTOS) >= 2
    for name in files:
        assert (SERVE / "generated" / name).read_text() == (made / name).read_text(), name
    shipped = {file.name for file in (SERVE / "generated").iterdir() if file.is_file()}
    assert shipped - set(files) == {"__init__.py"}


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_stubs_runs_that():
    said = subprocess.run(
        ["make", "-n", "-o", ".venv/.installed", "stubs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "grpc_tools.protoc -Illmzoo/serve/generated=llmzoo/serve/protos" in said
    for name in PROTOS:
        assert f"llmzoo/serve/generated/{name}.proto" in said


def test_they_are_shipped():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    data = config["options.package_data"]["llmzoo"].split()
    assert {"serve/protos/*.proto", "serve/generated/*.pyi"} <= set(data)
    serve = config["options.extras_require"]["serve"].split()
    assert [line.partition(">")[0] for line in serve] == [
        *("grpcio", "grpcio-health-checking", "protobuf")
    ]
