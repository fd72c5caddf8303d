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
REASONS: dict[str, str] = {}


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
            print(f"{percent:5.1f}%  {name}: {REASONS.get(name, 'no reason is given')}")


if __name__ == "__main__":
    main()
