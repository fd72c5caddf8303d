"""Players without a model: expert, noisy expert, random text, silence, and a person at the terminal."""

from __future__ import annotations

import sys

from pettingzoo import AECEnv

from llmzoo.envs.base import TextEnv
from llmzoo.errors import NoScriptedPolicyError
from llmzoo.policies.base import BoundPolicy, PolicyRequest, ScriptedPolicy, request_rng


def expert() -> ScriptedPolicy:
    """Each environment's own scripted expert, for any agent. It may look behind the prompt."""
    return ScriptedPolicy(lambda request: _text_env(request).expert(request.agent), "expert")


def noisy_expert() -> ScriptedPolicy:
    """Each environment's own sloppy player."""
    return ScriptedPolicy(
        lambda request: _text_env(request).noisy_expert(request.agent, request_rng(request)),
        "noisy_expert",
    )


def mixture(expert_share: float) -> ScriptedPolicy:
    """The expert with probability ``expert_share`` at each decision, otherwise the noisy expert."""

    def answer(request: PolicyRequest) -> str:
        rng = request_rng(request)
        env = _text_env(request)
        if rng.random() < expert_share:
            return env.expert(request.agent)
        return env.noisy_expert(request.agent, rng)

    return ScriptedPolicy(answer, f"mixed({expert_share})")


def random_text() -> ScriptedPolicy:
    """A random legal move where a game has a list of them, and otherwise short random strings from the
    action space's alphabet."""

    def answer(request: PolicyRequest) -> str:
        rng = request_rng(request)
        random_move = getattr(request.env.unwrapped, "random_move", None)
        if random_move is not None:
            return str(random_move(request.agent, rng))
        space = request.env.action_space(request.agent)
        space.seed(rng.randrange(2**31))
        return space.sample()

    return ScriptedPolicy(answer, "random")


def silent() -> ScriptedPolicy:
    """Writes a dash to every prompt: the partner of an agent that is to play alone. A message must not be empty."""
    return ScriptedPolicy(lambda request: "-", "silent")


def human() -> ScriptedPolicy:
    """A person who types. An empty line or the end of the input ends the answer; the first prompt
    says so."""
    requests: list[PolicyRequest] = []

    def answer(request: PolicyRequest) -> str:
        print(f"\n--- {request.agent} ---\n{request.observation}", flush=True)
        if not requests:
            print("(An empty line ends your answer.)", flush=True)
        requests.append(request)
        lines: list[str] = []
        for line in sys.stdin:
            if not line.strip():
                break
            lines.append(line.rstrip("\n"))
        return "\n".join(lines)

    return ScriptedPolicy(answer, "human")


def _text_env(request: PolicyRequest) -> TextEnv:
    env = request.env.unwrapped
    if not isinstance(env, TextEnv):
        raise NoScriptedPolicyError(f"{env} is not of this suite and has no scripted players")
    return env


def scripted_expert(env: AECEnv) -> BoundPolicy:
    """The scripted expert of ``env``, playing every agent: ``env.step(player(observation, agent))``."""
    return BoundPolicy(env, expert())
