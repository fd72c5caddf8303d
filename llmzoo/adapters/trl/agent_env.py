"""``environment_factory``: one agent in TRL's conversation loop, policies play the others."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from pettingzoo import AECEnv

from llmzoo.adapters.trl.table import Others, TrlSetup
from llmzoo.errors import ConfigError
from llmzoo.policies.base import Policy, PolicyRequest
from llmzoo.rollout.stepping import is_over, is_success, skip_dead, step_rewards
from llmzoo.thoughts import strip_thoughts

_MAX_SILENT_TURNS = 1000
_OVER = "The episode is over"  # what an agent reads after its last turn begins like this


def environment_factory(
    env: str | Callable[[], AECEnv],
    *,
    agent: str,
    others: Others = "expert",
    env_args: Mapping[str, Any] | None = None,
) -> Callable[[], TrlAgentEnv]:
    """An ``environment_factory`` for ``trl.GRPOTrainer``. The trained model plays ``agent``.

    ``others`` and ``env_args`` are those of :class:`llmzoo.adapters.trl.table.TrlSetup`. The policies
    of the other agents are loaded once and shared by all environments. Use it with the reward
    function :func:`agent_return` and the rows of :func:`llmzoo.adapters.trl.dataset`.
    """
    setup = TrlSetup(env, agents=[agent], others=others, env_args=env_args)
    return lambda: TrlAgentEnv(AgentEpisode(setup.make(), agent, setup.others))


class AgentEpisode:
    """An episode from the view of one agent. Policies play the others.

    The randomness of the others depends only on the episode's seed and on how often they have
    answered. So the same seed and the same answers give the same episode, and all agents of a group
    read the same first observation.
    """

    def __init__(self, env: AECEnv, agent: str, others: Mapping[str, Policy]):
        self.env = env
        self.agent = agent
        self.others = others
        self.seed: int | None = None
        self.answers: list[str] = []  # of the agent, in this episode
        self.episode_return = 0.0  # to the agent, in this episode
        self.success = False
        self.step_error: Exception | None = None  # an error of a step, which TRL hides
        self._request_count = 0

    def start(self, seed: int, task: int | None = None) -> str:
        """Begin the episode of ``seed``; returns the agent's first observation.

        ``task``: number of the task in the split; by default the seed draws one. Raises
        :class:`ConfigError` for an episode in which the agent has no turn.
        """
        self.seed, self.answers, self.episode_return, self._request_count = seed, [], 0.0, 0
        self.success, self.step_error = False, None
        self.env.reset(seed=seed, options=None if task is None else {"task": task})
        self._play_others()
        if self.over:
            raise ConfigError(f"the episode of seed {seed} has no turn of {self.agent}")
        return self.observation

    @property
    def over(self) -> bool:
        return is_over(self.env)

    @property
    def observation(self) -> str:
        """What the agent reads now."""
        if self.over:
            return f"{_OVER}: {'success' if self.success else 'no success'}."
        return str(self.env.observe(self.agent) or "")

    def answer(self, text: str) -> None:
        """Answer for the agent, and let the others play until its next turn.

        Does nothing after the end of the episode.
        """
        if self.over:
            return
        self.answers.append(text)
        try:
            self._step(text)
            self._play_others()
        except Exception as error:
            self.step_error = error
            raise

    def finish(self) -> None:
        """Play to the end with empty answers for the agent's remaining turns.

        An agent that falls silent is thus paid for empty answers and does not just keep its reward.
        Raises :class:`ConfigError` if the episode does not end.
        """
        for _ in range(_MAX_SILENT_TURNS):
            if self.over:
                return
            self.answer("")
        raise ConfigError(
            f"{self.env} goes on after {_MAX_SILENT_TURNS} empty answers of {self.agent}: give it "
            "a time limit"
        )

    def _play_others(self) -> None:
        skip_dead(self.env)
        while not self.over and self.env.agent_selection != self.agent:
            agent = self.env.agent_selection
            request = PolicyRequest(
                agent=agent,
                observation=self.env.observe(agent) or "",
                env=self.env,
                seed=self.seed or 0,
                noise=_noise(f"{self.seed}/{self._request_count}"),
            )
            self._request_count += 1
            self._step(self.others[agent].respond([request])[0][0].text)
            skip_dead(self.env)

    def _step(self, text: str) -> None:
        self.env.step(text)
        self.episode_return += step_rewards(self.env).get(self.agent, 0.0)
        self.success = is_success(self.env, self.agent)
        skip_dead(self.env)


class TrlAgentEnv:
    """The object that TRL uses: ``reset`` starts a task, and ``answer`` is the model's tool."""

    def __init__(self, episode: AgentEpisode):
        self.play = episode

    def reset(self, seed: int | None = None, task: int | None = None, **columns: Any) -> str:
        """Start the task of a row; returns the observation, which TRL appends to the row's prompt.

        The row's ``seed`` draws the task, unless ``task`` gives its number in the split.
        """
        if seed is None:
            raise ConfigError(
                "this row has no seed: the rows are those of llmzoo.adapters.trl.dataset(seeds)"
            )
        return self.play.start(int(seed), None if task is None else int(task))

    def answer(self, text: str) -> str:
        """Give your answer, and read what comes next.

        Args:
            text: Your answer, in the form that the task asks for.

        Returns:
            What you read next, or that the episode is over.
        """
        # a value that is not text is read as it was written
        self.play.answer(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))
        return self.play.observation


