"""The container, the conda recipe, the release page and the distributions agree with setup.cfg."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from configparser import ConfigParser

import pytest
import yaml
from builders import address
from pages import ROOT

from llmzoo.version import __version__

CONTAINER = ROOT / ".devcontainer"
RECIPE = ROOT / "docs" / "_release" / "recipe.yaml"


def setup_list(section, option):
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config.get(section, option).split("\n")[1:]


def run_steps():
    """The commands of the Dockerfile's RUN steps."""
    text = (CONTAINER / "Dockerfile").read_text().replace("\\\n", " ")
    return re.findall(r"^RUN (.*)$", text, re.MULTILINE)


# The container


def test_the_image_and_the_development_container_run_the_makefile():
    tools, last = run_steps()
    assert tools.startswith("apt-get update && apt-get install")
    assert last == "make setup EXTRAS=all"
    container = json.loads((CONTAINER / "devcontainer.json").read_text())
    assert container["postCreateCommand"] == "make setup"
    stages = re.findall(
        r"^FROM \S+ AS (\w+)$", (CONTAINER / "Dockerfile").read_text(), re.MULTILINE
    )
    assert container["build"]["target"] == stages[0] == "tools"
    assert (CONTAINER / container["build"]["dockerfile"]).exists()


@pytest.mark.slow
def test_the_last_step_of_the_image_installs_the_command(tmp_path):
    """In an empty folder with a copy of the files, without a network: what it needs is found here."""
    names = (
        "llmzoo",
        "configs",
        "examples",
        "Makefile",
        "setup.cfg",
        "pyproject.toml",
        "README.md",
    )
    for name in (*names, "LICENSE", "constraints.txt"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
    }
    command = [*shlex.split(run_steps()[-1]), f"PYTHON={sys.executable}"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=300)
    shown = subprocess.run(
        [str(tmp_path / ".venv" / "bin" / "llmzoo"), "--version"],
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == f"llmzoo {__version__}\n"


# Distributions


def test_the_conda_recipe_needs_what_the_wheel_needs():
    recipe = yaml.safe_load(RECIPE.read_text())
    assert recipe["context"]["version"] == __version__
    needed = {
        re.sub(r"\[.*\]", "", line).replace(">=", " >=")
        for line in setup_list("options", "install_requires")
    }
    of_signatures = {"docstring_parser", "typeshed_client"}  # conda has no extras
    python, *run = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert set(run) == needed | of_signatures
    scripts = setup_list("options.entry_points", "console_scripts")
    assert recipe["build"]["python"]["entry_points"] == scripts


def test_the_release_page_is_about_this_version():
    page = (ROOT / "docs" / "releasing.md").read_text()
    assert f"Version {__version__} is prepared" in page
    assert f"git tag -s v{__version__}" in page


def test_links_of_the_readme_are_absolute_on_pypi():
    text = "[a](docs/a.md#b) ![c](docs/c.png) [d](https://d.example) [e](#e) [f](examples)"
    assert address.absolute_links(text, "https://github.com/o/n") == (
        "[a](https://github.com/o/n/blob/main/docs/a.md#b) ![c](https://github.com/o/n/raw/main/docs/c.png) "
        "[d](https://d.example) [e](#e) [f](https://github.com/o/n/blob/main/examples)"
    )


def test_the_address_of_the_repository(tmp_path):
    file = tmp_path / "setup.cfg"
    file.write_text("[metadata]\nname = x\n")
    assert address.source_address(file) is None
    urls = "project_urls =\n    Docs = https://d\n    Source = https://github.com/o/n/\n"
    file.write_text(f"[metadata]\n{urls}")
    assert address.source_address(file) == "https://github.com/o/n"
    link = address.colab_link("docs/a.ipynb", "https://github.com/o/n")
    assert link == "https://colab.research.google.com/github/o/n/blob/main/docs/a.ipynb"
    with pytest.raises(ValueError, match="not of https://gitlab"):
        address.colab_link("a", "https://gitlab.com/o/n")
