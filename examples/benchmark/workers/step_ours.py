"""A training step of llmzoo: GRPO with one agent, MAGRPO with two that have a model each."""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Mapping
from typing import Any

import step_task
from serving import serve
from step_task import LEARNING_RATE, Watch, reward

from llmzoo.engine.local import LocalEngine
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.learners import learner_class
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy


class Words(TextEnv):
    """Every agent reads the same prompt and answers once; all are paid for their answers."""

    metadata = {**TextEnv.metadata, "name": "words_v0"}

    def __init__(self, text: str, agents: int):
        names = [f"writer_{i}" for i in range(agents)]
        super().__init__(names, simultaneous=agents > 1)
        self._text = text

    def reset_task(self, rng: random.Random, task: int | str | None) -> None:
        return None

    def observation(self, state: None, agent: str) -> str:
        return self._text

    def apply(self, state: None, actions: Mapping[str, str]) -> tuple[None, Outcome]:
        return state, Outcome(team=reward(*actions.values()), done=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=1)
    task, found = step_task.from_arguments(parser)
    policies = {
        f"writer_{i}": TransformersPolicy(
            step_task.build_model(task.vocabulary, task.millions).to(step_task.DEVICE),
            step_task.build_tokenizer(task),
            sampling=Sampling(max_new_tokens=task.new_tokens),
            seed=i,
            name=f"writer_{i}",
        )
        for i in range(found.agents)
    }
    cls = learner_class("grpo" if found.agents == 1 else "magrpo")
    learner = cls(cls.Config(group_size=task.k, learning_rate=LEARNING_RATE))
    engine = LocalEngine(learner, policies, policies, total_steps=1_000)
    texts = step_task.prompts(task)
    waiting = itertools.cycle(texts)
    counter = itertools.count()

    def step(threads: int, count: bool) -> dict[str, Any]:
        watch = Watch([policy.model for policy in policies.values()], threads, count)
        batch = engine.collect(lambda: Words(next(waiting), found.agents), range(len(texts)))
        metrics = engine.update(batch, seed=next(counter))
        answer = watch.stop()
        informative = [v for name, v in metrics.items() if name.endswith("informative")]
        assert informative == [1.0] * found.agents, metrics
        answer["sampled"] = sum(len(c.ids) for g in batch.groups for c in g.completions)
        return answer

    serve(step)


if __name__ == "__main__":
    main()
