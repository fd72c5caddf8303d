"""What stands where in the site. A page of docs/ that is not named here is an error of the build."""

from __future__ import annotations

# caption -> pages, as paths below docs/ without the suffix; "repository/" are files outside docs/
SECTIONS: dict[str, list[str]] = {
    "Tutorials": ["installation", "quickstart", "tutorials/index"],
    "How to train": [
        "choosing",
        "training",
        "data",
        "programs",
        "evaluating",
        "verifying",
        "leagues",
        "models",
        "troubleshooting",
    ],
    "How to build": [
        "writing_environments",
        "writing_learners",
        "own_loop",
        "tools",
        "testing",
        "adapters/index",
        "other_collections",
        "exporting",
        "publishing",
    ],
    "How to scale": ["distributed", "ray", "serving", "serving_policies"],
    "Reference": [
        "environments/index",
        "learners/index",
        "cli",
        "metrics",
        "run_folder",
        "report",
        "api/index",
        "glossary",
    ],
    "Explanation": [
        "concepts",
        "tasks",
        "split_views",
        "sandbox",
        "performance",
        "embedded_model",
        "paper",
        "papers",
        "limitations",
    ],
    "Results": ["results/index", "board", "results/archive/index", "reward_search"],
    "Project": [
        "repository/examples/README",
        "repository/configs/README",
        "migrating",
        "repository/CONTRIBUTING",
        "releasing",
        "repository/CHANGELOG",
    ],
}

# pages that stand below another page
BELOW: dict[str, list[str]] = {"environments/index": ["external", "testing_tables"]}

# folders whose other pages stand below their index.md
FOLDERS = (
    *("tutorials", "environments", "learners", "adapters", "api"),
    *("results", "results/archive"),
)
