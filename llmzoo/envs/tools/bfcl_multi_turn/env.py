"""# Function calling in several turns

A user asks for one thing after the other, and the agents serve the user by calling functions of stateful APIs: a
file system, a car, a travel agency, a trading account and others. The planner says what to call, the caller
writes the calls, and both read what comes back. The dialogues have the form of the multi-turn part of the
Berkeley Function Calling Leaderboard (BFCL), and its rules decide.

| | |
|---|---|
| id | `bfcl_multi_turn_v0` |
| agents | `planner_0`, then `caller_1`; with `num_agents=1`: `caller_0`, as in BFCL |
| observation, action | text |
| rounds | as many as the turns need; at most `max_steps` (20) answers with calls in a turn of the user |
| success | BFCL's verdict on the whole dialogue |

**Actions.** The planner writes advice, of which the caller reads the first 1,500 characters. The caller writes a
list of calls, as Python writes them: `[cd(folder="temp"), ls(a=True)]`. They are run in this order, and their
responses are in the next observation. `[]` gives the word back to the user: the turn is checked, and the next
one begins. Arguments are literals and given by name; as in BFCL an argument without a name is dropped. Prose
and code fences around the list do not matter, and calls in JSON are read too (see `bfcl_v0`). Model text is
never evaluated. An answer without a readable list, or with more than 40 calls, is malformed and ends the turn
too, as in BFCL. Empty advice is malformed.

**When a dialogue is right.** After each turn whose ground truth has calls, three things must hold: the caller
made a call in the turn; the state of every API is as after the ground truth's calls; and each response of the
turn's ground truth is among the responses so far. Other calls do no harm if they leave the state as it is. The
first turn that is wrong ends the episode, and so does an answer with calls after `max_steps` of them.

**Rewards.** One team reward, paid at the end of each turn of the user.

| part | worth |
|---|---|
| response | 0.3 x the share of the ground truth's responses that were given, in equal parts for the checked turns |
| state | 0.3 x the same share, if the state is right |
| form | 0.1, in equal parts for the turns in which no answer was malformed |
| verdict | 0.3 at the end of a dialogue that is right |

Who makes no call earns only the form of turns that are not checked and of the first that is. The most is 1.

**Categories.** "base"; "miss_func": a function that a turn needs is only given in the next one, and nothing
can be done before; "miss_param": the user leaves out what only the next turn says; "long_context": states and
results hold much that does not matter. As in BFCL, calls in a turn in which nothing can be done are not
punished as such, but the state that they leave counts in the next turn.

**APIs.** `GorillaFileSystem`, `TradingBot`, `TravelAPI`, `VehicleControlAPI`, `MessageAPI`, `TwitterAPI`,
`TicketAPI` and `MathAPI` have the functions, results, error messages and drawn ids of BFCL's (bfcl-eval
2026.3.23); a test plays BFCL's 800 dialogues and 6,400 changed ones on both. The descriptions that the model
reads are ours, and so are two standard texts (the first messages of an inbox, the answer of a support desk).
They are simulated: no file or network is touched. Six things differ:

- a logarithm of a negative number, or of more than 1,000 digits, is an error;
- a root has at most 10,000 digits, and a power of many digits is refused before it is computed;
- a traveller's age is taken on 2024-09-01, not on the day of the run;
- lists that BFCL's calls share between dialogues (the mentions of a tweet, the cards of a long context) are new
  in each;
- a name that is no function is an error, where BFCL calls Python's own functions;
- a response is at most 400,000 characters long.

**Arguments.** `category` (None for all), `num_agents` (2 or 1), `max_steps` (20), `response_chars` (100,000: of a
response that is shown), `padding` (see below), `prompt` ("full"), `team_weight`, `split` ("train", "test",
"all"), `source`, `on_bad_record` ("error" or "skip": of a file or folder), `render_mode`.

**Tasks.** `source` is "auto", "hub" (`gorilla-llm/Berkeley-Function-Calling-Leaderboard`, Apache-2.0: its files
`BFCL_v3_multi_turn_*`), "sample" (34 dialogues written for this project), a folder with BFCL's files and its
folder `possible_answer` (such as the unpacked package bfcl-eval, version 4 of the set), or a
[file](../data.md#files-of-records) of records with `ground_truth`. The split is by the functions that a
dialogue was made from (`path`), so that its four variants stay together.

What a long context adds is in BFCL's file `long_context.py`, which is found in the unpacked package, or else is
the argument `padding`. Only its literals are read. Without it, dialogues of the category long_context are left
aside (the sample has a padding of its own).

```bash
pip download --no-deps bfcl-eval && unzip bfcl_eval-*.whl -d bfcl
llmzoo eval --env bfcl_multi_turn_v0 --source bfcl/bfcl_eval --split all --policy expert
```

Source: Patil et al., "The Berkeley Function Calling Leaderboard (BFCL): From Tool Use to Agentic
Evaluation of Large Language Models", ICML 2025.

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import Outcome, TextEnv, make_env_fns
from llmzoo.envs.sources import LoadedTasks
from llmzoo.envs.tasks import describe_task
from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.envs.tools.bfcl import call_format
from llmzoo.envs.tools.bfcl_multi_turn import checking, players, prompts, scoring, tasks
from llmzoo.envs.tools.bfcl_multi_turn.apis import padding as paddings
from llmzoo.envs.tools.bfcl_multi_turn.apis.base import Padding
from llmzoo.envs.tools.bfcl_multi_turn.execution import World, copy_world, execute
from llmzoo.envs.tools.bfcl_multi_turn.prompts import (
    ALONE,
    CALLER,
    PLANNER,
    DialogueEntry,
    make_entry,
)
from llmzoo.envs.tools.bfcl_multi_turn.tasks import Dialogue, ResponseCounts
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.errors import ConfigError


@dataclass(frozen=True, slots=True)
class DialogueState:
    """The state of an episode.

    world: the state of each API. given: the responses so far. turn: of the user, from 0. step: the answers
    with calls in this turn. readable: no answer of this turn was malformed.
    """

    dialogue: Dialogue
    world: World
    given: ResponseCounts = field(default_factory=dict)
    turn: int = 0
    step: int = 0
    readable: bool = True
    entries: tuple[DialogueEntry, ...] = ()
    advice: str = ""


class BFCLMultiTurn(TextEnv[DialogueState]):
    """Function calls in the turns of a user, for a planner and a caller, or for one agent."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "bfcl_multi_turn_v0",
        "team_components": [*scoring.REWARD_WEIGHTS],
        "team_and_local": False,
        "delayed_reward_agents": [PLANNER],
    }

    def __init__(
        self,
        *,
        category: Literal["base", "miss_func", "miss_param", "long_context"] | None = None,
        num_agents: int = 2,
        max_steps: int = 20,
        response_chars: int = 100_000,
        padding: str | None = None,
        prompt: Literal["full"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        source: str = "auto",
        on_bad_record: Literal["error", "skip"] = "error",
        render_mode: str | None = None,
    ):
        check_choice("num_agents", num_agents, (1, 2))
        for name, value in (("max_steps", max_steps), ("response_chars", response_chars)):
            if value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}")
        loaded = tasks.load(source, on_bad_record)
        self.padding = _find_padding(padding, loaded)
        loaded = _playable_dialogues(loaded, category, self.padding)
        self.tasks = loaded.task_list(tasks.canonical, split)
        self.fallback = self.tasks.fallback
        self.max_steps = max_steps
        self.response_chars = response_chars
        turns = max(len(dialogue.turns) for dialogue in loaded.tasks)
        super().__init__(
            [PLANNER, CALLER] if num_agents == 2 else [ALONE],
            max_turns=turns * (max_steps + 1),
            team_weight=team_weight,
            render_mode=render_mode,
        )

    def reset_task(self, rng: random.Random, task: int | str | None) -> DialogueState:
        dialogue = self.tasks.sample(rng) if task is None else self.tasks[task]
        return self._add_user_turn(DialogueState(dialogue, dialogue.start(self.padding)))

    def task_info(self) -> Mapping[str, Any]:
        dialogue = self.episode.dialogue
        return {
            **describe_task(self.tasks, tasks.content(dialogue), dialogue),
            "category": dialogue.category,
            "user_turns": len(dialogue.turns),
        }

    def apply(
        self, state: DialogueState, actions: Mapping[str, str]
    ) -> tuple[DialogueState, Outcome]:
        ((agent, text),) = actions.items()
        if agent == PLANNER:
            advice = replace_surrogates(truncate(text.strip(), prompts.MAX_ADVICE_CHARS))
            readable = state.readable and bool(advice)
            errors = {} if advice else {agent: "malformed: no advice"}
            return replace(state, advice=advice, readable=readable), Outcome(errors=errors)
        state = replace(state, advice="")
        try:
            calls = call_format.parse_calls(text, unnamed="drop")
        except call_format.NoCalls as reason:
            state = _add_entry(state, "Caller", text, prompts.MAX_ANSWER_SHOWN)
            state = _add_entry(state, "Error", f"{reason}. This ended your turn.", 1_000)
            state, outcome = self._end_turn(replace(state, readable=False))
            return state, outcome._replace(errors={agent: f"malformed: {reason}"})
        if not calls:
            if text.strip() != players.NO_CALLS:
                state = _add_entry(state, "Caller", text, prompts.MAX_ANSWER_SHOWN)
            return self._end_turn(state)
        if state.step == self.max_steps:
            wrong = f"more than {self.max_steps} answers with calls for one request"
            return state, Outcome(done=True, errors={agent: f"wrong: {wrong}"})
        return self._call(state, calls), Outcome()

    def observation(self, state: DialogueState, agent: str) -> str:
        dialogue = state.dialogue
        later = (names for turn, names in dialogue.held_out_functions.items() if turn > state.turn)
        return prompts.for_agent(
            agent,
            apis=dialogue.apis,
            hidden=frozenset(name for names in later for name in names),
            conversation=state.entries,
            advice=state.advice,
            left=self.max_steps - state.step,
        )

    def board(self) -> str:
        state = self.episode
        apis = ", ".join(state.dialogue.apis)
        return "\n".join([f"APIs: {apis}", *(f"{each.who}: {each.text}" for each in state.entries)])

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """How many turns of the user were right, and how many there are."""
        return {**super().final_info(agent), "turns_right": self.episode.turn + self.success}

    def expert(self, agent: str) -> str:
        state = self.episode
        calls = players.reference_calls(state.dialogue, state.turn, state.step)
        return (players.plan if agent == PLANNER else players.act)(calls, state.dialogue)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        state = self.episode
        calls = players.reference_calls(state.dialogue, state.turn, state.step)
        if agent == PLANNER:
            return players.sloppy_plan(calls, state.dialogue, rng)
        advice = None if agent == ALONE else state.advice
        return players.sloppy_act(calls, state.dialogue, rng, advice=advice)

    # The talk

    def _add_user_turn(self, state: DialogueState) -> DialogueState:
        """The state after the user has written what is next."""
        dialogue = state.dialogue
        text = dialogue.turns[state.turn]
        if new_functions := dialogue.held_out_functions.get(state.turn):
            text = f"{text} {prompts.NEW_FUNCTIONS.format(', '.join(new_functions))}".strip()
        state = _add_entry(state, "User", text, self.response_chars)
        return replace(state, step=0, readable=True)

    def _call(self, state: DialogueState, calls: tuple[ToolCall, ...]) -> DialogueState:
        """The state after the calls of an action."""
        world = copy_world(state.world)
        responses = execute(calls, world)
        state = replace(
            state,
            world=world,
            given=tasks.count_responses(responses, state.given),
            step=state.step + 1,
        )
        for call, response in zip(calls, responses, strict=True):
            written = call_format.format_calls((call,))[1:-1]
            state = _add_entry(state, "Call", written, self.response_chars)
            state = _add_entry(state, "Response", response, self.response_chars)
        return state

    def _end_turn(self, state: DialogueState) -> tuple[DialogueState, Outcome]:
        """Check the user's turn, and begin the next one unless it was wrong."""
        dialogue = state.dialogue
        verdict = None
        if dialogue.truths[state.turn]:
            truth = tasks.reference_turns(dialogue, self.padding)[state.turn]
            verdict = checking.check_turn(state.world, state.given, truth, silent=state.step == 0)
        last = state.turn == len(dialogue.turns) - 1
        rewards = scoring.turn_rewards(
            verdict,
            checked=sum(map(bool, dialogue.truths)),
            turns=len(dialogue.turns),
            readable=state.readable,
            last=last,
        )
        right = verdict is None or verdict.valid
        if right and not last:
            state = self._add_user_turn(replace(state, turn=state.turn + 1))
        return state, Outcome(team=rewards, done=last or not right, success=right and last)


