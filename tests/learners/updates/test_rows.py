"""Training on rows: the loss, gradients and steps of SFT, with TRL's trainer as the reference."""

from pathlib import Path

import datasets
import pytest
import tiny_models
import torch
import trl
from float64 import LIMIT, assert_equal
from torch.nn import functional as F

from llmzoo.errors import ConfigError, DivergedError, UnknownNameError
from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.rows import SFTConfig
from llmzoo.learners.updates.examples import Example, truncate_examples
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.rows import epoch_batches
from llmzoo.learners.updates.sft import SFTUpdater
from llmzoo.models.lora import adapter_parameters
from llmzoo.models.sampling import Sampling

# lengths differ, so that rows have to be distinguished in a batch
ROWS = [
    Example((5, 6), (20, 21, 0), True),
    Example((7,), (22, 0), True),
    Example((5, 6, 7, 8), (23, 24, 25, 0), True),
    Example((9, 8), (0,), True),
]


def an_updater(player, **options):
    config = SFTConfig(**{"batch_size": 4, "learning_rate": 1e-2, **options})
    run = RunPolicies(policies={"policy": player}, agent_policies={"a_0": player}, total_steps=3)
    return SFTUpdater(config, run, None)


def trained(player, rows=ROWS, seed=0, **options):
    return an_updater(player, **options).train("policy", rows, seed=seed)


def by_hand(player, rows=ROWS):
    """The mean over completion tokens of -log p(token | what stands before it), row by row."""
    losses = []
    for row in rows:
        logits = player.model(torch.tensor([[*row.prompt, *row.completion]])).logits[0]
        for position, token in enumerate(row.completion, start=len(row.prompt)):
            losses.append(-F.log_softmax(logits[position - 1], dim=-1)[token])
    return torch.stack(losses).mean()


def weights(player):
    return {n: t.detach().clone() for n, t in player.model.state_dict().items()}


def assert_same(result, expected):
    for name in expected:
        assert_equal(result[name], expected[name], name)


def of_trl(player, tmp_path, **options):
    """The loss and gradients of one step of TRL's own trainer on the same tokens."""
    rows = datasets.Dataset.from_dict(
        {
            "input_ids": [[*row.prompt, *row.completion] for row in ROWS],
            "completion_mask": [[*[0] * len(r.prompt), *[1] * len(r.completion)] for r in ROWS],
        }
    )
    args = trl.SFTConfig(
        **{"max_length": None, **options},
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        max_steps=1,
        bf16=False,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        max_grad_norm=0.0,
        completion_only_loss=True,
        gradient_checkpointing=False,
    )
    stopped = Stopped(player.model.parameters())
    trainer = trl.SFTTrainer(
        player.model,
        args=args,
        train_dataset=rows,
        processing_class=player.tokenizer,
        optimizers=(stopped, torch.optim.lr_scheduler.LambdaLR(stopped, lambda step: 1.0)),
    )
    return trainer.train().training_loss, stopped.collect_gradients


