"""Writes a folder that PettingZoo, TRL, verifiers and OpenEnv take, with its tasks as a data set."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files as package_files
from pathlib import Path
from string import Template
from typing import Any, Literal

from gymnasium.spaces import Text

from llmzoo import files, registry
from llmzoo.adapters.others import fill_other_agents
from llmzoo.errors import ConfigError, LlmzooError, UnknownNameError
from llmzoo.export.croissant import describe_dataset
from llmzoo.export.description import SECRET_NAME, USER_IN_ADDRESS
from llmzoo.export.environment_source import (
    EnvironmentSource,
    find_environment,
    name_private_path,
)
from llmzoo.export.task_rows import COLUMNS, measure_return_range, read_task_rows
from llmzoo.names import NAME_RULE, is_name
from llmzoo.version import __version__

ALL = "all"  # in place of an agent: one policy plays all of them
OTHERS = ("expert", "noisy_expert", "random", "silent")
_LICENSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,63}", re.ASCII)
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,3}((a|b|rc)[0-9]+)?", re.ASCII)
_OWN_LICENSE = "Apache-2.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentExport:
    """What :func:`export_environment` has written. ``rows``: number of tasks of each split."""

    folder: Path
    package: str
    agents: tuple[str, ...]  # that the model plays
    rows: dict[str, int]
    hosts: tuple[str, ...]


def export_environment(
    env: str,
    out: str | Path,
    *,
    agent: str | None = None,
    others: Literal["expert", "noisy_expert", "random", "silent"] = "expert",
    env_args: Mapping[str, Any] | None = None,
    tasks: int | None = None,
    name: str | None = None,
    version: str = "0.1.0",
    license: str | None = None,
) -> EnvironmentExport:
    """Write an environment as a package for PettingZoo, TRL, verifiers and OpenEnv, with a data set.

    The same call writes the same bytes.

    env: a registered id, or a file with one environment, ``FILE.py`` or ``FILE.py:NAME``. The file is
        copied as it is.
    out: a new or empty folder.
    agent: the agent that a model plays in every host, or ``"all"``: one policy for all agents, which
        OpenEnv does not offer. May be omitted if there is one agent.
    others: plays the other agents.
    env_args: arguments of the environment.
    tasks: rows of each split; None is all tasks, or 100 of a generator.
    name: name of the package; by default that of the id or the file.
    version: of the package.
    license: SPDX id, such as ``"MIT"``; needed for a file.

    Raises :class:`ConfigError` or :class:`UnknownNameError` for settings that cannot be used, for an
    environment that raises, and for what would publish a credential or a path of this machine.
    """
    out = Path(out)
    _check_out(out)
    _check_settings(others, tasks, version)
    args = _check_args(env_args or {})
    source = find_environment(env, name)
    license_id = _check_license(source, license)
    make = partial(_make, source, args)
    agents, rest = _choose_agents(make, agent)
    policies = fill_other_agents(others, rest)
    rows, tasks_from = read_task_rows(make, source.title, list(agents), policies, tasks)
    if source.file is not None:
        _refuse_private_rows(rows, source.file)
    reward_range = (
        measure_return_range(make, source.title, agents[0], policies) if len(agents) == 1 else None
    )
    content = _Folder(
        source, args, agents, rest, others, version, license_id, rows, tasks_from, reward_range
    ).files()
    _write(out, content)
    return EnvironmentExport(
        folder=out,
        package=source.package,
        agents=agents,
        rows={split: len(split_rows) for split, split_rows in rows.items()},
        hosts=("pettingzoo", "trl", "verifiers", *(("openenv",) if len(agents) == 1 else ())),
    )


class _Folder:
    """The files of an export."""

    def __init__(
        self,
        source: EnvironmentSource,
        args: Mapping[str, Any],
        agents: tuple[str, ...],
        rest: list[str],
        others: str,
        version: str,
        license_id: str,
        rows: Mapping[str, list[dict[str, Any]]],
        tasks_from: str,
        reward_range: tuple[int, int] | None,
    ):
        self.source, self.agents, self.rows = source, agents, rows
        self.tasks_from, self.version, self.license_id = tasks_from, version, license_id
        self.one_agent = len(agents) == 1
        self.summary = _plain(source.summary) or source.title
        project, extra = source.package.replace("_", "-"), source.extra
        packages = [source.package, *([f"{source.package}.server"] if self.one_agent else [])]
        lines = [f"packages = {json.dumps(packages)}"]
        if self.one_agent:
            lines.append(f'package-dir = {{ "{source.package}.server" = "server" }}')
            lines += ["", "[project.scripts]", f'server = "{source.package}.server.app:main"']
        llmzoo = f"llmzoo-marl{f'[{extra}]' if extra else ''}=={__version__}"
        openenv = f'openenv = ["llmzoo-marl[openenv]=={__version__}"]\n' if self.one_agent else ""
        who = f"`{agents[0]}`" if self.one_agent else "all agents with one policy"
        if rest:
            who += f", and the policy `{others}` plays {', '.join(f'`{one}`' for one in rest)}"
        self.words = {
            "id": source.title,
            "module": source.package,
            "project": project,
            "env": json.dumps(source.exported_env),
            "args": repr(dict(args)),
            "agents": json.dumps(list(agents)),
            "others": json.dumps(others),
            "version": version,
            "llmzoo": __version__,
            "license": license_id,
            "license_url": f"https://spdx.org/licenses/{license_id}.html",
            "summary": json.dumps(self.summary),
            "plain_summary": self.summary,
            "dependencies": json.dumps([llmzoo, *source.requirements]),
            "packages": "\n".join(lines),
            "openenv_extra": openenv,
            "validation": _VALIDATION.substitute(low=reward_range[0], high=reward_range[1])
            if reward_range
            else "",
            "who_sentence": who,
            "host_names": "PettingZoo, TRL, verifiers and OpenEnv"
            if self.one_agent
            else "PettingZoo, TRL and verifiers",
            "license_key": license_id.lower(),
            "openenv_install": "pip install '.[openenv]'\n" if self.one_agent else "",
            "origin": _ORIGINS.get(tasks_from, f"a list (`{_plain(tasks_from)}`)"),
            "columns": "\n".join(f"| `{c}` | {COLUMNS[c]} |" for c in self._columns()),
            "train": str(len(rows["train"])),
            "test": str(len(rows["test"])),
        }

    def files(self) -> dict[str, bytes]:
        """Content by path, with the checksums last."""
        module = self.source.package
        kind = "one" if self.one_agent else "all"
        self.words["trl_section"] = self._render(f"readme_trl_{kind}.md.txt")
        self.words["openenv_section"] = self._render(f"readme_openenv_{kind}.md.txt")
        data = {f"data/{split}.jsonl": _json_lines(rows) for split, rows in self.rows.items()}
        texts = {
            "README.md": self._render("README.md.txt"),
            "LICENSE": self._license(),
            "pyproject.toml": self._render("pyproject.toml.txt"),
            f"{module}/__init__.py": self._render("package.py.txt"),
            f"{module}/trl_env.py": self._render(f"trl_{kind}.py.txt"),
            f"{module}/verifiers_env.py": self._render("verifiers_env.py.txt"),
        }
        if self.source.text is not None:
            texts[f"{module}/environment.py"] = self.source.text
        if self.one_agent:
            texts |= {
                f"{module}/client.py": self._render("client.py.txt"),
                "openenv.yaml": self._render("openenv.yaml.txt"),
                "server/__init__.py": "",
                "server/app.py": self._render("app.py.txt"),
                "server/Dockerfile": self._render("Dockerfile.txt"),
            }
        texts["croissant.json"] = json.dumps(self._croissant(data), indent=2) + "\n"
        content = {path: text.encode("utf-8", "replace") for path, text in texts.items()} | data
        sums = [f"{hashlib.sha256(content[path]).hexdigest()}  {path}" for path in sorted(content)]
        return content | {"SHA256SUMS": ("\n".join(sums) + "\n").encode()}

    def _columns(self) -> list[str]:
        return list(self.rows["train"][0])

    def _render(self, template: str) -> str:
        return Template(_template(template)).substitute(self.words)

    def _license(self) -> str:
        if self.license_id == _OWN_LICENSE:
            return _template("apache_2.txt")
        return f"SPDX-License-Identifier: {self.license_id}\n{self.words['license_url']}\n"

    def _croissant(self, data: Mapping[str, bytes]) -> dict[str, Any]:
        own = self.source.text is None
        origin = str(self.words["origin"]).replace("`", "")
        return describe_dataset(
            name=self.source.package,
            description=f"Tasks of the environment {self.source.title}. {self.summary}",
            version=self.version,
            license_url=self.words["license_url"],
            url=f"https://pypi.org/project/{self.words['project']}/",
            responsible_ai={
                "dataCollection": f"The tasks come from {origin}; llmzoo {__version__} played each to "
                "the model's first observation.",
                "dataUseCases": "Training and evaluating language models that act in the environment. "
                "Train on the split train only, and report success on test.",
                "dataLimitations": "A row is the first observation of a task. Later observations and "
                "rewards need the environment. Tasks of the split test that are published may enter "
                "the training data of later models.",
                "dataBiases": "The tasks have the distribution of their source and no other; texts are "
                "in the language of the environment.",
                "personalSensitiveInformation": "None: the texts are made for this environment."
                if own and self.tasks_from in ("generator", "sample")
                else "Not examined by llmzoo: state here what the texts contain.",
                "dataReleaseMaintenancePlan": "Tasks change only with a new version of the package.",
            },
            files=data,
            columns=dict.fromkeys(data, self._columns()),
        )


# for openenv validate
_VALIDATION = Template("""\
validation:
  reward:
    range: [$low, $high]  # of the silent policy and the expert on the first tasks, as whole numbers
    floor_margin: 0.1
  resources: {cpu: 1, memory_mb: 1024, disk_mb: 2048, episode_timeout_s: 60}
  capabilities:
    verifier: {kind: reward_channel}
  types: {tags: [llmzoo]}
