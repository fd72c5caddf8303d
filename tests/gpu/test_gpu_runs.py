"""Runs on a virtual GPU equal those on the CPU: every learner's step, evaluation, resume and export.

What is computed differs in one place: packed rows go through flex attention. So numbers agree in
float64 up to rounding.
"""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
import torch
from float64 import in_float64
from tiny_models import group, model, needed, tokenizer
from virtual_gpu import virtual_gpu

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.export import export_run
from llmzoo.learners import learner_class, list_learners
from llmzoo.learners.base import RunPolicies
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.runs import checkpoints
from llmzoo.training import fit

pytestmark = pytest.mark.slow

HEADS = {
    "hidden_size": 64,
    "initializer_range": 0.1,
}  # of 16 numbers, which flex attention asks for
LIMIT = 1e-7  # of a weight; AdamW's first steps divide a gradient by its own size
ALONE = ("grpo", "ppo")  # play with one agent
GROUPS = {"group_size": 3}
OPTIONS = {
    **dict.fromkeys(
        ("at_grpo", "ccpo", "grpo", "magrpo", "maremax", "marloo", "maxrl", "mareinforce"), GROUPS
    ),
    "dpo": {**GROUPS, "rounds": 1},
    "madpo": {**GROUPS, "rounds": 1},
}
LORA: dict = {"lora": True}
# every learner: options of the learner, options of the run. Half of them have their defaults, the others
# what computes more; adapters are with one learner of each kind of update
RUNS: dict[str, list[tuple[dict, dict]]] = {
    "at_grpo": [({"kl": 0.1, "entropy": 0.01}, LORA)],
    "ccpo": [({}, {})],
    "dpo": [({}, {})],
    "grpo": [
        ({"replay": 1, "clip": 0.2}, {"steps": 2}),
        ({"ratio": "sequence", "clip": 0.2, "dual_clip": 3.0}, {}),
    ],
    "iac": [({"critic": "value_head", "values": "token"}, {})],
    "ippo": [({}, {}), ({"critic": "value_head"}, LORA)],
    "maac": [({}, LORA)],
    "madpo": [({}, LORA)],
    "magrpo": [({"clip": 0.2}, {"steps": 2, "max_off_policy_steps": 1})],
    "mappo": [({}, {})],
    "mareinforce": [({}, {})],
    "maremax": [({}, {})],
    "marloo": [({}, {})],
    "maxrl": [({}, {})],
    "opd": [({}, LORA), ({"loss": "jsd"}, {})],
    "ppo": [({"values": "token", "minibatches": 2, "target_kl": 0.5}, {})],
    "sft": [({}, LORA), ({"mode": "mix"}, {})],
}
CASES = [(name, *case) for name, cases in RUNS.items() for case in cases]
QUICK = ("dpo", "grpo")  # in `make test`


class Letters(TextEnv):
    """Every agent is paid by the code of its first letter, so returns differ."""

    metadata = {**TextEnv.metadata, "name": "letters_v0"}

    def __init__(self, agents: int, **kwargs: object):
        names = [f"writer_{i}" for i in range(agents)]
        super().__init__(names, simultaneous=True, max_turns=1, **kwargs)

    def reset_task(self, rng, task):
        return rng.choice("UD")

    def observation(self, state, agent):
        return f"{state} {agent} {self.turn}"

    def apply(self, state, actions):
        paid = {agent: ord((text or "0")[0]) % 7 / 7 for agent, text in actions.items()}
        team = sum(paid.values())
        return state, Outcome(
            team=team,
            local={agent: {"own": paid[agent]} for agent in paid},
            success=team > len(paid) / 2,
        )

    def expert(self, agent):
        return "UR"


def trained(
    name: str,
    out: Path,
    device: str,
    *,
    lora: bool = False,
    resume: bool = False,
    sizes: Mapping[str, float] = HEADS,
    **settings,
):
    """A short run's result, and its policies by agent."""
    agents = [f"writer_{i}" for i in range(1 if name in ALONE else 2)]
    made = model(**sizes).to(device)
    made.name_or_path = str(out.parent / "base")  # which an exported adapter names
    player = TransformersPolicy(made, tokenizer(), sampling=Sampling(max_new_tokens=3))
    policies = dict.fromkeys(agents, player)
    if lora:
        policies = player.with_adapters(agents, r=2)
    options = {**OPTIONS.get(name, {}), **needed(name), **settings.pop("options", {})}
    learner_args = {"learning_rate": 1e-3, **options}
    episodes = 4 if len(agents) == 1 else 2
    settings = {
        "steps": 1,
        "episodes_per_step": episodes,
        "eval_tasks": 1,
        "trackers": (),
        **settings,
    }
    result = fit(
        name,
        partial(Letters, len(agents)),
        out=out,
        policies=policies,
        learner_args=learner_args,
        resume=resume,
        quiet=True,
        **settings,
    )
    weights = {
        f"{agent}/{n}": weight.detach().cpu()
        for agent in agents
        for n, weight in enumerate(policies[agent].parameters())
    }
    return result, weights