class Stopped(torch.optim.Optimizer):
    """Keeps the gradients and takes no step."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.0})

    def step(self, closure=None):
        self.collect_gradients = [
            p.grad.clone() for group in self.param_groups for p in group["params"]
        ]


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    "options",
    [{}, {"loss_type": "nll"}, {"loss_type": "dft"}, {"max_length": 5}],
    ids=str,
)
def test_loss_gradients_and_update_are_those_of_trl(options, tmp_path):
    ours, theirs = tiny_models.policy(), tiny_models.policy()
    loss, gradients = of_trl(theirs, tmp_path, **options)
    updater = an_updater(ours, **options)
    rows = truncate_examples(ROWS, options.get("max_length"))
    assert updater.train("policy", rows, seed=0)["loss"] == pytest.approx(loss, rel=LIMIT)
    for parameter, wanted in zip(ours.model.parameters(), gradients, strict=True):
        assert_equal(parameter.grad, wanted * min(1.0, 1.0 / (norm_of(gradients) + 1e-6)))
    for parameter, gradient in zip(theirs.model.parameters(), gradients, strict=True):
        parameter.grad = gradient
    an_updater(theirs).optimizers["policy"].step()
    assert_same(weights(ours), weights(theirs))
    if options.get("loss_type") == "dft" or "max_length" in options:  # they do something here
        assert loss != pytest.approx(by_hand(tiny_models.policy()).item(), rel=0.01)


def norm_of(gradients):
    return torch.cat([g.flatten() for g in gradients]).norm()


@pytest.mark.usefixtures("float64")
def test_the_loss_is_the_cross_entropy_of_the_completions_at_temperature_1():
    for sampling in (Sampling(), Sampling(temperature=0.5, top_k=3)):
        player = tiny_models.policy(sampling=sampling)
        expected = by_hand(player).item()
        assert trained(player)["loss"] == pytest.approx(expected, rel=LIMIT)


@pytest.mark.usefixtures("float64")
def test_the_step_is_the_optimisers_on_the_gradient_by_hand():
    player, other = tiny_models.policy(), tiny_models.policy()
    metrics = trained(player, max_grad_norm=0.5)
    config = SFTConfig(learning_rate=1e-2, max_grad_norm=0.5)
    optimizer = Optimizer(other.parameters(), config, rate=1e-2, total=10, name="policy")
    by_hand(other).backward()
    norm = optimizer.step()
    assert norm > 0.5  # so that the bound on the gradient matters
    assert metrics["grad_norm"] == pytest.approx(norm, rel=LIMIT)
    assert metrics["steps"] == optimizer.steps == 1
    assert_same(weights(player), weights(other))


@pytest.mark.usefixtures("float64")
def test_parts_of_a_batch_add_up_to_it():
    """Four rows at once, or three and one, two times two, four times one."""
    result = {}
    for at_once in (256, 3, 2, 1):
        player = tiny_models.policy()
        metrics = trained(player, microbatch_rows=at_once)
        result[at_once] = (metrics, weights(player))
    whole, expected = result[256]
    assert whole["steps"] == 1
    for at_once in (3, 2, 1):
        metrics, ended = result[at_once]
        assert metrics == pytest.approx(whole, rel=LIMIT)
        assert_same(ended, expected)


def test_accuracy_is_the_share_of_tokens_that_were_the_most_likely():
    player = tiny_models.policy()
    right = []
    for row in ROWS:
        logits = player.model(torch.tensor([[*row.prompt, *row.completion]])).logits[0]
        best = logits[len(row.prompt) - 1 : -1].argmax(dim=-1).tolist()
        right += [a == b for a, b in zip(best, row.completion, strict=True)]
    liked = Example(ROWS[0].prompt, (best_of(player, ROWS[0].prompt),), True)
    assert trained(tiny_models.policy())["mean_token_accuracy"] == sum(right) / len(right)
    assert trained(tiny_models.policy(), [liked])["mean_token_accuracy"] == 1.0


def best_of(player, prompt):
    return int(player.model(torch.tensor([prompt])).logits[0, -1].argmax())


def test_epochs_and_batches_make_steps():
    metrics = trained(tiny_models.policy(), ROWS[:3], batch_size=2, epochs=3)
    assert metrics["steps"] == 6  # two rows and one, three times


def test_every_epoch_has_all_rows_in_an_order_that_the_seed_fixes():
    config = SFTConfig(batch_size=3, epochs=2)
    drawn = [epoch_batches(range(8), config, seed) for seed in (1, 1, 2)]
    assert [len(batch) for batch in drawn[0]] == [3, 3, 2, 3, 3, 2]
    flat = [row for batch in drawn[0] for row in batch]
    assert sorted(flat[:8]) == sorted(flat[8:]) == list(range(8))
    assert flat[:8] != flat[8:]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_loss_that_is_not_finite_stops_before_the_step():
    player = tiny_models.policy()
    with torch.no_grad():
        player.model.lm_head.weight[3] = float("nan")
    old = weights(player)
    with pytest.raises(DivergedError, match=r"^the loss of 'policy' is nan: lower learning_rate$"):
        trained(player)
    assert all(torch.equal(old[n].nan_to_num(), t.nan_to_num()) for n, t in weights(player).items())


def test_without_rows_nothing_is_done():
    player = tiny_models.policy()
    old = weights(player)
    assert trained(player, []) == {
        "loss": 0.0,
        "grad_norm": 0.0,
        "learning_rate": 1e-2,
        "steps": 0,
    }
    assert all(torch.equal(old[n], t) for n, t in weights(player).items())


@pytest.mark.parametrize("checkpointing", [False, True])
def test_only_the_policys_own_adapter_learns(checkpointing):
    base = tiny_models.policy(gradient_checkpointing=checkpointing)
    agents = base.with_adapters(["a", "b"])
    with torch.no_grad():  # adapters that do something, so that a wrong one would show
        for player in agents.values():
            for parameter in player.parameters():
                parameter.add_(0.01)
    model, mine = agents["a"].model, agents["a"].adapter
    agents["a"].activate()
    expected = by_hand(agents["a"]).item()
    agents["b"].activate()
    old = weights(agents["a"])
    assert trained(agents["a"])["loss"] == pytest.approx(expected, rel=1e-4)
    changed = {n for n, t in weights(agents["a"]).items() if not torch.equal(old[n], t)}
    assert changed == set(adapter_parameters(model, mine))


def test_dropout_of_an_adapter_is_refused():
    agents = tiny_models.policy().with_adapters(["a"], lora_dropout=0.1)
    with pytest.raises(ConfigError, match="without dropout: set lora_dropout to 0"):
        an_updater(agents["a"])


@pytest.mark.parametrize("precision", ["bf16_autocast", "bf16"])
def test_precisions(precision):
    """Half precision is near the float32 loss; bfloat16 weights learn through float32 masters."""
    player = tiny_models.policy(precision=precision)
    expected = by_hand(tiny_models.policy()).item()
    # a step far below bfloat16's spacing
    updater = an_updater(player, learning_rate=1e-5)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    for _ in range(2):
        loss = updater.train("policy", ROWS, seed=0)["loss"]
        assert 1e-6 < abs(loss - expected) / expected < 0.02
    assert {p.dtype for p in player.model.parameters()} == {kind}
    masters = [name for name in updater.optimizers["policy"].state() if "master" in name]
    assert bool(masters) == (precision == "bf16")


def test_an_unknown_option_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="loss_type 'nlll'"):
        SFTConfig(loss_type="nlll")


@pytest.mark.parametrize("name", ["epochs", "batch_size", "microbatch_rows"])
def test_counts_are_at_least_one(name):
    with pytest.raises(ConfigError, match="at least 1"):
        SFTConfig(**{name: 0})


def run(updater, count):
    metrics = updater.train("policy", (ROWS * 2)[:count], seed=count)
    updater.iterations += 1
    return metrics


def test_a_schedule_ends_with_the_run_however_many_rows_there_are():
    """Linear, 3 iterations: of 2 steps (of 6 foreseen), 1 (of 2 more foreseen), 4 (the last).

    The rate after each: 1 - 2/6; at 3 of 2 + 2 * 1 steps; 0 at the end.
    """
    updater = an_updater(tiny_models.policy(), schedule="linear", batch_size=2)
    rates = [run(updater, rows)["learning_rate"] for rows in (4, 2, 8)]
    assert rates == pytest.approx([1e-2 * (1 - 2 / 6), 1e-2 * (1 - 3 / 4), 0.0])


def test_a_resumed_updater_goes_on_exactly(tmp_path):
    options = {"schedule": "cosine", "warmup": 1, "batch_size": 2}
    whole = an_updater(tiny_models.policy(), **options)
    for rows in (4, 2, 8):
        run(whole, rows)
    first = an_updater(tiny_models.policy(), **options)
    run(first, 4)
    first.save(tmp_path)
    first.policies["policy"].save(tmp_path / "policy")
    assert {p.suffix for p in Path(tmp_path).iterdir() if p.is_file()} == {".safetensors", ".json"}
    second = an_updater(tiny_models.policy(), **options)
    second.policies["policy"].load_weights(tmp_path / "policy")
    second.load(tmp_path)
    for rows in (2, 8):
        run(second, rows)
    expected = weights(whole.policies["policy"])
    assert all(torch.equal(expected[n], t) for n, t in weights(second.policies["policy"]).items())