""")
_ORIGINS = {
    "generator": "a generator: a program draws them from a fixed seed",
    "sample": "llmzoo's shipped sample, which was written for llmzoo",
    "hub": "a public set on the Hugging Face hub, under the licence of its authors; its texts are not copied",
}


def _template(name: str) -> str:
    return (package_files("llmzoo.export") / "environment_files" / name).read_text("utf-8")


def _json_lines(rows: list[dict[str, Any]]) -> bytes:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return text.encode("utf-8", "replace")


def _plain(text: str) -> str:
    """One line without Markdown or control characters."""
    return " ".join(re.sub(r"[^\w .:,;'()=+/-]", " ", text).split())[:200]


def _make(source: EnvironmentSource, args: Mapping[str, Any], **more: Any) -> Any:
    """The environment; what its constructor raises becomes a :class:`ConfigError`."""
    try:
        return registry.make(source.env, **args, **more)
    except LlmzooError:
        raise
    except Exception as error:
        raise ConfigError(
            f"{source.title} cannot be made ({type(error).__name__}: {error}): llmzoo check says more"
        ) from error


def _choose_agents(make: Any, agent: str | None) -> tuple[tuple[str, ...], list[str]]:
    """The agents that the model plays, and the rest."""
    env = make()
    known = list(env.possible_agents)
    if not known:
        raise ConfigError("the environment has no possible_agents: name those that play")
    for one in known:
        if not is_name(one):
            raise ConfigError(f"agent {one!r}: {NAME_RULE}")
        if not isinstance(env.action_space(one), Text):
            raise ConfigError(f"{one} acts in {env.action_space(one)}, not in text")
    env.close()
    if agent == ALL and agent not in known:
        return tuple(known), []
    if agent is None and len(known) > 1:
        raise ConfigError(
            f"say which agent the model plays: --agent {known[0]} (of {', '.join(known)}; "
            "--others plays the rest), or --agent all for one policy that plays all of them"
        )
    chosen = known[0] if agent is None else agent
    if chosen not in known:
        raise UnknownNameError("agent", chosen, [*known, ALL])
    return (chosen,), [one for one in known if one != chosen]


def _check_out(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ConfigError(f"{out} exists and is no folder: choose another --out")
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} exists and is not empty: choose another --out, or empty it")


def _check_settings(others: str, tasks: int | None, version: str) -> None:
    if others not in OTHERS:
        raise ConfigError(
            f"others is one of {', '.join(OTHERS)}, which every host has; got {others!r:.60}"
        )
    if tasks is not None and tasks < 1:
        raise ConfigError(f"tasks must be at least 1, got {tasks}")
    if not _VERSION.fullmatch(version):
        raise ConfigError(f"a version is written as 0.1.0, got {version!r:.60}")


def _check_license(source: EnvironmentSource, license: str | None) -> str:
    if license is None and source.text is not None:
        raise ConfigError(
            "say under which licence your file is published, by its SPDX id: --license MIT or "
            "--license Apache-2.0"
        )
    chosen = license or _OWN_LICENSE
    if not _LICENSE.fullmatch(chosen):
        raise ConfigError(f"a licence is an SPDX id, such as MIT or Apache-2.0; got {chosen!r:.60}")
    return chosen


def _check_args(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, if they are plain values that mean the same on another machine."""
    if "split" in args:
        raise ConfigError("split is no argument here: the package has both splits")
    for name, value in args.items():
        _check_arg(name, value)
    return dict(args)


