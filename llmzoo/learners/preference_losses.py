"""Losses on pairs of a preferred and a rejected completion, under TRL's names.

Shapes: M pairs; the columns of a tensor [M, 2] are the chosen and the rejected completion. c and r
are beta times their log-ratios of policy to reference, and the margin is m = c - r. Every loss is a
function of one pair, except for ``aot``, ``aot_unpaired`` and ``sft``, which couple the pairs of
one forward pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from llmzoo.learners.configs.preferences import PreferenceConfig


@dataclass(frozen=True, slots=True)
class PairLogProbs:
    """Log-probabilities of M pairs under the policy and the reference, and the completions' lengths.

    All tensors are [M, 2] except ``token_logps``, a scalar: the mean log-probability per token over all
    chosen completions.
    """

    logps: Tensor
    reference: Tensor
    lengths: Tensor
    token_logps: Tensor
    options: PreferenceConfig = field(default_factory=PreferenceConfig)

    @property
    def ratios(self) -> Tensor:
        """beta log(policy/reference) of each completion [M, 2]: DPO's implicit rewards."""
        return self.options.beta * (self.logps - self.reference)

    @property
    def scores(self) -> Tensor:
        """beta f'(policy/reference) [M, 2]: f-DPO's implicit rewards (arXiv 2309.16240)."""
        ratio = self.logps - self.reference
        alpha = self.options.f_alpha_divergence_coef
        kind = self.options.f_divergence_type
        if kind == "forward_kl":
            ratio = 1 - torch.exp(-ratio)
        elif kind == "js_divergence":
            ratio = math.log(2) + logsigmoid(ratio)
        elif kind == "alpha_divergence" and abs(alpha - 1) >= 1e-6:
            # clamped as in TRL, so that the exponential stays finite in float32
            ratio = (torch.exp(((alpha - 1) * ratio).clamp(max=80.0)) - 1) / (alpha - 1)
        return self.options.beta * ratio

    @property
    def margin(self) -> Tensor:
        """The score of the chosen completion minus that of the rejected one [M]."""
        return self.scores[:, 0] - self.scores[:, 1]

    @property
    def mean_margin(self) -> Tensor:
        """The margin between the per-token scores [M]."""
        per_token = self.scores / self.lengths.clamp_min(1)
        return per_token[:, 0] - per_token[:, 1]


def sigmoid(pairs: PairLogProbs) -> Tensor:
    """-log sigma(m): DPO (arXiv 2305.18290)."""
    return -logsigmoid(pairs.margin)


def sigmoid_norm(pairs: PairLogProbs) -> Tensor:
    """-log sigma of the per-token margin: length-normalised DPO (arXiv 2411.15124)."""
    return -logsigmoid(pairs.mean_margin)


def hinge(pairs: PairLogProbs) -> Tensor:
    """max(0, 1 - m): SLiC (arXiv 2305.10425)."""
    return torch.relu(1 - pairs.margin)


def ipo(pairs: PairLogProbs) -> Tensor:
    """(m / beta - 1 / (2 beta))^2 of the per-token margin: IPO (arXiv 2310.12036)."""
    beta = pairs.options.beta
    return (pairs.mean_margin / beta - 1 / (2 * beta)) ** 2


def exo_pair(pairs: PairLogProbs) -> Tensor:
    """KL of (sigma(m), sigma(-m)) to (1 - e, e), e the label smoothing: EXO (arXiv 2402.00856)."""
    epsilon, margin = pairs.options.label_smoothing, pairs.margin
    chosen = margin.sigmoid() * (logsigmoid(margin) - math.log1p(-epsilon))
    return chosen + (-margin).sigmoid() * (logsigmoid(-margin) - math.log(epsilon))


def nca_pair(pairs: PairLogProbs) -> Tensor:
    """-log sigma(c) - (log sigma(-c) + log sigma(-r)) / 2: NCA (arXiv 2402.05369)."""
    chosen, rejected = pairs.ratios.unbind(dim=1)
    return -logsigmoid(chosen) - 0.5 * (logsigmoid(-chosen) + logsigmoid(-rejected))


