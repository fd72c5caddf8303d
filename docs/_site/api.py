"""The pages of the API reference: which modules stand on which page. Sphinx reads their docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

import llmzoo

# read as files, since importing their packages would load torch
_PACKAGE = Path(llmzoo.__file__).parent
_ADAPTERS = [
    ".".join(("llmzoo", *file.relative_to(_PACKAGE).with_suffix("").parts))
    for file in sorted((_PACKAGE / "adapters").rglob("*.py"))
    if file.stem != "__init__" and file.parent.name != "external"  # environments have pages
]

# page -> (title, what it is about, modules); all public names that a module defines are shown
PAGES: dict[str, tuple[str, str, list[str]]] = {
    "envs": (
        "Environments",
        "the base class of environments, splits, spaces, the registry, errors",
        [
            *("llmzoo.envs.base", "llmzoo.envs.tasks", "llmzoo.spaces"),
            *("llmzoo.registry", "llmzoo.errors"),
        ],
    ),
    "records": (
        "Records",
        "what a rollout records; episodes as rows, and files of them",
        [
            "llmzoo.records",
            "llmzoo.evaluation.collect",
            "llmzoo.records.trajectories",
            "llmzoo.learners.preferences",
        ],
    ),
    "rollout": (
        "Rollouts",
        "episodes, trees, copies in mid-play",
        [
            *("llmzoo.rollout.episodes", "llmzoo.rollout.trees", "llmzoo.rollout.turn_trees"),
            *("llmzoo.rollout.stepping", "llmzoo.envs.forking"),
            "llmzoo.rollout.scheduler",
        ],
    ),
    "policies": (
        "Policies",
        "who answers: models, adapters, endpoints, scripted players",
        [
            *("llmzoo.policies", "llmzoo.policies.base", "llmzoo.models.sampling"),
            *("llmzoo.policies.scripted", "llmzoo.policies.transformers", "llmzoo.models.lora"),
            *("llmzoo.policies.endpoint", "llmzoo.models.likelihood"),
        ],
    ),
    "learners": (
        "Learners",
        "base classes, losses, advantages, what holds state between batches",
        [
            *("llmzoo.learners.base", "llmzoo.learners.groups", "llmzoo.learners.actor_critic"),
            *("llmzoo.learners.updates.policy_gradient", "llmzoo.learners.updates.credits"),
            *("llmzoo.learners.advantages", "llmzoo.learners.rae", "llmzoo.learners.returns"),
            "llmzoo.learners.value_estimation",
            *("llmzoo.learners.losses", "llmzoo.learners.preference_losses"),
        ],
    ),
    "training": (
        "Training and evaluation",
        "the settings of a run, ``fit``, stages, evaluation, checkpoints, export",
        [
            *("llmzoo.training.config", "llmzoo.training.loop", "llmzoo.training.stages"),
            *(
                "llmzoo.evaluation.evaluate",
                "llmzoo.evaluation.statistics",
                "llmzoo.evaluation.episode_folder",
                "llmzoo.runs.checkpoints",
                "llmzoo.training.recording",
            ),
            "llmzoo.export",
        ],
    ),
    "adapters": (
        "Adapters",
        "these environments in other tools, other people's games here",
        _ADAPTERS,
    ),
    "serve": (
        "Serving",
        "hosting environments and models",
        [
            "llmzoo.serve.hosting",
            "llmzoo.serve.environments",
            "llmzoo.serve.remote",
            "llmzoo.serve.completions",
            "llmzoo.serve.served_models",
        ],
    ),
    "testing": ("Testing", "the conformance kit", ["llmzoo.testing"]),
    "sandbox": (
        "Sandbox",
        "running programs that a model wrote",
        [
            "llmzoo.sandbox.box",
            "llmzoo.sandbox.limits",
            "llmzoo.sandbox.results",
            "llmzoo.sandbox.session",
        ],
    ),
    "report": (
        "Reports",
        "curves, tables and pages of runs",
        ["llmzoo.report.curves", "llmzoo.report.bench"],
    ),
}


def pages() -> dict[str, str]:
    """Path below the site's source -> reStructuredText."""
    index = [
        _title("API reference", "="),
        "What a program may use, from the docstrings. ``import llmzoo`` gives the names below; it "
        "loads neither torch nor transformers, which come with the first use of what needs them. "
        ":doc:`../concepts` says how the parts go together.\n",
        *(f"- :doc:`{title} <{page}>`: {summary}" for page, (title, summary, _) in PAGES.items()),
        "\n" + _title("llmzoo", "-"),
    ]
    for name in sorted(set(llmzoo.__all__) - {"__version__"}):
        kind = "class" if name[0].isupper() else "function"
        index.append(f".. auto{kind}:: llmzoo.{name}\n")
    found = {"api/index.rst": "\n".join(index)}
    for page, (title, _, modules) in PAGES.items():
        parts = [_title(title, "=")]
        for module in modules:
            names = public_names(module)
            links = " · ".join(f":py:obj:`~{module}.{name}`" for name in names)
            parts += [
                _title(module, "-"),
                f".. automodule:: {module}\n   :no-members:\n",
                links + "\n",
            ]
            parts += [_directive(module, node) for node in names.values()]
        found[f"api/{page}.rst"] = "\n".join(parts)
    return found


def public_names(module: str) -> dict[str, ast.ClassDef | ast.FunctionDef]:
    """The classes and functions that a module's file defines for others to use, by name."""
    file = _PACKAGE.parent / module.replace(".", "/")
    source = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    return {
        node.name: node
        for node in ast.parse(source.read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    }


def _directive(module: str, node: ast.ClassDef | ast.FunctionDef) -> str:
    if isinstance(node, ast.FunctionDef):
        return f".. autofunction:: {module}.{node.name}\n"
    bases = "   :show-inheritance:\n" if node.bases else ""  # "Bases: object" says nothing
    return f".. autoclass:: {module}.{node.name}\n{bases}"


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"
