"""# Function calling

Two callers read the same request and the same descriptions of functions, and write the calls that
answer it: each writes a half, without seeing the other's. The requests have the form of the Berkeley
Function Calling Leaderboard.

| | |
|---|---|
| id | `bfcl_v0` |
| agents | `caller_0` and `caller_1`, together; with `num_agents=1`: `caller_0` |
| observation, action | text |
| rounds | at most `max_turns` (1) |
| success | the calls of all agents together are the right ones, no fewer and no more |

**Actions.** A list of calls, as Python writes them: `[f(a=1, b="x"), g(c=[2, 3])]`, or `[]` for
none. The calls are taken in the order of the request: `caller_0` writes the first half, rounded up,
and `caller_1` the others, which is nothing if there is one call. Arguments are literals, and each is
given by name. Prose and code fences around the list do not matter. Of several lists in prose the last one
counts; an answer that is only calls is read as a whole. Tool calls in JSON are accepted too
(`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, or a list of such objects). Nothing is run. An
answer with an unreadable call, or with more than 40 calls, is malformed as a whole.

**Rewards** (potential-based, gamma 1: an episode's return is the worth of its last round).

| part | who | worth |
|---|---|---|
| team | both | 1 if the calls of all agents together are right |
| form | own answer | 0.2 if a list of calls can be read |
| calls | own answer | 0.8 x F1 of the agent's calls and its half of the right ones; for an agent without a call to write, of all agents' calls and all the right ones |

F1 is 2 x (right calls) / (calls written + calls due): a call too many costs as much as one too few.
An agent without a call to write earns the worth of both agents' list, so `[]` alone earns nothing. For the
team part it does not matter who wrote which call.

**When a call is right.** The rules are those of BFCL's AST evaluation. A call has the function's name,
every required parameter, no parameter that is not accepted, and one of the accepted values for each. A
parameter may be left out if `""` is among its accepted values. Text is compared in lower case, without
spaces and `,./-_*^`. A whole number is accepted for a float, but not the other way round; true and false
are no numbers. Lists are compared element by element, a tuple is a list, and each key of an object has its
own accepted values. The order of parallel calls does not matter. Three rules differ: arguments without a
name and values that are no literals are malformed; a whole number counts as a float within lists too; and a
tuple is accepted for a parameter of type `array`, which BFCL refuses.

In a later round each agent reads what both wrote, and what is wrong with it by the descriptions alone (an
unknown function, a missing parameter, a wrong type), never an accepted value.

**Arguments.** `category` ("simple": one function, one call; "multiple": several functions, one call;
"parallel": several calls; None for all), `num_agents` (2 or 1), `max_turns`, `prompt` ("full"),
`team_weight`, `split` ("train", "test", "all"), `source`, `on_bad_record` ("error" or "skip": of a
file), `render_mode`.

**Tasks.** `source` is "auto", "hub" (`gorilla-llm/Berkeley-Function-Calling-Leaderboard`, Apache-2.0:
its files simple, multiple, parallel and parallel_multiple), "sample" (84 records written for this
project, 28 of each category), or a [file](../data.md#files-of-records) of records with `question`,
`function` and `ground_truth`, as in BFCL's two files joined by `id`. The split is by the words of the
request. BFCL's other kinds are not supported, and their records are errors that say so: several turns
(multi_turn), requests without a right call (irrelevance, relevance), and calls that are judged by running
them (exec, rest).

Source: Patil et al., "The Berkeley Function Calling Leaderboard (BFCL): From Tool Use to Agentic
Evaluation of Large Language Models", ICML 2025.

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import Outcome, TextEnv, make_env_fns
from llmzoo.envs.tasks import describe_task
from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.envs.tools.bfcl import call_format, players, scoring, tasks
from llmzoo.envs.tools.bfcl.tasks import AcceptedCall, CallRequest
from llmzoo.envs.tools.call_syntax import ToolCall

AGENTS = ("caller_0", "caller_1")

_MAX_ANSWER_SHOWN = 2_000
_NO_REWARD = {scoring.FORM: 0.0, scoring.CALLS: 0.0}


@dataclass(frozen=True, slots=True)
class BFCLState:
    """The state of an episode: each agent's last answer, its feedback, and its reward components so far."""

    request: CallRequest
    answers: Mapping[str, str] = field(default_factory=dict)
    complaints: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class BFCL(TextEnv[BFCLState]):
    """Function calls for two agents that divide them, or for one."""

    metadata: dict[str, Any] = {**TextEnv.metadata, "name": "bfcl_v0"}

    def __init__(
        self,
        *,
        category: Literal["simple", "multiple", "parallel"] | None = None,
        num_agents: int = 2,
        max_turns: int = 1,
        prompt: Literal["full"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        source: str = "auto",
        on_bad_record: Literal["error", "skip"] = "error",
        render_mode: str | None = None,
    ):
        check_choice("num_agents", num_agents, (1, 2))
        super().__init__(
            list(AGENTS[:num_agents]),
            simultaneous=True,
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        loaded = tasks.PUBLIC_SET.load(source, on_bad_record)
        if category is not None:
            loaded = loaded.filter_tasks(_is_of_category, category, asked=True)
        self.tasks = loaded.task_list(tasks.canonical, split)
        self.fallback = self.tasks.fallback

    def reset_task(self, rng: random.Random, task: int | str | None) -> BFCLState:
        return BFCLState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        request = self.episode.request
        return {
            **describe_task(self.tasks, tasks.content(request), request),
            "category": request.category,
        }

    def apply(self, state: BFCLState, actions: Mapping[str, str]) -> tuple[BFCLState, Outcome]:
        request = state.request
        written: dict[str, tuple[ToolCall, ...]] = {}
        errors: dict[str, str] = {}
        for agent in self.possible_agents:
            try:
                written[agent] = call_format.parse_calls(actions[agent])
            except call_format.NoCalls as reason:
                errors[agent] = f"malformed: {reason}"
                continue
            wrong = [scoring.find_schema_error(call, request) for call in written[agent]]
            if any(wrong):
                errors[agent] = f"wrong: {next(filter(None, wrong))}"
        all_calls = [call for calls in written.values() for call in calls]
        right = len(written) == len(actions) and scoring.is_exact_match(all_calls, request)
        components = {
            agent: self._agent_reward_components(request, agent, written, all_calls)
            for agent in self.possible_agents
        }
        step_rewards = {
            agent: {
                name: worth - state.parts.get(agent, _NO_REWARD)[name]
                for name, worth in components[agent].items()
            }
            for agent in self.possible_agents
        }
        return BFCLState(request, dict(actions), errors, components), Outcome(
            team=float(right),  # success ends the episode, so it is paid once
            local=step_rewards,
            done=right,
            errors=errors,
            success=right,
        )

    def _agent_reward_components(
        self,
        request: CallRequest,
        agent: str,
        written: Mapping[str, Sequence[ToolCall]],
        all_calls: Sequence[ToolCall],
    ) -> Mapping[str, float]:
        """An agent's own reward components. An agent without a call to write is paid for the whole list, since
        ``[]`` would otherwise always earn the full reward."""
        if agent not in written:
            return _NO_REWARD
        if assigned := self._assigned_calls(request, agent):
            return scoring.agent_reward_components(written[agent], assigned, request)
        return scoring.agent_reward_components(all_calls, request.truths, request)

    def _assigned_calls(self, request: CallRequest, agent: str) -> Sequence[AcceptedCall]:
        """The right calls that an agent should write."""
        truths = request.truths
        half = (len(truths) + 1) // 2
        if len(self.possible_agents) == 1:
            return truths
        return truths[:half] if agent == AGENTS[0] else truths[half:]

    def expert(self, agent: str) -> str:
        request = self.episode.request
        return players.expert(self._assigned_calls(request, agent), request)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        request = self.episode.request
        return players.noisy_expert(self._assigned_calls(request, agent), request, rng)

    def observation(self, state: BFCLState, agent: str) -> str:
        request = state.request
        alone = len(self.possible_agents) == 1
        lines = [_ALONE if alone else _ROLES[agent], "", "The functions:", ""]
        lines += [function.text for function in request.functions.values()]
        lines += ["", "The request:", ""]
        lines += [text if role == "user" else f"[{role}] {text}" for role, text in request.messages]
        if state.answers:
            lines += ["", f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."]
            for other, answer in state.answers.items():
                whose = "You" if other == agent else f"The other caller, {other},"
                lines += [
                    f"{whose} last wrote: {replace_surrogates(truncate(answer, _MAX_ANSWER_SHOWN))}"
                ]
            lines += [f"Feedback on yours: {state.complaints.get(agent, _NO_COMPLAINT)}"]
        return "\n".join([*lines, "", _FORMAT, "", "Your answer:"])


def _is_of_category(request: CallRequest, category: str) -> bool:
    return request.category == category


_SHARED = (
    "You are one of two callers who answer a request by calling functions. List the calls that the request "
    "needs, in its order. caller_0 writes the first half of them, rounded up; caller_1 writes the rest. If "
    "one call is enough, caller_0 writes it and caller_1 writes []. Neither of you sees what the other writes."
)
_ROLES = {agent: f"{_SHARED} You are {agent}." for agent in AGENTS}
_ALONE = "You answer a request by calling functions. Write every call that it needs."
_FORMAT = (
    'Answer with a list of calls and nothing else: [name(parameter=value, other="text")]. Separate '
    "several calls with commas, and write [] for no call. Give every argument by name, with a literal value."
)
_NO_COMPLAINT = "your calls are readable and fit the functions, but the calls of all callers together are not correct yet"


raw_env = BFCL
env, parallel_env = make_env_fns(BFCL)
