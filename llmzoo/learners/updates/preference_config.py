"""Options of the learners that train on preferences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners.preferences import Choice
from llmzoo.learners.updates.trl_args import TRLConfig

# of one pair by itself, whatever the length of its answers: a joint answer can take its place
JOINT_LOSSES = (
    *("sigmoid", "hinge", "exo_pair", "nca_pair", "robust"),
    *("bco_pair", "sppo_hard", "apo_zero", "apo_down", "discopop"),
)
LOSSES = (*JOINT_LOSSES, "ipo", "aot", "aot_unpaired", "sft", "sigmoid_norm")
_OURS = {
    "beta": "beta",
    "loss_type": "loss_type",
    "sync_ref_model": "rounds",
    "ref_model_mixup_alpha": "rounds",
    "ref_model_sync_steps": "rounds",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerConfig(TRLConfig):
    """What TRL's DPOTrainer is run with."""

    args_class: ClassVar[str] = "DPOConfig"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceConfig(TrainerConfig):
    """Options of every preference learner; beta and batch size as in the paper (2305.18290)."""

    batch_size: int = 64  # pairs of an optimiser step
    rows_at_once: int = 64  # pairs in one forward pass; the rest is accumulated
    beta: float = 0.1  # how strongly the policy is held to the reference
    loss_type: str | tuple[str, ...] = "sigmoid"  # TRL's names; trl_args' loss_weights weigh them
    rounds: int = 1  # references in a run, each a policy of its time; 0: a new one each iteration
    group_size: int = 4  # K: completions of each prompt
    gamma: float = 1.0  # discount per turn of the agent's own
    expand: int | None = 1  # children of a node that become nodes; None: all (the full tree)
    pairs: Choice = "gap"  # of a group: best against worst, one at random, or all that differ
    min_gap: float = 0.0  # least difference of the returns of a pair

    allowed_losses: ClassVar[tuple[str, ...]] = LOSSES

    def __post_init__(self) -> None:
        TRLConfig.__post_init__(self)
        for name, own in _OURS.items():
            if name in self.trl_args:
                raise ConfigError(f"trl_args does not take {name}: the learner's {own} sets it")
        if any(name.startswith("precompute_ref") for name in self.trl_args):
            raise ConfigError("the reference's log-probabilities are computed beforehand always")
        if self.trl_args.get("truncation_mode", "keep_start") != "keep_start":
            raise ConfigError("truncation_mode is 'keep_start': TRL is about to drop the other")
        if self.beta <= 0:
            raise ConfigError(f"beta must be above 0, got {self.beta}")
        if not self.losses:
            raise ConfigError(f"loss_type names no loss: one of {', '.join(self.allowed_losses)}")
        for name in self.losses:
            if name not in self.allowed_losses:
                raise UnknownNameError("loss_type", name, self.allowed_losses)
        if "exo_pair" in self.losses and not self.trl_args.get("label_smoothing"):
            raise ConfigError("exo_pair needs trl_args' label_smoothing above 0, such as 0.001")
        weights = self.trl_args.get("loss_weights")
        if weights is not None and len(weights) != len(self.losses):
            raise ConfigError(f"{len(weights)} loss_weights for {len(self.losses)} losses")
        if self.rounds < 0:
            raise ConfigError(f"rounds must be at least 0, got {self.rounds}")
        if self.group_size < 2:
            raise ConfigError(f"a pair needs a group_size of at least 2, got {self.group_size}")
        if not 0.0 <= self.gamma <= 1.0:
            raise ConfigError(f"gamma must be in [0, 1], got {self.gamma}")
        if self.pairs not in ("gap", "random", "all"):
            raise UnknownNameError("pairs", self.pairs, ("gap", "random", "all"))
        if self.min_gap < 0:
            raise ConfigError(f"min_gap must be at least 0, got {self.min_gap}")

    @property
    def losses(self) -> tuple[str, ...]:
        return (self.loss_type,) if isinstance(self.loss_type, str) else tuple(self.loss_type)

    def for_trl(self) -> TrainerConfig:
        """The part that goes to TRL."""
        ours = {
            "beta": self.beta,
            "loss_type": list(self.losses),
            "precompute_ref_log_probs": True,
        }
        passed = {f.name: getattr(self, f.name) for f in fields(TrainerConfig)}
        return TrainerConfig(**{**passed, "trl_args": {**self.trl_args, **ours}})

    def refuse_beside(self, names: Iterable[str], beside: str) -> None:
        """Raise :class:`ConfigError` for options that are set but mean nothing."""
        defaults: dict[str, Any] = {f.name: f.default for f in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                raise ConfigError(f"{name} means nothing beside {beside}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DPOConfig(PreferenceConfig):
    """Options of DPO."""

    mode: Literal["align", "cross"] = "align"  # pair the g-th answers, or try all combinations
    preferences: str | None = None  # file or hub id of pairs; nothing is played then
    rows: int = 16  # of preferences, in each iteration
    order: int = 0  # seed of the order of the rows

    def __post_init__(self) -> None:
        PreferenceConfig.__post_init__(self)
        if self.mode not in ("align", "cross"):
            raise UnknownNameError("mode", self.mode, ("align", "cross"))
        if self.rows < 1:
            raise ConfigError(f"rows must be at least 1, got {self.rows}")
        if self.preferences is None:
            self.refuse_beside(["rows", "order"], "play: give preferences")
            if self.trl_args.get("max_length") is not None:
                raise ConfigError("played answers are trained on whole: max_length means nothing")
        else:
            played = ["group_size", "gamma", "expand", "mode", "pairs", "min_gap"]
            self.refuse_beside(played, "preferences, with which nothing is played")


@dataclass(frozen=True, slots=True, kw_only=True)
class MADPOConfig(PreferenceConfig):
    """Options of multi-agent DPO. Answers are paired in mode align; a batch is of joint pairs."""

    allowed_losses: ClassVar[tuple[str, ...]] = JOINT_LOSSES

    def __post_init__(self) -> None:
        PreferenceConfig.__post_init__(self)
        if self.trl_args.get("max_length") is not None:
            raise ConfigError("played answers are trained on whole: max_length means nothing")
        if self.trl_args.get("use_weighting"):
            raise ConfigError("use_weighting weighs a pair by one seat's likelihood: not for madpo")
