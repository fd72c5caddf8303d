"""A trainer of TRL as one iteration's update of a policy.

The trainer (https://huggingface.co/docs/trl) brings the loss and the loop over rows; the optimiser
is ours, so that its state is part of a run's checkpoints and a resumed run goes on exactly. All
that the trainer changes beside the weights (the model's forward pass and configuration, global
random state, accelerate's state) is put back when it is done, and it writes and sends nothing.
"""

from __future__ import annotations

import gc
import random
import tempfile
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate.state import AcceleratorState, GradientState, PartialState
from torch import nn
from transformers import PrinterCallback

from llmzoo.errors import DivergedError
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.trl_args import TRLConfig, trl
from llmzoo.learners.updates.trl_rows import Dealt, as_if_alone
from llmzoo.parallel import ranks
from llmzoo.parallel.sharding import device_of
from llmzoo.policies.lora import is_peft
from llmzoo.policies.precision import autocast
from llmzoo.policies.transformers import TransformersPolicy

if TYPE_CHECKING:
    from datasets import Dataset


def run_trainer(
    trainer: Any,
    policy: TransformersPolicy,
    rows: Dataset,
    optimizer: Optimizer,
    config: TRLConfig,
    *,
    seed: int,
    beside: Sequence[nn.Module] = (),
    **options: Any,
) -> dict[str, float]:
    """Train ``policy`` on ``rows`` with the class ``trainer`` of TRL, and with ``optimizer``.

    ``seed`` fixes the order of the rows and all other chance. ``beside``: further models that are
    handed to the trainer, such as a reference, and are to be left as they were. ``options`` are the
    trainer's own arguments. Returns the mean over optimiser steps of the loss and of what TRL logs,
    the gradient's norm, the next learning rate and the number of steps; nothing but zeros where
    there are no rows.

    Raises :class:`DivergedError` for a loss or a gradient that is not finite, before it changes a
    weight.
    """
    device = device_of(policy.model)
    if len(rows) == 0:
        return {"loss": 0.0, "grad_norm": 0.0, "learning_rate": optimizer.rate, "steps": 0}
    policy.activate()
    view = _View(optimizer)
    dealt = Dealt(len(rows), config.batch_size, _at_once(config), seed)
    there = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    with tempfile.TemporaryDirectory() as folder, there, as_if_alone(), _put_back(policy, beside):
        args_class = staying_on(device, getattr(trl(), config.args_class))
        args = args_class(**_arguments(policy, config, dealt, folder))
        # transformers spreads a model over all GPUs that it sees; ours stays where it is
        args._n_gpu = min(1, args.n_gpu)
        run = _quiet(trainer, policy, dealt)(
            model=policy.model,
            args=args,
            train_dataset=rows,
            processing_class=policy.tokenizer,
            optimizers=(view, torch.optim.lr_scheduler.LambdaLR(view, lambda step: 1.0)),
            **options,
        )
        run.remove_callback(PrinterCallback)
        run.train()
    logged = [entry for entry in run.state.log_history if "loss" in entry]
    means = {key: sum(entry[key] for entry in logged) / len(logged) for key in _shared(logged)}
    # the ranks' losses are shares of the step's; all else is a mean of their own rows
    total = ranks.summed(means)
    return {
        **{key: n if key == "loss" else n / ranks.world() for key, n in total.items()},
        "grad_norm": sum(view.norms) / max(1, len(view.norms)),
        "learning_rate": optimizer.rate,
        "steps": len(view.norms),
    }


def staying_on(device: torch.device, args_class: Any) -> Any:
    """The class of a trainer's arguments, for the GPU of a policy: by itself it takes the first."""
    if device.type != "cuda":
        return args_class

    class Staying(args_class):
        @cached_property
        def _setup_devices(self) -> torch.device:
            super()._setup_devices  # noqa: B018  what else it sets is needed
            torch.cuda.set_device(device)
            return device

    return Staying


class _View(torch.optim.Optimizer):
    """Our optimiser as the trainer sees it."""

    def __init__(self, optimizer: Optimizer):
        super().__init__(optimizer.parameters, {"lr": optimizer.rate})
        self.norms: list[float] = []
        self._optimizer = optimizer

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.norms.append(self._optimizer.step())

    def zero_grad(self, set_to_none: bool = True) -> None:
        self._optimizer.zero_grad()


