"""Writes the generated pages of docs/: ``python docs/build.py``. A test fails when they are stale.

Environment pages are the docstrings of the environments' modules; learner pages are the docstrings
of the learners' modules and classes, the texts in docs/details, and the fields of the configurations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import board
import details
import papers
from baselines import ids
from environment_index import index
from environment_pages import page, slug

import llmzoo
from llmzoo.cli.reference_docs import learner_docs
from llmzoo.learners import learner_class
from llmzoo.records import Completion, ComponentReturns, Group

DOCS = Path(__file__).parent
NOTE = "<!-- written by docs/build.py; edit the docstring it comes from -->\n\n"
# the worked example of learners/index.md
RETURNS, GREEDY, COUNTERFACTUAL_RETURNS = (1.0, 0.0, 0.5, 0.5), 0.75, (0.75, 0.0, 0.0, 1.0)
COMPONENTS = {"right": (1.0, 0.0, 0.0, 0.5), "form": (0.0, 0.0, 0.5, 0.0)}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "magrpo": [{}, {"normalize": True}, {"normalize": "components"}],
    "maremax": [{}, {"baseline": "group_max"}],
    "maxrl": [{}, {"success": 1.0}],
}


def pages() -> dict[str, str]:
    """Every generated page: path below docs/ -> text."""
    found = {
        "environments/index.md": NOTE + index(),
        "learners/index.md": learners_index(),
        "papers.md": NOTE.replace("the docstring it comes from", "docs/papers.yaml")
        + papers.page(),
    }
    found |= pages_of_bundles()
    found |= {f"environments/{slug(id)}.md": NOTE + page(id) for id in ids()}
    for name in llmzoo.list_learners():
        if learner_class(name).__module__.startswith("llmzoo."):
            found[f"learners/{name}.md"] = learner_page(name)
    return found


def pages_of_bundles() -> dict[str, str]:
    note = NOTE.replace("the docstring it comes from", "docs/results/bundles")
    return {"board.md": note + board.page()}


def learners_index() -> str:
    return NOTE + _LEARNERS_PAGE.format(
        groups=_table(["learner", "rollout", "credit", "agents"], _GROUPS),
        critics=_table(["learner", "critic", "credit", "agents"], _CRITICS),
        teachers=_table(["learner", "rollout", "credit", "agents"], _TEACHERS),
        examples=_table(["learner", "trains on", "loss", "agents"], _EXAMPLES),
        returns=_numbers(RETURNS),
        greedy=GREEDY,
        counterfactual_returns=_numbers(COUNTERFACTUAL_RETURNS),
        components=" and ".join(
            f"`{name}` {_numbers(values)}" for name, values in COMPONENTS.items()
        ),
        worked=_worked_table(),
    )


def _table(head: list[str], rows: dict[str, tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += [f"| [`{name}`]({name}.md) | " + " | ".join(row) + " |" for name, row in rows.items()]
    return "\n".join(lines)


def _worked_table() -> str:
    completion = Completion(text="x", prompt_ids=(1,), ids=(2,), logprobs=(-1.0,))
    group = Group(
        agent="a_0",
        turn=0,
        key=(0, "a_0"),
        prompt_ids=(1,),
        completions=(completion,) * len(RETURNS),
        returns=RETURNS,
        greedy=GREEDY,
        counterfactual_returns=COUNTERFACTUAL_RETURNS,
        components={name: ComponentReturns(returns=values) for name, values in COMPONENTS.items()},
    )
    head = " | ".join(f"completion {k}" for k in range(1, len(RETURNS) + 1))
    lines = [f"| learner | {head} |", "|---" * (len(RETURNS) + 1) + "|"]
    for name in _GROUPS:
        cls = learner_class(name)
        for options in VARIANTS.get(name, [{}]):
            (credited,) = cls(cls.Config(**options)).compute_advantages([group])
            given = ", ".join(f"{key}={value!r}" for key, value in options.items())
            label = f"`{name}`" + (f" with `{given}`" if given else "")
            numbers = " | ".join(f"{_round(a):g}" for a in credited.advantages.tolist())
            lines.append(f"| {label} | {numbers} |")
    return "\n".join(lines)


def learner_page(name: str) -> str:
    prose, heading, options = learner_docs(name).partition("## Options\n")
    last = "[Try it](index.md#try-one). [Logged metrics](../metrics.md)."
    return f"{NOTE}{prose}{details.sections(name)}\n\n{heading}{options}\n\n{last}\n"


def _numbers(values: tuple[float, ...]) -> str:
    return "[" + ", ".join(f"{v:g}" for v in values) + "]"


def _round(value: float) -> float:
    return round(value, 3) + 0.0  # no minus zero


_GROUPS = {
    "mareinforce": ("joint tree", "the return", "all"),
    "magrpo": ("joint tree", "return - group mean", "all"),
    "marloo": ("joint tree", "return - mean of the other completions", "all"),
    "maxrl": ("joint tree", "(return - group mean) / group mean", "all"),
    "ccpo": ("joint tree", "return - mean return with this agent's completion replaced", "all"),
    "maremax": ("joint tree", "return - return of the greedy completion", "all"),
    "at_grpo": ("agent-turn tree", "reward - group mean", "all"),
    "grpo": ("joint tree", "(return - group mean) / group standard deviation", "one"),
}
_CRITICS = {
    "ppo": ("one, reads the observation", "GAE", "one"),
    "ippo": ("one per policy, reads the observation", "GAE", "all"),
    "mappo": ("one, reads the global state", "GAE", "all"),
    "iac": ("one per policy, reads the observation", "r + gamma V' - V", "all"),
    "maac": ("one, reads the global state", "r + gamma V' - V", "all"),
}
_TEACHERS = {
    "opd": ("joint tree", "teacher log-probability - student log-probability, per token", "all"),
}
_EXAMPLES = {
    "sft": ("demonstrations, or the model's own best episodes", "TRL's SFT", "all"),
    "dpo": ("pairs of a better and a worse completion", "TRL's DPO", "all"),
    "madpo": (
        "pairs of joint completions",
        "DPO with the sum of the agents' margins",
        "all",
    ),
}

_LEARNERS_PAGE = """# Learners

