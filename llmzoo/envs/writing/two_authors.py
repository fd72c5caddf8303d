"""Two authors of two parts of one text: the environment of every id of this family.

In a round both answers are parsed, and :mod:`.scoring` puts them through its stages and compares them
with the source. Every agent is paid the difference to the round before. If an answer is malformed,
only the start is paid, for the readable rest of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv
from llmzoo.envs.sources import PublicSet
from llmzoo.envs.tasks import describe_task
from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.envs.writing import players, wording
from llmzoo.envs.writing.grounding import GroundingStandard, Source, measure_source
from llmzoo.envs.writing.scoring import MAXIMUM, PARTS, Judgement, StructureThresholds, judge
from llmzoo.envs.writing.tasks import WritingTask, canonical
from llmzoo.envs.writing.wording import DELIMITER, Wording
from llmzoo.errors import NoSolutionError

AUTHOR = "author_0"  # writes both parts alone


@dataclass(frozen=True, slots=True)
class WritingState:
    """The state of an episode: the task and its measured source, each agent's last text and the error
    in it, the judgement on the last round (None before the first), and each part of the reward paid
    so far."""

    task: WritingTask
    source: Source
    last: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    judgement: Judgement | None = None
    rewards: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))


class TwoAuthors(TextEnv[WritingState]):
    """Two authors of one text, or one author of both parts.

    A subclass names its agents, its thresholds, its words and its ``public_set``.

    Parameters
    ----------
    reward: ``"grounded"`` (a start, and structure times faithfulness) or ``"structural"`` (as
        published).
    """

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "team_components": [*PARTS],
        "team_and_local": False,
    }
    authors: ClassVar[tuple[str, str]]
    public_set: PublicSet[WritingTask]
    structure_thresholds: ClassVar[StructureThresholds]
    grounding_standard: ClassVar[GroundingStandard]
    wording: ClassVar[Wording]

    def __init__(
        self,
        *,
        num_agents: int = 2,
        max_turns: int = 1,
        reward: Literal["grounded", "structural"] = "grounded",
        prompt: Literal["full"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        source: str = "auto",
        on_bad_record: Literal["error", "skip"] = "error",
        render_mode: str | None = None,
    ):
        check_choice("num_agents", num_agents, (1, 2))
        super().__init__(
            list(self.authors) if num_agents == 2 else [AUTHOR],
            simultaneous=True,
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.reward = reward
        self.tasks = self.public_set.load(source, on_bad_record).task_list(canonical, split)
        self.fallback = self.tasks.fallback

    # Implementation of TextEnv

    def reset_task(self, rng: random.Random, task: int | str | None) -> WritingState:
        chosen = self.tasks.sample(rng) if task is None else self.tasks[task]
        bare = replace(chosen, title="", text="")
        every = (
            wording.task_prompt(self.wording, self.structure_thresholds, bare, author)
            for author in (None, 0, 1)
        )
        source = measure_source(
            chosen.title, chosen.text, self.grounding_standard, "\n".join(every)
        )
        return WritingState(chosen, source)

    def task_info(self) -> Mapping[str, Any]:
        best = self.team_weight * MAXIMUM
        about = describe_task(self.tasks, canonical(self.episode.task), self.episode.task)
        return {**about, "fallback": self.fallback, "best_return": best}

    def apply(
        self, state: WritingState, actions: Mapping[str, str]
    ) -> tuple[WritingState, Outcome]:
        parts: list[str] = []
        errors: dict[str, str] = {}
        for agent in self.possible_agents:
            read, error = self._parse_answer(actions[agent])
            parts += read
            if error:
                errors[agent] = f"malformed: {error}"
        first, second = parts
        judgement = judge(
            first,
            second,
            state.source,
            self.structure_thresholds,
            self.grounding_standard,
            read=not errors,
        )
        if judgement.read and judgement.structure.failed:
            stage = judgement.structure.failed
            errors = dict.fromkeys(self.possible_agents, f"failed at the stage {stage!r}")
        worth = judgement.worth(self.reward)
        paid = {name: worth[name] - state.rewards[name] for name in PARTS}
        last = {
            agent: truncate(replace_surrogates(text), wording.MAX_OWN_CHARS)
            for agent, text in actions.items()
        }
        state = replace(state, last=last, errors=errors, judgement=judgement, rewards=worth)
        solved = judgement.success
        return state, Outcome(team=paid, done=solved, errors=errors, success=solved)

    def observation(self, state: WritingState, agent: str) -> str:
        author = None if agent == AUTHOR else self.authors.index(agent)
        lines = [
            wording.task_prompt(self.wording, self.structure_thresholds, state.task, author),
            "",
        ]
        if state.judgement is not None:
            turn = min(self.turn + 1, self.max_turns)
            if not state.judgement.read:
                others = [f"{author_name}: {error}" for author_name, error in state.errors.items()]
                feedback = state.errors.get(agent) or f"no stage was paid ({'; '.join(others)})"
            else:
                feedback = wording.feedback_text(
                    self.wording, self.structure_thresholds, state.judgement, author
                )
            lines += [
                wording.revision_prompt(turn, self.max_turns, state.last[agent], feedback),
                "",
            ]
        return "\n".join([*lines, "Your answer:"])

    def expert(self, agent: str) -> str:
        return self._format_answer(agent, self._reference_text)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        task = self.episode.task
        return self._format_answer(
            agent,
            lambda part: players.noisy_expert_part(task, part, self.structure_thresholds, rng),
        )

    # A round

    def _parse_answer(self, text: str) -> tuple[list[str], str | None]:
        """The parts of an answer that can be read ("" for others), and the error in it."""
        two = len(self.possible_agents) == 2
        if len(text) > MAX_ACTION_CHARS:
            error = f"{len(text)} characters; at most {MAX_ACTION_CHARS} are read"
            return ([""] if two else ["", ""]), error
        parts, wrong = ([text], None) if two else _split_at_delimiter(text)
        parts = [part.strip() for part in parts]
        return parts, wrong or (None if all(parts) else "a part is empty")

    def _format_answer(self, agent: str, author: Callable[[int], str]) -> str:
        """The agent's answer; ``author`` writes each part."""
        if agent == AUTHOR:
            return f"{author(0)}\n{DELIMITER}\n{author(1)}"
        return author(self.authors.index(agent))

    def _reference_text(self, part: int) -> str:
        text = self.episode.task.parts[part]
        if text is None:
            name, _ = self.wording.parts[part]
            raise NoSolutionError(f"{self.metadata['name']}: this task comes without {name}")
        return text


def _split_at_delimiter(text: str) -> tuple[list[str], str | None]:
    """The text before and after the first delimiter line, and an error unless there is just one."""
    lines = text.split("\n")
    delimiters = [number for number, line in enumerate(lines) if line.strip() == DELIMITER]
    end = delimiters[0] if delimiters else len(lines)
    wrong = f"{len(delimiters)} lines are {DELIMITER} and nothing else; one must be"
    parts = ["\n".join(lines[:end]), "\n".join(lines[end + 1 :])]
    return parts, None if len(delimiters) == 1 else wrong