def untimed(evaluation):
    """An evaluation without how long it took."""
    return {key: value for key, value in evaluation.items() if key != "seconds"}


def assert_same_run(name: str, folder: Path, **settings) -> None:
    """A run on the virtual GPU gives the evaluations and the weights of the run on the CPU."""
    with in_float64():
        sizes = settings.get("sizes", HEADS)
        start = [weight.detach().clone() for weight in model(**sizes).parameters()]
        wanted, weights = trained(name, folder / "cpu", "cpu", **settings)
        with virtual_gpu():
            found, others = trained(name, folder / "gpu", "cuda", **settings)
    assert untimed(found.before) == untimed(wanted.before)
    assert untimed(found.after) == untimed(wanted.after)
    assert weights.keys() == others.keys()
    for key, weight in weights.items():
        torch.testing.assert_close(others[key], weight, rtol=LIMIT, atol=LIMIT, msg=key)
    moved = zip(weights.values(), start, strict=False)
    assert settings.get("lora") or any(not torch.equal(a, b) for a, b in moved)


def test_there_is_a_case_for_every_learner():
    assert list(RUNS) == list_learners()


@pytest.mark.parametrize(
    ("name", "options", "settings"),
    [case if case[0] in QUICK else pytest.param(*case, marks=pytest.mark.slow) for case in CASES],
)
def test_a_step_of_every_learner(name, options, settings, tmp_path):
    assert_same_run(name, tmp_path, options=options, **settings)


@pytest.mark.parametrize("precision", ["bf16_autocast", "bf16"])
def test_likelihoods_in_half_precision(precision):
    """Near those of the CPU: flex attention rounds elsewhere. Queries, keys and values are alike."""
    found = []
    with virtual_gpu():
        for device in ("cpu", "cuda"):
            made = model(hidden_size=64).to(device)
            player = TransformersPolicy(made, tokenizer(), precision=precision)
            now = player.likelihood([group([(20, 21, 0), (22, 0)], [1.0, 0.0], agent="writer_0")])
            now.logprobs.sum().backward()
            gradient = torch.cat([p.grad.float().flatten().cpu() for p in player.parameters()])
            found.append((now.logprobs.detach().cpu(), gradient))
    (wanted, slope), (ours, other) = found
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, wanted, rtol=0.1, atol=0.1)
    assert torch.nn.functional.cosine_similarity(slope, other, dim=0) > 0.98


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lora"),  # each kind of update keeps a state of its own
    [
        *(("at_grpo", True), ("mappo", False), ("dpo", False), ("sft", False)),
    ],
)
def test_a_run_resumes_exactly_and_is_exported(name, lora, tmp_path):
    TransformersPolicy(model(**HEADS), tokenizer()).save(tmp_path / "base")
    with virtual_gpu():
        _, whole = trained(name, tmp_path / "whole", "cuda", lora=lora, steps=2)
        trained(name, tmp_path / "run", "cuda", lora=lora)
        _, resumed = trained(name, tmp_path / "run", "cuda", lora=lora, steps=2, resume=True)
        for key, weight in whole.items():
            assert torch.equal(resumed[key], weight), key
        base = str(tmp_path / "base") if lora else None
        exported = export_run(tmp_path / "run", tmp_path / "exported", base=base)
    newest = checkpoints.latest_checkpoint(tmp_path / "run" / "checkpoints")
    for policy, folder in exported.policies.items():
        for file in folder.glob("*.safetensors"):
            assert file.read_bytes() == (newest / policy / file.name).read_bytes()


def test_heads_that_flex_attention_does_not_read(tmp_path):
    """Of 8 numbers: the model reads padded rows."""
    assert_same_run("magrpo", tmp_path, sizes={**HEADS, "hidden_size": 32})


@pytest.mark.parametrize(("bound", "most"), [(math.inf, 3), (1e-9, 12), (None, 6)])
def test_a_step_reads_the_device_a_few_times(bound, most):
    """Metrics and loss once, the gradient's norm once, whatever the number of parts; and the step's length
    as often as a bound has it measured."""
    counts = []
    for parts in (1, 4):
        with virtual_gpu() as gpu:
            player = TransformersPolicy(model(hidden_size=64).to("cuda"), tokenizer())
            groups = [
                group([(20 + n, 21, 0), (22, 0)], [1.0, 0.0], agent="writer_0") for n in range(4)
            ]
            config = learner_class("magrpo").Config(
                clip=0.2, entropy=0.1, microbatch_tokens=8 * (4 // parts), max_update_kl=bound
            )
            learner = learner_class("magrpo")(config)
            updater = learner.updater(
                RunPolicies(
                    policies={"policy": player}, agent_policies={"writer_0": player}, total_steps=2
                )
            )
            gpu.reads.clear()
            updater.update(Batch(groups=tuple(groups)), seed=0)
            counts.append(gpu.reads.total())
    assert counts[0] == counts[1] <= most
