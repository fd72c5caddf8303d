"""docs/metrics.md explains exactly what a run writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tiny_models import policy, teacher
from toy_envs import Parity

from llmzoo.models.sampling import Sampling
from llmzoo.training import fit

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
ITERATIONS = "Rows of iterations"


def explained(heading: str) -> set[str]:
    """The keys in the first column of the table under a heading."""
    section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([\w/]+)`\*? \|", section, re.MULTILINE))


def rows(out: Path, learner: Any, **learner_args: Any) -> dict[str, list[dict]]:
    """What an iteration wrote, by kind of row."""
    given = {"learner_args": learner_args} if isinstance(learner, str) else {}
    fit(
        learner,
        Parity,
        out=out,
        policies={"writer_0": policy(sampling=Sampling(max_new_tokens=1))},
        steps=1,
        episodes_per_step=8,
        eval_tasks=4,
        control_tasks=4,
        quiet=True,
        **given,
    )
    found = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return {kind: [row for row in found if row["kind"] == kind] for kind in ("train", "eval")}


def test_every_metric_is_explained(tmp_path):
    # with clip, kl and dropped groups every metric that there is without a critic
    groups = rows(tmp_path / "at_grpo", "at_grpo", kl=0.1, zero_variance_groups="drop")
    critic = rows(tmp_path / "ippo", "ippo", kl=0.1)
    taught = rows(tmp_path / "opd", "opd", teacher=teacher())
    (one,), (other,), (third,) = groups["train"], critic["train"], taught["train"]
    assert explained(ITERATIONS) == {*one, *other, *third}

    agent, plain = one["agents"]["writer_0"], other["agents"]["writer_0"]
    assert explained("Numbers of each agent") == {*agent, *plain}
    for found in (agent, plain):
        assert {*found["turns"]["0"]} == {*found} - {"turns"}

    for before, after in (groups["eval"], critic["eval"]):
        assert explained("Rows of evaluations") == {*before}
        assert {*before} - {*after} == {"lower_temperatures"}


def test_a_value_head_has_no_metrics_beside(tmp_path):
    (row,) = rows(tmp_path, "ippo", critic="value_head")["train"]
    assert {*row} < explained(ITERATIONS)
    assert "value_grad_norm" not in row


def test_every_metric_of_trl_is_explained(tmp_path):
    from llmzoo.learners.dpo import DPO
    from llmzoo.learners.sft import SFT

    (sft,) = rows(tmp_path / "sft", SFT(SFT.Config(source="self", top=0.5)))["train"]
    (dpo,) = rows(tmp_path / "dpo", DPO())["train"]
    assert explained("Numbers of SFT and DPO") == {*sft, *dpo} - explained(ITERATIONS)
