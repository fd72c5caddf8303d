"""Options of the learners on groups of answers to one prompt, without a critic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from llmzoo.errors import ConfigError
from llmzoo.learners import returns
from llmzoo.learners.configs.surrogate import Reduction, SurrogateConfig

Normalize = bool | Literal["components"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig(SurrogateConfig):
    """Options of every critic-free learner."""

    group_size: int = 4  # K: completions of each prompt
    gamma: float = 1.0  # discount per turn of the agent's own
    normalize: Normalize = False  # by the group's deviation; components: each by its own
    whiten: bool = False  # then mean 0 and deviation 1 over each batch of a policy
    rewards: tuple[str, ...] = ()  # functions of the returns before credit, such as "scale 2"
    role_baseline: float | None = None  # RAE in place of the learner's credit: a mean's decay
    zero_variance_groups: Literal["keep", "drop", "resample"] = "keep"  # groups without differences
    resamples: int = 2  # most times that a batch is extended to get groups with differences
    mask_truncated: bool = False  # answers cut off by the token limit are judged, not trained
    replay: int = 0  # earlier batches to learn from again; needs clip

    def __post_init__(self) -> None:
        SurrogateConfig.__post_init__(self)
        if self.group_size < 1:
            raise ConfigError(f"group_size must be at least 1, got {self.group_size}")
        if self.group_size == 1 and (self.normalize or self.zero_variance_groups != "keep"):
            raise ConfigError(
                "group_size=1 has no variance within a group: set normalize=False and zero_variance_groups='keep'"
            )
        if not 0.0 <= self.gamma <= 1.0:
            raise ConfigError(f"gamma must be in [0, 1], got {self.gamma}")
        returns.parse_reward_functions(self.rewards)
        if self.normalize not in (False, True, "components"):
            raise ConfigError(
                f"normalize must be true, false or components, got {self.normalize!r}"
            )
        if self.normalize == "components" and self.rewards:
            raise ConfigError(
                "rewards are functions of the whole return: normalize is not 'components'"
            )
        if self.role_baseline is not None:
            if not 0.0 <= self.role_baseline < 1.0:
                raise ConfigError(f"role_baseline must be in [0, 1), got {self.role_baseline}")
            if self.normalize or self.whiten:
                raise ConfigError(
                    "role_baseline replaces the group's baseline: normalize and whiten are False"
                )
        if self.resamples < 1 or self.replay < 0:
            raise ConfigError("resamples is at least 1, replay at least 0")
        if self.replay and self.clip is None:
            raise ConfigError("answers learned from again need the clipped ratio: set clip")


@dataclass(frozen=True, slots=True, kw_only=True)
class JointConfig(GroupConfig):
    """Options of learners that pair the answers of all agents."""

    mode: Literal["align", "cross"] = "align"  # pair the g-th answers, or try all combinations
    expand: int | None = 1  # children of a node that become nodes; None: all (the full tree)
    reduction: Literal["token_mean", "sequence_sum", "sequence_mean"] = "sequence_sum"
    weigh_by_reach: bool = True  # multiply credit by the probability of reaching the node


@dataclass(frozen=True, slots=True, kw_only=True)
class ATGRPOConfig(GroupConfig):
    """Clip 0.2 and ``team_reward_weight`` 1 as published; advantages are not normalised, and any completion may go on.

    The published ``normalize=True`` made sokoban worse (docs/results/archive/games.md, ablations): where
    most groups differ only in small rewards for form, these weigh as much as a solution. The published
    ``select="greedy"`` makes no difference to what is learned, but training episodes then show the best
    of a group and not the policy. ``configs/options/at_grpo_paper.yaml`` has the published settings.

    ``continuations=None`` plays one continuation if the agent may be paid at another agent's step,
    except with ``team_reward_weight`` 1 if the environment declares that the answer's own step judges it.
    """

    clip: float | None = 0.2
    team_reward_weight: float = 1.0  # weight of the team reward beside the local one
    select: Literal["greedy", "sample", "random"] = "random"  # which answer is carried out
    continuations: int | None = None  # continuations played after an answer; None: see above

    def __post_init__(self) -> None:
        GroupConfig.__post_init__(self)
        if self.gamma != 1.0:
            raise ConfigError("at_grpo learns from the turn's own reward: gamma has no effect here")
        if self.team_reward_weight != 1.0 and self.normalize == "components":
            raise ConfigError(
                "normalize='components' divides each part by its own deviation: team_reward_weight has no effect here"
            )
        if self.continuations is not None and self.continuations < 1:
            raise ConfigError(f"continuations must be at least 1, got {self.continuations}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CCPOConfig(JointConfig):
    """``mode`` is ``align``: ``cross`` compares all combinations of answers."""

    redraws: int | None = None  # other answers to compare with; None: all of the group

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.mode != "align":
            raise ConfigError("ccpo compares aligned answers: leave mode at align")
        if self.redraws is not None and not 1 <= self.redraws < self.group_size:
            raise ConfigError(
                f"redraws is at least 1 and below group_size ({self.group_size}), got {self.redraws}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class GRPOConfig(JointConfig):
    """The published settings: standard-deviation normalisation, clip 0.2, mean over each answer.

    The published KL weight of 0.04 is left at 0, as has become usual; set ``kl`` for it.
    """

    group_size: int = 8
    normalize: Normalize = True
    clip: float | None = 0.2
    reduction: Reduction = "sequence_mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class MAREMAXConfig(JointConfig):
    """``greedy``: ReMax's own baseline; ``group_max``: the group's best return, also in use."""

    baseline: Literal["greedy", "group_max"] = "greedy"  # what is subtracted

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.baseline == "group_max" and self.group_size == 1:
            raise ConfigError(
                "with group_size=1 an answer is compared with itself: set group_size to at least 2"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxRLConfig(JointConfig):
    """The published number of answers; more of them come closer to maximum likelihood."""

    group_size: int = 16
    success: float | None = None  # least return of a success; None: a return is a share of one

    # losing twice as much counts the same: it needs a stronger anchor
    self_play: ClassVar[Mapping[str, Any]] = {"kl": 1.0}

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.normalize:
            raise ConfigError("maxrl divides by the mean of the group: normalize is False")
        if self.success is not None and not math.isfinite(self.success):
            raise ConfigError(f"success must be a finite return, got {self.success}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OPDConfig(JointConfig):
    """A ``teacher`` must be named."""

    teacher: Mapping[str, str] | str | None = None  # model, folder or run; or one for each agent
    loss: Literal["reverse_kl", "jsd"] = "reverse_kl"  # of sampled tokens, or whole distributions
    beta: float | None = None  # of jsd: 0 is KL(teacher || student), 1 the reverse; None: 0.5
    discount: float = 0.0  # of the later tokens' part in a token's credit, with reverse_kl
    reward_weight: float = 0.0  # of the return minus the mean of its group
    group_size: int = 1
    reduction: Reduction = "token_mean"

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.loss not in ("reverse_kl", "jsd"):
            raise ConfigError(f"loss is reverse_kl or jsd, got {self.loss!r}")
        if self.loss == "reverse_kl" and self.beta is not None:
            raise ConfigError("beta chooses among divergences of distributions: set loss='jsd'")
        if self.beta is not None and not 0.0 <= self.beta <= 1.0:
            raise ConfigError(f"beta must be in [0, 1], got {self.beta}")
        if not 0.0 <= self.discount <= 1.0:
            raise ConfigError(f"discount must be in [0, 1], got {self.discount}")
        if self.discount and self.loss == "jsd":
            raise ConfigError("discount is of sampled tokens: set loss='reverse_kl'")
        if self.reward_weight < 0:
            raise ConfigError(f"reward_weight must be at least 0, got {self.reward_weight}")
        if self.zero_variance_groups != "keep":
            raise ConfigError(
                "every answer has something from the teacher: zero_variance_groups is 'keep'"
            )
        if self.reward_weight and self.group_size == 1 and self.role_baseline is None:
            raise ConfigError(
                "rewards are compared within groups: set group_size to at least 2, or role_baseline"
            )
        reward_defaults = {"normalize": False, "role_baseline": None, "rewards": (), "gamma": 1.0}
        reward_defaults["whiten"] = False
        for name, default in reward_defaults.items() if not self.reward_weight else ():
            if getattr(self, name) != default:
                raise ConfigError(f"{name} is about rewards, which do not count: set reward_weight")
        if self.clip is not None and self.loss == "jsd" and not self.reward_weight:
            raise ConfigError("the divergence has no ratio to clip: leave clip at None")

    @property
    def is_anchored(self) -> bool:
        return True  # by the teacher

    @property
    def includes_zero_advantage(self) -> bool:
        return bool(self.kl or self.entropy) or self.loss == "jsd"
