"""A TRL trainer as one update: the loss, the step, and everything else left as it was."""

import copy
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import datasets
import numpy as np
import pytest
import tiny_models
import torch
import trl
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from float64 import LIMIT, assert_equal
from torch import nn
from torch.nn import functional as F

from llmzoo.errors import ConfigError, DivergedError, UnknownNameError
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.trl import run_trainer, staying_on
from llmzoo.learners.updates.trl_args import TRLConfig, check_trl_args
from llmzoo.learners.updates.trl_updater import TRLUpdater
from llmzoo.policies.lora import lora_policies, own_parameters

# (prompt, completion); lengths differ, so that there is padding
ROWS = [((5, 6), (20, 21, 0)), ((7,), (22, 0)), ((5, 6, 7, 8), (23, 24, 25, 0)), ((9, 8), (0,))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(TRLConfig):
    args_class: ClassVar[str] = "SFTConfig"


def labelled(rows=ROWS):
    return datasets.Dataset.from_dict(
        {
            "input_ids": [[*p, *c] for p, c in rows],
            "labels": [[*[-100] * len(p), *c] for p, c in rows],
        }
    )


def an_optimizer(player, config, rate=1e-2):
    return Optimizer(player.parameters(), config, rate=rate, total=10, name="policy")


def trained(player, rows=None, seed=0, **options):
    config = Config(**{"batch_size": 4, "learning_rate": 1e-2, **options})
    rows = labelled() if rows is None else rows
    optimizer = an_optimizer(player, config)
    return run_trainer(trl.SFTTrainer, player, rows, optimizer, config, seed=seed)


def by_hand(player, rows=ROWS):
    """The mean over completion tokens of -log p(token | what stands before it), row by row."""
    losses = []
    for prompt, completion in rows:
        logits = player.model(torch.tensor([[*prompt, *completion]])).logits[0]
        for place, token in enumerate(completion, start=len(prompt)):
            losses.append(-F.log_softmax(logits[place - 1], dim=-1)[token])
    return torch.stack(losses).mean()


def weights(player):
    return {n: t.detach().clone() for n, t in player.model.state_dict().items()}


def assert_same(found, expected):
    for name in expected:
        assert_equal(found[name], expected[name], name)


def test_a_trainer_stays_on_the_gpu_of_its_policy(tmp_path, monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    second = torch.device("cuda", 1)
    args = staying_on(second, trl.SFTConfig)(output_dir=str(tmp_path), use_cpu=True, bf16=False)
    assert args.device == second
    assert chosen[-1] == second
    assert args.distributed_state is not None
    assert staying_on(torch.device("cpu"), trl.SFTConfig) is trl.SFTConfig


@pytest.mark.usefixtures("float64")
def test_a_short_last_micro_batch_counts_by_its_rows():
    """DPO's loss, unlike SFT's, is a mean over rows."""

    class OfRows(trl.SFTTrainer):
        def _get_num_items_in_batch(self, batch_samples, device):
            return None

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            log_probs = model(inputs["input_ids"]).logits[:, :-1].log_softmax(dim=-1)
            labels = inputs["labels"][:, 1:]
            chosen = log_probs.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1)
            return -(chosen * (labels != -100)).sum(dim=-1).mean()

    found = []
    for at_once in (3, 2):  # of rows 3: one micro-batch, or one of 2 and one of 1
        player = tiny_models.policy()
        config = Config(batch_size=4 if at_once == 2 else 3, rows_at_once=at_once)
        optimizer = an_optimizer(player, config)
        run_trainer(OfRows, player, labelled(ROWS[:3]), optimizer, config, seed=0)
        found.append(weights(player))
    assert_same(found[1], found[0])


@pytest.mark.usefixtures("float64")
def test_the_loss_is_the_cross_entropy_of_the_completions():
    player = tiny_models.policy()
    expected = by_hand(player).item()
    assert trained(player)["loss"] == pytest.approx(expected, rel=LIMIT)


@pytest.mark.usefixtures("float64")
def test_the_loss_is_trls_own(tmp_path):
    """A plain SFTTrainer on the same tokens, with TRL's own mask of the completion."""
    player = tiny_models.policy()
    rows = datasets.Dataset.from_dict(
        {
            "input_ids": [[*p, *c] for p, c in ROWS],
            "completion_mask": [[*[0] * len(p), *[1] * len(c)] for p, c in ROWS],
        }
    )
    other = tiny_models.policy()
    plain = trl.SFTTrainer(
        other.model,
        args=trl.SFTConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=4,
            max_steps=1,
            bf16=False,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            completion_only_loss=True,
            gradient_checkpointing=False,
        ),
        train_dataset=rows,
        processing_class=other.tokenizer,
    )
    assert trained(player)["loss"] == pytest.approx(plain.train().training_loss, rel=LIMIT)


