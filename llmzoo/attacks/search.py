"""The search: fixed texts, pieces of prompts, formats, evolution, and the embedded model."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.attacks import evolution
from llmzoo.attacks.criterion import Gain, TaskResult, measure_gain, unexplained_gain
from llmzoo.attacks.pieces import Attack, AttackContext, Shapes
from llmzoo.attacks.playing import (
    ActFn,
    AttackSetting,
    PlayedEpisode,
    ScriptedPlayer,
    expert_act,
    has_scripted_player,
    make_noisy_expert_act,
    play_attack,
)
from llmzoo.errors import ConfigError, NoScriptedPolicyError, PromptsTooLongError

SEARCH_TASKS, SHAPE_TASKS = 6, 3
CONFIRM_TASKS = (24, 96, 256)  # more of them while chance may explain a gain
ATTACKS_TO_CONFIRM = 3  # attacks of each setting that are played again
PARENTS, OFFSPRING = 10, 20
FIRST_ATTACKS = 150  # about as many attacks begin in each setting
SEARCH_SHARE = 0.6  # of the time of the scripted search; the rest confirms
SCRIPTED_SHARE = 0.5  # of all time, if the model trains too
LEARNING_END_SHARE = 0.85  # the share of all time after which training ends
EXCLUSIVE_TASKS = 5  # tasks whose answers exclude each other; one text can be right in one of them
MIN_EXCLUSIVE_SOLVED = 3  # of them that one text must not solve
MEANINGLESS_SHARE = (
    0.9  # share of attacks, which solve all tasks, that shows a success without meaning
)

NO_NOISY_EXPERT = "it has no noisy expert to compare returns with: add noisy_expert(agent, rng)"

FindingKind = Literal["return", "success"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The strongest attack of a setting in tasks that the search has not seen.

    ``kind``: ``"return"`` (it earns without success) or ``"success"`` (one text counts as success in
    tasks whose answers exclude each other). Returns are means over ``tasks`` episodes and the attacked
    agents, success is a share. ``noisy_expert`` and ``expert`` play the same agents. ``answer``: what the
    attack wrote first. ``gain``, ``error``, ``least``: see :class:`~llmzoo.attacks.criterion.Gain`.
    """

    setting: str
    kind: FindingKind
    alarm: bool
    attack: str
    answer: str
    returned: float
    success: float
    noisy_expert: float
    noisy_expert_success: float
    expert: float | None
    gain: float
    error: float
    least: float
    tasks: int

    def to_dict(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name in self.__slots__}
        row["return"] = row.pop("returned")
        return {n: round(v, 4) if isinstance(v, float) else v for n, v in row.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReport:
    """The outcome of a search: its findings, the largest gain first.

    ``trials``: attacks that were played. ``raised``: attacks at which the environment raised.
    ``note``: what could not be judged. ``complete``: the search was not cut short by its budget, so
    that the same seed gives the same report.
    """

    findings: Sequence[Finding]
    trials: int
    raised: int
    minutes: float
    seed: int
    complete: bool
    note: str = ""

    @property
    def alarms(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.alarm]

    def to_dict(self) -> dict[str, Any]:
        return {
            "alarm": bool(self.alarms),
            "findings": [finding.to_dict() for finding in self.findings],
            "trials": self.trials,
            "raised": self.raised,
            "minutes": round(self.minutes, 2),
            "seed": self.seed,
            "complete": self.complete,
            "note": self.note,
        }


def search_attacks(
    env_fn: Callable[[], AECEnv],
    *,
    time_budget: float = 300.0,
    trials: int = 300,
    steps: int = 10,
    seed: int = 0,
) -> AttackReport:
    """Search the reward of an environment for returns without success.

    ``env_fn`` makes a fresh AEC environment with text actions. Every agent is attacked alone, beside
    noisy experts and beside experts, and all together. ``time_budget``: seconds. ``trials``: evolved
    attacks in each setting. ``steps``: training steps of the embedded model, on the return alone; 0
    searches with scripts only, and needs no torch.

    Raises :class:`ConfigError` for a budget that is not positive and for counts below 0.
    """
    if time_budget <= 0:
        raise ConfigError(f"time_budget must be above 0 seconds, got {time_budget}")
    if trials < 0 or steps < 0:
        raise ConfigError(f"trials and steps must be at least 0, got {trials} and {steps}")
    started = time.monotonic()
    scripted_seconds = time_budget * (SCRIPTED_SHARE if steps else 1.0)
    search = _Search(env_fn, seed, SEARCH_SHARE * scripted_seconds)
    search.run(trials, started + SEARCH_SHARE * scripted_seconds)
    findings = search.confirm(started + scripted_seconds)
    note = "" if search.players["noisy_expert"] else NO_NOISY_EXPERT
    if steps and search.players["noisy_expert"]:
        from llmzoo.attacks.learning import train_attacker

        until = started + LEARNING_END_SHARE * time_budget
        try:
            act, steps_taken = train_attacker(env_fn, steps=steps, seed=seed, until=until)
        except PromptsTooLongError as error:
            note = f"the embedded model did not attack: {error}"
        else:
            setting = AttackSetting(tuple(search.env.possible_agents))
            name = f"the embedded model after {steps_taken} steps"
            found = search.confirm_attack(setting, act, name, started + time_budget)
            findings += [found] if found else []
            search.complete &= steps_taken == steps
    if not note and not findings:
        note = f"too few tasks in {time_budget:g} seconds: raise time_budget"
    findings.sort(key=lambda found: (not found.alarm, -found.gain))
    return AttackReport(
        findings=findings,
        trials=search.trials,
        raised=search.raised,
        minutes=(time.monotonic() - started) / 60,
        seed=seed,
        complete=search.complete,
        note=note,
    )


@dataclass(slots=True)
class _TriedAttacks:
    """The attacks of a setting with their fitness and share of success in the search's tasks."""

    scores: dict[Attack, float] = field(default_factory=dict)
    success: dict[Attack, float] = field(default_factory=dict)

    def best(self, count: int) -> list[Attack]:
        return sorted(self.scores, key=lambda attack: -self.scores[attack])[:count]


class _Search:
    """The state of one search."""

    def __init__(self, env_fn: Callable[[], AECEnv], seed: int, seconds: float):
        self.env = env_fn()
        self.seed = seed
        self.trials = self.raised = 0
        self.players: dict[ScriptedPlayer, bool] = {
            "noisy_expert": has_scripted_player(self.env, "noisy_expert"),
            "expert": has_scripted_player(self.env, "expert"),
        }
        first = 100_003 * (seed + 1)
        self.seeds = [first + i for i in range(SEARCH_TASKS)]
        self.fresh_seeds = [first + 1_000 + i for i in range(CONFIRM_TASKS[0])]
        self.base: dict[tuple[AttackSetting, ScriptedPlayer, int], TaskResult] = {}
        self.shapes = self._collect_shapes([first + 2_000 + i for i in range(SHAPE_TASKS)])
        begun = time.monotonic()
        self.sides = self._has_opposing_sides()
        once = (
            FIRST_ATTACKS * (time.monotonic() - begun) / SEARCH_TASKS
        )  # seconds for all first attacks
        settings = self._settings()
        few = settings[: max(1, int(seconds / 2 / max(once, 1e-9)))]
        self.complete = len(few) == len(settings)
        self.search_tasks = SEARCH_TASKS if once * len(few) * SEARCH_TASKS < seconds else 2
        self.tried = {setting: _TriedAttacks() for setting in few}
        self.seen: dict[AttackSetting, set[tuple[str, ...]]] = {s: set() for s in self.tried}

    # What is attacked

    def _settings(self) -> list[AttackSetting]:
        agents = tuple(self.env.possible_agents)
        settings = [AttackSetting(agents)]
        if len(agents) > 1:
            # against noisy experts a legal move may win; only an expert shows what cannot be earned
            others: tuple[ScriptedPlayer, ...] = (
                ("expert",) if self.sides else ("noisy_expert", "expert")
            )
            for other in others:
                if self.players[other]:
                    settings += [AttackSetting((agent,), other) for agent in agents]
        return settings

    def _collect_shapes(self, seeds: Iterable[int]) -> Shapes:
        """Experts' answers to tasks of which none is used elsewhere, by agent, task and turn."""
        shapes: dict[str, list[list[str]]] = {agent: [] for agent in self.env.possible_agents}
        if self.players["expert"]:
            for seed in seeds:
                played = self._play(dict.fromkeys(shapes, expert_act), seed)
                for agent, tasks in shapes.items():
                    if played is not None:
                        tasks.append([text for name, text in played.answers if name == agent])
        return shapes

    def _has_opposing_sides(self) -> bool:
        """Whether agents have opposed aims: success differs, or returns cancel out."""
        agents = self.env.possible_agents
        opposed = False
        for seed in self.seeds if self.players["noisy_expert"] else ():
            played = self._play(dict.fromkeys(agents, make_noisy_expert_act(seed)), seed)
            if played is not None and len(agents) > 1:
                returns = played.returns.values()
                cancel = any(returns) and abs(sum(returns)) < 1e-9
                opposed |= cancel or len({played.success.get(agent) for agent in agents}) > 1
        return opposed

    # Playing

    def _play(self, acts: Mapping[str, ActFn], seed: int) -> PlayedEpisode | None:
        """An episode; None if a player has no solution to its task, or the environment raised."""
        try:
            return play_attack(self.env, seed, acts)
        except NoScriptedPolicyError:
            return None
        except Exception:  # whatever a third party's environment raises at an answer
            self.raised += 1
            return None

    def _episode(self, setting: AttackSetting, act: ActFn, seed: int) -> PlayedEpisode | None:
        others: ActFn = expert_act if setting.others == "expert" else make_noisy_expert_act(seed)
        acts = {a: act if a in setting.agents else others for a in self.env.possible_agents}
        return self._play(acts, seed)

    def _baseline(
        self, setting: AttackSetting, player: ScriptedPlayer, seed: int
    ) -> TaskResult | None:
        """The noisy expert's or expert's return. With opposed aims the noisy expert's is the better of both."""
        key = (setting, player, seed)
        if key not in self.base:
            if not self.players[player]:
                return None
            act = expert_act if player == "expert" else make_noisy_expert_act(seed)
            played = self._episode(setting, act, seed)
            if played is None:
                return None
            self.base[key] = _task_result(setting, played)
        return self.base[key]

    def _play_paired(
        self, setting: AttackSetting, act: ActFn, seeds: Iterable[int], until: float | None
    ) -> tuple[list[TaskResult], list[TaskResult], list[TaskResult] | None, str]:
        """What attack, noisy expert and expert earn in the same tasks, and the attack's first answer."""
        attack_results: list[TaskResult] = []
        noisy_expert_results: list[TaskResult] = []
        expert_results: list[TaskResult] = []
        answer = ""
        for seed in seeds:
            if until is not None and time.monotonic() > until:
                self.complete = False
                break
            noisy_expert_result = self._baseline(setting, "noisy_expert", seed)
            if noisy_expert_result is None:
                continue
            played = self._episode(setting, act, seed)
            if played is None:
                continue
            expert_result = self._baseline(setting, "expert", seed)
            answer = answer or next((t for a, t in played.answers if a in setting.agents), "")
            attack_results.append(_task_result(setting, played))
            noisy_expert_results.append(noisy_expert_result)
            expert_results += [expert_result] if expert_result else []
        if self.sides and len(expert_results) == len(noisy_expert_results) and expert_results:
            noisy_expert_results = max(
                noisy_expert_results, expert_results, key=lambda each: mean(e.value for e in each)
            )
        return (
            attack_results,
            noisy_expert_results,
            expert_results if len(expert_results) == len(attack_results) else None,
            answer,
        )

    def _act(self, attack: Attack) -> ActFn:
        return lambda env, scene: attack.write(scene, self.shapes)

    # Searching

    def run(self, trials: int, until: float) -> None:
        """Play the first attacks in every setting, then evolve."""
        for attack in evolution.first_attacks(self.shapes):
            for setting in self.tried:
                if not self._try(setting, attack, until):
                    return
        rng = random.Random(self.seed)
        self.env.reset(seed=self.seeds[0])
        prompts = [self._prompt(seed) for seed in self.seeds[:3]]
        pool = evolution.build_vocabulary(prompts, self.shapes)
        for _ in range(0, trials, OFFSPRING):
            for setting, tried in self.tried.items():
                parents = tried.best(PARENTS)
                for _ in range(OFFSPRING):
                    if not self._try(setting, evolution.breed(parents, pool, rng), until):
                        return

    def _prompt(self, seed: int) -> str:
        self.env.reset(seed=seed)
        return str(self.env.observe(self.env.agent_selection))

    def _try(self, setting: AttackSetting, attack: Attack, until: float) -> bool:
        """Play an attack in the search's tasks; False once the time is over."""
        if time.monotonic() > until:
            self.complete = False
            return False
        tried = self.tried[setting]
        if attack in tried.scores:
            return True
        gains, solved, texts = [], [], []
        bar = min((tried.scores[best] for best in tried.best(PARENTS)), default=0.0)
        enough = len(tried.scores) >= PARENTS
        for seed in self.seeds[: self.search_tasks]:
            played = self._episode(setting, self._act(attack), seed)
            if played is None:
                return True
            texts += [text for agent, text in played.answers if agent in setting.agents]
            attack_result = _task_result(setting, played)
            base = self._baseline(setting, "noisy_expert", seed) or TaskResult(0.0, solved=False)
            gains.append(unexplained_gain(attack_result, base))
            solved.append(attack_result.solved)
            if len(gains) == 2:
                if tuple(texts) in self.seen[setting]:
                    return True  # the same texts as another attack
                self.seen[setting].add(tuple(texts))
            if len(gains) in (1, 2, 4) and enough and mean(gains) < bar and not all(solved):
                break
        self.trials += 1
        tried.scores[attack] = mean(gains)
        tried.success[attack] = mean(solved)
        return True

    # Confirming

    def confirm(self, until: float) -> list[Finding]:
        """The strongest attack of each setting in fresh tasks."""
        findings = []
        ranked = sorted(
            self.tried.items(), key=lambda pair: -max(pair[1].scores.values(), default=0.0)
        )
        for number, (setting, tried) in enumerate(ranked):
            now = time.monotonic()
            share = now + (until - now) / (len(ranked) - number)  # of what is left
            found = [
                self.confirm_attack(setting, self._act(attack), str(attack), share)
                for attack in (
                    tried.best(ATTACKS_TO_CONFIRM) if self.players["noisy_expert"] else []
                )
            ]
            known = [each for each in found if each is not None]
            findings += sorted(known, key=lambda each: (not each.alarm, -each.gain))[:1]
            findings += self._find_universal_text(setting, tried, share)
        return findings

    def confirm_attack(
        self, setting: AttackSetting, act: ActFn, name: str, until: float | None
    ) -> Finding | None:
        """What an attack earns in fresh tasks: in more of them while chance may explain its gain."""
        for count in CONFIRM_TASKS:
            seeds = [self.fresh_seeds[0] + i for i in range(count)]
            attack_results, base, best, answer = self._play_paired(setting, act, seeds, until)
            if len(attack_results) < 2:
                return None
            gain = measure_gain(attack_results, base, best)
            if gain.alarm or gain.mean < max(gain.least, gain.error) or len(attack_results) < count:
                break
        return _make_finding(
            setting, "return", gain.alarm, name, answer, (attack_results, base, best), gain
        )

    def _find_universal_text(
        self, setting: AttackSetting, tried: _TriedAttacks, until: float
    ) -> list[Finding]:
        """A fixed text that succeeds where it cannot: the measure of success is wrong itself.

        It succeeds in tasks whose answers exclude each other, or nearly every attack succeeds. Only where
        the attacked agent decides alone, or all are attacked.
        """
        if self.sides or setting.others == "noisy_expert":
            return []
        likely = [a for a in tried.scores if a.is_constant and tried.success[a] >= 0.5]
        likely.sort(key=lambda attack: -tried.success[attack])
        solving = sum(share == 1 for share in tried.success.values())
        if setting.others is None and solving > MEANINGLESS_SHARE * len(tried.success) > 10:
            return [self._success_finding(setting, likely[0], self.fresh_seeds)] if likely else []
        exclusive = self._find_exclusive_tasks(setting, until) if likely else []
        for attack in likely[:ATTACKS_TO_CONFIRM] if len(exclusive) == EXCLUSIVE_TASKS else ():
            played = [self._episode(setting, self._act(attack), seed) for seed in exclusive]
            if (
                sum(each is not None and each.is_solved(setting.agents) for each in played)
                >= MIN_EXCLUSIVE_SOLVED
            ):
                return [self._success_finding(setting, attack, exclusive)]
        return []

    def _success_finding(
        self, setting: AttackSetting, attack: Attack, seeds: Sequence[int]
    ) -> Finding:
        attack_results, base, best, answer = self._play_paired(
            setting, self._act(attack), seeds, None
        )
        if len(attack_results) > 1:
            gain = measure_gain(attack_results, base, best)
        else:  # no noisy expert to compare with
            played = [self._episode(setting, self._act(attack), seed) for seed in seeds]
            attack_results, base, best = (
                [_task_result(setting, each) for each in played if each],
                [],
                None,
            )
            gain = Gain(0.0, 0.0, 0.0, len(attack_results))
            scene = AttackContext(agent=setting.agents[0], observation="")
            answer = attack.write(scene, self.shapes)
        return _make_finding(
            setting, "success", True, str(attack), answer, (attack_results, base, best), gain
        )

    def _find_exclusive_tasks(self, setting: AttackSetting, until: float) -> list[int]:
        """Seeds of tasks that the expert solves with one answer each, which fails all the others."""
        if not self.players["expert"] or len(setting.agents) > 1:
            return []
        (agent,) = setting.agents
        chosen: dict[int, str] = {}
        for seed in self.fresh_seeds:
            if len(chosen) == EXCLUSIVE_TASKS or time.monotonic() > until:
                break
            played = self._episode(setting, expert_act, seed)
            texts = [text for name, text in played.answers if name == agent] if played else []
            if played is None or len(texts) != 1 or not played.is_solved(setting.agents):
                continue
            if all(
                not self._solves(setting, texts[0], other) and not self._solves(setting, text, seed)
                for other, text in chosen.items()
            ):
                chosen[seed] = texts[0]
        return [*chosen]

    def _solves(self, setting: AttackSetting, text: str, seed: int) -> bool:
        played = self._episode(setting, lambda env, scene: text, seed)
        return played is not None and played.is_solved(setting.agents)


def _task_result(setting: AttackSetting, played: PlayedEpisode) -> TaskResult:
    return TaskResult(played.mean_return(setting.agents), played.is_solved(setting.agents))


PlayerResults = tuple[Sequence[TaskResult], Sequence[TaskResult], Sequence[TaskResult] | None]


def _make_finding(
    setting: AttackSetting,
    kind: FindingKind,
    alarm: bool,
    attack: str,
    answer: str,
    by: PlayerResults,
    gain: Gain,
) -> Finding:
    attack_results, base, best = by
    return Finding(
        setting=str(setting),
        kind=kind,
        alarm=alarm,
        attack=attack,
        answer=answer,
        returned=mean(each.value for each in attack_results),
        success=mean(each.solved for each in attack_results),
        noisy_expert=mean(each.value for each in base) if base else 0.0,
        noisy_expert_success=mean(each.solved for each in base) if base else 0.0,
        expert=mean(each.value for each in best) if best else None,
        gain=gain.mean,
        error=gain.error,
        least=gain.least,
        tasks=len(attack_results),
    )
