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

LONE_DEBATER = "debater_0"
COOPERATIVE_SCORE = 0.5  # both sides must reach this score for a cooperative success
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


class DebateEnv(TextEnv[DebateState]):
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

    def reset_task(self, rng: random.Random, task: int | str | None) -> DebateState:
        topic = self.tasks.sample(rng) if task is None else self.tasks[task]
        total = self.per_side * self.max_turns
        state = DebateState(Debate(topic, total), side=rng.choice(SIDES))
        return self._add_scripted_speech(state, 0) if self.alone and state.side == "con" else state

    def task_info(self) -> Mapping[str, Any]:
        topic = self.episode.debate.topic
        return describe_task(self.tasks, canonical(topic), topic)

    def apply(self, state: DebateState, actions: Mapping[str, str]) -> tuple[DebateState, Outcome]:
        ((agent, text),) = actions.items()
        if agent == self.judge_agent:
            return self._score_verdict(state, agent, text)
        speech, problem = _clean_speech(text)
        state = self._add_speech(state, agent, self.turn, speech)
        if self.alone and not state.debate.over:  # the opponent answers, or opens the next round
            state = self._add_scripted_speech(state, self.turn + (state.side == "con"))
        if self.judge_agent is not None:
            return _record_problem(state, agent, problem, Outcome())
        worth = self._compute_scores(state.debate)
        team, local = self._reward_score_change(state, worth)
        return self._end_turn(replace(state, worth=worth), agent, problem, team, local)

    def observation(self, state: DebateState, agent: str) -> str:
        heading = f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."
        note = state.notes.get(agent, "")
        if agent == self.judge_agent:
            return briefing.judge_prompt(agent, state.debate, heading, state.verdict, note)
        side, phase = _side(state, agent), phase_of(self.turn, self.max_turns)
        return briefing.speaker_prompt(agent, side, state.debate, phase, heading, note)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        return self._result(self.episode, agent)

    def _result(self, state: DebateState, agent: str) -> Mapping[str, Any]:
        """What the last info of an agent says, if the debate ends in this state."""
        scores = _total_scores(state.worth)
        if self.reward == "cooperative":
            return {"success": _is_cooperative_success(scores)}
        better = verdicts.leading_side(scores)
        outcomes = {other: _outcome(_side(state, other), better) for other in self.team}
        if agent == self.judge_agent:
            success = state.verdict is not None and verdicts.leading_side(
                state.verdict
            ) == verdicts.leading_side(_rule_verdict(state.debate))
        else:
            success = outcomes[agent] == WON or (
                outcomes[agent] == DRAWN and _is_cooperative_success(scores)
            )
        return {"success": success, "outcomes": outcomes}

    def expert(self, agent: str) -> str:
        if agent == self.judge_agent:
            return _format_verdict(_rule_verdict(self.episode.debate))
        return players.expert(self.episode.debate, _side(self.episode, agent))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        if agent == self.judge_agent:
            mood = rng.gauss(0, 0.15)  # generous or strict with both alike
            felt = {
                side: max(0.0, min(1.0, value + mood + rng.gauss(0, 0.05)))
                for side, value in _rule_verdict(self.episode.debate).items()
            }
            slips = ("pro 0.9", "Both did well.", "pro: 0.5, con: 0.5")
            return _format_verdict(felt) if rng.random() < 0.85 else rng.choice(slips)
        return players.noisy_expert(self.episode.debate, _side(self.episode, agent), rng)

    def board(self) -> str:
        debate = self.episode.debate
        return "\n".join([f"Motion: {debate.topic.motion}", *briefing.transcript(debate)])

    # What is said, and what it is worth

    def _add_speech(self, state: DebateState, agent: str, round: int, text: str) -> DebateState:
        speech = Speech(agent, _side(state, agent), phase_of(round, self.max_turns), text)
        debate = replace(state.debate, speeches=(*state.debate.speeches, speech))
        return replace(state, debate=debate)

    def _add_scripted_speech(self, state: DebateState, round: int) -> DebateState:
        """The state after the scripted speech of a round, against a single debater."""
        side = other_side(state.side)
        text = clean_speech(players.expert(state.debate, side))
        return self._add_speech(state, f"{side}_1", round, text)

    def _compute_scores(self, debate: Debate) -> Scores:
        if self.judge is None:
            return rules.score(debate)
        return validate_scores(self.judge(debate)) if debate.over else _NOTHING

    def _reward_score_change(
        self, state: DebateState, worth: Scores
    ) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """The speakers' rewards for the change to this worth: the team's, and each agent's own."""
        gained = {
            side: {
                part: value - state.worth[side].get(part, 0.0)
                for part, value in worth[side].items()
            }
            for side in SIDES
        }
        if self.reward == "cooperative":
            parts = gained["pro"]
            return {part: (gained["pro"][part] + gained["con"][part]) / 2 for part in parts}, {}
        sums = _total_scores(gained)
        sides = {agent: _side(state, agent) for agent in self.team}
        return {}, {
            agent: {**gained[side], "opponent": -sums[other_side(side)]}
            for agent, side in sides.items()
        }

    def _score_verdict(
        self, state: DebateState, agent: str, text: str
    ) -> tuple[DebateState, Outcome]:
        """Pays for the verdict of the judging agent after a round."""
        debate = state.debate
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
            team, local = self._reward_score_change(state, worth)
            agreed = verdicts.score_agreement(verdict, _rule_verdict(debate))
            state = replace(state, worth=worth, verdict=verdict)
        local[agent] = {"agreement": agreed / self.max_turns}
        return self._end_turn(state, agent, problem, team, local)

    def _end_turn(
        self,
        state: DebateState,
        agent: str,
        problem: str,
        team: dict[str, float],
        local: dict[str, dict[str, float]],
    ) -> tuple[DebateState, Outcome]:
        """The state and the outcome of a paid turn."""
        over = state.debate.over
        success = over and self._result(state, self.possible_agents[0])["success"]
        outcome = Outcome(team=team, local=local, done=over, success=success)
        return _record_problem(state, agent, problem, outcome)


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


def _record_problem(
    state: DebateState, agent: str, problem: str, outcome: Outcome
) -> tuple[DebateState, Outcome]:
    """Keep the problem with an action for the agent's next prompt, and report it."""
    errors = {agent: f"malformed: {problem}"} if problem else {}
    return replace(state, notes={**state.notes, agent: problem}), outcome._replace(errors=errors)


def _side(state: DebateState, agent: str) -> str:
    return state.side if agent == LONE_DEBATER else agent[:3]


def _outcome(side: str, better: str | None) -> str:
    return DRAWN if better is None else WON if better == side else LOST


def _rule_verdict(debate: Debate) -> Mapping[str, float]:
    """The rules' scores for the rounds so far, as if there were no others."""
    totals = _total_scores(rules.score(debate))
    return {side: min(1.0, totals[side] / max(debate.share, 1e-9)) for side in SIDES}


def _is_cooperative_success(scores: Mapping[str, float]) -> bool:
    return all(scores[side] >= COOPERATIVE_SCORE for side in SIDES)


def _total_scores(scores: Scores) -> dict[str, float]:
    return {side: sum(scores[side].values()) for side in SIDES}


def _format_verdict(scores: Mapping[str, float]) -> str:
    return json.dumps({side: round(scores[side], 6) for side in SIDES})


raw_env = DebateEnv
env, parallel_env = make_env_fns(DebateEnv)
