"""Options of TRL's trainers that a learner's ``trl_args`` pass through, and those that are ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError
from llmzoo.learners.updates.optimizer import OptimizerConfig

# what is set elsewhere: where, and the options, by name or by the beginning of it (``save_*``)
_ELSEWHERE = {
    "the learner's learning_rate sets it": "learning_rate",
    "the learner's weight_decay sets it": "weight_decay",
    "the learner's max_grad_norm sets it": "max_grad_norm",
    "the learner's schedule and warmup set it": "lr_scheduler_* warmup_*",
    "the optimiser is AdamW, whose state is in the run's checkpoints": "optim* adam_*",
    "the learner's epochs sets it": "num_train_epochs max_steps",
    "the learner's batch_size and rows_at_once set it": (
        "per_device_train_batch_size gradient_accumulation_* auto_find_batch_size"
    ),
    "the run's seed sets it": "seed data_seed full_determinism",
    "the run's precision sets it": "bf16* fp16* tf32",
    "the run's gradient_checkpointing sets it": "gradient_checkpointing* activation_checkpointing*",
    "the policy's model and tokenizer are trained as they are": (
        "model_init_kwargs trust_remote_code chat_template_path eos_token pad_token use_cache"
    ),
    "the learner makes the rows, from tokens as the policy writes them": (
        "dataset_* completion_only_loss assistant_only_loss label_names remove_unused_columns "
        "length_column_name eval_packing"
    ),
    "the run keeps its own checkpoints, evaluations and records": (
        "output_dir save_* eval_* do_* log_* logging_* report_to run_name project trackio_* "
        "push_to_hub hub_* disable_tqdm load_best_model_at_end metric_for_best_model "
        "greater_is_better ignore_data_skip resume_from_checkpoint enable_jit_checkpoint debug "
        "restore_callback_states_from_checkpoint skip_memory_metrics include_* batch_eval_metrics "
        "prediction_loss_only per_device_eval_batch_size"
    ),
    "an update runs in this process, on the policy's device": (
        "use_cpu dataloader_* ddp_* fsdp* deepspeed local_rank accelerator_config "
        "parallelism_config torch_compile* use_liger_kernel liger_kernel_config "
        "average_tokens_across_devices"
    ),
}


def trl() -> Any:
    """TRL, which takes seconds to import; raises :class:`MissingExtraError` where it is absent."""
    try:
        import trl
    except ModuleNotFoundError as error:
        raise MissingExtraError("training with TRL", "train", error.name) from error
    return trl


def check_trl_args(trl_args: Mapping[str, Any], args_class: str) -> None:
    """Refuse options that TRL's ``args_class`` (``"SFTConfig"``) lacks, or that are set elsewhere.

    Raises :class:`UnknownNameError` or :class:`ConfigError`. Without options TRL is not imported.
    """
    if not trl_args:
        return
    known = [field.name for field in fields(getattr(trl(), args_class)) if field.init]
    for name in trl_args:
        if name not in known:
            open_to_all = [option for option in known if _elsewhere(option) is None]
            raise UnknownNameError(f"option of TRL's {args_class}", name, open_to_all)
        where = _elsewhere(name)
        if where is not None:
            raise ConfigError(f"trl_args does not take {name}: {where}")


def _elsewhere(name: str) -> str | None:
    """Where an option is set, if it is not for ``trl_args``."""
    for where, options in _ELSEWHERE.items():
        for option in options.split():
            if name == option or (option.endswith("*") and name.startswith(option[:-1])):
                return where
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TRLConfig(OptimizerConfig):
    """Options of every learner that trains with TRL."""

    epochs: int = 1  # passes over each iteration's rows
    batch_size: int = 32  # rows of an optimiser step
    rows_at_once: int = 256  # rows in one forward pass; the rest is accumulated
    trl_args: Mapping[str, Any] = field(default_factory=dict)  # further options of TRL's own

    args_class: ClassVar[str]  # TRL's configuration of the trainer

    def __post_init__(self) -> None:
        OptimizerConfig.__post_init__(self)
        if self.epochs < 1 or self.batch_size < 1 or self.rows_at_once < 1:
            raise ConfigError("epochs, batch_size and rows_at_once are at least 1")
        check_trl_args(self.trl_args, self.args_class)
