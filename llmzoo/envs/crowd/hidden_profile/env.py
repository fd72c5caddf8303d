"""# Hidden profile

A group chooses the best of several places for a workshop. Some facts about the places are known to all members,
others to one member alone. The facts that all share favour a wrong place; all facts together single out the right one.
The members talk for some rounds, at the same time, and then vote.

| | |
|---|---|
| id | `hidden_profile_v0` |
| agents | `member_0` to `member_3`; with `num_agents` up to `member_7`; with `num_agents=1`: `member_0`, who knows all facts |
| observation, action | text |
| rounds | `rounds` (2) of talk, then a vote; all members act at the same time |
| success | more than half of the members vote for the right place |

**Facts.** Each fact is good (`+`) or bad (`-`) and counts the same. The best place is the one with the most good facts
minus bad facts, over the facts of all members, each counted once. A member reads its facts without being told which of
them others know too.

**Actions.** In a round of talk, a message. Its first `words` (40) words are heard by all, on one line and with at
most 12 characters for each word. In the vote, the name of one place, read as in [other
games](../adapters/discrete.md): `Answer: Birch`, or the name alone. With `num_agents=1` there is only the vote.

**Rewards**

| part | paid to | worth |
|---|---|---|
| team: votes | all | the share of the members who vote for the right place |
| malformed | own text | -0.05 for a message that is empty or longer than 20,000 characters, and for a vote that names no place or several |

A member that is malformed says nothing, or votes for no place. Talk itself earns nothing, so all reward is for right
votes. The share of right votes and not the majority is paid because it rises with each vote: a majority of eight would
be the same whatever most single members do. The most is 1.

**Every member counts.** The generator builds each task so that (tests check it for all of the first 500 tasks)

- the shared facts favour a wrong place, the *leader*, and so do the facts that each single member reads;
- all facts together favour the right place by at least 2;
- the facts against the leader and some facts for the right place are private, and the right place is best only if the
  facts of more than half of the members come together;
- in what one member reads, all places behind the leader have equally many good and equally many bad facts.

So a voter who counts facts is right in this share of 500 tasks, with four places and any number of members from 2 to 8:

| what it counts | right |
|---|---|
| what one member reads, without talk | 0% |
| shared facts only | 0% |
| all facts | 100% |

A voter without talk who knows how tasks are made, and so never votes for the leader, is right in one of
`candidates - 1` tasks: 33%. In groups of people and of language models, what all know dominates the talk.

**Controls.** `rounds=0`: no talk. `facts="shared"`: all members read the shared facts only. `facts="all"`: each member
reads all facts. `num_agents=1`: one agent with all facts of the default group of four. `facts="shared"` measures what
the shared facts suggest and is not made for training: there a policy can learn that the place that looks worst is right.

**Arguments.** `num_agents` (4; 1 to 8), `candidates` (4; 3 to 5), `rounds` of talk (2; 0 to 5), `words` of a
message (40; 5 to 100), `facts` ("split", "shared", "all"), `prompt` ("full" or "terse"), `team_weight`, `split` ("train",
"test", "all"), `render_mode`. Terse prompts call places A, B, C and aspects a, b, c.

**Observations** hold the member's facts and all messages of the episode, so their length is bounded by `num_agents`,
`rounds` and `words`.

**Cost**, when experts play, in tokens of SmolLM2 and milliseconds on one core:

| | 2 members | 5 | 8 |
|---|---|---|---|
| tokens of a prompt, mean (most), full | 439 (557) | 515 (748) | 623 (980) |
| tokens of a prompt, mean (most), terse | 94 (146) | 145 (260) | 202 (384) |
| tokens of an episode, full | 2,700 | 7,900 | 15,200 |
| a step | below 0.2 ms | below 0.2 ms | below 0.2 ms |

**Tasks.** Generated. The split is by the facts: the names and the order of places, and the order of members, do not matter.

**The scripted expert** uses nothing but what its prompt shows. It reports its facts against the place that leads in
its own view and for the other places, in compact form (`Birch +light -roof`), and adds what it heard before it votes. The noisy
expert reports, one time in four, what speaks for its leader instead; one time in four it votes for the place that its own
facts favour most after the one that it should choose.

Source: the hidden profile of Stasser and Titus, "Pooling of unshared information in group decision making", 1985; for
groups of language models HiddenBench, 2025 ([arXiv 2505.11556](https://arxiv.org/abs/2505.11556)). Facts and texts are
ours, and the results of tasks of others cannot be compared with results here.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv, make_env_fns
from llmzoo.envs.crowd.hidden_profile import players, prompts
from llmzoo.envs.crowd.hidden_profile.facts import KEYWORDS, LETTERS, Fact, FactNames
from llmzoo.envs.crowd.hidden_profile.tasks import (
    HOLDERS_FOR_ONE,
    Profile,
    canonical,
    sample_task,
)
from llmzoo.envs.crowd.word_limit import limit_words
from llmzoo.envs.moves import MoveNames, UnreadableError
from llmzoo.envs.tasks import describe_task, generate_tasks

MALFORMED = -0.05


@dataclass(frozen=True, slots=True)
class ProfileState:
    """The state of an episode.

    messages: what was heard of each member in each round so far. errors: what was wrong with the last action of
    each member. votes: the number of the place, None for a vote that cannot be read; empty before the vote.
    """

    task: Profile
    messages: tuple[Mapping[str, str], ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, int | None] = field(default_factory=dict)


class HiddenProfile(TextEnv[ProfileState]):
    """Members who talk for some rounds and then vote."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "hidden_profile_v0",
        "team_components": ["votes"],
    }

    def __init__(
        self,
        *,
        num_agents: int = 4,
        candidates: int = 4,
        rounds: int = 2,
        words: int = 40,
        facts: Literal["split", "shared", "all"] = "split",
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        render_mode: str | None = None,
    ):
        check_range("num_agents", num_agents, 1, 8)
        check_range("candidates", candidates, 3, 5)
        check_range("rounds", rounds, 0, 5)
        check_range("words", words, 5, 100)
        self.rounds = rounds if num_agents > 1 else 0
        super().__init__(
            [f"member_{number}" for number in range(num_agents)],
            simultaneous=True,
            max_turns=self.rounds + 1,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.words = words
        self.facts = "all" if num_agents == 1 and facts == "split" else facts
        self.prompt_style = prompt
        holders = num_agents if num_agents > 1 else HOLDERS_FOR_ONE
        self.tasks = generate_tasks(
            sample_task,
            canonical,
            split=split,
            name=f"hidden profile, members {holders}, candidates {candidates}",
            holders=holders,
            candidates=candidates,
        )

    def reset_task(self, rng: random.Random, task: int | str | None) -> ProfileState:
        return ProfileState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, canonical(self.episode.task), self.episode.task)

    def names(self, task: Profile) -> FactNames:
        """The words for the places and aspects of a task in this prompt style."""
        if self.prompt_style == "terse":
            return FactNames("ABCDE"[: len(task.names)], LETTERS)
        return FactNames(task.names, KEYWORDS)

    def known_facts(self, task: Profile, agent: str) -> tuple[Fact, ...]:
        """The facts that an agent reads at the start."""
        if self.facts == "all":
            return task.facts
        return (
            task.shared if self.facts == "shared" else task.view(self.possible_agents.index(agent))
        )

    def apply(
        self, state: ProfileState, actions: Mapping[str, str]
    ) -> tuple[ProfileState, Outcome]:
        if len(state.messages) < self.rounds:
            return self._talk(state, actions)
        return self._vote(state, actions)

    def _talk(
        self, state: ProfileState, actions: Mapping[str, str]
    ) -> tuple[ProfileState, Outcome]:
        found = {agent: limit_words(text, self.words) for agent, text in actions.items()}
        heard = {agent: message for agent, (message, _) in found.items()}
        errors = {agent: error for agent, (_, error) in found.items() if error}
        silent = [agent for agent, message in heard.items() if not message]
        state = replace(state, messages=(*state.messages, heard), errors=errors)
        return state, Outcome(local=_penalize(silent), errors=errors)

    def _vote(
        self, state: ProfileState, actions: Mapping[str, str]
    ) -> tuple[ProfileState, Outcome]:
        places = MoveNames(self.names(state.task).places)
        votes: dict[str, int | None] = {}
        errors = {}
        for agent, text in actions.items():
            votes[agent] = None
            try:
                if len(text) > MAX_ACTION_CHARS:
                    raise UnreadableError(f"longer than {MAX_ACTION_CHARS} characters")
                votes[agent] = places.read(text)
            except UnreadableError as reason:
                errors[agent] = f"malformed: {reason}"
            else:
                if votes[agent] != state.task.right:
                    errors[agent] = "wrong: not the best place"
        right = sum(vote == state.task.right for vote in votes.values())
        return replace(state, votes=votes, errors=errors), Outcome(
            team={"votes": right / len(votes)},
            local=_penalize([agent for agent, vote in votes.items() if vote is None]),
            errors=errors,
            done=True,
            success=2 * right > len(votes),
        )

    def observation(self, state: ProfileState, agent: str) -> str:
        return prompts.write_prompt(
            prompts.ProfileView(
                agent=agent,
                agents=self.possible_agents,
                places=state.task.names,
                names=self.names(state.task),
                facts=self.known_facts(state.task, agent),
                messages=state.messages,
                rounds=self.rounds,
                words=self.words,
                error=state.errors.get(agent, ""),
                over=bool(state.votes),
            ),
            terse=self.prompt_style == "terse",
        )

    def expert(self, agent: str) -> str:
        return self._play(agent, players.report, players.choose_place)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The expert's action; one time in four, that of a member who holds on to what it knew before."""
        if rng.random() < players.SLOPPY:
            return self._play(agent, players.defend, players.hold_on)
        return self.expert(agent)

    def _play(self, agent: str, speak: players.Speak, choose: players.Choose) -> str:
        state = self.episode
        names, known = self.names(state.task), self.known_facts(state.task, agent)
        heard = [text for messages in state.messages for text in messages.values()]
        if len(state.messages) < self.rounds:
            return speak(names, known, heard, self.words)
        place = names.places[choose(names, known, heard)]
        return place if self.prompt_style == "terse" else f"Answer: {place}"

    def board(self) -> str:
        state = self.episode
        names = self.names(state.task)
        lines = [f"shared: {names.write(state.task.shared)}"]
        for agent, facts in zip(self.possible_agents, state.task.private, strict=False):
            lines += [f"{agent} alone: {names.write(facts)}"]
        for number, messages in enumerate(state.messages, 1):
            lines += [f"round {number}, {agent}: {text}" for agent, text in messages.items()]
        for agent, vote in state.votes.items():
            lines += [f"{agent} votes for {'no place' if vote is None else names.places[vote]}"]
        return "\n".join([*lines, f"right: {names.places[state.task.right]}"])


def _penalize(agents: list[str]) -> dict[str, dict[str, float]]:
    return {agent: {"malformed": MALFORMED} for agent in agents}


raw_env = HiddenProfile
env, parallel_env = make_env_fns(HiddenProfile)
