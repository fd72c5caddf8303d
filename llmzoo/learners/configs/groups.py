"""Options of the learners on groups of completions of one prompt, without a critic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError
from llmzoo.learners import returns
from llmzoo.learners.configs.surrogate import Reduction, SurrogateConfig

Normalize = bool | Literal["components"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig(SurrogateConfig):
    """Options of every critic-free learner."""

    group_size: int = 4  # K: completions per prompt
    gamma: float = 1.0  # discount per turn of this agent
    normalize: Normalize = False  # divide by the group's std; components: each component by its own
    whiten: bool = False  # standardise over each policy's batch, after normalize
    rewards: tuple[str, ...] = ()  # functions applied to the returns, such as "scale 2"
    role_baseline: float | None = None  # decay of a running mean per role as baseline
    roles: tuple[str, ...] = ()  # patterns of agents that share a role, such as worker_*
    zero_variance_groups: Literal["keep", "drop", "resample"] = "keep"  # groups with equal returns
    resamples: int = 2  # how often "resample" may extend a batch
    mask_truncated: bool = False  # leave completions cut off by the token limit out of the loss
    replay: int = 0  # number of earlier batches to train on again; requires clip

    def __post_init__(self) -> None:
        SurrogateConfig.__post_init__(self)
        check_bounds(self, group_size="at least 1", gamma="in [0, 1]", role_baseline="in [0, 1)")
        check_bounds(self, resamples="at least 1", replay="at least 0")
        if self.group_size == 1 and (self.normalize or self.zero_variance_groups != "keep"):
            raise ConfigError(
                "group_size=1 has no variance within a group: set normalize=False and zero_variance_groups='keep'"
            )
        returns.parse_reward_functions(self.rewards)
        if self.normalize not in (False, True, "components"):
            raise ConfigError(
                f"normalize must be true, false or components, got {self.normalize!r}"
            )
        if self.normalize == "components" and self.rewards:
            raise ConfigError(
                "rewards transform the whole return, so normalize must not be 'components'"
            )
        if self.role_baseline is None and self.roles:
            raise ConfigError("roles require role_baseline: set it, such as 0.95")
        if isinstance(self.roles, str):
            raise ConfigError(f"roles must be a list of patterns: write [{self.roles}]")
        if self.role_baseline is not None and (self.normalize or self.whiten):
            raise ConfigError(
                "role_baseline replaces the group's baseline: set normalize and whiten to False"
            )
        if self.replay and self.clip is None:
            raise ConfigError("replay needs the clipped ratio: set clip, such as 0.2")


@dataclass(frozen=True, slots=True, kw_only=True)
class JointConfig(GroupConfig):
    """Options of learners on joint trees."""

    mode: Literal["align", "cross"] = "align"  # pair the g-th completions, or try all combinations
    expand: int | None = 1  # children of a node that are expanded; None: all (the full tree)
    reduction: Literal["token_mean", "sequence_sum", "sequence_mean"] = "sequence_sum"
    weigh_by_reach: bool = True  # multiply credit by the probability of reaching the node


@dataclass(frozen=True, slots=True, kw_only=True)
class ATGRPOConfig(GroupConfig):
    """Clip 0.2 and ``team_reward_weight`` 1 as published; no normalisation, and a random completion is carried out.

    The published ``normalize=True`` made sokoban worse (docs/results/archive/games.md, ablations): if
    most groups differ only in small format rewards, these then have as much weight as a solution. The
    published ``select="greedy"`` makes no difference to what is learned, but training episodes then
    show the best completion of each group and not the policy. ``configs/options/at_grpo_paper.yaml``
    has the published settings.

    ``continuations=None`` plays one continuation if the agent may be rewarded at another agent's step.
    It plays none if ``team_reward_weight`` is 1 and the environment declares that the completion is
    scored at its own step.
    """

    clip: float | None = 0.2
    team_reward_weight: float = 1.0  # weight of the team reward relative to the local one
    select: Literal["greedy", "sample", "random"] = "random"  # which completion is carried out
    continuations: int | None = None  # played after each completion; None: see above

    def __post_init__(self) -> None:
        GroupConfig.__post_init__(self)
        if self.gamma != 1.0:
            raise ConfigError(
                "at_grpo uses the reward of a single turn, so gamma has no effect: leave it at 1"
            )
        if self.team_reward_weight != 1.0 and self.normalize == "components":
            raise ConfigError(
                "normalize='components' removes each component's scale: team_reward_weight has no effect, leave it at 1"
            )
        check_bounds(self, continuations="at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class CCPOConfig(JointConfig):
    """``mode`` must be ``align``, because ``cross`` already compares all combinations of completions."""

    counterfactuals: int | None = None  # other completions to compare with; None: all of the group

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.mode != "align":
            raise ConfigError("ccpo compares aligned completions: leave mode at align")
        if self.counterfactuals is not None and not 1 <= self.counterfactuals < self.group_size:
            raise ConfigError(
                f"counterfactuals must be at least 1 and below group_size ({self.group_size}), got {self.counterfactuals}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class GRPOConfig(JointConfig):
    """The published settings: standard-deviation normalisation, clip 0.2, mean over each completion.

    Except for the KL weight: it is 0, as has become usual; ``kl=0.04`` restores the published one.
    """

    group_size: int = 8
    normalize: Normalize = True
    clip: float | None = 0.2
    reduction: Reduction = "sequence_mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class MAREMAXConfig(JointConfig):
    """``greedy``: ReMax's own baseline; ``group_max``: the group's best return, as in CoMLRL."""

    baseline: Literal["greedy", "group_max"] = "greedy"  # what is subtracted

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.baseline == "group_max" and self.group_size == 1:
            raise ConfigError(
                "group_max with group_size=1 compares a completion with itself: set group_size to at least 2"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxRLConfig(JointConfig):
    """``group_size`` as published; larger groups come closer to maximum likelihood."""

    group_size: int = 16
    success: float | None = None  # lowest return of a success; None: returns are partial successes

    # small and large losses count the same, so a stronger anchor is needed
    self_play: ClassVar[Mapping[str, Any]] = {"kl": 1.0}

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.normalize:
            raise ConfigError("maxrl divides by the mean of the group: set normalize to False")
        if self.success is not None and not math.isfinite(self.success):
            raise ConfigError(f"success must be a finite return, got {self.success}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OPDConfig(JointConfig):
    """``teacher`` must be set."""

    teacher: Mapping[str, str] | str | None = None  # model, folder or run; or one per agent
    loss: Literal["reverse_kl", "jsd"] = "reverse_kl"  # on sampled tokens, or distributions
    beta: float | None = None  # for jsd: 0 is KL(teacher || student), 1 the reverse; None: 0.5
    discount: float = 0.0  # discount of later tokens' credit, with reverse_kl
    reward_weight: float = 0.0  # weight of the return minus its group's mean
    group_size: int = 1
    reduction: Reduction = "token_mean"

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.loss not in ("reverse_kl", "jsd"):
            raise ConfigError(f"loss must be reverse_kl or jsd, got {self.loss!r}")
        if self.loss == "reverse_kl" and self.beta is not None:
            raise ConfigError("beta requires loss='jsd'")
        check_bounds(self, beta="in [0, 1]", discount="in [0, 1]", reward_weight="at least 0")
        if self.discount and self.loss == "jsd":
            raise ConfigError("discount requires loss='reverse_kl'")
        if self.zero_variance_groups != "keep":
            raise ConfigError(
                "the teacher gives credit in every group: set zero_variance_groups='keep'"
            )
        if self.reward_weight and self.group_size == 1 and self.role_baseline is None:
            raise ConfigError(
                "rewards are compared within groups: set group_size to at least 2, or role_baseline"
            )
        reward_defaults = {"normalize": False, "role_baseline": None, "rewards": (), "gamma": 1.0}
        reward_defaults["whiten"] = False
        for name, default in reward_defaults.items() if not self.reward_weight else ():
            if getattr(self, name) != default:
                raise ConfigError(f"{name} requires reward_weight above 0")
        if self.clip is not None and self.loss == "jsd" and not self.reward_weight:
            raise ConfigError("loss='jsd' has no ratio to clip: leave clip at None")

    @property
    def is_anchored(self) -> bool:
        return True  # the teacher is the anchor

    @property
    def includes_zero_advantage(self) -> bool:
        return bool(self.kl or self.entropy) or self.loss == "jsd"
