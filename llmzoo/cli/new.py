"""``llmzoo new``: templates of an environment and of a learner that work at once."""

from __future__ import annotations

import importlib.util
import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Literal

from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.errors import ConfigError

# what to do with the files: shown to the reader, and run by the tests
NEXT_STEPS = {
    "env": (
        "pytest test_$name.py",
        "llmzoo check $name:$cls",
        "llmzoo play $name:$cls --policy expert",
        "llmzoo eval --env $name:$cls --policy expert --tasks 20",
        "llmzoo train --env $name:$cls --steps 2 --episodes_per_step 2 --eval_tasks 4",
    ),
    "learner": (
        "pytest test_$name.py",
        "llmzoo train --learner $name:$cls --env plan_path_v0 --env.max_turns 1 --steps 2 --episodes_per_step 2 "
        "--eval_tasks 4",
    ),
}


@dataclass(frozen=True, kw_only=True)
class NewOptions(CommandOptions):
    """Create a working module and its tests from a template.

    Args:
        kind: env (an environment) or learner; given first, without --kind.
        name: name of the module, such as my_game; given second, without --name.
        out: folder for the two files; it is created if needed.
    """

    POSITIONAL = ("kind", "name")
    USAGE = "llmzoo new {env,learner} NAME [--out FOLDER]"
    EXAMPLES = ("llmzoo new env my_game", "llmzoo new learner my_learner --out src")

    kind: Literal["env", "learner"]
    name: str
    out: str = "."


def run(argv: Sequence[str]) -> None:
    options = NewOptions(**parse_options("new", argv, NewOptions))
    folder = Path(options.out)
    written = render_files(options.kind, options.name)
    _check_name(options.name)
    _check_free(folder, options.name, list(written))
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in written.items():
        (folder / file).write_text(text)
        print(f"wrote {folder / file}")
    print("\nnext:")
    if folder.resolve() != Path.cwd():
        print(f"  cd {folder}")  # a module is found in the folder in which llmzoo is called
    if importlib.util.find_spec("pytest") is None:
        print("  pip install pytest")
    for step in next_steps(options.kind, options.name):
        print(f"  {step}")


def render_files(kind: str, name: str) -> dict[str, str]:
    """The files of a new environment or learner: text by file name."""
    templates = files("llmzoo.cli") / "templates"
    words = _template_variables(name)
    return {
        file: Template((templates / template).read_text("utf-8")).substitute(words)
        for file, template in (
            (f"{name}.py", f"{kind}.py.txt"),
            (f"test_{name}.py", f"test_{kind}.py.txt"),
        )
    }


def next_steps(kind: str, name: str) -> list[str]:
    """The next commands, for the folder of the files."""
    return [Template(step).substitute(_template_variables(name)) for step in NEXT_STEPS[kind]]


def _template_variables(name: str) -> dict[str, str]:
    parts = [part for part in name.split("_") if part]
    cls = "".join(part[0].upper() + part[1:] for part in parts)
    return {"name": name, "cls": cls, "title": " ".join(parts).capitalize()}


def _check_name(name: str) -> None:
    """Refuse a name that is not a valid module name in lower case."""
    if (
        not name.isidentifier()
        or keyword.iskeyword(name)
        or not _template_variables(name)["cls"].isidentifier()
    ):
        raise ConfigError(
            f"{name!r} is not a valid module name: use letters, digits and underscores, as in "
            "my_game"
        )
    if name != name.lower() or name.startswith("_"):
        raise ConfigError(f"module names are lower case, as in my_game; got {name!r}")


def _check_free(folder: Path, name: str, names: Sequence[str]) -> None:
    """Refuse to overwrite a file, or to write a module that an installed one would hide."""
    for file in names:
        if (folder / file).exists():
            raise ConfigError(f"{folder / file} exists: choose another name or --out")
    for module in (name, f"test_{name}"):
        spec = importlib.util.find_spec(module)
        if spec is not None:
            where = spec.origin or "a folder"
            raise ConfigError(
                f"a module named {module!r} exists ({where}) and would hide the new one: choose "
                "another name"
            )