def robust(pairs: PairLogProbs) -> Tensor:
    """DPO's loss, unbiased although a fraction e of the labels is wrong (arXiv 2403.00409)."""
    epsilon, margin = pairs.options.label_smoothing, pairs.margin
    clean = -(1 - epsilon) * logsigmoid(margin)
    return (clean + epsilon * logsigmoid(-margin)) / (1 - 2 * epsilon)


def bco_pair(pairs: PairLogProbs) -> Tensor:
    """-log sigma(c) - log sigma(-r): BCO without its shift (arXiv 2404.04656)."""
    chosen, rejected = pairs.ratios.unbind(dim=1)
    return -logsigmoid(chosen) - logsigmoid(-rejected)


def sppo_hard(pairs: PairLogProbs) -> Tensor:
    """((c - 1/2)^2 + (r + 1/2)^2) / beta^2: SPPO with certain wins (arXiv 2405.00675)."""
    chosen, rejected = pairs.ratios.unbind(dim=1)
    return ((chosen - 0.5) ** 2 + (rejected + 0.5) ** 2) / pairs.options.beta**2


def aot(pairs: PairLogProbs) -> Tensor:
    """DPO on the sorted margins of policy and reference: AOT, paired (arXiv 2406.05882)."""
    own = (pairs.logps[:, 0] - pairs.logps[:, 1]).sort().values
    other = (pairs.reference[:, 0] - pairs.reference[:, 1]).sort().values
    return _smoothed_sigmoid_loss(pairs.options.beta * (own - other), pairs.options.label_smoothing)


def aot_unpaired(pairs: PairLogProbs) -> Tensor:
    """DPO on the sorted log-ratios of the chosen and the rejected completions (arXiv 2406.05882)."""
    chosen, rejected = pairs.ratios.sort(dim=0).values.unbind(dim=1)
    return _smoothed_sigmoid_loss(chosen - rejected, pairs.options.label_smoothing)


def apo_zero(pairs: PairLogProbs) -> Tensor:
    """1 - sigma(c) + sigma(r): APO for chosen completions better than the model's (arXiv 2408.06266)."""
    chosen, rejected = pairs.ratios.sigmoid().unbind(dim=1)
    return 1 - chosen + rejected


def apo_down(pairs: PairLogProbs) -> Tensor:
    """sigma(c) + 1 - sigma(c - r): APO for chosen completions worse than the model's (arXiv 2408.06266)."""
    chosen, rejected = pairs.ratios.unbind(dim=1)
    return chosen.sigmoid() + 1 - (chosen - rejected).sigmoid()


def discopop(pairs: PairLogProbs) -> Tensor:
    """A mixture of -log sigma(m) and exp(-m), weighted by sigma(m / tau) (arXiv 2406.08414)."""
    margin = pairs.margin
    share = (margin / pairs.options.discopop_tau).sigmoid()
    return -logsigmoid(margin) * (1 - share) + (-margin).exp() * share


def sft(pairs: PairLogProbs) -> Tensor:
    """The mean cross-entropy of the chosen completions' tokens, the same for every pair."""
    return -pairs.token_logps.expand(len(pairs.logps))


def _smoothed_sigmoid_loss(margin: Tensor, epsilon: float) -> Tensor:
    return -logsigmoid(margin) * (1 - epsilon) - logsigmoid(-margin) * epsilon


_LOSSES = (
    *(
        sigmoid,
        hinge,
        exo_pair,
        nca_pair,
        robust,
        bco_pair,
        sppo_hard,
        apo_zero,
        apo_down,
        discopop,
    ),
    *(ipo, aot, aot_unpaired, sft, sigmoid_norm),
)
LOSSES: Mapping[str, Callable[[PairLogProbs], Tensor]] = {loss.__name__: loss for loss in _LOSSES}


def pair_losses(pairs: PairLogProbs) -> Tensor:
    """The weighted sum of the losses [M]."""
    names = pairs.options.losses
    weights = pairs.options.loss_weights or (1.0,) * len(names)
    total = torch.zeros_like(pairs.logps[:, 0])
    for name, weight in zip(names, weights, strict=True):
        total = total + weight * LOSSES[name](pairs)
    return total