def agent_return(
    completions: Sequence[Sequence[Mapping[str, Any]]],
    environments: Sequence[TrlAgentEnv],
    log_metric: Callable[[str, float], None],
    **columns: Any,
) -> list[float]:
    """TRL's reward function for :func:`environment_factory`: each agent's return.

    TRL stops without telling the environment, when the model writes a message without a call, and
    at its limits of length and calls. So this function plays the episodes to their ends. A message
    without a call, less its thoughts, is the answer to the open turn. So are calls that TRL did not
    execute. The remaining turns get empty answers.

    Logs ``success``, the share of successful episodes, and ``turns``, the mean number of the
    model's answers. Raises the error of an environment's step, which TRL shows only to the model.
    """
    returns, turns, successes = [], 0, 0
    for messages, environment in zip(completions, environments, strict=True):
        episode = environment.play
        if episode.step_error is not None:
            raise episode.step_error
        for text in _unplayed_answers(messages, len(episode.answers)):
            episode.answer(text)
        turns += len(episode.answers)
        episode.finish()
        returns.append(episode.episode_return)
        successes += episode.success
    log_metric("success", successes / len(environments))
    log_metric("turns", turns / len(environments))
    return returns


def _unplayed_answers(messages: Sequence[Mapping[str, Any]], played: int) -> list[str]:
    """The model's answers that TRL did not pass on."""
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    texts = [text for text in map(_call_text, calls) if text is not None]
    last = messages[-1]
    if last["role"] == "assistant" and not last.get("tool_calls"):
        return [strip_thoughts(str(last.get("content") or "")) or ""]
    return texts[played:]


def _call_text(call: Mapping[str, Any]) -> str | None:
    """The text in a call of ``answer``; None for an invalid call."""
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if function.get("name") != "answer" or not isinstance(arguments, dict):
        return None
    if set(arguments) != {"text"}:
        return None
    text = arguments["text"]
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)


def _noise(name: str) -> int:
    """62 bits that depend only on the name, on every machine."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") >> 2


# calls of ``answer`` are shown as their text; TRL requires that other calls are shown in full
_TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{%- if message.tool_calls -%}
{%- for call in message.tool_calls -%}
{%- set function = call.function -%}
{%- if function.name == 'answer' and function.arguments.text is string -%}
{{- function.arguments.text -}}
{%- else -%}
{{- function.name + '(' + function.arguments | tojson + ')' -}}
{%- endif -%}
{%- endfor -%}
{%- else -%}
{{- message.content -}}
{%- endif -%}
{{- eos_token -}}
{%- else -%}
{{- message.content -}}
{%- endif -%}
{%- endfor -%}"""


def with_plain_chat(tokenizer: Any) -> Any:
    """A copy of a tokenizer with a chat template, for models without one, such as ``"tiny"``.

    A prompt is the observation alone, as in ``llmzoo train``. Each answer ends with the
    end-of-sequence token, and the next observation follows it. TRL's loop continues as long as the
    model calls tools, so every text that the model writes is parsed as a call of ``answer``, except
    after the end of the episode.

    Use it with :func:`llmzoo.adapters.trl.environment_factory`; ``rollout_func`` needs no chat
    template.
    """
    copied = copy.deepcopy(tokenizer)
    copied.chat_template = _TEMPLATE
    end = {"close_pattern": re.escape(copied.eos_token), "content": "text"}
    exact = {**end, "content_args": {"strip": False}}
    call = {"type": "function", "function": {"name": "answer", "arguments": {"text": "{content}"}}}
    copied.response_template = {
        "defaults": {"role": "assistant", "content": ""},
        # the answer starts here, except after the words that the episode is over
        "start_anchor_pattern": rf"\Z(?<!{_OVER}: (?:no )?success\.)|(?={_OVER}: (?:no )?success\.\Z)",
        "fields": {
            "content": {"open_pattern": rf"{_OVER}: (?:no )?success\.", **exact},
            "tool_calls": {**exact, "repeats": True, "transform": call},
        },
    }
    return copied
