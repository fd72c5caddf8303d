"""What stands where in the site. A page of docs/ that is not named here is an error of the build."""

from __future__ import annotations

# caption -> pages, as paths below docs/ without the suffix; "repository/" are files outside docs/
SECTIONS: dict[str, list[str]] = {
    "Start": [
        "installation",
        "quickstart",
        "tutorials/index",
        "concepts",
        "training",
        "programs",
        "choosing",
        "evaluating",
        "leagues",
        "data",
        "repository/examples/README",
        "repository/configs/README",
    ],
    "Overview": ["environments/index", "split_views", "learners/index", "papers"],
    "Results": [
        "results/index",
        "results/sharpening",
        "results/games",
        "results/several",
        "results/learners",
        "results/smollm2",
        "results/self_play",
        "results/credit",
        "results/does_not_work",
        "results/large_models",
        "reward_search",
        "results/archive/index",
        "limitations",
    ],
    "How to": [
        "writing_environments",
        "writing_learners",
        "own_loop",
        "tools",
        "sandbox",
        "adapters/index",
        "external",
        "exporting",
        "testing",
    ],
    "Scale": ["distributed", "ray", "serving", "serving_policies", "scaling", "performance"],
    "Reference": ["cli", "metrics", "report", "api/index", "embedded_model", "models"],
    "Help": ["troubleshooting", "moving"],
    "Project": ["repository/CONTRIBUTING", "repository/CHANGELOG"],
}

# folders whose other pages stand below their index.md
FOLDERS = ("tutorials", "environments", "learners", "adapters", "api", "results/archive")
