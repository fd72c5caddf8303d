"""# Contest problems

A coder and a tester work on one contest problem: the coder writes a program, the tester writes
tests, at the same time. After each round the program is run on the tester's inputs, and both are
told where they differ.

| | |
|---|---|
| id | `contests_v0` |
| agents | `coder_0` and `tester_1`; with `num_agents=1`: `coder_0` |
| observation, action | text |
| rounds | at most `max_turns` (4), simultaneous; fewer when the two agree |
| success | the coder's last program passes every test, public and hidden; infos also have `hidden_success`, for the hidden ones |

**Actions.** The coder's: a Python program, fenced or not, that reads standard input and writes to
standard output; or a function, where the problem asks for one (a method of a class `Solution` will
do). The tester's: a JSON list of `{"input": ..., "output": ...}`, or `Input:` and `Output:` blocks.
A test counts if it has the right form, an output, at most 2,000 characters on each side, and an input
that repeats neither another test nor an example of the problem; the first `max_tests` such tests are
used. Inputs are compared as they are parsed (`03`, `+3` and full-width digits are 3). An input that
starts with an example, or has more than one word and stands in the statement, repeats an example: such
a test is ignored.

**The end.** The two agree when at least one test counts and the program passes all that do. Agreement
on something wrong ends the episode too, without success. A coder alone is told about the examples, and
ends the episode by passing them.

**Rewards** (potential-based, gamma 1: an episode's return is the worth of an agent's last answer).

| part | who | worth over an episode |
|---|---|---|
| team | both | the share of the hidden tests that the program passes |
| parses | coder | 0.1 if a program can be read; 0.025 where one is begun |
| runs | coder | 0.1 if it runs on the examples without a crash or a limit reached |
| tests | coder | 0.8 x the share of the hidden tests that it passes |
| valid | tester | 0.05 if at least one test counts |
| sound | tester | 0.05 x the share of its tests that a known solution passes |
| caught | tester | 0.9 x the same share x what these tests catch of the wrong programs |

**Wrong programs** come with a record, or are small changes of a known solution, made on its syntax
tree. Up to six of them count, all of which pass every example of the problem, so no example catches
one. If no such change exists, those count that the fewest tests catch; if there is none at all, every
right test counts as if it caught all. A test catches a program that ends with another output or an
exception, not one that runs too long. The reward is what the tests catch beyond the average of one
hidden test, as a share of what `max_tests` hidden tests can catch beyond it.

Without a known solution, the programs of this episode that passed every hidden test replace it: a test
is right if all of them pass it, and wrong programs are changes of the first. While there are none,
sound and caught are 0. If several outputs are right, a test is sound only if it expects the output of
the known solution.

**Judging.** Outputs are compared word by word, numbers with a point within 1e-6, and `20.0` counts
as `20`; values of functions likewise. Everything runs in the sandbox with `time_limit` seconds a run; when a program
has used up two runs, the rest of its tests count as failed, and one that used up its time on an
example is not tried any further. Infos name what kept a program from running on any example, and
what was left out of an answer. Feedback shows examples and the tester's tests, each cut to 300
characters, never a hidden test or the known solution.

**Split view.** With `view="split"` the task [needs two](../split_views.md). The tester reads the statement
without its examples, and the coder the examples alone, with the name of the function where one is asked for.
They answer in turn, the tester first. Its whole answer is a message; it writes no tests. The coder writes the
program and is told how it does on the examples; the tester reads the first `message_chars` characters of that
answer. An episode ends early only with success. Both are paid the team components parses (0.1), runs (0.1) and tests
(0.8), which have the worth that they have for the coder above; a message that is empty or too long costs the
tester 0.05. In a file, no statement may show its examples.

**Arguments.** `num_agents`, `max_turns`, `max_tests` (5), `time_limit` (5 seconds), `prompt`
("full"), `view` ("full", or "split" for two agents), `message_chars` (400, at most 2000, of the split view),
`team_weight`, `split` ("train", "test", "all"), `source` ("auto": the problems written
for this project; or a file of their form), `on_bad_record` ("error" or "skip": of a
[file](../data.md#files-of-records)), `render_mode`.

**Tasks.** 59 problems (arithmetic, words, greedy choices, dynamic programming, graphs, simulation,
geometry on whole numbers, reading formats), eight of them functions, each with two examples and eight
or more hidden tests. A file holds JSON lines with `statement`, `public` and `hidden` (lists of `input`
and `output`), and if known `solution` and `wrong` (a list of wrong programs); a `function` problem
writes arguments as a JSON list and values as JSON. The split is by the words of the statement.

**Version history.** v0: first version. Since then the tester is paid for wrong programs that its
tests catch, success asks for the public tests too, and a program that is begun earns a little.
Returns of testers before and after do not compare. Prompts for chat models were reworded in
November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from llmzoo.envs.base import Outcome, make_env_fns
from llmzoo.envs.coding.contests import halves, players, tasks
from llmzoo.envs.coding.contests.coder_tester import CoderTester
from llmzoo.envs.coding.contests.prompts import CODER, TESTER, ContestState
from llmzoo.envs.coding.contests.tasks import Problem
from llmzoo.envs.messages import (
    MESSAGE_CHARS,
    NOT_DELIVERED,
    check_message_limit,
    parse_message,
    penalize_undelivered,
)
from llmzoo.envs.sources import ID_FIELDS, LoadedTasks, load_file
from llmzoo.envs.tasks import Tasks
from llmzoo.errors import ConfigError

_ID_FIELDS = (*ID_FIELDS, "name")


class Contests(CoderTester):
    """The problems written for this project."""

    metadata: dict[str, Any] = {**CoderTester.metadata, "name": "contests_v0"}

    def __init__(
        self,
        *,
        num_agents: int = 2,
        view: Literal["full", "split"] = "full",
        message_chars: int = MESSAGE_CHARS,
        **options: Any,
    ):
        if view == "split" and num_agents != 2:
            raise ConfigError(
                "view='split' is for two agents, each with one half; got num_agents=1"
            )
        self.view = view
        self.message_chars = check_message_limit(message_chars)
        super().__init__(num_agents=num_agents, **options)
        if view == "split":
            paid = {"team_components": [*halves.NOTHING], "delayed_reward_agents": [TESTER]}
            self.metadata.update(paid)

    def agents_and_order(self, num_agents: int) -> tuple[list[str], bool]:
        if self.view == "split":
            return [TESTER, CODER], False
        return super().agents_and_order(num_agents)

    def find_tasks(self, source: str, split: str, on_bad_record: str) -> Tasks[Problem]:
        if source in ("auto", "sample"):
            loaded = _load_shipped()
        else:
            loaded = load_file(source, tasks.parse_record, on_bad_record, id_fields=_ID_FIELDS)
        if self.view == "split" and (whole := [p for p in loaded.tasks if not halves.can_split(p)]):
            raise ConfigError(
                f"view='split' is for problems whose examples stand in 'public' and not in 'statement'; "
                f"{len(whole)} of {len(loaded.tasks)} problems of {source} are not so, such as "
                f"{whole[0].name or whole[0].statement[:60]!r}"
            )
        return loaded.task_list(tasks.canonical, split)

    # The split view

    def apply(
        self, state: ContestState, actions: Mapping[str, str]
    ) -> tuple[ContestState, Outcome]:
        if self.view == "full":
            return super().apply(state, actions)
        ((agent, text),) = actions.items()
        return (
            self._deliver_message(state, text)
            if agent == TESTER
            else self._score_program(state, text)
        )

    def _deliver_message(self, state: ContestState, text: str) -> tuple[ContestState, Outcome]:
        """Deliver the tester's message."""
        message, reason = parse_message(text, self.message_chars)
        answers = {**state.answers, TESTER: message or NOT_DELIVERED}
        notice = reason and f"Your last message was not delivered: {reason}."
        after = replace(state, answers=answers, notice=notice)
        return after, penalize_undelivered({TESTER: reason})

    def _score_program(self, state: ContestState, text: str) -> tuple[ContestState, Outcome]:
        """Judge the coder's program."""
        answers = {**state.answers, CODER: text}
        after = replace(state, answers=answers, errors={}, public=None, broke="", last_program=text)
        after = self._judge_program(after, text)
        paid = state.scores.get(CODER, halves.NOTHING)
        team = {name: worth - paid[name] for name, worth in after.scores[CODER].items()}
        errors, solved = self._errors(after, text), after.solved
        return after, Outcome(team, done=solved, errors=errors, success=solved)

    def observation(self, state: ContestState, agent: str) -> str:
        if self.view == "full":
            return super().observation(state, agent)
        half = halves.tester_prompt if agent == TESTER else halves.coder_prompt
        return half(state, self.heading(), self.message_chars)

    def expert(self, agent: str) -> str:
        if self.view == "full":
            return super().expert(agent)
        problem, answers = self.episode.problem, self.episode.answers
        if agent == TESTER:
            return players.expert_message(problem, self.limits, self.message_chars, self.turn)
        heard, last_program = answers.get(TESTER, ""), self.episode.last_program
        return players.assemble_program(problem, heard, last_program, self.turn)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        if self.view == "full":
            return super().noisy_expert(agent, rng)
        problem, answers = self.episode.problem, self.episode.answers
        if agent == TESTER:
            return players.noisy_message(problem, self.message_chars, self.turn, rng)
        heard, last_program = answers.get(TESTER, ""), self.episode.last_program
        return players.noisy_assembly(problem, heard, last_program, self.turn, rng)


@cache
def _load_shipped() -> LoadedTasks[Problem]:
    problems = tasks.load_shipped()
    return LoadedTasks(problems, "shipped", names=tuple(problem.name for problem in problems))


raw_env = Contests
env, parallel_env = make_env_fns(Contests)