@pytest.mark.usefixtures("float64")
def test_the_step_is_our_optimisers_on_the_gradient_by_hand():
    player, other = tiny_models.policy(), tiny_models.policy()
    metrics = trained(player, max_grad_norm=0.5)
    optimizer = an_optimizer(other, Config(learning_rate=1e-2, max_grad_norm=0.5))
    by_hand(other).backward()
    norm = optimizer.step()
    assert norm > 0.5  # so that the bound on the gradient matters
    assert metrics["grad_norm"] == pytest.approx(norm, rel=LIMIT)
    assert metrics["steps"] == optimizer.steps == 1
    assert_same(weights(player), weights(other))


@pytest.mark.usefixtures("float64")
def test_parts_of_a_batch_add_up_to_it():
    """Four rows at once, or two times two, or four times one: the mean is over all their tokens."""
    found = {}
    for at_once in (256, 3, 2, 1):
        player = tiny_models.policy()
        metrics = trained(player, rows_at_once=at_once)
        found[at_once] = (metrics["loss"], metrics["steps"], weights(player))
    loss, steps, whole = found[256]
    assert steps == 1
    for at_once in (3, 2, 1):
        assert found[at_once][:2] == (pytest.approx(loss, rel=LIMIT), 1)
        assert_same(found[at_once][2], whole)


def test_epochs_and_batches_make_steps():
    player = tiny_models.policy()
    metrics = trained(player, labelled(ROWS[:3]), batch_size=2, epochs=3)
    assert metrics["steps"] == 6  # two rows and one, three times


def test_the_seed_orders_the_rows():
    runs = []
    for seed in (1, 1, 2):
        player = tiny_models.policy()
        trained(player, batch_size=1, seed=seed)
        runs.append(weights(player))
    assert all(torch.equal(runs[0][n], runs[1][n]) for n in runs[0])
    assert not all(torch.equal(runs[0][n], runs[2][n]) for n in runs[0])


@pytest.mark.usefixtures("float64")
def test_options_of_trl_pass_through():
    """Dynamic fine-tuning weighs each token with its probability: the loss is the mean of -p log p."""
    player = tiny_models.policy()
    terms = []
    for prompt, completion in ROWS:
        logits = player.model(torch.tensor([[*prompt, *completion]])).logits[0]
        for place, token in enumerate(completion, start=len(prompt)):
            logp = F.log_softmax(logits[place - 1], dim=-1)[token]
            terms.append(-logp.exp() * logp)
    expected = torch.stack(terms).mean().item()
    assert trained(player, trl_args={"loss_type": "dft"})["loss"] == pytest.approx(
        expected, rel=LIMIT
    )
    assert expected != pytest.approx(by_hand(tiny_models.policy()).item(), rel=0.1)


def test_everything_but_the_weights_is_as_it_was(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def no_ping(*args, **kwargs):
        raise AssertionError("something was sent")

    monkeypatch.setattr("trl.trainer.base_trainer.send_telemetry", no_ping)
    player = tiny_models.policy()
    player.tokenizer.pad_token = None
    running = Accelerator(cpu=True)
    torch.manual_seed(11)
    chance = (torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002
    model, generation = player.model, copy.deepcopy(player.model.generation_config.to_dict())
    before, config = set(vars(model)), copy.deepcopy(model.config.to_dict())
    forward = model.forward
    old = weights(player)
    bars = datasets.are_progress_bars_disabled()
    capfd.readouterr()
    metrics = trained(player)
    assert capfd.readouterr().out == ""
    assert any(not torch.equal(old[n], t) for n, t in weights(player).items())
    assert player.model is model
    assert model.forward == forward
    assert (set(vars(model)), model.config.to_dict()) == (before, config)
    assert model.generation_config.to_dict() == generation
    assert player.tokenizer.pad_token is None
    assert not any(module.training for module in model.modules())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), chance[0])
    assert random.getstate() == chance[1]
    assert np.random.get_state()[1].tolist() == chance[2]  # noqa: NPY002
    assert running.state.device.type == "cpu"  # not reset under a running accelerator
    assert datasets.are_progress_bars_disabled() == bars
    assert os.listdir(tmp_path) == []
    assert metrics["learning_rate"] == 1e-2
    assert 0 <= metrics["mean_token_accuracy"] <= 1
    AcceleratorState._reset_state(reset_partial_state=True)


