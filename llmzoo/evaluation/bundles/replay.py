"""Plays a sample of tasks again with the policies that the bundle names, where they are here."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmzoo.evaluation.bundles.checks import Finding, name_some, not_checked, ok, wrong
from llmzoo.evaluation.bundles.judging import EnvFactory
from llmzoo.evaluation.bundles.layout import StoredEvaluation
from llmzoo.evaluation.bundles.source import is_same_source, other_machine
from llmzoo.evaluation.bundles.stored import OWN_POLICIES
from llmzoo.policies.base import Policy
from llmzoo.policies.settings import LoadSettings, Sampling, SamplingPolicy
from llmzoo.records import Completion, Decision, Episode, Group
from llmzoo.records.episode_rows import to_episode
from llmzoo.rollout.episodes import play_episodes
from llmzoo.runs.named_policies import load_policy_for_agents

MAX_LOGPROB_ERROR = (
    0.1  # nats; in float32 processors differ by less than 0.001, in bfloat16 by more
)

PolicyLoader = Callable[[str, Sequence[str]], Mapping[str, Policy]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPolicies:
    """The policies of an evaluation that are here, by agent. ``why``: which are not; "" if all are.

    ``other_weights``: policies that are here under the recorded name, but with other weights.
    """

    by_agent: Mapping[str, Policy]
    why: str = ""
    other_weights: tuple[str, ...] = ()


def find_policies(evaluation: StoredEvaluation, given: Sequence[str]) -> FoundPolicies:
    """The policies that are part of llmzoo, and those that the user gives, by the hash of their weights.

    A name in a bundle never loads anything else: ``given`` are names or folders as in ``--policy`` of
    ``llmzoo eval``.
    """
    found: dict[str, Policy] = {}
    other: list[str] = []
    groups: dict[str, list[str]] = {}
    for agent in evaluation.agents:
        groups.setdefault(str(_model_key(evaluation.settings_for(agent))), []).append(agent)
    for agents in groups.values():
        settings = evaluation.settings_for(agents[0])
        name = settings.get("policy")
        for candidate in [*([name] if name in OWN_POLICIES else []), *given]:
            loaded = _load(evaluation, str(candidate), agents)
            if all(_has_weights(loaded[a], evaluation.settings_for(a)) for a in agents):
                found |= loaded
                break
            if candidate == name:
                other.append(str(candidate))
    missing = [agent for agent in evaluation.agents if agent not in found]
    names = dict.fromkeys(str(evaluation.settings_for(a).get("policy"))[:80] for a in missing)
    return FoundPolicies(
        by_agent=found,
        why=f"{name_some(names)} is not here: give its folder with --policies" if missing else "",
        other_weights=tuple(other),
    )


def check_policies(evaluation: StoredEvaluation, found: FoundPolicies) -> Finding:
    """The policies have the weights whose hash is stored."""
    if found.other_weights:
        return wrong(f"{name_some(found.other_weights)} has other weights than the bundle says")
    if found.why:
        return not_checked(found.why)
    models = sum(evaluation.settings_for(a).get("weights") is not None for a in evaluation.agents)
    return ok(
        f"{len(evaluation.agents)} agents have their policies, {models} with the stored weights"
    )


def choose_tasks(evaluation: StoredEvaluation, count: int, rng: random.Random) -> list[int]:
    """The tasks to play again: a random sample, so that whoever made the bundle cannot know them.

    A task that no evaluation of so many episodes has is left out: a generator would draw all tasks up to it.
    """
    tasks = sorted({row["task"] for row in evaluation.rows if row["task"] < len(evaluation.rows)})
    return sorted(rng.sample(tasks, min(count, len(tasks))))


def check_replay(
    evaluation: StoredEvaluation, make: EnvFactory, found: FoundPolicies, tasks: Sequence[int]
) -> Finding:
    """The policies write the same completions again, from the seeds of the evaluation.

    A policy without a model writes the same anywhere. A model's sampled tokens can change by rounding: with
    the number of episodes in a batch, and with the processor. So a batch with another completion is played
    again as a whole, which must give the same completions on the same machine.
    """
    if found.why or found.other_weights:
        return not_checked(found.why or "the policy has other weights")
    different = _differing_tasks(evaluation, make, found, tasks)
    if different:
        if not is_same_source(evaluation):
            return _not_comparable(different, tasks, "another version of llmzoo")
        machine = other_machine(evaluation) if _has_models(found) else ""
        if machine:
            return _not_comparable(different, tasks, f"another machine: {machine}")
        batch = _batch_of(evaluation, different[0])
        different = _differing_tasks(evaluation, make, found, batch)
        if different:
            return wrong(
                f"{len(different)} of {len(batch)} tasks are played differently: {name_some(different)}"
            )
    return ok(f"{len(tasks)} tasks, with all their samples: the same completions, token by token")


def check_logprobs(
    evaluation: StoredEvaluation, found: FoundPolicies, tasks: Sequence[int]
) -> Finding:
    """The stored prompts are those of the observations, the texts those of the tokens, and the stored
    tokens have the model's probabilities.

    Unlike a replay, this can be compared on any machine.
    """
    models = {a: p for a, p in found.by_agent.items() if hasattr(p, "likelihood")}
    if not models:
        return not_checked(found.why or "the models are not here")
    highest, tokens = 0.0, 0
    for row in evaluation.rows:
        if row["task"] not in tasks:
            continue
        where = f"task {row['task']}, sample {row['sample']}"
        for decision in to_episode(row).decisions:
            model = models.get(decision.agent)
            if model is None or not decision.completion.ids:
                continue
            if _prompt_differs(model, decision):
                return wrong(f"{where}, {decision.agent}: the prompt is not the observation's")
            if _text_differs(model, decision):
                return wrong(f"{where}, {decision.agent}: the text is not that of its tokens")
            highest = max(highest, _logprob_error(model, decision))
            tokens += len(decision.completion.ids)
            if highest > MAX_LOGPROB_ERROR:
                return wrong(
                    f"{where}, {decision.agent}: a token has another log-probability under "
                    f"this model, by {highest:.2f}"
                )
    return ok(f"{tokens} tokens have the model's log-probabilities, within {highest:.1g}")


def _load(evaluation: StoredEvaluation, name: str, agents: Sequence[str]) -> dict[str, Policy]:
    """The policy called ``name`` for these agents, with the recorded seed, sampling and prompts."""
    chat = evaluation.settings_for(agents[0]).get("chat") or {}
    given = {key: value for key, value in chat.items() if value is not None}
    loaded = load_policy_for_agents(
        name, agents, LoadSettings(chat=given), seed=evaluation.config["seed"]
    )
    return {agent: _with_sampling(loaded[agent], evaluation, agent) for agent in agents}


def _with_sampling(policy: Policy, evaluation: StoredEvaluation, agent: str) -> Policy:
    sampling = evaluation.settings_for(agent).get("sampling")
    if not isinstance(policy, SamplingPolicy) or sampling is None:
        return policy
    stop = tuple(sampling.get("stop", ()))
    return policy.with_sampling_for_all(Sampling(**{**sampling, "stop": stop}))


def _model_key(settings: Mapping[str, Any]) -> list[Any]:
    """Agents with the same key share a model, and so a batch."""
    return [settings.get("policy"), settings.get("chat")]


def _has_weights(policy: Policy, settings: Mapping[str, Any]) -> bool:
    own = policy.hash_weights() if isinstance(policy, SamplingPolicy) else None
    return own == settings.get("weights") and (own is not None or policy.name == settings["policy"])


def _has_models(found: FoundPolicies) -> bool:
    return any(isinstance(policy, SamplingPolicy) for policy in found.by_agent.values())


def _differing_tasks(
    evaluation: StoredEvaluation, make: EnvFactory, found: FoundPolicies, tasks: Sequence[int]
) -> list[int]:
    """The tasks that the policies play differently now."""
    wanted = {*tasks}
    stored = [(row["task"], to_episode(row)) for row in evaluation.rows if row["task"] in wanted]
    played = play_episodes(
        make,
        found.by_agent,
        [episode.seed for _, episode in stored],
        tasks=[task for task, _ in stored],
        greedy=evaluation.config["greedy"],
        env_id=evaluation.config["env"],
    )
    pairs = zip(stored, played, strict=True)
    return list(dict.fromkeys(task for (task, one), other in pairs if _acts(one) != _acts(other)))


def _acts(episode: Episode) -> list[tuple[Any, ...]]:
    """What each agent wrote, in order."""
    return [
        (d.agent, d.completion.text, d.completion.ids, d.completion.refused)
        for d in episode.decisions
    ]


def _batch_of(evaluation: StoredEvaluation, task: int) -> list[int]:
    """The tasks that were played in the same batch (:func:`llmzoo.evaluation.collect.collect_chunks`)."""
    config = evaluation.config
    size = max(1, config["concurrency"] // config["samples"])
    start = task // size * size
    return sorted({row["task"] for row in evaluation.rows if start <= row["task"] < start + size})


def _not_comparable(different: Sequence[int], tasks: Sequence[int], why: str) -> Finding:
    return not_checked(
        f"not comparable: {len(tasks) - len(different)} of {len(tasks)} tasks have the same completions, but "
        f"the evaluation is of {why}"
    )


def _prompt_differs(model: Any, decision: Decision) -> bool:
    """Whether the prompt is not the observation's. That of a conversation depends on what was sampled before."""
    if type(decision.observation) is not str:
        return False
    return bool(
        model.encode(decision.observation, decision.agent) != decision.completion.prompt_ids
    )


def _text_differs(model: Any, decision: Decision) -> bool:
    """Whether the text is not that of the tokens. Bundles do not say which observations were plain texts."""
    completion = decision.completion
    stop = model.sampling_for(decision.agent).stop
    texts = [
        model.decode(completion.ids, decision.agent, plain=plain, stop=stop) or ""
        for plain in (False, True)
    ]
    return completion.text not in texts


def _logprob_error(model: Any, decision: Decision) -> float:
    """How far the log-probability of a token is from the stored one, at most."""
    completion: Completion = decision.completion
    group = Group(
        agent=decision.agent,
        turn=decision.turn,
        key=(0,),
        prompt_ids=completion.prompt_ids,
        completions=(completion,),
        returns=(0.0,),
    )
    (logprobs,) = model.likelihood([group]).logprobs.tolist()
    return max(abs(a - b) for a, b in zip(logprobs, completion.logprobs, strict=False))


def explain_unloaded(error: Exception) -> FoundPolicies:
    """Policies that cannot be loaded here."""
    return FoundPolicies(by_agent={}, why=f"the policy cannot be loaded: {error}")
