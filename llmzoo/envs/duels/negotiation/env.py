"""# Negotiation

Two players divide books, hats and balls. Each knows what they are worth to itself, and not what they are worth to
the other. They write to each other and make offers, until one accepts. Without a deal both get nothing.

| | |
|---|---|
| id | `negotiation_v0` |
| agents | `player_0`, who begins, and `player_1` |
| observation, action | text |
| turns | `max_turns` answers of each player (5), fewer if one accepts |
| success | a deal, and no other division is better for one player and no worse for the other |

**Observations.** What there is, what it is worth to the player itself, all offers and messages so far, and how many
answers are left. The other player's worths are shown nowhere.

**Actions.** The last line that begins with `Offer:` says what the player wants for itself, such as
`Offer: 1 book, 2 hats`; the other gets the rest, and a kind that is not named is not wanted. The line `Accept` takes
the last offer of the other player. What stands above that line is a message to the other player, of at most
`message_chars` (400) characters. In terse prompts an offer is one digit for each kind, such as `120`, without a
message. An answer that offers more than there is, or that has no such line, or that accepts where nothing
is offered, is malformed: nothing of it is delivered, and it is the other's turn.

**Rewards**

| part | paid to | worth |
|---|---|---|
| deal | each player, when one accepts | what its share is worth to it, divided by `total`: 0 to 1 |
| illegal | own answer | -0.1 (`illegal_penalty`) if it is malformed |
| team: joint | both, when one accepts | `team_weight` (0) x the sum of both worths, divided by the largest possible sum |

With `team_weight=0`, the default, each player plays for itself. It is neither a game of winning and losing nor one of
common interest: most scenarios have divisions that are better for both than halves.

**Infos at the end.** `success`; `agreed`; `won`, whether the player's share is worth more to it than the other's is to
the other; `joint`, the sum of both worths divided by the largest possible sum.

**Arguments.** `total` (20; 5 to 40), `max_turns` (5; 1 to 20), `message_chars` (400; 0 to 2,000),
`illegal_penalty` (0.1), `team_weight` (0), `prompt` ("full" or "terse"), `split` ("train", "test",
"all"), `render_mode`.

**Scenarios** are drawn again for each episode: 5 to 7 things of three kinds, everything is worth `total` to each player,
each kind is worth something to at least one of them, and at least one kind to both. The split is by content:
scenarios that differ only by the names of kinds or by the order of the players are one task. There are 5,153 train and
1,230 test tasks; with `total=10`, as in the source, 424 and 95.

**The scripted expert** knows both players' worths. It offers the division with the largest product of both worths
(the bargaining solution of Nash, 1950), accepts what is worth as much to it, and accepts anything
with its last answer. The noisy expert knows its own worths only. It begins with a high demand and lowers it with every answer.

Source: the task of Lewis et al., "Deal or No Deal? End-to-End Learning for Negotiation Dialogues", 2017
([arXiv 1706.05125](https://arxiv.org/abs/1706.05125)), where players talk first and then both say what they agreed on.
Here an offer is a line of an answer, so a deal has one reading. The scenarios are generated, and the texts are ours.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import Outcome, TextEnv, make_env_fns
from llmzoo.envs.duels.env import PLAYERS
from llmzoo.envs.duels.negotiation import answers, players
from llmzoo.envs.duels.negotiation.answers import (
    ACCEPT,
    EXAMPLE,
    NegotiationAnswer,
    format_count,
    format_digits,
    format_share,
)
from llmzoo.envs.duels.negotiation.scenarios import (
    KINDS,
    Scenario,
    Share,
    canonical,
    sample_scenario,
)
from llmzoo.envs.messages import MAX_MESSAGE_CHARS, quote_message
from llmzoo.envs.tasks import describe_task, generate_tasks
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError


@dataclass(frozen=True, slots=True)
class NegotiationState:
    """The state of an episode.

    actions: the answers so far with the numbers of their players; an answer is None if it was malformed.
    division: the share of player 0 in the deal. refused: what was wrong with a player's last answer.
    """

    scenario: Scenario
    actions: tuple[tuple[int, NegotiationAnswer | None], ...] = ()
    division: Share | None = None
    refused: Mapping[int, str] = field(default_factory=dict)

    def last_offer(self, player: int) -> Share | None:
        """The last offer of a player: what it wants for itself."""
        offers = [a.share for number, a in self.actions if number == player and a and a.share]
        return offers[-1] if offers else None

    def action_count(self, player: int) -> int:
        """The number of actions that a player has taken, malformed ones included."""
        return sum(number == player for number, _ in self.actions)


class Negotiation(TextEnv[NegotiationState]):
    """Two players who divide things that are worth different amounts to them."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "negotiation_v0",
        "team_components": ["joint"],
        "delayed_reward_agents": list(PLAYERS),
    }

    def __init__(
        self,
        *,
        total: int = 20,
        max_turns: int = 5,
        message_chars: int = 400,
        illegal_penalty: float = 0.1,
        team_weight: float = 0.0,
        prompt: Literal["full", "terse"] = "full",
        split: str = "train",
        render_mode: str | None = None,
    ):
        check_range("total", total, 5, 40)
        check_range("max_turns", max_turns, 1, 20)
        check_range("message_chars", message_chars, 0, MAX_MESSAGE_CHARS)
        if illegal_penalty < 0:
            raise ConfigError(f"illegal_penalty must be 0 or more, got {illegal_penalty}")
        super().__init__(
            list(PLAYERS), max_turns=max_turns, team_weight=team_weight, render_mode=render_mode
        )
        self.prompt_style = prompt
        self.message_chars = message_chars
        self.illegal_penalty = illegal_penalty
        name = f"negotiation, total {total}"
        self.tasks = generate_tasks(sample_scenario, canonical, split=split, name=name, total=total)

    # The walk of an episode

    def reset_task(self, rng: random.Random, task: int | str | None) -> NegotiationState:
        return NegotiationState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        scenario = self.episode.scenario
        return describe_task(self.tasks, repr(scenario), scenario)

    def apply(
        self, state: NegotiationState, actions: Mapping[str, str]
    ) -> tuple[NegotiationState, Outcome]:
        ((agent, text),) = actions.items()
        player = PLAYERS.index(agent)
        refused = {number: why for number, why in state.refused.items() if number != player}
        try:
            answer = self._read(state, text)
            if answer.share is None and state.last_offer(1 - player) is None:
                raise MalformedError(f"there is no offer of {PLAYERS[1 - player]} to accept")
        except MalformedError as reason:
            refused[player] = str(reason)
            state = replace(state, actions=(*state.actions, (player, None)), refused=refused)
            parts = {agent: {"illegal": -self.illegal_penalty}}
            return state, Outcome(local=parts, errors={agent: f"malformed: {reason}"})
        state = replace(state, actions=(*state.actions, (player, answer)), refused=refused)
        return (state, Outcome()) if answer.share is not None else _close_deal(state, player)

    def _read(self, state: NegotiationState, text: str) -> NegotiationAnswer:
        if self.prompt_style == "terse":
            return answers.parse_terse_answer(text, state.scenario.pool)
        return answers.parse_answer(text, state.scenario.pool, self.message_chars)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        scenario, division = self.episode.scenario, self.episode.division
        paid = (0, 0) if division is None else scenario.payoffs(division)
        player = PLAYERS.index(agent)
        return {
            **super().final_info(agent),
            "agreed": division is not None,
            "won": paid[player] > paid[1 - player],
            "joint": sum(paid) / scenario.most(),
        }

    # What a player reads

    def observation(self, state: NegotiationState, agent: str) -> str:
        prompt = self._terse if self.prompt_style == "terse" else self._full_prompt
        return prompt(state, PLAYERS.index(agent))

    def _full_prompt(self, state: NegotiationState, player: int) -> str:
        scenario, partner = state.scenario, PLAYERS[1 - player]
        parts = [
            f"You are {PLAYERS[player]}. You and {partner} divide {_things(scenario)}.",
            f"{_worths(scenario, player)} Everything together is worth {scenario.total} to you, and "
            f"{scenario.total} to {partner} as well. You do not know what a book, a hat and a ball are worth to {partner}.",
            "If one of you accepts an offer of the other, each is paid what its share is worth. Without a "
            "deal, both are paid nothing.",
            "\n".join(_history(state, player)),
        ]
        if state.division is not None:
            return "\n\n".join([*parts, "The negotiation is over."])
        left = [self._answers_left(state, number) for number in (player, 1 - player)]
        if not left[0]:
            return "\n\n".join([*parts, "You have no answers left."])
        parts += [f"Answers left: you {left[0]}, {partner} {left[1]}."]
        if player in state.refused:
            parts += [f"Your last answer was not delivered: {state.refused[player]}."]
        how = f'End with a line "Offer: {EXAMPLE}" that names what you want for yourself; {partner} gets the rest.'
        if self.message_chars:
            how = (
                f"You may write to {partner} first, at most {self.message_chars} characters. {how}"
            )
        if state.last_offer(1 - player) is not None:
            how += f' Or end with the line "{ACCEPT}", if you take the last offer of {partner}.'
        return "\n\n".join([*parts, how])

    def _terse(self, state: NegotiationState, player: int) -> str:
        pool = format_digits(state.scenario.pool)
        worths = " ".join(map(str, state.scenario.worths[player]))
        left = self._answers_left(state, player)
        lines = [f"divide {player} pool {pool} worth {worths} left {left}"]
        for number, answer in state.actions:
            action = "refused" if answer is None else "accept"
            if answer is not None and answer.share is not None:
                action = format_digits(answer.share)
            lines += [f"{'I' if number == player else 'you'} {action}"]
        return "\n".join([*lines, "answer "])

    def _answers_left(self, state: NegotiationState, player: int) -> int:
        return self.max_turns - state.action_count(player)

    # For people and scripts

    def board(self) -> str:
        scenario = self.episode.scenario
        worths = [f"{a}: worths {w}" for a, w in zip(PLAYERS, scenario.worths, strict=True)]
        things = f"{_things(scenario)}; of {', '.join(KINDS)}"
        return "\n".join([things, *worths, *_history(self.episode, 2)])

    def expert(self, agent: str) -> str:
        return self._format_action(players.expert(self._view(agent)))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        return self._format_action(players.noisy_expert(self._view(agent), rng))

    def _view(self, agent: str) -> players.NegotiationView:
        player = PLAYERS.index(agent)
        asked = self.episode.last_offer(1 - player)
        scenario = self.episode.scenario
        return players.NegotiationView(
            scenario,
            player,
            None if asked is None else scenario.rest(asked),
            self._answers_left(self.episode, player),
            self.max_turns,
        )

    def _format_action(self, share: Share | None) -> str:
        if self.prompt_style == "terse":
            return ACCEPT.lower() if share is None else format_digits(share)
        return ACCEPT if share is None else f"Offer: {format_share(share)}"