There are four kinds of learner. All of them run in any environment and can train the models of all agents, of
some, or of one ([assigning models to agents](../training.md#assigning-models-to-agents)).

## Groups

These learners assign credit within a [group](../concepts.md#group): one prompt, K completions of it, and a return
for each. None of them trains a critic.

{groups}

- **joint tree**: at each node, every agent that acts samples K completions. Each completion is credited with
  the return that follows ([details](../concepts.md#joint_tree)). The loss is the policy gradient, summed over a
  completion's tokens. Without `clip` there is no importance ratio.
- **agent-turn tree**: each agent's K completions are scored immediately, by the reward of that turn, and one of
  them is carried out ([details](../concepts.md#agent_turn_tree)). The loss uses the clipped ratio.
- `grpo` is the single-agent baseline for the others. It creates environments with `num_agents=1`, and uses the
  clipped ratio and the mean over each completion's tokens.
- All of them have these options: clip-higher (`clip_high`), dual clip (`dual_clip`), one importance ratio per
  completion (`ratio="sequence"`, GSPO), dropping or replacing groups whose returns do not differ
  (`zero_variance_groups`), division by the group's standard deviation (`normalize=True`), or by that of each
  reward component (`"components"`), whitening over the batch (`whiten`), excluding truncated completions from
  the loss (`mask_truncated`), transformed returns (`rewards`), a running mean per role as the baseline
  (`role_baseline`, for self-play; [`roles`](../training.md#agents-of-one-role) says which agents are of one role), and
  a replay buffer (`replay`).
- Each agent can have [its own learner](../training.md#a-learner-for-each-agent); all agents share one tree.

## Critics

These learners play plain episodes. A completion's advantage comes from the values that a critic predicts.

{critics}

- **GAE** runs over an agent's own turns. Each reward counts at the time it is received. The value after a
  finished episode is 0. After an episode that a time limit cut off, it is the critic's value of the agent's last
  observation. If the limit is a rule of the task, the value is 0 too: `metadata["time_limit"] = "task"`, which
  this suite's environments set, because a task not solved within `max_turns` has failed.
  `time_limit="bootstrap"` and `"end"` override this.
- `critic="separate"` is a separate model, initialised from the actor's weights. `critic="value_head"` is a linear
  head on the actor's last hidden states, which takes almost no memory. `values="token"` predicts a value for
  each token instead of each turn.

## Teachers

The student plays, and a frozen model scores each token that the student wrote.

{teachers}

- By default each prompt has one completion (`group_size=1`), so plain episodes are played. The credit needs
  neither rewards nor groups; `reward_weight` adds a reward term.
- `loss="jsd"` compares the distributions over the whole vocabulary instead of the sampled tokens. It equals the
  loss of TRL's DistillationTrainer in float64.

## Examples

These learners train on given completions. Options of losses have the names that [TRL](https://huggingface.co/docs/trl)
uses. Tests check that the losses equal TRL's.

{examples}

## One group, scored by each learner

Four completions of one prompt have the returns {returns}. The greedy completion's return is {greedy}. When this
agent's completion is replaced by another one and the other agents' completions stay, the mean returns are
{counterfactual_returns}.
The returns are the sum of two reward components: {components}.

{worked}

What these numbers show:

- `mareinforce` makes every completion with a positive return more likely, even the worst of a good group.
- `magrpo` and `marloo` differ by the factor K/(K-1) = 4/3.
- `maxrl` divides by the mean, here 0.5: the rarer a success, the more it counts. With `success=1.0` only the
  first of the four completions has succeeded, so it counts three times as much as each failure.
- `maremax` makes only the first completion more likely: the others did not beat the greedy one.
- `ccpo` distinguishes the last two completions, although their returns are equal: replacing the third would
  have made the team's return lower, and replacing the fourth would have made it higher.
- `grpo`, and `magrpo` with `normalize=True`, divide by the standard deviation of the group's returns, here 0.354.
  A group whose returns differ little then counts as much as one whose returns differ a lot.
- `normalize="components"` divides each component by its own standard deviation (GDPO) and distinguishes the last
  two completions: only one completion received `form`, so its 0.5 counts more than 0.5 of `right`, which two
  completions received.
- A group whose returns are all equal has zero advantages under all learners except `mareinforce`, `maremax` and
  `ccpo`. The metric `informative` is the share of groups with nonzero advantages.

## Try one

```bash
llmzoo train --env plan_path_v0 --env.max_turns 1 --learner marloo --learner.group_size 8 \\
    --steps 1 --episodes_per_step 2 --eval_tasks 8 --out runs/marloo
```

One iteration only shows that the setup works; learning takes more.
[`configs/learners/ippo.yaml`](../../configs/learners/ippo.yaml) and the other files in its folder contain settings
that learn. See also [all settings of a run](../training.md) and [how to write a learner](../writing_learners.md).
"""


def main() -> None:
    for name, text in pages().items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
