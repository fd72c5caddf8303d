"""Writes the generated pages of docs/: ``python docs/build.py``. A test says when they are stale.

Environment pages are the docstrings of the environments' modules; learner pages are the docstrings
of the learners' modules and classes, the texts in docs/details, and the fields of the configurations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
RETURNS, GREEDY, REDRAWN = (1.0, 0.0, 0.5, 0.5), 0.75, (0.75, 0.0, 0.0, 1.0)
PARTS = {"right": (1.0, 0.0, 0.0, 0.5), "form": (0.0, 0.0, 0.5, 0.0)}
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
    found |= {f"environments/{slug(id)}.md": NOTE + page(id) for id in ids()}
    for name in llmzoo.list_learners():
        if learner_class(name).__module__.startswith("llmzoo."):
            found[f"learners/{name}.md"] = learner_page(name)
    return found


def learners_index() -> str:
    return NOTE + _LEARNERS_PAGE.format(
        groups=_table(["learner", "rollout", "credit", "plays"], _GROUPS),
        critics=_table(["learner", "critic", "credit", "plays"], _CRITICS),
        teachers=_table(["learner", "rollout", "credit", "plays"], _TEACHERS),
        examples=_table(["learner", "learns from", "loss", "plays"], _EXAMPLES),
        returns=_numbers(RETURNS),
        greedy=GREEDY,
        redrawn=_numbers(REDRAWN),
        parts=" and ".join(f"`{name}` {_numbers(values)}" for name, values in PARTS.items()),
        worked=_worked_table(),
    )


def _table(head: list[str], rows: dict[str, tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += [f"| [`{name}`]({name}.md) | " + " | ".join(row) + " |" for name, row in rows.items()]
    return "\n".join(lines)


def _worked_table() -> str:
    answer = Completion(text="x", prompt_ids=(1,), ids=(2,), logprobs=(-1.0,))
    group = Group(
        agent="a_0",
        turn=0,
        key=(0, "a_0"),
        prompt_ids=(1,),
        completions=(answer,) * len(RETURNS),
        returns=RETURNS,
        greedy=GREEDY,
        redrawn=REDRAWN,
        components={name: ComponentReturns(returns=values) for name, values in PARTS.items()},
    )
    head = " | ".join(f"answer {k}" for k in range(1, len(RETURNS) + 1))
    lines = [f"| learner | {head} |", "|---" * (len(RETURNS) + 1) + "|"]
    for name in _GROUPS:
        cls = learner_class(name)
        for options in VARIANTS.get(name, [{}]):
            (credited,) = cls(cls.Config(**options)).compute_advantages([group])
            said = ", ".join(f"{key}={value!r}" for key, value in options.items())
            label = f"`{name}`" + (f" with `{said}`" if said else "")
            numbers = " | ".join(f"{_round(a):g}" for a in credited.advantages.tolist())
            lines.append(f"| {label} | {numbers} |")
    return "\n".join(lines)


def learner_page(name: str) -> str:
    prose, heading, options = learner_docs(name).partition("## Options\n")
    last = "[Try it](index.md#try-one). [What it logs](../metrics.md)."
    return f"{NOTE}{prose}{details.sections(name)}\n\n{heading}{options}\n\n{last}\n"


def _numbers(values: tuple[float, ...]) -> str:
    return "[" + ", ".join(f"{v:g}" for v in values) + "]"


def _round(value: float) -> float:
    return round(value, 3) + 0.0  # no minus zero


_GROUPS = {
    "mareinforce": ("joint tree", "the return", "all agents"),
    "magrpo": ("joint tree", "return - mean of the group", "all agents"),
    "marloo": ("joint tree", "return - mean of the others", "all agents"),
    "maxrl": ("joint tree", "(return - mean) / mean of the group", "all agents"),
    "ccpo": ("joint tree", "return - return with the agent's other answers", "all agents"),
    "maremax": ("joint tree", "return - return of the greedy answer", "all agents"),
    "at_grpo": ("agent-turn tree", "(reward - mean) / standard deviation", "all agents"),
    "grpo": ("joint tree", "(return - mean) / standard deviation", "one agent alone"),
}
_CRITICS = {
    "ppo": ("its own", "GAE", "one agent alone"),
    "ippo": ("of each policy, reads what the agent reads", "GAE", "all agents"),
    "mappo": ("one, reads the global state", "GAE", "all agents"),
    "iac": ("of each policy, reads what the agent reads", "r + gamma V' - V", "all agents"),
    "maac": ("one, reads the global state", "r + gamma V' - V", "all agents"),
}
_TEACHERS = {
    "opd": ("joint tree", "the teacher's log-probability of each token - its own", "all agents"),
}
_EXAMPLES = {
    "sft": ("demonstrations, or the model's own best", "TRL's SFT", "all agents"),
    "dpo": ("pairs of a better and a worse answer", "TRL's DPO", "all agents"),
    "madpo": (
        "pairs of joint answers",
        "DPO with the sum of the agents' margins",
        "all agents",
    ),
}

_LEARNERS_PAGE = """# Learners