def test_dropout_rates_of_the_model_and_of_one_beside_are_put_back():
    """DPO's trainer switches dropout off in both its models, and patches their forward passes."""
    player, beside = tiny_models.policy(), tiny_models.model(seed=1)
    player.model.drop, beside.drop = nn.Dropout(0.5), nn.Dropout(0.25)

    class Off(trl.SFTTrainer):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            player.model.drop.p = beside.drop.p = 0.0
            beside.forward = None

    config = Config(batch_size=4)
    optimizer = an_optimizer(player, config)
    run_trainer(Off, player, labelled(), optimizer, config, seed=0, beside=[beside])
    assert (player.model.drop.p, beside.drop.p) == (0.5, 0.25)
    assert beside.forward is not None


def test_a_loss_that_is_not_finite_stops_before_the_step():
    player = tiny_models.policy()
    with torch.no_grad():
        player.model.lm_head.weight[3] = float("inf")
    old = weights(player)
    with pytest.raises(DivergedError, match="lower learning_rate"):
        trained(player)
    assert all(torch.equal(old[n], t) for n, t in weights(player).items())
    assert "forward" not in vars(player.model)
    assert not player.model.training


def test_without_rows_nothing_is_done():
    player = tiny_models.policy()
    old = weights(player)
    assert trained(player, labelled([])) == {
        "loss": 0.0,
        "grad_norm": 0.0,
        "learning_rate": 1e-2,
        "steps": 0,
    }
    assert all(torch.equal(old[n], t) for n, t in weights(player).items())


@pytest.mark.parametrize("checkpointing", [False, True])
def test_only_the_policys_own_adapter_learns(checkpointing):
    base = tiny_models.policy(gradient_checkpointing=checkpointing)
    seats = lora_policies(base, ["a", "b"], lora_dropout=0.1)
    with torch.no_grad():  # adapters that do something, so that a wrong one would show
        for player in seats.values():
            for parameter in player.parameters():
                parameter.add_(0.01)
    model, mine = seats["a"].model, seats["a"].adapter
    seats["b"].activate()
    expected = by_hand_with(seats["a"])
    old = weights(seats["a"])
    own = set(own_parameters(model, mine))
    flags = {n: p.requires_grad for n, p in model.named_parameters()}
    hooks = [len(m._forward_hooks) for m in model.modules()]
    metrics = trained(seats["a"], labelled(ROWS))
    assert metrics["loss"] == pytest.approx(expected, rel=0.2)  # there is dropout
    changed = {n for n, t in weights(seats["a"]).items() if not torch.equal(old[n], t)}
    assert changed == own
    assert {n: p.requires_grad for n, p in model.named_parameters()} == flags
    assert [len(m._forward_hooks) for m in model.modules()] == hooks
    assert not any(getattr(m, "gradient_checkpointing", False) for m in model.modules())


def by_hand_with(player):
    player.activate()
    player.model.eval()
    return by_hand(player).item()


@pytest.mark.parametrize("precision", ["bf16_autocast", "bf16"])
def test_precisions(precision):
    """Half precision is near the float32 loss; bfloat16 weights learn through float32 masters."""
    player = tiny_models.policy(precision=precision)
    expected = by_hand(tiny_models.policy()).item()
    config = Config(batch_size=4)
    optimizer = an_optimizer(player, config, rate=1e-5)  # a step far below bfloat16's spacing
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    for _ in range(2):
        metrics = run_trainer(trl.SFTTrainer, player, labelled(), optimizer, config, seed=0)
        assert metrics["loss"] == pytest.approx(expected, rel=0.02)
    assert {p.dtype for p in player.model.parameters()} == {kind}
    assert any("master" in name for name in optimizer.state()) == (precision == "bf16")


