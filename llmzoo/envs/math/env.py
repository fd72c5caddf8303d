"""# Mathematics

An endless supply of problems with exact answers. A reasoner thinks and writes its answer in a box; a
tool writes a program that prints its answer. They answer at the same time, read each other's answers
and correct themselves until they agree.

| | |
|---|---|
| id | `math_v0`; the same agents on public sets: `gsm8k_v0`, `math500_v0`, `aime24_v0`, `aime25_v0`, `olympiadbench_v0` |
| agents | `reasoner_0` and `tool_1` together; with `num_agents=1`: `reasoner_0`; or any number of `reasoners` and `tools`, and an `aggregator`, numbered consecutively |
| observation, action | text |
| rounds | at most `max_turns` (4); the episode ends when all answers agree, right or wrong. A lone reasoner ends it by giving the same answer twice |
| success | the reasoner's last answer is right; with several reasoners, the answer that most of them give (the earliest agent breaks ties); without one, what the tools' programs print; with an aggregator, its answer |

**Actions.** The reasoner and the aggregator: any text with the answer in `\\boxed{}`; the last box
counts. The tool: a Python program, fenced or not. The sandbox runs it without input, and the last
line that it prints is its answer. With an aggregator the agents act in turn. The aggregator acts last and
reads the answers of the same round; the other agents do not.

**Rewards.** Each part is paid as the difference from its value in the round before, so an episode's
return is the value of the last answers.

| part | paid to | worth |
|---|---|---|
| team | all | 1 for a success |
| format | reasoners, aggregator | 0.2 for an answer in a box; else 0.1 for something in a box, 0.05 for a number |
| parses, runs | tools | 0.05 for a program that parses, 0.05 for one that comes to its end |
| prints | tools | 0.1 if its last line is an answer, right or wrong; 0.05 for any other line |
| right | each | 0.8 for its own answer being right |

Answers are equal when their values are exactly equal: `0.5`, `1/2` and `50%`, `\\{1, 4\\}` and `{4, 1}`,
`(2, \\infty)` and `x > 2`; `0.333333` is not `1/3`. A name, as in `x = 5`, and a word after
a number, such as its unit, are ignored. An answer must be worked out: an expression such as `37 + 48`
or a fraction such as `56/8`, which is not in lowest terms, is no answer and earns half of the format
part. The next observation says why a text has no answer. Several numbers are a wrong answer to a
question that asks for one. (The public sets read answers more freely:
see `llmzoo.envs.math.answers`.)

**Feedback.** After a round each agent reads its own last answer and those of the others, or why there
was none, and never the right answer. `feedback` sets what an agent learns from the answer key, for one
agent and for several alike:

- `"none"` (default): nothing. The episode ends when all answers agree, as above.
- `"verdict"`: each agent reads whether its own last answer is right, and the episode ends with a
  success. Agents may guess until they are right, so the success rate is a pass@`max_turns`, not a pass@1.

`infos` and evaluations report the setting.

**Split view.** With `view="split"` a word problem [needs two](../split_views.md). The two agents read the same
words, and each reads every other number. Each reads the first `message_chars` characters of the other's last
answer, instead of what its box holds or its program prints. Answers are read and paid as ever, so the first
round is for messages: an answer without a box or a program costs nothing that the last one does not give
back.

**Arguments.** `family`, `level`, `num_agents` (1 or 2) or `reasoners`, `tools` and `aggregator`,
`max_turns`, `feedback` ("none" or "verdict"), `view` ("full"; "split", for two agents and
`family="word_problems"`), `message_chars` (400, at most 2000, of the split view), `prompt` ("full" or
"terse"), `time_limit` (seconds for a program), `team_weight`, `split` ("train", "test", "all"),
`source` ("generator"), `render_mode`.

**Tasks.** Drawn by `family`, of each `level` ("easy", "medium", "hard"); None draws from all.

| family | from | to |
|---|---|---|
| arithmetic | one operation on integers up to 99 | fractions, decimals, nested brackets |
| algebra | a x + b = c | quadratics, systems of three, quadratic inequalities |
| word_problems | stories of two events | discounts, work done together, mixtures |

Answers are integers, fractions in lowest terms, exact decimals, pairs, sets or intervals; the
question says which form is wanted. Each task has a program that computes its answer. The split is by
content and ignores the names and things in a story and the wording of a question. Questions that differ
only by a symmetry are in the same split: `37 + 48` and `48 + 37`, or equations in another order or
multiplied by a number.

**The scripted expert** writes the answer in a box, and the task's program.

**Version history.** v0: first version; a reasoner alone is no longer told that its answer is not
right (`feedback="verdict"` tells it); an attempt at an answer earns a little; a tool's program
earns half as much for ending as before, and the rest for printing; the families number_theory,
counting and multi_step are gone. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import make_env_fns
from llmzoo.envs.math import generator, players, prompts, split_view
from llmzoo.envs.math.prompts import role_of
from llmzoo.envs.math.reasoning_env import MathState, ReasoningEnv
from llmzoo.envs.math.tasks import MathTask, canonical
from llmzoo.envs.messages import MESSAGE_CHARS, check_message_limit, quote_message
from llmzoo.envs.tasks import Tasks, generate_tasks
from llmzoo.errors import ConfigError


class Math(ReasoningEnv):
    """Generated problems."""

    metadata: dict[str, Any] = {**ReasoningEnv.metadata, "name": "math_v0"}

    def __init__(
        self,
        *,
        family: str | None = None,
        level: Literal["easy", "medium", "hard"] | None = None,
        source: Literal["generator"] = "generator",
        split: str = "train",
        num_agents: int | None = None,
        reasoners: int | None = None,
        tools: int | None = None,
        aggregator: bool = False,
        max_turns: int = 4,
        feedback: Literal["none", "verdict"] = "none",
        view: Literal["full", "split"] = "full",
        message_chars: int = MESSAGE_CHARS,
        prompt: Literal["full", "terse"] = "full",
        time_limit: float = 5.0,
        team_weight: float = 1.0,
        render_mode: str | None = None,
    ):
        check_choice("family", family, (None, *generator.FAMILIES))
        self.view = view
        self.message_chars = check_message_limit(message_chars)
        self.family = family
        self.level = level
        super().__init__(
            source=source,
            split=split,
            num_agents=num_agents,
            reasoners=reasoners,
            tools=tools,
            aggregator=aggregator,
            max_turns=max_turns,
            feedback=feedback,
            prompt=prompt,
            time_limit=time_limit,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        if view == "split" and (len(self.possible_agents) != 2 or aggregator):
            raise ConfigError(
                "view='split' is for two agents, a reasoner among them, and no aggregator"
            )
        if view == "split" and (
            family != "word_problems" or "reasoner_0" not in self.possible_agents
        ):
            raise ConfigError("view='split' is for family='word_problems' and a reasoner")

    def find_tasks(self, source: str, split: str, on_bad_record: str) -> Tasks[MathTask]:
        return generate_tasks(
            generator.sample_task,
            canonical,
            split=split,
            name=f"mathematics, {self.family or 'all families'}, {self.level or 'all levels'}",
            family=self.family,
            level=self.level,
        )

    def observation(self, state: MathState, agent: str) -> str:
        if self.view == "full":
            return super().observation(state, agent)
        agents = self.possible_agents
        (other,) = (each for each in agents if each != agent)
        half = split_view.visible_half(self._text(state), agents.index(agent))
        own_answer = state.round_answers.get(agent)
        message = (
            quote_message(state.last_texts[other].strip(), self.message_chars)
            if other in state.last_texts
            else None
        )
        verdict = agent in state.correct_agents if self.feedback == "verdict" else None
        turn = min(self.turn + 1, self.max_turns)
        if self.prompt_style == "terse":
            heading = f"{turn}/{self.max_turns}"
            return prompts.terse_split(half, agent, own_answer, message, heading, verdict)
        rule = split_view.RULE.format(
            other=other, hidden=split_view.HIDDEN, limit=self.message_chars
        )
        heading = f"Round {turn} of {self.max_turns}."
        return prompts.full_split(half, agent, agents, own_answer, message, heading, rule, verdict)

    def expert(self, agent: str) -> str:
        if self.view == "full":
            return super().expert(agent)
        message = self._expert_message(agent)
        if agent not in self.episode.last_texts:
            return message
        task = self.episode.task
        if not self._knows(agent):
            index = self.possible_agents.index(agent)
            task = replace(
                task,
                answer=split_view.most_likely_answer(task, self.prompt_style, index),
                program="",
            )
        if role_of(agent) == "tool":
            return f"# {message}\n{players.tool_program(task)}"
        return f"{message}\n{players.reasoner_answer(task)}"

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        if self.view == "full":
            return super().noisy_expert(agent, rng)
        message = self._expert_message(agent)
        if agent not in self.episode.last_texts:
            return message.replace("1", rng.choice("1123"))
        if self._knows(agent):
            return super().noisy_expert(agent, rng)
        task = replace(self.episode.task, answer=str(rng.randint(2, 99)), program="")
        return (
            players.tool_program(task)
            if role_of(agent) == "tool"
            else players.reasoner_answer(task)
        )

    def _text(self, state: MathState) -> str:
        return split_view.problem_text(state.task, self.prompt_style)

    def _expert_message(self, agent: str) -> str:
        return split_view.expert_message(
            self._text(self.episode), self.possible_agents.index(agent)
        )

    def _knows(self, agent: str) -> bool:
        """Whether its half and the other agent's last message tell an agent the whole problem."""
        (message,) = (text for other, text in self.episode.last_texts.items() if other != agent)
        text, index = self._text(self.episode), self.possible_agents.index(agent)
        return split_view.join_halves(text, index, message[: self.message_chars]) == text


raw_env = Math
env, parallel_env = make_env_fns(Math)