There are four kinds. All of them play any environment, with models for all agents, for some, or for one
([which model plays which agent](../training.md)).

## Groups

A learner of this kind is a credit rule over [groups](../concepts.md#group): one prompt, K answers, a
return each. None of these trains a critic.

{groups}

- **joint tree**: the agents that choose at a state answer K times each, and answers are judged by the
  return of what follows ([details](../concepts.md#joint_tree)). Loss: the policy gradient, summed over an
  answer's tokens; without `clip` there is no importance ratio.
- **agent-turn tree**: each agent's K answers are judged at once, by the reward of that one step, and
  one of them goes on ([details](../concepts.md#agent_turn_tree)). Loss: the clipped ratio.
- `grpo` is what the others are compared with: it makes environments with `num_agents=1`, uses the
  clipped ratio and the mean over each answer's tokens.
- All of them have these options: clip-higher (`clip_high`), dual clip (`dual_clip`), the ratio of a whole
  answer (`ratio="sequence"`, GSPO), groups without differences dropped or replaced by others
  (`zero_variance_groups`), division by the deviation of the group or of each named part of the
  reward (`normalize=True` or `"components"`), by that of the batch (`whiten`), answers cut off by the
  token limit left out (`mask_truncated`), functions of the returns (`rewards`), a running mean of
  each role as the baseline (`role_baseline`, for self-play), and earlier groups learned from again
  (`replay`).
- Each agent can have [a learner of its own](../training.md#a-learner-for-each-agent), over one tree for all.

## Critics

These play plain episodes; an answer's advantage comes from values that a critic learns.

{critics}

- **GAE** over an agent's own turns, with rewards at their time of payment. An episode that is over ends
  with 0, one that a time limit cut off with the critic's value of what the agent reads then. Where the
  limit is a rule of the task (`metadata["time_limit"] = "task"`, as in this suite: who has not solved it
  in `max_turns` has failed) it ends with 0 too. `time_limit="bootstrap"` and `"end"` overrule that.
- `critic="separate"` is a model of its own, started from the actor's weights; `critic="value_head"` is a
  linear head on the actor's last hidden states, which takes next to no memory. `values="token"` judges
  each token instead of each turn.

## Teachers

The student plays, and a frozen model judges each token that it wrote.

{teachers}

- By default each prompt has one answer (`group_size=1`), so plain episodes are played. The credit needs no
  reward and no comparison; `reward_weight` adds the reward's.
- `loss="jsd"` compares whole distributions in place of sampled tokens. It equals the loss of TRL's
  DistillationTrainer in float64.

## Examples

These train on given answers. Some options are named as in [TRL](https://huggingface.co/docs/trl) and given
as `trl_args`; the losses are tested to equal TRL's.

{examples}

## The same group, judged by each

Returns {returns} of four answers to one prompt; the greedy answer's return is {greedy}. With another answer of
this agent beside the same answers of the others, the returns are {redrawn} on average. Two named parts of the
reward make up the returns: {parts}.

{worked}

What follows from these numbers:

- `mareinforce` makes every answer with a positive return likelier, the worst of a good group too.
- `magrpo` and `marloo` differ by the factor K/(K-1) = 4/3.
- `maxrl` divides by the mean, here 0.5: the rarer a success, the more it counts. With `success=1.0` only the
  first answer has succeeded, one of four, so it counts three times as much as each failure.
- `maremax` makes only the first answer likelier: the others did not beat the greedy one.
- `ccpo` tells the last two answers apart, which earned the same: the team would have done worse with another
  answer in place of the one, and better in place of the other.
- `at_grpo`, `grpo` and `magrpo` with `normalize=True` divide by the standard deviation of the
  group's returns, here 0.354: a group whose returns differ little then counts as much as one whose
  returns differ a lot.
- `normalize="components"` divides each part by its own deviation (GDPO) and tells the last two answers apart: `form`
  was won by one answer of four, so it counts more than half of `right`, which two have won.
- A group whose returns are all equal has advantages 0 under all but `mareinforce` and `maremax`;
  the metric `informative` counts the groups where something is left.

## Try one

```bash
llmzoo train --env plan_path_v0 --env.max_turns 1 --learner marloo --learner.group_size 8 \\
    --steps 1 --episodes_per_step 2 --eval_tasks 8 --out runs/marloo
```

One iteration shows that it works; learning takes more:
[`configs/learners/ippo.yaml`](../../configs/learners/ippo.yaml) and the files beside it hold settings with which it does.
[What a run may be made of](../training.md). [How to write one](../writing_learners.md).
"""


def main() -> None:
    for name, text in pages().items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