def test_bf16_autocast_is_used():
    """The loss differs from float32's by about bfloat16's rounding, and not by nothing."""
    player = tiny_models.policy(precision="bf16_autocast")
    exact = by_hand(tiny_models.policy()).item()
    assert 1e-6 < abs(trained(player)["loss"] - exact) / exact < 0.02


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("learning_rate", "the learner's learning_rate"),
        ("optim", "AdamW"),
        ("adam_beta1", "AdamW"),
        ("output_dir", "the run keeps its own checkpoints"),
        ("save_steps", "the run keeps its own checkpoints"),
        ("eval_strategy", "evaluations"),
        ("report_to", "records"),
        ("logging_steps", "records"),
        ("seed", "the run's seed"),
        ("lr_scheduler_type", "schedule and warmup"),
        ("warmup_steps", "schedule and warmup"),
        ("max_grad_norm", "the learner's max_grad_norm"),
        ("num_train_epochs", "the learner's epochs"),
        ("per_device_train_batch_size", "the learner's batch_size"),
        ("bf16", "the run's precision"),
        ("gradient_checkpointing", "the run's gradient_checkpointing"),
        ("eos_token", "the policy's model and tokenizer"),
        ("dataset_text_field", "the learner makes the rows"),
        ("dataloader_num_workers", "in this process"),
        ("deepspeed", "in this process"),
    ],
)
def test_what_is_set_elsewhere_is_refused_saying_where(name, where):
    with pytest.raises(ConfigError, match=rf"trl_args does not take {name}: .*{where}"):
        Config(trl_args={name: 1})


def test_an_unknown_option_is_refused_with_the_nearest():
    with pytest.raises(
        UnknownNameError, match="unknown option of TRL's SFTConfig 'max_lenght'"
    ) as e:
        Config(trl_args={"max_lenght": 3})
    assert "Did you mean 'max_length'?" in str(e.value)
    assert "learning_rate" not in str(e.value)  # which is not to be set here
    with pytest.raises(UnknownNameError, match="DPOConfig 'packing'"):
        check_trl_args({"packing": True}, "DPOConfig")
    check_trl_args({"beta": 0.2, "loss_type": "ipo"}, "DPOConfig")


@pytest.mark.parametrize("name", ["epochs", "batch_size", "rows_at_once"])
def test_counts_are_at_least_one(name):
    with pytest.raises(ConfigError, match="at least 1"):
        Config(**{name: 0})


class Counting(TRLUpdater):
    """Trains on as many rows as it is told."""

    def run(self, count):
        rows = labelled((ROWS * 2)[:count])
        found = self.train("policy", trl.SFTTrainer, rows, seed=count)
        self.iterations += 1
        return found


def an_updater(**options):
    player = tiny_models.policy()
    config = Config(**{"batch_size": 2, "learning_rate": 1e-2, **options})
    return Counting(config, {"policy": player}, {"a_0": player}, total_steps=3)


def test_a_schedule_ends_with_the_run_however_many_rows_there_are():
    """Linear, 3 iterations: of 2 steps (of 6 foreseen), 1 (of 2 more foreseen), 4 (the last).

    The rate after each: 1 - 2/6; at 3 of 2 + 2 * 1 steps; 0 at the end.
    """
    updater = an_updater(schedule="linear")
    rates = [updater.run(rows)["learning_rate"] for rows in (4, 2, 8)]
    assert rates == pytest.approx([1e-2 * (1 - 2 / 6), 1e-2 * (1 - 3 / 4), 0.0])


def test_a_resumed_updater_goes_on_exactly(tmp_path):
    whole = an_updater(schedule="cosine", warmup=1)
    for rows in (4, 2, 8):
        whole.run(rows)
    first = an_updater(schedule="cosine", warmup=1)
    first.run(4)
    first.save(tmp_path)
    first.policies["policy"].save(tmp_path / "policy")
    assert {p.suffix for p in Path(tmp_path).iterdir() if p.is_file()} == {".safetensors", ".json"}
    second = an_updater(schedule="cosine", warmup=1)
    second.policies["policy"].load_weights(tmp_path / "policy")
    second.load(tmp_path)
    for rows in (2, 8):
        second.run(rows)
    expected = weights(whole.policies["policy"])
    assert all(torch.equal(expected[n], t) for n, t in weights(second.policies["policy"]).items())