def _close_deal(state: NegotiationState, accepting: int) -> tuple[NegotiationState, Outcome]:
    """Pay both players for the last offer of the other player."""
    scenario, taken = state.scenario, state.last_offer(1 - accepting)
    assert taken is not None
    division = taken if accepting == 1 else scenario.rest(taken)
    paid = scenario.payoffs(division)
    return replace(state, division=division), Outcome(
        team={"joint": sum(paid) / scenario.most()},
        local={a: {"deal": p / scenario.total} for a, p in zip(PLAYERS, paid, strict=True)},
        done=True,
        success=scenario.is_efficient(division),
    )


def _things(scenario: Scenario) -> str:
    books, hats, balls = map(format_count, scenario.pool, KINDS)
    return f"{books}, {hats} and {balls}"


def _worths(scenario: Scenario, player: int) -> str:
    worths = zip(KINDS, scenario.worths[player], strict=True)
    book, hat, ball = (f"a {kind} is worth {worth}" for kind, worth in worths)
    return f"To you, {book}, {hat} and {ball}."


def _history(state: NegotiationState, player: int) -> list[str]:
    """The offers and messages so far, in lines, as a player reads them."""
    lines = []
    for number, answer in state.actions:
        name = "You" if number == player else PLAYERS[number]
        if answer is None:
            lines += [f"{name}: nothing that was delivered"]
        elif answer.share is None:
            lines += [f"{name}: accepted"]
        else:
            rest = format_share(state.scenario.rest(answer.share))
            to = PLAYERS[1 - number] if number == player else "you"
            lines += [f"{name}: {format_share(answer.share)}, and {rest} for {to}"]
        if answer is not None and answer.message:
            lines += [quote_message(answer.message)]
    return ["The offers so far:", *lines] if lines else ["No offer has been made."]


raw_env = Negotiation
env, parallel_env = make_env_fns(Negotiation)
