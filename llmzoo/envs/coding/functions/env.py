"""# Two writers of one program

A helper writes a function ``aux``; a main programmer, told that ``aux`` exists, writes the function
that was asked for and calls it. They write at the same time and do not see each other's code.

| | |
|---|---|
| id | `coop_functions_v0`; the same on public data sets: `humaneval_v0`, `coop_humaneval_v0`, `mbpp_v0` |
| agents | `helper_0` and `main_1` together; with `num_agents=1` `main_0` writes both functions; with more, `helper_0` writes `aux`, `helper_1` writes `aux_1`, ..., and the last agent is main |
| observation, action | text |
| rounds | at most `max_turns` (1) |
| success | the last round's program passes every test, public and hidden |

**Actions.** Python code; prose and code fences around it are ignored. Imports, top-level functions,
classes and constants are kept. Everything else (prints, example calls, a `__main__` block) is dropped,
and so are definitions of functions that another agent writes. The programs of all agents are merged
into one and run in the sandbox.

**Rewards.** All agents get the same team reward. It has two scales: `reward="unit"`, the default, with a
maximum of 1.0, and `reward="paper"`, with a maximum of 4.0. The components, and their weights in the paper
scale, are those of MAGRPO (arXiv 2508.04652). What the code contains is read from its syntax tree.

| component | unit | paper | condition |
|---|---|---|---|
| helper | 0.01 | 0.4 | `aux` is defined and returns something |
| main | 0.015 | 0.6 | the entry point is defined; in the unit scale this is worth a third, and using `aux` is worth the rest, even if no agent has defined `aux` |
| parses | 0.015 | 0.5 | the share of the agents whose program parses; an agent that began its function but whose program does not parse counts a quarter |
| tests | 0.384 | 1.0 | passed tests |
| calls | 0.192 | 0.5 | main uses `aux`; multiplied by passed tests |
| beyond | 0.384 | 1.0 | main uses `aux` and does work of its own (an operation, a branch, a loop or a call of another function; conversions such as `list(x)` do not count); multiplied by passed tests |
| ignored | -0.192 | -0.5 | main calls `aux` but never uses what it returns; multiplied by passed tests |

Only hidden tests count. In the paper scale "passed tests" is the share of them that pass. In that scale
a program that returns a constant earns 1.5 of 4 for its form alone, more than an honest attempt with a
mistake. The unit scale therefore gives little for form, and its "passed tests" is the square of the share
beyond what a constant passes: `((share - constant) / (1 - constant)) ** 2`, where `constant` is the largest
share of tests that expect the same value.

In the unit scale `aux` counts as used only if fewer tests pass when it returns None: a mention such as
`0 if aux else 1` does not count. With several helpers, the components helper, main, calls and ignored count
the share of the helpers that meet the condition. The reward of a round is the change since the previous round
(potential-based, gamma 1), so the return of an episode is the value of its last program, whatever the number
of rounds. `team_weight` multiplies all components. The episode ends early at the full reward.

**Feedback** between rounds comes with the agent's own last program, both cut to a fixed length. It never
comes from hidden tests:

| `feedback` | an agent reads |
|---|---|
| `"diagnostics"` | what is wrong with its program, how many public tests pass, and up to two that fail, with the value or error that they got |
| `"passed"` | how many public tests pass |
| `"plain"` | that it should improve its program |
| `"expert"` | the edits that another policy suggests: `reviewer(observation, agent) -> str`, for example an `llmzoo.policies.base.BoundPolicy`; by default a scripted reviewer, which suggests a signature for the helper and says whether main should call `aux`, use its result or do more work itself |

**Arguments.** `source`, `on_bad_record` ("error" or "skip": for the [file](../data.md#files-of-records) that replaces
a public data set), `split` ("train", "test", "all"), `num_agents`, `max_turns`, `feedback`, `reviewer`,
`reward` ("unit" or "paper"), `signature` (below), `prompt` ("full" or "terse"), `team_weight`,
`time_limit` (seconds for the public tests of a program, and for the hidden ones), `render_mode`.

**Signature.** With `signature="agreed"`, the default here, both agents read what `aux` takes and returns: the
field `helper` of a record, or else that it has the parameters of the entry point and does the main part of its
work. With `"free"`, the default on the public data sets and the setting of MAGRPO, they read only its name.

**Tasks.** The split is by content: a hash of entry point and statement.

* `source="sample"`: 64 problems written for this project. Each has two public tests, at least six
  hidden ones, and an agreed contract of `aux`, which both agents read because they cannot talk.
* `source="generator"`: an endless supply of small functions composed from tables of operations on
  numbers, ranges and words. The terse form is two lines such as `aux x times 3 plus 1` and
  `f a odd aux total minus 2`: a condition before `aux` filters items, one after it filters aux's values.
* `source="generator_easy"`: the same, but `f` takes one number instead of several items:
  `aux x times 3 plus 1` and `f x aux minus 2`. There are about 5,700 of them.
* `"auto"`, the default, is `"sample"` with full prompts and `"generator"` with terse ones.

**The scripted expert** plays the reference solution.

**Version history.** v0: first version. Since then the components calls, beyond and ignored are multiplied
by passed tests, tests that agents are shown do not count, the unit scale has its own weights instead of a
quarter of the paper's, success requires every test, and an entry point that does not use `aux` earns less
for its form. Returns from before and after these changes are not comparable. Prompts for chat models were
reworded in November 2026.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import make_env_fns
from llmzoo.envs.coding.functions import generator
from llmzoo.envs.coding.functions.tasks import SAMPLES, FunctionTask, canonical
from llmzoo.envs.coding.functions.writers import TwoWriters
from llmzoo.envs.sources import read_shipped_records
from llmzoo.envs.tasks import TaskList, Tasks, generate_tasks

SOURCES = ("auto", "sample", "generator", "generator_easy")


class CoopFunctions(TwoWriters):
    """Two writers on the shipped problems or on generated ones."""

    metadata: dict[str, Any] = {**TwoWriters.metadata, "name": "coop_functions_v0"}
    default_signature = "agreed"

    def find_tasks(self, source: str, split: str, on_bad_record: str) -> Tasks[FunctionTask]:
        check_choice("source", source, SOURCES)
        if source == "auto":
            source = "generator" if self.prompt_style == "terse" else "sample"
        if source == "sample":
            return _load_shipped(split)
        easy = source == "generator_easy"
        name = f"small composed functions{', easy' if easy else ''}"
        return generate_tasks(generator.generate_task, canonical, split=split, name=name, easy=easy)


@lru_cache(maxsize=8)
def _load_shipped(split: str) -> Tasks[FunctionTask]:
    tasks = [
        FunctionTask(**{**r, "public": tuple(r["public"]), "solution": tuple(r["solution"])})
        for r in read_shipped_records(SAMPLES / "coop_functions.jsonl")
    ]
    names = [task.name for task in tasks]
    return TaskList(tasks, canonical, split=split, source="sample", names=names)


raw_env = CoopFunctions
env, parallel_env = make_env_fns(CoopFunctions)