def _at_once(config: TRLConfig) -> int:
    """Rows of a micro-batch: all of one size, so that a step has exactly its rows."""
    each = -(-config.batch_size // ranks.world())
    at_once = min(each, config.rows_at_once)
    while config.batch_size % at_once:
        at_once -= 1
    return at_once


def _arguments(
    policy: TransformersPolicy, config: TRLConfig, dealt: Dealt, folder: str
) -> dict[str, Any]:
    return {
        "max_length": None,  # nothing is cut off silently
        **config.trl_args,
        "per_device_train_batch_size": dealt.at_once,
        "gradient_accumulation_steps": dealt.per_step,
        "num_train_epochs": config.epochs,
        "seed": dealt.seed,
        "max_grad_norm": 0.0,  # the optimiser bounds the gradient
        "use_cpu": device_of(policy.model).type == "cpu",
        "bf16": False,  # the policy's own precision is used instead
        "gradient_checkpointing": policy.gradient_checkpointing,
        "output_dir": folder,
        "save_strategy": "no",
        "report_to": [],
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }


def _quiet(trainer: Any, policy: TransformersPolicy, dealt: Dealt) -> Any:
    """The trainer's class on this rank's rows in the policy's arithmetic, without telemetry.

    It stops at a bad loss; on several ranks, where all must stop, at the gradient that comes of it.
    """
    # of the micro-batches whose losses are still to be computed
    weights = deque(dealt.weights())

    class Quiet(trainer):
        def _get_train_sampler(self, *args: Any) -> Any:
            return dealt

        def _get_num_items_in_batch(self, batch_samples: list[Any], device: Any) -> Any:
            found = super()._get_num_items_in_batch(batch_samples, device)
            if ranks.world() == 1 or found is None:
                return found
            ahead = list(weights)[: len(batch_samples)]
            counting = [batch for batch, w in zip(batch_samples, ahead, strict=True) if w]
            own = super()._get_num_items_in_batch(counting, device) if counting else 0
            return torch.tensor(int(ranks.summed({"items": int(own)})["items"]), device=device)

        def compute_loss_context_manager(self) -> Any:
            return autocast(device_of(policy.model), policy.precision)

        def compute_loss(self, model: Any, inputs: Any, *args: Any, **options: Any) -> Any:
            loss = super().compute_loss(model, inputs, *args, **options)
            weight = weights.popleft()
            if not weights:  # an epoch is over, and another may begin
                weights.extend(dealt.weights())
            if ranks.world() == 1 and not torch.isfinite(loss):
                raise DivergedError(
                    f"the loss of {policy.name!r} is {loss.item()}: lower learning_rate"
                )
            # a sum over all tokens of the step is weighed by them already
            summed = options.get("num_items_in_batch") is not None
            return loss * (float(weight > 0) if summed else weight)

        def _send_telemetry(self) -> None:
            pass

    return Quiet


def _shared(logged: Sequence[Mapping[str, Any]]) -> list[str]:
    """What TRL logs at every step, but for what counts up or is known better here."""
    counts = {"step", "epoch", "num_tokens", "learning_rate", "grad_norm"}
    first, *others = logged
    return [k for k in first if k not in counts and all(k in entry for entry in others)]


@contextmanager
def _put_back(policy: TransformersPolicy, beside: Sequence[nn.Module]) -> Iterator[None]:
    """Afterwards all is as it was, but for the weights; the model is in evaluation mode."""
    import datasets

    model: Any = policy.model
    inner = [model.get_base_model()] if is_peft(model) else []
    configs = [model.config, model.config.get_text_config(), model.generation_config]
    shared = [c._shared_state for c in (AcceleratorState, PartialState, GradientState)]
    kept = [vars(thing) for thing in (model, *inner, *beside, *configs)] + shared
    kept += [module._forward_hooks for module in model.modules()]
    dropouts = [
        m for whole in (model, *beside) for m in whole.modules() if isinstance(m, nn.Dropout)
    ]
    copies = [dict(values) for values in kept]
    rates = [dropout.p for dropout in dropouts]
    pad = policy.tokenizer.pad_token
    # the legacy state is the one that the trainer seeds
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    bars = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    gc.freeze()  # accelerate starts with a collection: 0.2 s over all that stands in memory
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # TRL's own use of transformers
            yield
    finally:
        gc.unfreeze()
        if not bars:
            datasets.enable_progress_bars()
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        if policy.gradient_checkpointing:
            model.activation_checkpointing_disable()
        for values, copy in zip(kept, copies, strict=True):
            values.clear()
            values.update(copy)
        for dropout, rate in zip(dropouts, rates, strict=True):
            dropout.p = rate
        policy.tokenizer.pad_token = pad
        model.eval()
        for parameter in model.parameters():
            parameter.grad = None
