"""An episode for which the caller supplies the answers of all agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pettingzoo import AECEnv

from llmzoo.records import Completion
from llmzoo.rollout.episodes import episode_rollout
from llmzoo.rollout.scheduler import RunningRollout, SampleRequest, rollout_keys
from llmzoo.rollout.stepping import is_success


class AnsweredEpisode:
    """Task ``task`` of ``env`` with the seed ``seed``. It advances as answers arrive.

    ``totals``: what each agent was paid so far. The same answers give the same episode as in
    :func:`llmzoo.evaluate`, since each request carries the same randomness as there.
    """

    def __init__(self, env: AECEnv, seed: int, task: int):
        env.reset(seed=seed, options={"task": task})
        self.totals = dict.fromkeys(env.possible_agents, 0.0)
        self._earlier_infos: dict[str, list[Mapping[str, Any]]] = {
            a: [] for a in env.possible_agents
        }
        self._env = env
        (key,) = rollout_keys([seed])
        self._rollout = RunningRollout(episode_rollout(env, seed), key)
        self._advance()

    @property
    def pending_requests(self) -> list[SampleRequest]:
        """The open requests; none at the end."""
        return self._rollout.pending_requests

    def submit_completions(self, answers: Sequence[Completion]) -> None:
        """Continue with one answer for each of ``pending_requests``."""
        for sample_request in self.pending_requests:
            self._earlier_infos[sample_request.request.agent].append(
                self._latest(sample_request.request.agent)
            )
        for slot, answer in enumerate(answers):
            self._rollout.complete_sample(slot, [answer])
        self._advance()

    def metrics(self, agent: str) -> dict[str, float]:
        """The metrics of an agent, in addition to its return."""
        infos = [*self._earlier_infos[agent], self._latest(agent)]
        metrics = {
            "success": float(
                not self.pending_requests and is_success(self._env, agent)
            ),  # an unfinished episode is no success
            "decisions": float(len(self._earlier_infos[agent])),
            "errors": float(sum(info.get("error") is not None for info in infos)),
        }
        for parts in (info.get("reward_components", {}) for info in infos):
            for name, value in parts.items():
                metrics[f"component_{name}"] = metrics.get(f"component_{name}", 0.0) + value
        return metrics

    def _advance(self) -> None:
        self._rollout.advance()
        while step_requests := self._rollout.step_requests:
            for number, step_request in enumerate(step_requests):
                rewards_by_step = step_request.step_fn(step_request.env, step_request.texts)
                for agent, reward in (
                    pair for rewards in rewards_by_step for pair in rewards.items()
                ):
                    self.totals[agent] += reward
                self._rollout.complete_step(number, rewards_by_step)
            self._rollout.advance()

    def _latest(self, agent: str) -> Mapping[str, Any]:
        """The info about an agent's latest decision."""
        return self._env.infos.get(agent, {})
