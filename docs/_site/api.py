"""The pages of the API reference: which modules stand on which page. Sphinx reads their docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

import llmzoo

# read as files, since importing their packages would load torch
_PACKAGE = Path(llmzoo.__file__).parent
_ADAPTERS = [
    f"llmzoo.adapters.{file.stem}"
    for file in sorted((_PACKAGE / "adapters").glob("*.py"))
    if not file.stem.startswith("_")
]

# page -> (title, modules); all public names that a module defines are shown
PAGES: dict[str, tuple[str, list[str]]] = {
    "envs": (
        "Environments",
        [
            *("llmzoo.envs.base", "llmzoo.envs.tasks", "llmzoo.spaces"),
            *("llmzoo.registry", "llmzoo.errors"),
        ],
    ),
    "records": (
        "Records",
        ["llmzoo.records", "llmzoo.collecting", "llmzoo.trajectories", "llmzoo.preferences"],
    ),
    "rollout": (
        "Rollouts",
        [
            *("llmzoo.rollout.episodes", "llmzoo.rollout.trees", "llmzoo.rollout.branching"),
            "llmzoo.rollout.scheduler",
        ],
    ),
    "policies": (
        "Policies",
        [
            *("llmzoo.policies", "llmzoo.policies.base", "llmzoo.policies.sampling"),
            *("llmzoo.policies.scripted", "llmzoo.policies.transformers", "llmzoo.policies.lora"),
            *("llmzoo.policies.endpoint", "llmzoo.policies.likelihood"),
        ],
    ),
    "learners": (
        "Learners",
        [
            *("llmzoo.learners.base", "llmzoo.learners.joint", "llmzoo.learners.actor_critic"),
            *("llmzoo.updates.base", "llmzoo.updates.policy_gradient", "llmzoo.updates.groups"),
            *("llmzoo.updates.surrogate", "llmzoo.advantages", "llmzoo.losses", "llmzoo.rewards"),
        ],
    ),
    "training": (
        "Training and evaluation",
        [
            *("llmzoo.training.config", "llmzoo.training.loop", "llmzoo.training.stages"),
            *("llmzoo.evaluation", "llmzoo.checkpoints"),
        ],
    ),
    "adapters": ("Adapters", _ADAPTERS),
    "serve": (
        "Serving",
        ["llmzoo.serve.hosting", "llmzoo.serve.environments", "llmzoo.serve.remote"],
    ),
    "testing": ("Testing", ["llmzoo.testing"]),
    "report": ("Reports", ["llmzoo.report.curves", "llmzoo.report.bench"]),
}


def pages() -> dict[str, str]:
    """Path below the site's source -> reStructuredText."""
    index = [
        _title("API reference", "="),
        "Everything that a program may use, from the docstrings. ``import llmzoo`` gives the names "
        "below and loads neither torch nor transformers; the other modules are on pages of their "
        "own, and :doc:`../concepts` says how they go together.\n",
        _title("llmzoo", "-"),
    ]
    for name in sorted(set(llmzoo.__all__) - {"__version__"}):
        kind = "class" if name[0].isupper() else "function"
        index.append(f".. auto{kind}:: llmzoo.{name}\n")
    found = {"api/index.rst": "\n".join(index)}
    for page, (title, modules) in PAGES.items():
        parts = [_title(title, "=")]
        for module in modules:
            parts += [_title(module, "-"), f".. automodule:: {module}\n   :no-members:\n"]
            names = public_names(module)
            parts += [" · ".join(f":py:obj:`~{module}.{name}`" for name in names) + "\n"]
            parts += [f".. auto{kind}:: {module}.{name}\n" for name, kind in names.items()]
        found[f"api/{page}.rst"] = "\n".join(parts)
    return found


def public_names(module: str) -> dict[str, str]:
    """Name -> "class" or "function", of what a module's file defines for others to use."""
    file = _PACKAGE.parent / module.replace(".", "/")
    source = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    found: dict[str, str] = {}
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = "class"
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = "function"
    return {name: kind for name, kind in found.items() if not name.startswith("_")}


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"
