"""# Propose

Self-play of a proposer and a solver. The proposer sets a puzzle out of given numbers. The solver answers it
several times, each time without its other answers. The solver is paid for right answers, and the proposer for a
puzzle that some of the answers solve and some do not.

| | |
|---|---|
| id | `propose_v0` |
| agents | `proposer_0`, then `solver_1` `attempts` times; with `num_agents=1`: `solver_0` once, with a puzzle of the task |
| observation, action | text |
| rounds | 1 |
| success | at least half of the solver's answers are right |

**Puzzles.** `kind="sum"`: a sum of some of the numbers, each at most once, with + - * and parentheses; the solver
works it out. `kind="countdown"`: some of the numbers and a target; the solver writes a sum that makes the target
from exactly these numbers.

**Actions.** Only the last line of a text counts, after `Puzzle:` or `Answer:` if it begins so. The proposer writes
`12 - 3 * (4 + 7)`, or `3 4 12 = 36` in countdown. The solver writes a whole number, or a sum in countdown.

**Rewards**

| part | paid to | worth |
|---|---|---|
| form | `proposer_0` | 0.1 for a puzzle that the rules allow |
| difficulty | `proposer_0` | by the share of right answers; 0 if the puzzle is not allowed |
| form | `solver_1` | 0.1 / `attempts` for each answer that can be read |
| right | `solver_1` | 1 / `attempts` for each right answer |

With s of n answers right, `difficulty` is worth:

| `difficulty` | worth | on average, for a chance p of each answer | source |
|---|---|---|---|
| `"absolute_zero"` | 1 - s/n, and 0 if s is 0 or n | (1 - p) - (1 - p)^n | [arXiv 2505.03335](https://arxiv.org/abs/2505.03335) |
| `"r_zero"` | 1 - \\|2 s/n - 1\\| | at most 1 - \\|2p - 1\\| | [arXiv 2508.05004](https://arxiv.org/abs/2508.05004) |
| `"pairs"` | 2 s (n - s) / (n (n - 1)) | 2 p (1 - p) | [arXiv 2408.15099](https://arxiv.org/abs/2408.15099) |

The papers write p for the share of a few sampled answers. Their functions are not linear, so what they pay on
average depends on n. Here that is part of the game: the n answers are moves of the episode, and the reward is a
function of them. Whoever plays the episode, or a copy of it, samples this reward without bias. `"pairs"` has the
same mean for every n.

**What is refused.** A refused proposal ends the episode and pays nobody. The error says why:

- It cannot be read, has other characters, or is longer than 100 characters.
- It uses a number that is not given, a number twice, another sign, or fewer than two numbers.
- Sums: an operation with 0, a multiplication by 1, or a result on the way beyond 9999. Such a part is trivial or huge.
- Countdown: the target is not from 1 to 9999, or cannot be made. A search over all sums of the numbers decides.
- It equals an earlier puzzle of the task, up to the order and the grouping of terms and factors.

**Why cheating does not pay.**

- The answer is worked out from the puzzle. The proposer writes none, and no text of a model is ever run.
- Every allowed puzzle has an answer. In countdown every sum that makes the target is right. So none is
  unsolvable or ambiguous, and a hard puzzle is hard by its arithmetic.
- The solver reads the puzzle as this module writes it, and nothing else of the proposer's text. It reads neither
  its other answers nor how many there were.
- A solver that fails on purpose loses what it is paid, and a proposer gains nothing if all answers fail. Under a
  group's baseline the solver's answers are compared with each other only, so helping the proposer has no credit.
- Each task has numbers of its own, and earlier puzzles of a task are refused. So no single puzzle serves all tasks.

**Credit.** A proposal is worth what several answers to it come to. `metadata["attempts"]` declares them, and tree
rollouts take them as the solver's group ([details](../concepts.md#attempts)): with a learner on joint trees and
`expand: null`, K proposals form the proposer's group, each is paid by its own n answers, and these n answers are one
group of the solver for each proposal. No other answers are sampled.

**Arguments.** `kind` ("sum" or "countdown"), `numbers` (4; 3 to 6, in countdown to 5), `most` (20; 9 to 99; the largest
number, the smallest is 2), `signs` ("+-*"; + or - must be among them), `attempts` (4; 2 to 16), `difficulty`
("absolute_zero", "r_zero", "pairs"), `earlier` (1; 0 to 3), `num_agents` (2 or 1), `prompt` ("full" or "terse"), `split`
("train", "test", "all"), `render_mode`. With one agent, `attempts` and `difficulty` mean nothing.

**Tasks.** The numbers of a task are drawn at random, and the split is by them. The puzzle of a lone solver uses all
numbers of its task, and so no proposal in a training task is a puzzle of a held-out one. `num_agents=1` is therefore a
test of what the solver has learned: puzzles that nobody proposed.

**The scripted expert** solver is always right. The expert proposer knows the sloppy solver, who gets a + wrong in 10%
of the cases, a - in 20% and a * in 40%: it sets the puzzle that is worth most against this solver. Against the expert
solver no puzzle is worth more than its form. The noisy experts are the sloppy solver, and a proposer who sets a random
allowed puzzle.

**Greedy answers** are all the same, so every puzzle is then solved by all or by none, and has no difficulty. Evaluate
with sampled answers.

**Learned by the embedded model.** `tiny` knows nothing of this game. `configs/environments/proposing.yaml` (sums of two
or three numbers up to 9, seed 0, 85 seconds of one core) imitates the noisy experts first, and then plays itself for 40
iterations of `magrpo`. On all 56 tasks, sampled, the share of episodes in which at least half of the answers are
right goes from 0.0% [0.0%, 6.4%] after imitation to 39.3% [27.6%, 52.4%], the proposer's return from 0.14 to 0.33
and the solver's from 0.07 to 0.41. The pair learns to set what it can solve. The solver alone does not get better:
of the 56 sums of three numbers with `num_agents=1` it solves 23.2% [14.1%, 35.8%] after imitation and 16.1%
[8.7%, 27.8%] at the end. This is a single run, whose log was not kept.

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice, check_range
from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv, make_env_fns
from llmzoo.envs.proposing import players, prompts
from llmzoo.envs.proposing.difficulty import DIFFICULTIES
from llmzoo.envs.proposing.expressions import SIGNS
from llmzoo.envs.proposing.puzzles import KINDS, SLIPS, ProposalRefused, Puzzle
from llmzoo.envs.proposing.tasks import ProposeTask, canonical, make_tasks
from llmzoo.envs.tasks import describe_task
from llmzoo.envs.text import MalformedError, content_lines
from llmzoo.errors import ConfigError

FORM, RIGHT = 0.1, 1.0
PROPOSER = "proposer_0"
_LABEL = re.compile(r"(?:puzzle|answer)\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProposeState:
    """The state of an episode. ``right``, ``given``: answers to the puzzle so far."""

    task: ProposeTask
    puzzle: Puzzle | None = None
    right: int = 0
    given: int = 0


class Propose(TextEnv[ProposeState]):
    """A proposer who sets a puzzle, and a solver who answers it several times."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "propose_v0",
        "team_components": [],
        "team_and_local": False,
    }

    def __init__(
        self,
        *,
        kind: Literal["sum", "countdown"] = "sum",
        numbers: int = 4,
        most: int = 20,
        signs: str = SIGNS,
        attempts: int = 4,
        difficulty: Literal["absolute_zero", "r_zero", "pairs"] = "absolute_zero",
        earlier: int = 1,
        num_agents: int = 2,
        prompt: Literal["full", "terse"] = "full",
        split: str = "train",
        render_mode: str | None = None,
    ):
        check_range("numbers", numbers, 3, 5 if kind == "countdown" else 6)
        check_range("most", most, 9, 99)
        check_range("attempts", attempts, 2, 16)
        check_range("earlier", earlier, 0, 3)
        check_choice("num_agents", num_agents, (1, 2))
        signs = "".join(sorted(set(signs), key=SIGNS.find)) if isinstance(signs, str) else ""
        if not set(signs) <= set(SIGNS) or signs in ("", "*"):
            raise ConfigError("signs are some of + - *, with + or - among them")
        super().__init__(
            [PROPOSER, "solver_1"] if num_agents == 2 else ["solver_0"], render_mode=render_mode
        )
        self.kind = kind
        self.difficulty = difficulty
        self.attempts = attempts if num_agents == 2 else 1
        self.solver = self.possible_agents[-1]
        self.metadata["delayed_reward_agents"] = self.possible_agents[:-1]
        self.metadata["attempts"] = {self.solver: self.attempts}
        self.prompt_style = prompt
        self.tasks = make_tasks(kind, numbers, most, signs, earlier, split)

    # The walk of an episode

    def reset_task(self, rng: random.Random, task: int | str | None) -> ProposeState:
        drawn = self.tasks.sample(rng) if task is None else self.tasks[task]
        alone = len(self.possible_agents) == 1
        return ProposeState(drawn, drawn.alone if alone else None)

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, canonical(self.episode.task), self.episode.task)

    def apply(
        self, state: ProposeState, actions: Mapping[str, str]
    ) -> tuple[ProposeState, Outcome]:
        ((agent, text),) = actions.items()
        return self._propose(state, text) if agent == PROPOSER else self._answer(state, agent, text)

    def _propose(self, state: ProposeState, text: str) -> tuple[ProposeState, Outcome]:
        try:
            puzzle = KINDS[self.kind].read(_last_line(text), state.task.rules)
            if puzzle.key in [before.key for before in state.task.earlier]:
                raise ProposalRefused("it was set before")
        except MalformedError as reason:
            what = "refused" if isinstance(reason, ProposalRefused) else "malformed"
            return state, Outcome(done=True, errors={PROPOSER: f"{what}: {reason}"})
        return replace(state, puzzle=puzzle), Outcome(local={PROPOSER: {"form": FORM}})

    def _answer(self, state: ProposeState, agent: str, text: str) -> tuple[ProposeState, Outcome]:
        assert state.puzzle is not None
        local, errors = {}, {}
        right = False
        try:
            right = state.puzzle.is_solved_by(_last_line(text))
            local[agent] = {"form": FORM / self.attempts, "right": RIGHT * right / self.attempts}
            if not right:
                errors[agent] = "wrong: not a solution of the puzzle"
        except MalformedError as reason:
            errors[agent] = f"malformed: {reason}"
        state = replace(state, right=state.right + right, given=state.given + 1)
        done = state.given == self.attempts
        if done and agent != self.possible_agents[0]:
            worth = DIFFICULTIES[self.difficulty](state.right, self.attempts)
            local[PROPOSER] = {"difficulty": worth}
        success = done and 2 * state.right >= self.attempts
        return state, Outcome(
            local=local, done=done, errors=errors, success=success, keeps_turn=not done
        )

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """``right``: how many of the solver's answers are right."""
        return {**super().final_info(agent), "right": self.episode.right}

    # What the agents read

    def observation(self, state: ProposeState, agent: str) -> str:
        terse = self.prompt_style == "terse"
        if agent != PROPOSER:
            return prompts.solver_prompt(
                agent, self.kind, state.task.rules, state.puzzle, terse=terse
            )
        return prompts.proposer_prompt(
            self.kind, state.task, self.difficulty, self.attempts, terse=terse
        )

    def board(self) -> str:
        state = self.episode
        return "\n".join(
            [
                f"numbers: {' '.join(map(str, state.task.rules.numbers))}",
                f"puzzle: {state.puzzle.text() if state.puzzle else 'none'}",
                f"answers: {state.given}, right: {state.right}",
            ]
        )

    # Scripted players

    def expert(self, agent: str) -> str:
        """The puzzle that is worth most against the sloppy solver; the right answer."""
        state = self.episode
        if agent == PROPOSER:
            settings = (self.difficulty, self.attempts, SLIPS)
            return self._match_prompt_spacing(
                players.best_proposal(self.kind, state.task, *settings).text()
            )
        return self._match_prompt_spacing(state.puzzle.solution()) if state.puzzle else ""

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """A random allowed puzzle; an answer with a slip now and then, another at each attempt."""
        state = self.episode
        if agent == PROPOSER:
            return self._match_prompt_spacing(
                players.sloppy_proposal(self.kind, state.task, rng).text()
            )
        if state.puzzle is None:
            return ""
        own = random.Random(f"{rng.random()}, {state.given}")
        return self._match_prompt_spacing(players.sloppy_answer(state.puzzle, SLIPS, own))

    def _match_prompt_spacing(self, text: str) -> str:
        """An answer as prompts of this style write it: terse ones without spaces around signs."""
        return re.sub(r" *([-+*=]) *", r"\1", text) if self.prompt_style == "terse" else text


def _last_line(text: str) -> str:
    """The last line that says something, without its label and Markdown; raises :class:`MalformedError` without
    one."""
    lines = content_lines(text[: MAX_ACTION_CHARS + 1])
    last = lines[-1] if lines else ""
    if not last or len(text) > MAX_ACTION_CHARS:
        raise MalformedError("an empty answer" if not last else "a text that is too long")
    return last[label.end() :].strip() if (label := _LABEL.match(last)) else last


raw_env = Propose
env, parallel_env = make_env_fns(Propose)
