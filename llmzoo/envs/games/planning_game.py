"""Planning games: a proposer's plan is simulated and shown to a planner, whose own plan is executed.

The two agents share a world (a grid, a level). Only the planner changes it, and it persists between
rounds. Rewards are potential differences with gamma 1, so returning to an earlier world earns
nothing:

* team: progress(world), from 0 at the start to 1 when solved; every agent receives its changes.
* local, per agent: 0.1 format + 0.1 legal + 0.8 progress(the world after this agent's own action).
  The reward is the change since the same agent's previous action. An episode's local rewards sum to
  the local potential of the last action, so idling earns nothing.

A malformed action scores 0 in all three components and leaves the world unchanged.

The proposer also gets the team reward of the planner's step. Its own action is simulated and rewarded
immediately by the same measure, so a learner can score it without continuing the episode
(``metadata["immediate_credit_agents"]``). The planner is rewarded at its own steps only.

With ``view="split"`` each agent sees one half of the cells (:mod:`llmzoo.envs.games.split_view`). The
proposer's whole action is a message to the planner; nothing is simulated. The planner's plan is parsed as
usual, and the proposer reads the planner's whole action before it writes again. Both receive the team
reward; an action that cannot be delivered or parsed costs ``UNDELIVERED_PENALTY``.

To add a game, subclass :class:`PlanningGame`, define six methods (`parse`, `execute`, `report`,
`progress`, `draw`, `rules`) and register it. A split view also needs `visible_half`, `split_report`,
`split_expert` and `split_noisy_expert`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from llmzoo.envs import messages
from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv
from llmzoo.envs.drawing import Board, BoardCell, parse_board
from llmzoo.envs.games.split_view import HIDDEN, HalfView
from llmzoo.envs.tasks import Tasks, describe_task
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError, NoScriptedPolicyError

Task = TypeVar("Task")
World = TypeVar("World")
Plan = TypeVar("Plan", bound=Sequence[Any])  # of moves or fills

FORMAT, LEGAL, QUALITY = 0.1, 0.1, 0.8  # weights of the local reward components
_NO_SCORES = 0.0, 0.0, 0.0
PROPOSER, PLANNER, ALONE = "proposer_0", "planner_1", "planner_0"

_ROLES = {
    PROPOSER: "You are the proposer. Write a plan. It is simulated and shown to the planner, who "
    "decides what is executed.",
    PLANNER: "You are the planner. Your answer is executed. A proposer has written a candidate "
    "plan, shown below with the result of its simulation. Answer with this plan or with a better one.",
    ALONE: "You are the planner. Your answer is executed.",
}


@dataclass(slots=True)  # not frozen: creating one at each step would take several times as long
class PlanResult(Generic[World]):
    """The result of a plan: the world after it, and whether every move or fill in it was legal.

    ``event``: further game-specific data for the reports.
    """

    world: World
    legal: bool
    event: Any = None


@dataclass(slots=True)
class PlanningState(Generic[Task, World]):
    """The state of an episode, replaced at each step and never modified, so that forks can share it.

    ``instructions``: for each agent its role, the rules and the form of an answer.
    ``ties``: in walking games, what the expert draws from among plans that are as good.
    ``scores``: each agent's weighted (format, legal, quality) scores after its last action.
    ``last_messages``: in the split view, each agent's last action.
    """

    task: Task
    world: World
    instructions: Mapping[str, str]
    ties: int = 0
    candidate: str | None = None  # the proposer's plan of this round, in normal form
    outcome: str | None = None  # the report of its simulation
    feedback: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    progress: float = 0.0
    last_messages: Mapping[str, str] = field(default_factory=dict)


class PlanningGame(TextEnv[PlanningState[Task, World]], Generic[Task, World, Plan]):
    """A planning game for one planner, or for a proposer and a planner.

    Parameters
    ----------
    tasks: the tasks of the split.
    num_agents: 2 (``proposer_0``, ``planner_1``) or 1 (``planner_0``).
    max_turns: the number of rounds; each agent acts once per round.
    prompt: ``"full"`` explains the task in words; ``"terse"`` gives the same information in few tokens;
        walking games also have ``"cells"`` (:mod:`llmzoo.envs.games.walking_game`).
    view: ``"full"``, or ``"split"``: each of two agents sees one half.
    message_chars: in the split view, the maximum number of characters of a message, and of the planner's
        action as the proposer is shown it.
    team_weight: weight of the team reward relative to the local one.
    """

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "render_modes": ["ansi", "human", "rgb_array"],
        "render_fps": 1,
        "delayed_reward_agents": [PROPOSER],
        "immediate_credit_agents": [PROPOSER],
    }
    terse_name: ClassVar[str]  # the game's name in terse prompts
    board_cells: ClassVar[Mapping[str, BoardCell]] = {}  # the board's cell for each symbol of draw
    split_note: ClassVar[str] = ""  # a sentence: what only one agent sees besides its half

    def __init__(
        self,
        tasks: Tasks[Task],
        *,
        num_agents: int = 2,
        max_turns: int = 4,
        prompt: str = "full",
        view: Literal["full", "split"] = "full",
        message_chars: int = messages.MESSAGE_CHARS,
        team_weight: float = 1.0,
        render_mode: str | None = None,
    ):
        check_choice("num_agents", num_agents, (1, 2))
        if view == "split" and num_agents != 2:
            raise ConfigError(
                "view='split' is for two agents, each with one half; got num_agents=1"
            )
        if view == "split" and prompt == "cells":
            raise ConfigError(
                "prompt='cells' lists the whole grid and cannot be combined with view='split'; "
                "use prompt='full' or 'terse'"
            )
        super().__init__(
            [PROPOSER, PLANNER] if num_agents == 2 else [ALONE],
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.tasks = tasks
        self.prompt_style = prompt
        self.view = view
        self.message_chars = messages.check_message_limit(message_chars)
        if view == "split":
            self.metadata["immediate_credit_agents"] = []

    # A game must define these

    def parse(self, state: PlanningState[Task, World], text: str) -> Plan:
        """Parse a plan from a text of at most 20,000 characters. Raises :class:`MalformedError`."""
        raise NotImplementedError

    def execute(self, task: Task, world: World, plan: Plan) -> PlanResult[World]:
        """The result of executing ``plan`` in ``world``."""
        raise NotImplementedError

    def report(self, task: Task, result: PlanResult[World]) -> str:
        """Describe the result in words, for the agent to read."""
        raise NotImplementedError

    def progress(self, task: Task, world: World) -> float:
        """Progress from 0 (no closer to the solution than at the start) to 1 (only if solved)."""
        raise NotImplementedError

    def draw(self, task: Task, world: World) -> str:
        """The world as lines of characters."""
        raise NotImplementedError

    def rules(self, task: Task) -> str:
        """The task, the symbols of :meth:`draw`, and the answer format unless :meth:`answer_form` gives it."""
        raise NotImplementedError

    # A game with a split view must define these

    def visible_half(self, state: PlanningState[Task, World], agent: str) -> str:
        """The half of the world that an agent sees, as text."""
        raise NotImplementedError

    def split_report(self, task: Task, result: PlanResult[World]) -> str:
        """Describe the result of the planner's plan, for the planner to read."""
        raise NotImplementedError

    def split_expert(self, message: str) -> str:
        """The expert planner's action after a message, from its own half and the message alone."""
        raise NotImplementedError

    def split_noisy_expert(self, message: str, rng: random.Random) -> str:
        """A noisy expert planner's action after a message."""
        raise NotImplementedError

    def full_expert(self) -> str:
        """The expert's action in the full view, for either agent."""
        raise NoScriptedPolicyError(f"{self.metadata['name']} has no scripted expert")

    def full_noisy_expert(self, rng: random.Random) -> str:
        """A noisy expert's action in the full view, for either agent."""
        raise NoScriptedPolicyError(f"{self.metadata['name']} has no scripted noisy expert")

    # A game may override these

    def answer_form(self, task: Task) -> str:
        """Instructions for writing a plan, if :meth:`rules` does not include them."""
        return ""

    def initial_world(self, task: Task) -> World:
        """The world at the start; by default the task itself."""
        return cast(World, task)

    def terse_report(self, task: Task, result: PlanResult[World]) -> str:
        """The report in few tokens; by default the same report."""
        return self.report(task, result)

    def format_plan(self, state: PlanningState[Task, World], plan: Plan) -> str:
        """A plan in normal form, as the planner is shown it; by default ``str(plan)``."""
        return str(plan)

    def format_world(self, task: Task, world: World) -> str:
        """The world as full prompts show it; by default :meth:`draw`."""
        return self.draw(task, world)

    def world_board(self, task: Task, world: World) -> Board:
        """The world as a board of cells; by default the symbols of :meth:`draw`."""
        return parse_board(self.draw(task, world), self.board_cells)

    def fingerprint(self, task: Task) -> str:
        """A text that identifies the task; its id in ``infos`` is a hash of it."""
        return repr(task)

    # Implementation of TextEnv

    def reset_task(self, rng: random.Random, task: int | str | None) -> PlanningState[Task, World]:
        chosen = self.tasks.sample(rng) if task is None else self.tasks[task]
        rules = "\n".join(filter(None, (self.rules(chosen), self.answer_form(chosen))))
        instructions = {a: f"{_ROLES[a]}\n\n{rules}\n\n" for a in self.possible_agents}
        return PlanningState(chosen, self.initial_world(chosen), instructions)

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, self.fingerprint(self.episode.task), self.episode.task)

    def apply(
        self, state: PlanningState[Task, World], actions: Mapping[str, str]
    ) -> tuple[PlanningState[Task, World], Outcome]:
        ((agent, text),) = actions.items()
        if self.view == "split":
            take_effect = self._deliver_message if agent == PROPOSER else self._execute_plan
            return take_effect(state, text)
        task, terse = state.task, self.prompt_style == "terse"
        error = None
        plan: Plan | None = None
        world, legal = state.world, False
        try:
            plan = self._read_plan(state, text)
        except MalformedError as malformed:
            report = "malformed" if terse else f"malformed answer: {malformed}"
            error = f"malformed: {malformed}"
        else:
            result = self.execute(task, world, plan)
            world, legal = result.world, result.legal
            report = self.terse_report(task, result) if terse else self.report(task, result)
            if not legal:
                error = f"illegal: {self.report(task, result)}"

        progress = self.progress(task, world)
        is_parsed = plan is not None
        score = FORMAT * is_parsed, LEGAL * legal, QUALITY * progress * is_parsed
        previous = state.scores.get(agent, _NO_SCORES)
        components = {
            "format": score[0] - previous[0],
            "legal": score[1] - previous[1],
            "quality": score[2] - previous[2],
        }
        scores = {**state.scores, agent: score}
        feedback = {**state.feedback, agent: report}
        local = {agent: components}
        errors = {agent: error} if error else {}

        candidate = simulation = None
        if agent == PROPOSER:
            candidate = None if plan is None else self.format_plan(state, plan)
            simulation, world, progress = report, state.world, state.progress
            outcome = Outcome(local=local, errors=errors)
        else:
            solved = progress == 1.0
            outcome = Outcome(progress - state.progress, local, solved, errors, solved)
        state = PlanningState(
            task,
            world,
            state.instructions,
            state.ties,
            candidate,
            simulation,
            feedback,
            scores,
            progress,
        )
        return state, outcome

    def _read_plan(self, state: PlanningState[Task, World], text: str) -> Plan:
        """:meth:`parse` for a text of any length. Raises :class:`MalformedError`."""
        if len(text) > MAX_ACTION_CHARS:
            raise MalformedError(f"answer longer than {MAX_ACTION_CHARS} characters")
        return self.parse(state, text)

    def _deliver_message(
        self, state: PlanningState[Task, World], text: str
    ) -> tuple[PlanningState[Task, World], Outcome]:
        """Deliver the proposer's message."""
        message, reason = messages.parse_message(text, self.message_chars)
        feedback = {PROPOSER: f"not delivered: {reason}"} if reason else {}
        feedback |= {a: report for a, report in state.feedback.items() if a == PLANNER}
        last_messages = {**state.last_messages, PROPOSER: message}
        state = replace(state, last_messages=last_messages, feedback=feedback)
        return state, messages.penalize_undelivered({PROPOSER: reason})

    def _execute_plan(
        self, state: PlanningState[Task, World], text: str
    ) -> tuple[PlanningState[Task, World], Outcome]:
        """Execute the planner's plan, and keep its action for the proposer to read."""
        last_messages = {**state.last_messages, PLANNER: text.strip()}
        try:
            plan = self._read_plan(state, text)
        except MalformedError as malformed:
            feedback = {**state.feedback, PLANNER: f"malformed answer: {malformed}"}
            return replace(state, last_messages=last_messages, feedback=feedback), Outcome(
                local={PLANNER: {"format": messages.UNDELIVERED_PENALTY}},
                errors={PLANNER: f"malformed: {malformed}"},
            )
        result = self.execute(state.task, state.world, plan)
        report = self.split_report(state.task, result)
        progress = self.progress(state.task, result.world)
        solved = progress == 1.0
        errors = {} if result.legal else {PLANNER: f"illegal: {report}"}
        outcome = Outcome(progress - state.progress, done=solved, errors=errors, success=solved)
        state = replace(
            state,
            world=result.world,
            last_messages=last_messages,
            feedback={**state.feedback, PLANNER: report},
            progress=progress,
        )
        return state, outcome

    def expert(self, agent: str) -> str:
        if self.view == "full":
            return self.full_expert()
        if agent == PROPOSER:
            return self.visible_half(self.episode, PROPOSER)
        return self.split_expert(self.episode.last_messages.get(PROPOSER, ""))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        if self.view == "full":
            return self.full_noisy_expert(rng)
        if agent == PROPOSER:
            return _corrupt_message(self.visible_half(self.episode, PROPOSER), rng)
        return self.split_noisy_expert(self.episode.last_messages.get(PROPOSER, ""), rng)

    def observation(self, state: PlanningState[Task, World], agent: str) -> str:
        if self.view == "split":
            return self._half_prompt(state, agent)
        if self.prompt_style == "terse":
            return self._terse_prompt(state, agent)
        return self._full_prompt(state, agent)

    def board(self) -> str:
        return self.draw(self.episode.task, self.episode.world)

    def picture(self) -> Board:
        return self.world_board(self.episode.task, self.episode.world)

    # Prompts

    def _half_prompt(self, state: PlanningState[Task, World], agent: str) -> str:
        view = HalfView(
            planner=agent == PLANNER,
            rules=f"{self.rules(state.task)} {HIDDEN}{self.split_note}",
            answer_form=self.answer_form(state.task),
            visible_half=self.visible_half(state, agent),
            number=self._round_number(),
            rounds=self.max_turns,
            message=state.last_messages.get(PROPOSER if agent == PLANNER else PLANNER),
            feedback=state.feedback.get(agent),
            limit=self.message_chars,
        )
        return view.terse(self.terse_name) if self.prompt_style == "terse" else view.full()

    def _full_prompt(self, state: PlanningState[Task, World], agent: str) -> str:
        text = (
            f"{state.instructions[agent]}Round {self._round_number()} of {self.max_turns}. "
            f"The current state:\n\n{self.format_world(state.task, state.world)}\n\n"
        )
        if agent == PLANNER and state.outcome is not None:
            candidate = "no plan could be read" if state.candidate is None else state.candidate
            text += f"Candidate plan:\n{candidate}\nIts simulation: {state.outcome}\n\n"
        if agent in state.feedback:
            text += f"Your last answer: {state.feedback[agent]}\n\n"
        return f"{text}Your answer:"

    def _terse_prompt(self, state: PlanningState[Task, World], agent: str) -> str:
        role = agent.partition("_")[0]
        drawn = self.draw(state.task, state.world)
        text = f"{self.terse_name} {role} {self._round_number()}/{self.max_turns}\n{drawn}\n"
        if agent == PLANNER and state.outcome is not None:
            text += f"candidate\n{state.candidate or 'none'}\n{state.outcome}\n"
        if agent in state.feedback:
            text += f"last {state.feedback[agent]}\n"
        return f"{text}answer\n"

    def _round_number(self) -> int:
        return min(self.turn + 1, self.max_turns)


def _corrupt_message(message: str, rng: random.Random) -> str:
    """Replace one to three symbols of a message by symbols from other positions in it."""
    symbols = list(message)
    positions = [position for position, symbol in enumerate(symbols) if symbol not in "?\n"]
    for _ in range(rng.randint(1, 3)):
        symbols[rng.choice(positions)] = symbols[rng.choice(positions)]
    return "".join(symbols)
