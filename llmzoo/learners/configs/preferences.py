"""Options of the learners that train on preferences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners.configs.optimizer import update_kl_limit
from llmzoo.learners.configs.rows import RowsConfig
from llmzoo.learners.preferences import PairChoice
from llmzoo.names import check_names

# losses of a single pair that do not depend on lengths, so a joint completion can replace a completion
JOINT_LOSS_NAMES = (
    "sigmoid", "hinge", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "apo_zero",
    "apo_down", "discopop",
)  # fmt: skip
LOSS_NAMES = (*JOINT_LOSS_NAMES, "ipo", "aot", "aot_unpaired", "sft", "sigmoid_norm")
DIVERGENCES = ("reverse_kl", "forward_kl", "js_divergence", "alpha_divergence")
# losses for which f-divergences are defined
_SCORE_LOSSES = ("sigmoid", "sigmoid_norm", "hinge", "ipo", "exo_pair", "robust", "discopop", "sft")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceConfig(RowsConfig):
    """Options of every preference learner; beta and batch size as in the paper (2305.18290)."""

    batch_size: int = 64  # pairs per optimiser step
    microbatch_rows: int = 64  # pairs per forward pass; gradients are accumulated
    beta: float = 0.1  # strength of the implicit KL penalty to the reference
    loss_type: str | tuple[str, ...] = "sigmoid"  # by TRL's names; several are summed
    loss_weights: tuple[float, ...] | None = None  # one for each loss; None: all 1
    label_smoothing: float = 0.0  # probability that a preference is reversed
    discopop_tau: float = 0.05  # temperature of discopop
    ld_alpha: float | None = None  # weight of the longer completion's extra tokens (LD-DPO)
    f_divergence_type: str = "reverse_kl"  # divergence between policy and reference
    f_alpha_divergence_coef: float = 0.5  # alpha of alpha_divergence
    max_update_kl: float | None = None  # largest KL of an update; None: by model (docs/training.md)
    rounds: int | None = None  # references; 0: one per iteration; None: 0, or 1 with preferences
    group_size: int = 4  # K: completions per prompt
    gamma: float = 1.0  # discount per turn of this agent
    expand: int | None = 1  # children of a node that are expanded; None: all (the full tree)
    pairs: PairChoice = "all"  # best against worst, one at random, or all that differ
    min_gap: float = 0.0  # smallest difference between the returns of a pair

    allowed_losses: ClassVar[Collection[str]] = LOSS_NAMES
    self_play: ClassVar[Mapping[str, Any]] = {"rounds": 1, "beta": 0.5}

    def __post_init__(self) -> None:
        RowsConfig.__post_init__(self)
        check_bounds(self, max_update_kl="above 0", beta="above 0", rounds="at least 0")
        check_bounds(
            self,
            gamma="in [0, 1]",
            group_size="at least 2",
            min_gap="at least 0",
            ld_alpha="in [0, 1]",
        )
        check_names("loss_type", self.losses, self.allowed_losses)
        self._check_loss_options()
        if self.pairs not in ("gap", "random", "all"):
            raise UnknownNameError("pairs", self.pairs, ("gap", "random", "all"))

    def update_kl_for(self, parameters: int, *, known_rate: bool) -> float:
        """See :func:`llmzoo.learners.configs.optimizer.update_kl_limit`."""
        return update_kl_limit(self.max_update_kl, parameters, known_rate=known_rate)

    @property
    def round_count(self) -> int:
        """``rounds``, or its default."""
        return self.rounds or 0

    @property
    def is_anchored(self) -> bool:
        """Whether the reference stays fixed over several iterations, starting with the initial policy."""
        return self.round_count > 0

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses that are summed."""
        return (self.loss_type,) if isinstance(self.loss_type, str) else tuple(self.loss_type)

    def _check_loss_options(self) -> None:
        losses = self.losses
        if not losses:
            raise ConfigError(
                f"loss_type must have at least one of {', '.join(LOSS_NAMES)}, got none"
            )
        if self.loss_weights is not None and len(self.loss_weights) != len(losses):
            raise ConfigError(
                f"loss_weights must have one weight for each of {len(losses)} losses, got {len(self.loss_weights)}"
            )
        if self.f_divergence_type not in DIVERGENCES:
            raise UnknownNameError("f_divergence_type", self.f_divergence_type, DIVERGENCES)
        for name in losses if self.f_divergence_type != "reverse_kl" else ():
            if name not in _SCORE_LOSSES:
                raise ConfigError(f"{name} does not support f_divergence_type: leave it out")
        if "exo_pair" in losses and not self.label_smoothing > 0:
            raise ConfigError("exo_pair needs label_smoothing above 0, such as 0.001")
        if not 0.0 <= self.label_smoothing < (0.5 if "robust" in losses else 1.0):
            raise ConfigError(
                f"label_smoothing must be in [0, 1), and below 0.5 for robust; got "
                f"{self.label_smoothing}"
            )

    def refuse_max_length(self) -> None:
        """Raise :class:`ConfigError` if completions that a model sampled would be truncated."""
        if self.max_length is not None:
            raise ConfigError("sampled completions are not truncated: leave max_length out")

    def refuse_unused(self, names: Iterable[str], context: str) -> None:
        """Raise :class:`ConfigError` for options that are set but have no effect."""
        defaults: dict[str, Any] = {f.name: f.default for f in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                raise ConfigError(f"{name} has no effect {context}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DPOConfig(PreferenceConfig):
    """Options of DPO."""

    mode: Literal["align", "cross"] = "align"  # pair the g-th completions, or try all combinations
    preferences: str | None = None  # file or hub id of pairs, instead of playing episodes
    rows: int = 16  # preference rows per iteration
    order: int = 0  # seed for the order of the rows

    def __post_init__(self) -> None:
        PreferenceConfig.__post_init__(self)
        if self.mode not in ("align", "cross"):
            raise UnknownNameError("mode", self.mode, ("align", "cross"))
        check_bounds(self, rows="at least 1")
        if self.preferences is None:
            self.refuse_unused(["rows", "order"], "without preferences: set preferences")
            self.refuse_max_length()
        else:
            played = ["group_size", "gamma", "expand", "mode", "pairs", "min_gap"]
            self.refuse_unused(
                played, "with preferences, because no episodes are played: leave it out"
            )

    def update_kl_for(self, parameters: int, *, known_rate: bool) -> float:
        """As in other learners, but without a default if ``preferences`` is set: the estimate needs sampled
        completions."""
        known = known_rate or self.preferences is not None
        return PreferenceConfig.update_kl_for(self, parameters, known_rate=known)

    @property
    def round_count(self) -> int:
        """``rounds``, or its default. With ``preferences`` there is one reference, as published."""
        if self.rounds is not None:
            return self.rounds
        return 0 if self.preferences is None else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MADPOConfig(PreferenceConfig):
    """Options of multi-agent DPO. Completions are paired in mode align; ``batch_size`` counts joint pairs."""

    allowed_losses: ClassVar[Collection[str]] = JOINT_LOSS_NAMES
    mode: ClassVar[str] = "align"  # a joint completion is the g-th of every agent

    def __post_init__(self) -> None:
        PreferenceConfig.__post_init__(self)
        self.refuse_max_length()
