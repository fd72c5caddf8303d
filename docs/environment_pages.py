"""The pages of the environments: what their modules say, and what is played to show it."""

from __future__ import annotations

from baselines import command, read, split_of, table

import llmzoo
from llmzoo.cli.reference_docs import environment_arguments_table, environment_docs
from llmzoo.evaluation.evaluate import FEW_TASKS

_MOST_LINES = 40  # of an answer in a transcript
ANIMATED = {*llmzoo.list_envs("games"), *llmzoo.list_envs("building")}  # docs/boards.py draws them

_USE = """## Use it

```python
import llmzoo

env = llmzoo.make({arguments})
expert = llmzoo.scripted_expert(env)  # plays every agent: replace it with your policy

env.reset(seed=0)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    env.step(None if terminated or truncated else expert(observation, agent))

print(info["success"], info["reward_components"])
```

```bash
llmzoo play {id} --policy expert{options}
```"""


def slug(id: str) -> str:
    return id.rpartition("_v")[0]


def page(id: str) -> str:
    offline = llmzoo.spec(id).offline
    use = _USE.format(
        id=id,
        arguments=", ".join([f'"{id}"', *(f'{k}="{v}"' for k, v in offline.items())]),
        options="".join(f" --{name} {value}" for name, value in offline.items()),
    )
    sections = [
        environment_docs(id),
        *_arguments(id),
        *_shipped_tasks(id),
        use,
        "## What an agent reads",
        _prompts(id),
        "## An episode",
        _episode(id),
        *_baselines(id),
    ]
    return "\n\n".join(sections) + "\n"


def _arguments(id: str) -> list[str]:
    """The accepted values and the default of each argument; the module's docstring explains some of them."""
    found = environment_arguments_table(id)
    return ["## Arguments", found] if found else []


def _shipped_tasks(id: str) -> list[str]:
    """The number of tasks available offline, unless an unlimited number is generated."""
    counts = {}
    for split in ("train", "test"):
        env = llmzoo.make(id, split=split, **llmzoo.spec(id).offline)
        env.reset(seed=0)
        counts[split] = env.infos[env.agent_selection]["tasks"]
    if counts["test"] is None:
        return []
    given = " and ".join(f'`{k}="{v}"`' for k, v in llmzoo.spec(id).offline.items())
    test = "1 task" if counts["test"] == 1 else f"{counts['test']} tasks"
    summary = f"the `train` split has {counts['train']} tasks and the `test` split {test}."
    summary = f"With {given} {summary}" if given else summary.capitalize()
    if counts["test"] < FEW_TASKS:
        summary += (
            f" Fewer than {FEW_TASKS} test tasks are too few to compare learners, because the 95% interval "
            "of an evaluation is wide. Use a source with more tasks."
        )
    return ["## Tasks", *_hub_splits(given), summary]


def _hub_splits(given: str) -> list[str]:
    """Explains the splits of a public set. ``given``: the arguments for its sample, if it has one."""
    if not given:
        return []
    return [
        'The tasks of `source="hub"` or of a file are split by a hash of each task\'s content: about one task in '
        'five is in the `test` split and the others are in `train`. `infos[agent]["tasks"]` and every '
        "evaluation say how many tasks the split in use has."
    ]


def _prompts(id: str) -> str:
    """The first observation of test task 0, in every prompt style."""
    shown = []
    for style in ("full", "terse") if llmzoo.spec(id).terse else ("full",):
        arguments = {"prompt": style} if style == "terse" else {}
        env = llmzoo.make(id, split="test", **{**llmzoo.spec(id).offline, **arguments})
        env.reset(options={"task": 0})
        shown.append(
            f'The first agent, test task 0, `prompt="{style}"`:\n\n'
            f"````text\n{env.observe(env.agent_selection).rstrip()}\n````"
        )
    return "\n\n".join(shown)


def _episode(id: str) -> str:
    """The experts' actions on test task 0, and their rewards."""
    env = llmzoo.make(id, split="test", **llmzoo.spec(id).offline)
    expert = llmzoo.scripted_expert(env)
    env.reset(options={"task": 0})
    lines: list[str] = []
    for agent in env.agent_iter():
        observation, _, terminated, truncated, info = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        answer = expert(observation, agent)
        env.step(answer)
        shown = answer.rstrip().splitlines()
        if len(shown) > _MOST_LINES:
            shown = [*shown[:_MOST_LINES], f"({len(shown) - _MOST_LINES} more lines)"]
        rewards = ", ".join(f"{a} {r:.2f}" for a, r in env.rewards.items() if r)
        lines += [f"[{agent}]", *shown, *([f"[rewards] {rewards}"] if rewards else []), ""]
    solved = "and solve it" if info["success"] else "and do not solve it"
    picture = f"![An episode played by noisy experts](../images/{slug(id)}.gif)\n\n" * (
        id in ANIMATED
    )
    body = "\n".join(lines).rstrip()
    return (
        f"{picture}The experts (`llmzoo.scripted_expert`) play test task 0 {solved}:\n\n"
        f"````text\n{body}\n````"
    )


def _baselines(id: str) -> list[str]:
    rows = table(id, read())
    if not rows:
        return []
    played = (
        "The first test tasks, up to 200."
        if split_of(id) == "test"
        else "All shipped tasks, of both splits."
    )
    return [
        "## Baselines",
        f"{played} Default arguments; success and returns with 95% intervals. The embedded model "
        "[`tiny`](../embedded_model.md) samples at temperature 1 and was trained on some of these environments; "
        "[`smollm2`](../models.md) samples at 0.7 with at most 128 new tokens, and plays fewer tasks. Its rows "
        "were measured before 28 November 2026, when many prompts were reworded.",
        rows,
        "`python docs/baselines.py` writes these rows. To play the same tasks with a model behind an endpoint:",
        f"```text\n{command(id)}\n```",
    ]
