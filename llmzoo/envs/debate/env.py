"""# Debate

Two sides argue about a motion in turns: openings, rebuttals, closings. Each side has its own brief of
four points with evidence, hears every speech, and is scored by a judge.

| | |
|---|---|
| id | `debate_v0` |
| agents | `pro_0`, `con_1`; with `per_side=2` then `pro_2`, `con_3`; with `judge_agent=True` a judge last: `judge_2` (`judge_4`); with `num_agents=1`: `debater_0` |
| observation, action | text |
| rounds | `max_turns` (3): an opening, rebuttals, a closing; every agent speaks once a round |
| success | zero-sum: each side its own, that it wins, or draws with at least 0.5 on both sides; cooperative: both sides earn at least 0.5 |

**Actions.** A speech of plain sentences, 40 to 250 words. Of a longer one only the first 250 words (and
at most 2,000 characters) are heard; `infos[agent]["error"]` says so. A speech that is empty, longer
than 20,000 characters or without a sentence counts as silence and earns nothing. The judging agent
answers after each round with the scores of the debate so far, from 0 to 1: `{"pro": 0.7, "con": 0.4}`.
The last such object in its text counts.

`debater_0` argues one side, drawn for the episode, against the scripted expert.

**Judge.** `judge="rules"`: rules that need no model and no network. A speech earns
`gate x (0.2 stance + 0.3 evidence + 0.2 responsiveness + 0.1 structure + 0.1 novelty + 0.1
consistency)`; a side's score is the mean over all its speeches in the debate. The gate is the product
of prose, stance, novelty and consistency, each of which can make it 0; of evidence (0.6 without any);
and of faithfulness (0.6 for each invented figure). See `llmzoo.envs.debate.judge.rules`.

`judge=f`: `f(debate)` gets the finished debate (`topic`, `speeches`) and returns a score from 0 to 1
for each side, `{"pro": 0.7, "con": 0.4}`. `judge="endpoint"`: a language model with a rubric, at
`endpoint={"model": ..., "base_url": ..., "api_key_env": ..., "timeout_s": ...}`. `api_key_env` names
the variable with the key; the default is `OPENAI_API_KEY`, for OpenAI's own address only. The model
is asked twice, with the sides swapped, with one retry each; without scores the debate has failed and pays nothing. This
needs the extra `openai`.

`judge_agent=True`: the verdicts of the last agent decide what the speakers are paid. After a round each
side is worth the judging agent's score times the share of the debate that is over, but at most the rules'
score: a generous judge cannot pay for arguments that were not made. A verdict without readable scores
changes nothing. This needs `judge="rules"`, which rates the verdicts.

**Rewards** are differences in the worth of a side, paid after each speech (with a judging agent after each
round, with another judge at the end). An episode's return is:

| `reward` | a speaker's return |
|---|---|
| `"zero-sum"` | its side's score minus the other's, from -1 to 1: its side's parts, and `opponent` |
| `"cooperative"` | `team_weight` x the mean of both sides' scores, by part |

Parts: `stance`, `evidence`, `responsiveness`, `structure`, `novelty`, `consistency`; `verdict` with any
other judge. The judging agent earns the mean `agreement` of its verdicts with the rules' scores for the
rounds so far: 0.9 x (|r| - |v - r|) - 0.1 x the error of the mean of both scores. v and r are the leads
of pro in the verdict and by the rules, divided by 0.25 and cut to -1 and 1. Equal scores earn nothing,
a wrong lead costs what it would have earned, and no lead earns anything in a draw. So a constant
verdict, such as 0.5 and 0.5 or 1 and 1, earns nothing if both sides are ahead equally often; the right
verdict earns up to 0.9; an unreadable one costs 1.

**What the rules do not see.** They know no meaning. A speech that states its side, gives one sentence of
evidence and adds four sentences of nonsense earned 0.71 to 0.81 in cooperative debates, in which the
noisy expert earned 0.33 and the expert 1. A sentence that takes back one's own case costs little beside
honest ones.

**Who wins.** `"zero-sum"`: the side with the higher score; scores within 0.02 are a draw. At the end
`infos[agent]["outcomes"]` says for each speaker whether it has `won`, `drawn` or `lost`, and evaluations
report `win_rate` per agent and `draws`. `success` of an evaluation is that of the first agent. The
judging agent succeeds if its last verdict names the side that is ahead by the rules, or a draw.

**Arguments.** `reward` ("zero-sum"), `judge` ("rules"), `endpoint` (None), `judge_agent` (False),
`per_side` (1 to 3), `num_agents` (None; 1 for one debater), `max_turns` (3; at least 2, and
`per_side * max_turns` at most 6, since a brief has no more to say), `prompt` ("full"),
`team_weight` (with "cooperative"), `split` ("train", "test", "all"), `render_mode`.

**Tasks.** Topics with briefs written for this project, split by the motion. Their evidence was made up
for the debate and reports no real study.

**Version history.** v0: first version. In zero-sum debates each side has its own `success`. The
judging agent is paid for telling the sides apart, and it can pay the sides at most the rules'
scores. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo.endpoints import Endpoint
from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv, make_env_fns
from llmzoo.envs.debate import briefing, players
from llmzoo.envs.debate.judge import rules, verdicts
from llmzoo.envs.debate.judge.endpoint import Judge, make_judge, validate_scores
from llmzoo.envs.debate.judge.rules import Scores
from llmzoo.envs.debate.judge.words import sentences
from llmzoo.envs.debate.tasks import (
    MAX_CHARS,
    MAX_WORDS,
    SIDES,
    Debate,
    Speech,
    canonical,
    clean_speech,
    load_topics,
    other_side,
    phase_of,
)
from llmzoo.envs.tasks import TaskList, describe_task
from llmzoo.errors import ConfigError

REWARDS = ("zero-sum", "cooperative")
LONE_DEBATER = "debater_0"
HONEST = 0.5  # the least score of both sides in a cooperative success
WON, DRAWN, LOST = "won", "drawn", "lost"
MAX_SPEECHES = 6  # of a side: four points, two of them again

_NOTHING: Scores = {side: {} for side in SIDES}


@dataclass(frozen=True, slots=True)
class DebateState:
    """The state of an episode. ``worth``: the scores paid so far, by side and part. ``verdict``: the last
    scores of the judging agent. ``notes``: the problem with each agent's last answer."""

    debate: Debate
    worth: Scores = field(default_factory=lambda: _NOTHING)
    verdict: Mapping[str, float] | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    side: str = "pro"  # of a single debater


