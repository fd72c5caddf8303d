"""Print the coverage that ``pytest --cov`` has measured: the whole, and each module below 80%.

    python tests/coverage_table.py

Lines and branches of the processes that run tests count; those of processes that a test starts do
not.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import coverage

LEAST = 80.0  # percent
CHILD = "runs in processes that the tests start"
RANKS = "its branches for several ranks run in the processes of the ranks"
PACKAGE = "needs a package that is in no extra of the tests"
SLOWLY_TESTED = (
    *(
        f"llmzoo/envs/building/{name}"
        for name in ("bridge_build", "house_build", "resource_gathering")
    ),
    *("llmzoo/cli/check_tasks.py", "llmzoo/cli/installation.py", "llmzoo/evaluation/exploit.py"),
    "llmzoo/models/compiling.py",
    "llmzoo/models/fused.py",
    "llmzoo/policies/vllm/",
    "llmzoo/envs/programs/confined.py",
    "llmzoo/envs/tools/airline/flight_network.py",
    "llmzoo/envs/duels/negotiation/expert.py",
    "llmzoo/learners/preference_losses.py",
    "llmzoo/learners/updates/dpo_reference.py",
)
REASONS = {  # of the modules whose path begins so
    "llmzoo/__main__.py": CHILD,
    "llmzoo/sandbox/": CHILD,
    "llmzoo/cli/server_lifecycle.py": CHILD,
    "llmzoo/cli/serve_gateway.py": CHILD,
    "llmzoo/engine/ray/update_workers.py": CHILD,
    "llmzoo/policies/template_bounds.py": "it traces lines itself, which coverage then cannot",
    "llmzoo/engine/setup.py": RANKS,
    "llmzoo/distributed/": RANKS,
    "llmzoo/models/tensor_io.py": RANKS,
    "llmzoo/adapters/openenv.py": PACKAGE,
    "llmzoo/adapters/verifiers.py": PACKAGE,
    "llmzoo/adapters/external/": PACKAGE,
    **dict.fromkeys(SLOWLY_TESTED, "slow tests run the rest, without tracing"),
    "llmzoo/envs/tools/bfcl_multi_turn/": "a test compares it with bfcl-eval, where that is installed",
}


def measured(data_file: str = ".coverage") -> tuple[float, dict[str, float]]:
    """Percent of the whole, and of each module by its path."""
    measurement = coverage.Coverage(data_file=data_file)
    measurement.load()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "coverage.json"
        measurement.json_report(outfile=str(file))
        report = json.loads(file.read_text())
    modules = {name: f["summary"]["percent_covered"] for name, f in report["files"].items()}
    return report["totals"]["percent_covered"], modules


def main() -> None:
    whole, modules = measured()
    print(f"coverage of llmzoo, lines and branches: {whole:.1f}% in {len(modules)} modules")
    for name, percent in sorted(modules.items(), key=lambda item: item[1]):
        if percent < LEAST:
            reason = next((r for path, r in REASONS.items() if name.startswith(path)), "no reason")
            print(f"{percent:5.1f}%  {name}: {reason}")


if __name__ == "__main__":
    main()
