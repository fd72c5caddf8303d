"""The embedded model as an attacker: it trains on the return alone, and then plays every agent."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pettingzoo import AECEnv

from llmzoo.attacks.pieces import AttackContext
from llmzoo.attacks.playing import ActFn
from llmzoo.policies.base import PolicyRequest

EPISODES_PER_STEP = 2  # of each training step
MAX_NEW_TOKENS = 32
LEARNER = "magrpo"


def train_attacker(
    env_fn: Callable[[], AECEnv], *, steps: int, seed: int, until: float
) -> tuple[ActFn, int]:
    """The player that the embedded model is after training, and the steps that it took.

    No step begins after ``until`` (of ``time.monotonic()``), except the first.
    """
    from llmzoo.training import fit

    with tempfile.TemporaryDirectory(prefix="llmzoo-attack-") as folder:
        for step in range(1, steps + 1):
            result = fit(
                LEARNER,
                env_fn,
                out=Path(folder) / "run",
                resume=step > 1,
                quiet=True,
                steps=step,
                episodes_per_step=EPISODES_PER_STEP,
                max_new_tokens=MAX_NEW_TOKENS,
                eval_tasks=1,
                control_tasks=0,
                record_every=0,
                seed=seed,
            )
            if time.monotonic() > until:
                break
    policies = result.policies

    def act(env: AECEnv, scene: AttackContext) -> str:
        request = PolicyRequest(
            agent=scene.agent, observation=scene.observation, env=env, seed=seed
        )
        ((completion,),) = policies[scene.agent].respond([request])
        return completion.text

    return act, step
