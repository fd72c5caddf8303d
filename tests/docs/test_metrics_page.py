"""docs/metrics.md explains exactly what a run writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tiny_models import policy
from toy_envs import Parity

from llmzoo.policies.sampling import Sampling
from llmzoo.training import fit

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def explained(heading: str) -> set[str]:
    """The keys in the first column of the table under a heading."""
    section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)`\*? \|", section, re.MULTILINE))


def test_every_metric_is_explained(tmp_path):
    fit(
        "at_grpo",
        Parity,
        out=tmp_path,
        policies={"writer_0": policy(sampling=Sampling(max_new_tokens=1))},
        learner_args={"kl": 0.1},  # with it and at_grpo's clip, every metric there is
        steps=1,
        envs=4,
        eval_tasks=4,
        quiet=True,
    )
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    for kind, heading in (("train", "Rows of iterations"), ("eval", "Rows of evaluations")):
        written = {key for row in rows if row["kind"] == kind for key in row}
        assert explained(heading) == written
