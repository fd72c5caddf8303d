"""``trl_args``: further options of SFT and DPO, under TRL's names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from llmzoo.errors import ConfigError, UnknownNameError

# rejected options of TRL's trainers: reason -> names, where ``*`` ends a prefix
_REFUSED = {
    "the learner's learning_rate sets it": "learning_rate",
    "the learner's weight_decay sets it": "weight_decay",
    "the learner's adam_beta1 sets it": "adam_beta1",
    "the learner's max_grad_norm sets it": "max_grad_norm",
    "the learner's schedule and warmup set it": "lr_scheduler_* warmup_*",
    "the optimiser is AdamW, whose state is in the run's checkpoints": "optim* adam_*",
    "the learner's epochs sets it": "num_train_epochs max_steps",
    "the learner's batch_size and microbatch_rows set it": (
        "per_device_train_batch_size gradient_accumulation_* auto_find_batch_size"
    ),
    "the learner's beta sets it": "beta",
    "the learner's rounds sets it": "sync_ref_model ref_model_*",
    "the run's seed sets it": "seed data_seed full_determinism shuffle_dataset train_sampling_*",
    "the run's precision sets it": "bf16* fp16* tf32",
    "the run's gradient_checkpointing saves memory": (
        "gradient_checkpointing* activation_* torch_empty_cache_steps"
    ),
    "the policy's model and tokenizer are used unchanged": (
        "model_init_kwargs trust_remote_code chat_template_path eos_token pad_token use_cache"
    ),
    "the learner builds the rows from the policy's own tokens": (
        "dataset_* completion_only_loss assistant_only_loss label_names remove_unused_columns "
        "length_column_name eval_packing"
    ),
    "rows are always packed, without padding": "packing* padding_free pad_to_multiple_of",
    "the reference's log-probabilities are always computed beforehand": "precompute_ref_*",
    "max_length always keeps the beginning, so leave it out": "truncation_mode",
    "training has no dropout, so leave it out": "disable_dropout",
    "the learner does not support it; use TRL's own trainer on rows from llmzoo collect": (
        "neftune_noise_alpha label_smoothing_factor router_aux_loss_coef use_weighting"
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


def check_trl_args(trl_args: Mapping[str, Any], offered: Collection[str]) -> None:
    """Raise for options that are not ``offered``.

    Raises :class:`ConfigError` for an option of TRL's that is set elsewhere or deliberately
    unsupported, with what to do instead, and :class:`UnknownNameError` for any other name.
    """
    for name in trl_args:
        if name in offered:
            continue
        reason = _refusal_reason(name)
        if reason is None:
            raise UnknownNameError("option in trl_args", name, offered)
        raise ConfigError(f"trl_args does not take {name}: {reason}")


def _refusal_reason(name: str) -> str | None:
    """Why TRL's option ``name`` is rejected; None for an unknown name."""
    for reason, options in _REFUSED.items():
        for option in options.split():
            if name == option or (option.endswith("*") and name.startswith(option[:-1])):
                return reason
    return None