def _add_entry(state: DialogueState, who: str, text: str, most: int) -> DialogueState:
    return replace(state, entries=(*state.entries, make_entry(who, text, most)))


def _find_padding(given: str | None, loaded: LoadedTasks[Dialogue]) -> Padding | None:
    """What a long context adds: the sample's own, or BFCL's; None if BFCL's is not there."""
    if given is not None:
        return paddings.load(given)
    if loaded.source == "sample":
        return paddings.make_sample_padding()
    if loaded.source == "hub":
        return None
    place = Path(loaded.source)
    found = paddings.find_near(place if place.is_dir() else place.parent)
    return None if found is None else paddings.load(str(found))


def _playable_dialogues(
    loaded: LoadedTasks[Dialogue], category: str | None, padding: Padding | None
) -> LoadedTasks[Dialogue]:
    """The dialogues of a category. Those of a long context are left aside without a padding; raises
    ``ConfigError`` if none remains."""
    if category is not None:
        loaded = loaded.filter_tasks(_is_of_category, category, asked=True)
    if padding is None:
        loaded = loaded.filter_tasks(_is_short, asked=False)
    if not loaded.tasks:
        why = f"{loaded.source} has no dialogue of category {category!r}"
        if loaded.left_out:
            why = (
                f"{loaded.source}: the category long_context needs BFCL's file long_context.py; give its path "
                "as padding, or the unpacked package bfcl-eval as source"
            )
        raise ConfigError(why)
    return loaded


def _is_of_category(dialogue: Dialogue, category: str) -> bool:
    return dialogue.category == category


def _is_short(dialogue: Dialogue) -> bool:
    return dialogue.category != "long_context"


raw_env = BFCLMultiTurn
env, parallel_env = make_env_fns(BFCLMultiTurn)
