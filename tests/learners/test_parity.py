"""Our surrogate against TRL's GRPOTrainer: the same weights and answers give the same gradients."""

import pytest
import torch
from datasets import Dataset
from float64 import LIMIT, assert_equal
from tiny_models import model, tokenizer
from trl import GRPOConfig, GRPOTrainer

from llmzoo.learners.grpo import GRPO
from llmzoo.learners.updates.credits import keep_sampled
from llmzoo.models.padded import left_pad
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Completion, Group

pytestmark = pytest.mark.usefixtures("float64")

PROMPTS = [(5, 6, 7, 8), (9, 10)]
ANSWERS = [[(20, 21, 22), (23,), (24, 25)], [(26, 27), (28, 29, 30, 31), (32,)]]
RETURNS = [(1.0, 0.0, 0.25), (0.0, -1.0, 2.0)]
DRIFT = 0.3  # log-probabilities as sampled differ from today's by up to this much


def a_policy(kind, temperature):
    sampling = Sampling(temperature=temperature, max_new_tokens=8)
    return TransformersPolicy(model(kind), tokenizer(), sampling=sampling)


def groups(player):
    """The answers with log-probabilities of a policy that lies a little way off."""
    noise = torch.Generator().manual_seed(0)

    def group(prompt, answers, returns):
        bare = [Completion(text="", prompt_ids=prompt, ids=ids, logprobs=(0.0,)) for ids in answers]
        made = Group(
            agent="a_0",
            turn=0,
            key=(prompt,),
            prompt_ids=prompt,
            completions=tuple(bare),
            returns=returns,
        )
        with torch.no_grad():
            now = player.likelihood([made]).logprobs
        off = now + DRIFT * (2 * torch.rand(now.shape, generator=noise) - 1)
        written = [
            Completion(
                text="", prompt_ids=prompt, ids=ids, logprobs=tuple(off[i, : len(ids)].tolist())
            )
            for i, ids in enumerate(answers)
        ]
        return Group(
            agent="a_0",
            turn=0,
            key=(prompt,),
            prompt_ids=prompt,
            completions=tuple(written),
            returns=returns,
        )

    return [group(*row) for row in zip(PROMPTS, ANSWERS, RETURNS, strict=True)]


def ours(player, made, options):
    learner = GRPO(GRPO.Config(group_size=3, **options))
    credited = learner.compute_advantages(made)
    reference = None
    if options.get("kl"):
        other = type(player.model)(player.model.config).eval()
        reference = TransformersPolicy(other, tokenizer(), sampling=player.sampling)
    flat = [c for g in made for c in g.completions]
    player.model.zero_grad()
    loss, _ = learner.loss(
        player, credited, rows=len(flat), tokens=sum(len(c.ids) for c in flat), reference=reference
    )
    loss.backward()
    gradients = {n: p.grad.clone() for n, p in player.model.named_parameters()}
    return loss.item(), gradients, torch.cat([c.advantages for c in credited]), reference


def theirs(player, made, advantages, reference, settings, folder):
    trainer = GRPOTrainer(
        model=player.model,
        processing_class=tokenizer(),
        reward_funcs=lambda completions, **kwargs: [0.0] * len(completions),
        train_dataset=Dataset.from_list([{"prompt": "a"}] * 6),
        args=GRPOConfig(
            output_dir=str(folder),
            num_generations=3,
            per_device_train_batch_size=6,
            temperature=player.sampling.temperature,
            report_to=[],
            use_cpu=True,
            bf16=False,
            beta=0.0,  # with another it would look for the reference on the hub
            **{name: value for name, value in settings.items() if name != "beta"},
        ),
    )
    trainer.beta = settings["beta"]
    flat = [(g.prompt_ids, c) for g in made for c in g.completions]
    prompt_ids, prompt_mask = left_pad([p for p, _ in flat], 1, torch.device("cpu"))
    width = max(len(c.ids) for _, c in flat)
    completion_ids = torch.ones(len(flat), width, dtype=torch.long)
    mask, old = torch.zeros(len(flat), width), torch.zeros(len(flat), width)
    for row, (_, c) in enumerate(flat):
        completion_ids[row, : len(c.ids)] = torch.tensor(c.ids)
        mask[row, : len(c.ids)] = 1
        old[row, : len(c.ids)] = torch.tensor(c.logprobs)
    inputs = {
        "prompt_ids": prompt_ids,
        "prompt_mask": prompt_mask,
        "completion_ids": completion_ids,
        "completion_mask": mask.long(),
        "advantages": advantages,
        "old_per_token_logps": old,
        "num_items_in_batch": mask.sum(),
    }
    if reference is not None:
        with torch.no_grad():
            inputs["ref_per_token_logps"] = reference.likelihood(made).logprobs
    player.model.eval().zero_grad()
    loss = trainer._compute_loss(player.model, inputs)
    loss.backward()
    return loss.item(), {n: p.grad.clone() for n, p in player.model.named_parameters()}


@pytest.mark.parametrize("kind", ["qwen2", "llama"])
@pytest.mark.parametrize(
    ("options", "settings", "temperature"),
    [
        ({}, {"loss_type": "grpo"}, 1.0),
        ({}, {"loss_type": "grpo"}, 0.7),
        ({"reduction": "token_mean"}, {"loss_type": "dapo"}, 1.0),
        (
            {"reduction": "token_mean", "clip": 0.1, "clip_high": 0.15},
            {"loss_type": "bnpo", "epsilon": 0.1, "epsilon_high": 0.15},
            1.0,
        ),
        (
            {"ratio": "sequence"},
            {"loss_type": "grpo", "importance_sampling_level": "sequence"},
            1.0,
        ),
        ({"kl": 0.2}, {"loss_type": "grpo", "beta": 0.2}, 1.0),
        (
            {"entropy": 0.1, "reduction": "token_mean"},
            {"loss_type": "bnpo", "entropy_coef": 0.1},
            1.0,
        ),
    ],
)
def test_loss_and_gradients_are_those_of_trl(kind, options, settings, temperature, tmp_path):
    settings = {"epsilon": 0.2, "beta": 0.0, **settings}
    player = a_policy(kind, temperature)
    made = groups(player)
    loss, gradients, advantages, reference = ours(player, made, options)
    other_loss, others = theirs(player, made, advantages, reference, settings, tmp_path)
    assert loss == pytest.approx(other_loss, rel=LIMIT, abs=LIMIT)
    assert max(g.abs().max().item() for g in others.values()) > 1e-3
    for name, gradient in gradients.items():
        assert_equal(gradient, others[name], name)


def test_advantages_are_those_of_trl_up_to_its_choice_of_deviation():
    """TRL divides by the unbiased deviation + 1e-4, GRPO's paper and we by the biased one."""
    player = a_policy("qwen2", 1.0)
    for credited, returns in zip(
        GRPO().compute_advantages(keep_sampled(groups(player))), RETURNS, strict=True
    ):
        rewards = torch.tensor(returns)
        trl = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        ratio = rewards.std() / rewards.std(correction=0)
        assert torch.allclose(credited.advantages, trl * ratio, rtol=1e-3)
