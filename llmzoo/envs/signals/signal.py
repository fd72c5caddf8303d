"""# Signal

A signalling game. The speaker sees some objects and which of them is the target, and writes a message of a few
letters. The listener sees the same objects in another order and the message, and names one. The letters mean
nothing at first: the two must come to use them alike.

| | |
|---|---|
| id | `signal_v0` |
| agents | `speaker_0`, then `listener_1`; with `num_agents=1`: `listener_0`, who sees the target |
| observation, action | text |
| rounds | 1 |
| success | the listener names the target |

**Objects.** An object has a value of each attribute: colour, shape, number, size, pattern. `prompt="terse"`
writes values as digits, so that `13` is the first colour and the third shape.

**Actions.** The speaker: 1 to `max_len` of the first `vocab_size` capital letters (digits from 1 in terse
prompts). Spaces and commas do not matter. A message with anything else, an empty one and a longer one is malformed
and not delivered. The listener: an object by one value of each attribute, such as `red circle`; in terse prompts
`11`. Other words do not matter in full prompts, but an answer with two values of an attribute is malformed, and so
is one without a value.

**Rewards**

| part | paid to | worth |
|---|---|---|
| team: right | both | 0.5 x the share of the target's attributes that the answer has |
| team: solved | both | 0.5 for the target |
| form | own text | 0.1 if it can be read |

A text that cannot be read costs its part `form`, and a malformed answer is worth nothing to the team. The most
is 1.1.

**One agent is not enough.** Each candidate is the target equally often, whatever the listener sees. So without the
message the listener is right in one of `candidates` games (a test computes it). No prompt of the listener depends on
the target except through the message. The control is `num_agents=1`: one agent that sees the target.

**Arguments.** `attributes` (2; 1 to 5), `values` of each attribute (4; 2 to 8), `candidates` (4; 2 to 20),
`vocab_size` (None: as many letters as values; 2 to 9), `max_len` (None: as many letters as attributes; 1 to
20), `num_agents` (2 or 1), `prompt` ("full" or "terse"), `team_weight`, `split` ("train", "test", "all"),
`render_mode`. There must be at least as many messages of `max_len` letters as objects.

**Tasks.** The candidates are drawn at random, and then the target. The split is by the set of candidates: all
orders and all targets of a set stay together, and no set of a test task is seen in training. Single objects
occur in both splits. Renamed values are not the same task here, because a code names values.

**Learned by the embedded model.** `tiny` knows nothing of this game. With `configs/environments/signals.yaml` two
agents agree on a code in [seven of nine runs](../results/archive/signals.md), within a minute and a half.

**The scripted expert** writes a letter for each value, or the number of the object in letters, and reads
messages in the same way. It uses nothing but what its prompt shows.

Source: the signalling game of Lewis (Convention, 1969), between neural agents as in Lazaridou et al.,
"Multi-Agent Cooperation and the Emergence of (Natural) Language", 2016
([arXiv 1612.07182](https://arxiv.org/abs/1612.07182)). The objects here are lists of attributes, not pictures,
and the texts are ours.

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice, check_range
from llmzoo.envs.base import make_env_fns
from llmzoo.envs.signals import code
from llmzoo.envs.signals.chain import ChainEnv, ChainState, Values
from llmzoo.envs.signals.code import format_digits
from llmzoo.envs.symmetry_keys import sorted_key
from llmzoo.envs.tasks import generate_tasks
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError

# the attributes, each with its values in order
ATTRIBUTES = {
    "colour": ("red", "blue", "green", "yellow", "black", "white", "brown", "pink"),
    "shape": ("circle", "square", "triangle", "star", "cross", "ring", "heart", "arrow"),
    "number": ("one", "two", "three", "four", "five", "six", "seven", "eight"),
    "size": ("tiny", "small", "short", "medium", "large", "long", "huge", "giant"),
    "pattern": ("plain", "striped", "dotted", "checked", "wavy", "grainy", "starry", "netted"),
}
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class SignalTask:
    """One game: the objects in the order of the speaker and of the listener, and the target."""

    seen: tuple[Values, ...]
    offered: tuple[Values, ...]
    target: Values


def sample_task(rng: random.Random, attributes: int, values: int, candidates: int) -> SignalTask:
    """A random game. The target is drawn last: what the listener sees does not depend on it."""
    numbers = rng.sample(range(values**attributes), candidates)
    seen = tuple(code.number_to_digits(number, values, attributes) for number in numbers)
    offered = tuple(rng.sample(seen, candidates))
    return SignalTask(seen, offered, rng.choice(seen))


def canonical(task: SignalTask) -> str:
    """The set of the candidates."""
    return sorted_key(*map(format_digits, task.seen))


def describe_object(values: Values) -> str:
    """An object in words."""
    return " ".join(names[value] for names, value in zip(ATTRIBUTES.values(), values, strict=False))


def parse_object(text: str, attributes: int, values: int) -> Values:
    """The object that a text names by one value of each attribute; raises :class:`MalformedError`."""
    text_words = set(_WORD.findall(text.lower()))
    answer = []
    for attribute, names in list(ATTRIBUTES.items())[:attributes]:
        named = [value for value, name in enumerate(names[:values]) if name in text_words]
        if len(named) != 1:
            raise MalformedError(
                f"it names {len(named) or 'no'} values of {attribute}, and not one"
            )
        answer += named
    return tuple(answer)


class Signal(ChainEnv[SignalTask]):
    """A speaker who sees the target and a listener who names it."""

    metadata: dict[str, Any] = {**ChainEnv.metadata, "name": "signal_v0"}

    def __init__(
        self,
        *,
        attributes: int = 2,
        values: int = 4,
        candidates: int = 4,
        vocab_size: int | None = None,
        max_len: int | None = None,
        num_agents: int = 2,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        render_mode: str | None = None,
    ):
        check_range("attributes", attributes, 1, len(ATTRIBUTES))
        check_range("values", values, 2, 8)
        check_range("candidates", candidates, 2, 20)
        if candidates >= values**attributes:
            raise ConfigError(
                f"candidates must be fewer than the {values**attributes} objects of {attributes} "
                f"attributes with {values} values, got {candidates}"
            )
        check_choice("num_agents", num_agents, (1, 2))
        self.attributes = attributes
        self.values = values
        super().__init__(
            ["speaker_0", "listener_1"] if num_agents == 2 else ["listener_0"],
            generate_tasks(
                sample_task,
                canonical,
                split=split,
                name=f"signal, attributes {attributes}, values {values}, candidates {candidates}",
                attributes=attributes,
                values=values,
                candidates=candidates,
            ),
            code.make_alphabet(vocab_size, max_len, attributes, values, prompt),
            prompt=prompt,
            team_weight=team_weight,
            render_mode=render_mode,
        )

    def read(self, text: str) -> Values:
        if self.prompt_style == "terse":
            return code.parse_digits(text, self.attributes, self.values)
        return parse_object(text, self.attributes, self.values)

    def write(self, values: Values) -> str:
        return format_digits(values) if self.prompt_style == "terse" else describe_object(values)

    def solution(self, task: SignalTask) -> Values:
        return task.target

    def describe_mistake(self, task: SignalTask, answer: Values) -> str:
        if answer not in task.offered:
            return "not one of the objects"
        return "not the target"

    def expert_values(self, agent: str) -> Values:
        """The target; for a listener, the offered object that is most like what it reads."""
        task = self.episode.task
        if agent != "listener_1":
            return task.target
        message = self.received_message(self.episode, agent)
        meant = self.alphabet.decode(message, self.attributes, self.values) if message else None
        if meant is None:
            return task.offered[0]
        return max(task.offered, key=lambda thing: _count_shared_attributes(thing, meant))

    def confuse_values(self, values: Values, rng: random.Random) -> Values:
        return rng.choice([thing for thing in self.episode.task.seen if thing != values])

    def render_task(self) -> str:
        task = self.episode.task
        return f"objects: {self._format_objects(task.seen)}\ntarget: {self.write(task.target)}"

    def observation(self, state: ChainState[SignalTask], agent: str) -> str:
        prompt = self._terse if self.prompt_style == "terse" else self._full_prompt
        return prompt(state, agent)

    def _terse(self, state: ChainState[SignalTask], agent: str) -> str:
        task = state.task
        if agent == "listener_1":
            things, message = task.offered, f"message {self.quote_message(state, agent)}"
        else:
            things, message = task.seen, f"target {format_digits(task.target)}"
        return (
            f"signal {agent.partition('_')[0]}\n{self._format_objects(things)}\n{message}\nanswer\n"
        )

    def _full_prompt(self, state: ChainState[SignalTask], agent: str) -> str:
        task = state.task
        if agent == "speaker_0":
            return (
                "You are speaker_0 in a signalling game. You and listener_1 see the same objects. Only "
                "you see which one is the target. listener_1 sees the objects in another order, "
                "reads your message, and must name the target.\n\n"
                f"The objects: {self._format_objects(task.seen)}.\nThe target: {describe_object(task.target)}.\n\n"
                f"{self.message_instructions('listener_1')}\n\nYour answer:"
            )
        message = "You see some objects and which one is the target. Name the target.\n\n"
        known = f"The target: {describe_object(task.target)}."
        if agent == "listener_1":
            message = (
                "You and speaker_0 see the same objects. Only speaker_0 sees which one is the target. It "
                "wrote you a message made of letters. Name the target.\n\n"
            )
            known = f"The message: {self.quote_message(state, agent)}."
        things = task.offered if agent == "listener_1" else task.seen
        return (
            f"You are {agent} in a signalling game. {message}The objects: {self._format_objects(things)}.\n{known}"
            f"\n\nAnswer with the object, such as {describe_object(things[0])}.\n\nYour answer:"
        )

    def _format_objects(self, things: Sequence[Values]) -> str:
        return (" " if self.prompt_style == "terse" else "; ").join(map(self.write, things))


def _count_shared_attributes(one: Values, other: Values) -> int:
    """The number of attributes in which two objects agree."""
    return sum(a == b for a, b in zip(one, other, strict=True))


raw_env = Signal
env, parallel_env = make_env_fns(Signal)
