"""Rebuilds the embedded model: ``python scripts/tiny.py --out FOLDER``.

The data are endless: the suite's own scripted players play its games with terse prompts, one
answer in four an expert's, the others a noisy expert's, and the model learns to imitate all of them.
Like a model trained on the web, it then can play well but mostly does not; reinforcement learning
has a mode to find. Only tasks of the training split are played. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from pettingzoo import AECEnv
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from llmzoo.models.likelihood import likelihood
from llmzoo.models.sampling import Sampling
from llmzoo.models.tiny.tokenizer import build_tokenizer
from llmzoo.policies.base import PolicyRequest, ScriptedPolicy
from llmzoo.policies.scripted import mixture
from llmzoo.registry import make, spec

# in the mix, by weight
GAMES = {"sudoku_v0": 3, "sokoban_v0": 2, "plan_path_v0": 2, "coop_functions_v0": 2, "math_v0": 2}
# rounds of an episode, as often as they stand here; functions are imitated without being run
_ROUNDS = {"coop_functions_v0": (1,)}
_ANY_ROUNDS = (1, 2, 4, 4)
_ARGS = {
    "coop_functions_v0": {"source": "generator"},
    "math_v0": {"family": "arithmetic", "level": "easy"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The settings of the shipped model; an hour on one busy core."""

    steps: int = 4000
    prompts: int = 40  # observations a step
    answers: int = 3  # answers to each, drawn independently
    expert_share: float = 0.25
    learning_rate: float = (
        2e-3  # peak; warmed up over 2% of the steps, then a cosine to a twentieth
    )
    weight_decay: float = 0.01
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    intermediate: int = 384
    seed: int = 0
    games: tuple[tuple[str, int], ...] = tuple(GAMES.items())  # id and weight in the mix


@dataclass(frozen=True, slots=True)
class Example:
    """An observation and some answers that were given to it."""

    observation: str
    answers: tuple[str, ...]


def examples(recipe: Recipe, rng: random.Random, **env_args: object) -> Iterator[Example]:
    """Decisions from endless play of one episode after another, of all games in turn at random."""
    players = mixture(recipe.expert_share)
    envs = {
        (id, agents, turns): make(
            id,
            num_agents=agents,
            max_turns=turns,
            **{**spec(id).terse, **_ARGS.get(id, {}), **env_args},
        )
        for id, _ in recipe.games
        for agents in (1, 2)
        for turns in set(_ROUNDS.get(id, _ANY_ROUNDS))
    }
    ids, weights = zip(*recipe.games, strict=True)
    while True:
        (id,) = rng.choices(ids, weights)
        env = envs[id, rng.choice((1, 2, 2)), rng.choice(_ROUNDS.get(id, _ANY_ROUNDS))]
        env.reset(seed=rng.randrange(2**31))
        yield from _decisions(env, players, recipe.answers, rng)


def _decisions(
    env: AECEnv, players: ScriptedPolicy, answers: int, rng: random.Random
) -> Iterator[Example]:
    """Every decision of an episode; a single round of agents that do not see each other is not
    stepped, which would judge it."""

    def decide(agent: str) -> Example:
        observation = str(env.observe(agent))
        request = PolicyRequest(
            agent=agent, observation=observation, env=env, seed=rng.randrange(2**31)
        )
        given = [c.text for c in players.respond([request], answers)[0]]
        return Example(observation, tuple(given))

    game = env.unwrapped
    if game.simultaneous and game.max_turns == 1:
        yield from map(decide, env.agents)
        return
    for agent in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        example = decide(agent)
        yield example
        env.step(example.answers[0])


def build_model(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    torch.manual_seed(recipe.seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.intermediate,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.kv_heads,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    config.llmzoo_prompt = "terse"  # what TransformersPolicy.prompt_style reads
    config.llmzoo_rates = "found"  # on this model: the default learning rates of small ones
    return Qwen2ForCausalLM(config)


def tokenizer_for(recipe: Recipe) -> PreTrainedTokenizerFast:
    """A tokenizer fitted to both forms of the prompts."""
    rng = random.Random(f"{recipe.seed}/tokenizer")
    texts = []
    for style in ("terse", "full"):
        stream = examples(recipe, rng, prompt=style)
        for _ in range(1000):
            example = next(stream)
            texts += [example.observation, *example.answers]
    return build_tokenizer(texts)


def train(recipe: Recipe, out: Path, *, log_every: int = 100) -> None:
    """Train from nothing and write a transformers folder, ``recipe.json`` and ``log.jsonl``."""
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_for(recipe)
    model = build_model(recipe, tokenizer)
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=recipe.learning_rate,
        betas=(0.9, 0.95),
        weight_decay=recipe.weight_decay,
    )
    warmup = max(1, recipe.steps // 50)
    schedule = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, 0.05, total_iters=warmup),
            torch.optim.lr_scheduler.CosineAnnealingLR(
                optimizer, recipe.steps - warmup, eta_min=recipe.learning_rate / 20
            ),
        ],
        milestones=[warmup],
    )
    stream = examples(recipe, random.Random(f"{recipe.seed}/play"))
    started = time.monotonic()
    (out / "log.jsonl").write_text("")
    model.train()
    for step in range(1, recipe.steps + 1):
        batch = [next(stream) for _ in range(recipe.prompts)]
        loss = _loss(model, tokenizer, batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % log_every == 0 or step == recipe.steps:
            row = {
                "step": step,
                "loss": round(loss.item(), 4),
                "seconds": round(time.monotonic() - started, 1),
            }
            with (out / "log.jsonl").open("a") as log:
                log.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
        if step % 250 == 0 or step == recipe.steps:
            model.save_pretrained(str(out))
            tokenizer.save_pretrained(str(out))
    (out / "recipe.json").write_text(json.dumps(asdict(recipe), indent=2) + "\n")


def _loss(
    model: Qwen2ForCausalLM, tokenizer: PreTrainedTokenizerFast, batch: Sequence[Example]
) -> torch.Tensor:
    """Mean negative log-likelihood of the answers' tokens, the end token included."""
    # alike lengths together: less padding
    ordered = sorted(batch, key=lambda example: len(example.observation))
    total, tokens = torch.zeros(()), 0
    for start in range(0, len(ordered), max(1, len(ordered) // 3)):
        part = ordered[start : start + max(1, len(ordered) // 3)]
        prompts = [tokenizer(e.observation)["input_ids"] for e in part]
        answers = [
            [[*tokenizer(a)["input_ids"], tokenizer.eos_token_id] for a in e.answers] for e in part
        ]
        found = likelihood(model, prompts, answers, Sampling(), pad_id=tokenizer.pad_token_id)
        total = total - found.logprobs.sum()
        tokens += int(found.mask.sum())
    return total / tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=Recipe().steps)
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES))
    args = parser.parse_args()
    games = tuple((id, GAMES[id]) for id in args.games)
    train(Recipe(steps=args.steps, games=games), args.out)


if __name__ == "__main__":
    main()