class DebateEnv(TextEnv):
    """A debate between two sides, or of one debater against a scripted one."""

    metadata: dict[str, Any] = {**TextEnv.metadata, "name": "debate_v0"}

    def __init__(
        self,
        *,
        reward: Literal["zero-sum", "cooperative"] = "zero-sum",
        judge: Literal["rules", "endpoint"] | Judge = "rules",
        endpoint: Mapping[str, Any] | Endpoint | None = None,
        judge_agent: bool = False,
        per_side: int = 1,
        num_agents: int | None = None,
        max_turns: int = 3,
        prompt: Literal["full"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        render_mode: str | None = None,
    ):
        check_choice("reward", reward, REWARDS)
        check_choice("prompt", prompt, ("full",))
        self.alone = num_agents == 1
        agents = [LONE_DEBATER] if self.alone else _agent_names(per_side, judge_agent)
        _check_agents(per_side, max_turns, num_agents, judge_agent)
        if judge_agent and judge != "rules":
            raise ConfigError("judge_agent=True needs judge='rules', which rates its verdicts")
        if reward == "zero-sum" and team_weight != 1.0:
            raise ConfigError(
                f"reward='zero-sum' pays no team reward, so team_weight={team_weight} has no effect; "
                "leave it at 1, or set reward='cooperative'"
            )
        super().__init__(
            agents, max_turns=max_turns, team_weight=team_weight, render_mode=render_mode
        )
        self.reward = reward
        self.per_side = per_side
        self.judge = make_judge(judge, endpoint)  # None: the rules
        self.judge_agent = agents[-1] if judge_agent else None
        self.team = [agent for agent in agents if agent != self.judge_agent]
        parts = tuple(rules.WEIGHTS) if self.judge is None and not judge_agent else ("verdict",)
        self.metadata |= {
            "team_components": [*parts] if reward == "cooperative" else [],
            "team_and_local": False,
            "delayed_reward_agents": [*self.team],
            "sides": [self.team[::2], self.team[1::2]]
            if reward == "zero-sum" and not self.alone
            else [],
        }
        names = [topic.id for topic in load_topics()]
        self.tasks = TaskList(load_topics(), canonical, split=split, source="shipped", names=names)
        self.episode: DebateState

    def reset_task(self, rng: random.Random, task: int | str | None) -> None:
        topic = self.tasks.sample(rng) if task is None else self.tasks[task]
        total = self.per_side * self.max_turns
        self.episode = DebateState(Debate(topic, total), side=rng.choice(SIDES))
        if self.alone and self.episode.side == "con":
            debate = self._add_scripted_speech(self.episode.debate, 0)
            self.episode = replace(self.episode, debate=debate)

    def task_info(self) -> Mapping[str, Any]:
        topic = self.episode.debate.topic
        return describe_task(self.tasks, canonical(topic), topic)

    def play(self, agent: str, text: str) -> Outcome:
        if agent == self.judge_agent:
            return self._score_verdict(agent, text)
        speech, problem = _clean_speech(text)
        debate = self._add_speech(self.episode.debate, agent, self.turn, speech)
        if self.alone and not debate.over:  # the opponent answers, or opens the next round
            debate = self._add_scripted_speech(debate, self.turn + (self.episode.side == "con"))
        self.episode = replace(self.episode, debate=debate)
        if self.judge_agent is not None:
            return Outcome(errors=self._record_problem(agent, problem))
        return self._turn_outcome(
            agent, problem, *self._reward_score_change(self._compute_scores(debate))
        )

    def observation(self, agent: str) -> str:
        session = self.episode
        heading = f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."
        note = session.notes.get(agent, "")
        if agent == self.judge_agent:
            return briefing.judge_prompt(agent, session.debate, heading, session.verdict, note)
        side, phase = self._side(agent), phase_of(self.turn, self.max_turns)
        return briefing.speaker_prompt(agent, side, session.debate, phase, heading, note)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        scores = _total_scores(self.episode.worth)
        if self.reward == "cooperative":
            return {"success": _is_honest(scores)}
        better = verdicts.leading_side(scores)
        outcomes = {other: self._outcome(other, better) for other in self.team}
        if agent == self.judge_agent:
            verdict = self.episode.verdict
            success = verdict is not None and verdicts.leading_side(
                verdict
            ) == verdicts.leading_side(self._right())
        else:
            success = outcomes[agent] == WON or (outcomes[agent] == DRAWN and _is_honest(scores))
        return {"success": success, "outcomes": outcomes}

    def expert(self, agent: str) -> str:
        if agent == self.judge_agent:
            return _format_verdict(self._right())
        return players.expert(self.episode.debate, self._side(agent))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        if agent == self.judge_agent:
            mood = rng.gauss(0, 0.15)  # generous or strict with both alike
            felt = {
                side: max(0.0, min(1.0, value + mood + rng.gauss(0, 0.05)))
                for side, value in self._right().items()
            }
            slips = ("pro 0.9", "Both did well.", "pro: 0.5, con: 0.5")
            return _format_verdict(felt) if rng.random() < 0.85 else rng.choice(slips)
        return players.noisy_expert(self.episode.debate, self._side(agent), rng)

    def board(self) -> str:
        debate = self.episode.debate
        return "\n".join([f"Motion: {debate.topic.motion}", *briefing.transcript(debate)])

    def _outcome(self, agent: str, better: str | None) -> str:
        return DRAWN if better is None else WON if better == self._side(agent) else LOST

    # What is said, and what it is worth

    def _side(self, agent: str) -> str:
        return self.episode.side if agent == LONE_DEBATER else agent[:3]

    def _add_speech(self, debate: Debate, agent: str, round: int, text: str) -> Debate:
        speech = Speech(agent, self._side(agent), phase_of(round, self.max_turns), text)
        return replace(debate, speeches=(*debate.speeches, speech))

    def _add_scripted_speech(self, debate: Debate, round: int) -> Debate:
        """The debate after the scripted speech of a round, against a single debater."""
        side = other_side(self.episode.side)
        return self._add_speech(
            debate, f"{side}_1", round, clean_speech(players.expert(debate, side))
        )

    def _compute_scores(self, debate: Debate) -> Scores:
        if self.judge is None:
            return rules.score(debate)
        return validate_scores(self.judge(debate)) if debate.over else _NOTHING

    def _right(self) -> Mapping[str, float]:
        """The rules' scores for the rounds so far, as if there were no others."""
        debate = self.episode.debate
        totals = _total_scores(rules.score(debate))
        return {side: min(1.0, totals[side] / max(debate.share, 1e-9)) for side in SIDES}

    def _reward_score_change(
        self, worth: Scores
    ) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """The speakers' rewards for the change in worth: the team's, and each agent's own."""
        before = self.episode.worth
        self.episode = replace(self.episode, worth=worth)
        gained = {
            side: {part: value - before[side].get(part, 0.0) for part, value in worth[side].items()}
            for side in SIDES
        }
        if self.reward == "cooperative":
            parts = gained["pro"]
            return {part: (gained["pro"][part] + gained["con"][part]) / 2 for part in parts}, {}
        sums = _total_scores(gained)
        return {}, {
            agent: {**gained[self._side(agent)], "opponent": -sums[other_side(self._side(agent))]}
            for agent in self.team
        }

    def _score_verdict(self, agent: str, text: str) -> Outcome:
        """Pays for the verdict of the judging agent after a round."""
        debate = self.episode.debate
        team: dict[str, float] = {}
        local: dict[str, dict[str, float]] = {}
        problem, agreed = "", verdicts.WORST
        try:
            verdict = verdicts.parse_verdict(text[: MAX_ACTION_CHARS + 1])
        except verdicts.NoVerdict as reason:
            problem = str(reason)
        else:
            most = _total_scores(rules.score(debate))  # an argument that was not made earns nothing
            worth = {
                side: {"verdict": min(verdict[side] * debate.share, most[side])} for side in SIDES
            }
            team, local = self._reward_score_change(worth)
            agreed = verdicts.score_agreement(verdict, self._right())
            self.episode = replace(self.episode, verdict=verdict)
        local[agent] = {"agreement": agreed / self.max_turns}
        return self._turn_outcome(agent, problem, team, local)

    def _record_problem(self, agent: str, problem: str) -> dict[str, str]:
        """Keeps the problem with an answer for the next prompt; gives the errors."""
        self.episode = replace(self.episode, notes={**self.episode.notes, agent: problem})
        return {agent: f"malformed: {problem}"} if problem else {}

    def _turn_outcome(
        self,
        agent: str,
        problem: str,
        team: dict[str, float],
        local: dict[str, dict[str, float]],
    ) -> Outcome:
        """The outcome of a paid turn."""
        over = self.episode.debate.over
        self.success = over and self.final_info(self.possible_agents[0])["success"]
        return Outcome(
            team=team, local=local, done=over, errors=self._record_problem(agent, problem)
        )


def _check_agents(per_side: int, max_turns: int, num_agents: int | None, judge_agent: bool) -> None:
    if per_side < 1 or max_turns < 2 or per_side * max_turns > MAX_SPEECHES:
        raise ConfigError(
            "per_side must be at least 1, max_turns at least 2, and their product at most "
            f"{MAX_SPEECHES}; got per_side={per_side}, max_turns={max_turns}"
        )
    count = len(_agent_names(per_side, judge_agent))
    if num_agents not in (None, count) and (num_agents != 1 or per_side > 1 or judge_agent):
        raise ConfigError(
            f"num_agents must be {count} with these arguments, or 1 with per_side=1 and without "
            f"judge_agent; got {num_agents}"
        )


def _agent_names(per_side: int, judge_agent: bool) -> list[str]:
    speakers = [f"{SIDES[number % 2]}_{number}" for number in range(2 * per_side)]
    return [*speakers, f"judge_{2 * per_side}"] if judge_agent else speakers


def _clean_speech(text: str) -> tuple[str, str]:
    """The part of a text that is heard, and the problem with the text, if there is one."""
    if len(text) > MAX_ACTION_CHARS:
        return "", f"longer than {MAX_ACTION_CHARS} characters: it was not heard"
    speech_text = clean_speech(text)
    if not speech_text:
        return "", "an empty speech"
    if not any(len(sentence.words) > 1 for sentence in sentences(speech_text)):
        return speech_text, "no sentence could be read"
    if len(speech_text.split()) < len(text.split()):
        return (
            speech_text,
            f"only its first {MAX_WORDS} words, or {MAX_CHARS} characters, were heard",
        )
    return speech_text, ""


def _is_honest(scores: Mapping[str, float]) -> bool:
    return all(scores[side] >= HONEST for side in SIDES)


def _total_scores(scores: Scores) -> dict[str, float]:
    return {side: sum(scores[side].values()) for side in SIDES}


def _format_verdict(scores: Mapping[str, float]) -> str:
    return json.dumps({side: round(scores[side], 6) for side in SIDES})


raw_env = DebateEnv
env, parallel_env = make_env_fns(DebateEnv)