def _check_arg(name: str, value: Any) -> None:
    if SECRET_NAME.search(str(name)):
        raise ConfigError(f"argument {name!r} looks like a credential, which is not published")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _check_arg(str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_arg(name, inner)
    elif isinstance(value, str):
        is_path = os.sep in value or "." in value
        if USER_IN_ADDRESS.search(value) or (is_path and os.path.lexists(value)):
            raise ConfigError(
                f"argument {name!r} is a file of this machine or an address with a password, which "
                "other machines do not have: leave it out"
            )
        if name_private_path(value):
            raise ConfigError(f"argument {name!r} has a path of this machine: leave it out")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"argument {name!r} is {value}: give a finite number")
    elif not isinstance(value, bool | int | float | None):
        raise ConfigError(f"argument {name!r} is {type(value).__name__}: give a plain value")


def _refuse_private_rows(rows: Mapping[str, list[dict[str, Any]]], file: Path) -> None:
    """Refuse observations of a user's environment that have a path of this machine."""
    for split, split_rows in rows.items():
        for row in split_rows:
            if name_private_path(str(row.get("observation", "")), file):
                raise ConfigError(
                    f"the observation of task {row['task']} ({split}) has a path of this machine, which "
                    "data/ would publish: leave it out of what the agent reads"
                )


def _write(out: Path, content: Mapping[str, bytes]) -> None:
    """Write all files, or none."""
    with files.create_folder(out) as folder:
        for path, data in content.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            files.write(folder / path, data)
