"""Learners with credit from groups of completions: mareinforce, magrpo, marloo, maxrl, maremax, at_grpo, grpo."""

from __future__ import annotations

from dataclasses import replace

from .parts import (
    AT_GRPO_UPDATE,
    GRPO_ADVANTAGES,
    GRPO_LOSS,
    MAGRPO_ADVANTAGES,
    MAGRPO_LOSS,
    MAGRPO_TREE,
    RLOO_ADVANTAGES,
    RLOO_LOSS,
    Detail,
    Method,
    equation,
)

ADVANTAGES = {"A [K]": "advantages"}
_RETURNS = {
    "R [K]": "returns of the K completions of one prompt: the sum of the agent's rewards after the completion, "
    "discounted by gamma once per turn of this agent",
    **ADVANTAGES,
}
MASK = {"m [N, C]": "1 on sampled tokens, 0 on padding to C tokens"}
LOGPROBS = {"log pi [N, C]": "log-probabilities under the current weights"}
OLD = {"log pi_old [N, C]": "log-probabilities recorded during sampling"}
_TOKENS = {
    "N": "completions in the minibatch, including those with advantage 0",
    "A [N]": "advantages; no gradient flows through them",
    **MASK,
    **LOGPROBS,
}

PLAIN_LOSS = equation("L = 1/N sum_i sum_t m_it (-A_i log pi_it)", _TOKENS)
CLIPPED = """L = sum_i sum_t w_it (-min(r_it A_i, clip(r_it, 1 - clip, 1 + clip) A_i))
r_it = exp(log pi_it - log pi_old_it)
"""
TOKEN_MEAN = 'w_it = m_it / sum(m)                  reduction="token_mean"'
_SEQUENCE_MEAN = 'w_it = m_it / (N sum_t m_it)          reduction="sequence_mean"'


def _credit_example(
    name: str,
    expected: str,
    why: str,
    *,
    greedy: str = "",
    counterfactual_returns: str = "",
    options: str = "",
) -> str:
    """Python that computes a learner's advantages for the example group of learners/index.md."""
    config = f"learner.Config({options})" if options else ""
    extra_fields = f"\n    greedy={greedy}," if greedy else ""
    extra_fields += (
        f"\n    counterfactual_returns={counterfactual_returns}," if counterfactual_returns else ""
    )
    return f"""import torch

from llmzoo.learners import learner_class
from llmzoo.records import Completion, Group

learner = learner_class("{name}")
completion = Completion(text="U", prompt_ids=(1,), ids=(2,), logprobs=(-1.0,))
group = Group(
    agent="planner_1",
    turn=0,
    key=(0, "planner_1"),
    prompt_ids=(1,),
    completions=(completion,) * 4,
    returns=(1.0, 0.0, 0.5, 0.5),{extra_fields}
)
(scored,) = learner({config}).compute_advantages([group])
# {why}
expected = torch.tensor({expected})
torch.testing.assert_close(scored.advantages, expected, atol=1e-4, rtol=0)"""


SAMPLED_ONLY = Detail(
    "**Completions that no model sampled.** Completions of scripted agents and failed calls have no "
    "log-probabilities. They are excluded from baselines and losses.",
    "learners/groups.py",
    "scored = [ScoredGroup(group, self._normalize(group)) for group in keep_sampled(groups)]",
)
TRUNCATED = Detail(
    "**Truncated completions.** A completion that the token limit cut off is trained on like any other. "
    "`mask_truncated=True` excludes it from the loss but keeps its return in the baseline. TRL's option "
    "is `mask_truncated_completions`.",
    "learners/groups.py",
    "whole = [i for i, c in enumerate(scored.group.completions) if not c.truncated]",
    (GRPO_ADVANTAGES,),
)
KL = Detail(
    "**KL penalty.** `kl` is the weight of the k3 estimate of the KL to the frozen starting policy. Each "
    "token's estimate is multiplied by its importance ratio, so that the gradient is that of the KL. TRL "
    "does the same by default (`use_bias_correction_kl`). If trained agents play against each other, the "
    "default is 0.2, or 0.5 with a critic and 1.0 for `maxrl` ([self-play](../leagues.md)).",
    "learners/updates/policy_gradient.py",
    "per_token = per_token + config.kl * kl * token_log_ratio(now.logprobs, old).exp()",
    (GRPO_LOSS,),
)
OLD_LOGPROBS = Detail(
    "**Old log-probabilities.** They are recorded during sampling, at the sampling temperature. They are "
    "not recomputed before the update.",
    "learners/updates/policy_gradient.py",
    "old[row, : len(completion.ids)] = torch.tensor(completion.logprobs)",
)
ONE_UPDATE = Detail(
    "**One update per batch.** Without `clip` the loss has no importance ratio, and each batch is used "
    "for a single optimiser step. `epochs` and `minibatches` above 1 are rejected.",
    "learners/configs/surrogate.py",
    '"several updates from one batch need the clipped ratio: set clip, such as 0.2"',
)
OPTIMIZER = Detail(
    "**Optimiser.** AdamW with betas 0.9 (`adam_beta1`) and 0.99, no weight decay, and gradient-norm "
    "clipping at 1. For small models without a known learning rate, [the KL of each update is "
    "limited](../training.md#assigning-models-to-agents) too.",
    "learners/updates/optimizer.py",
    "betas=(float(config.adam_beta1), 0.99),",
)
SUM_OF_TOKENS = Detail(
    "**Sum over tokens.** The loss sums over a completion's tokens and averages over completions. As proposed "
    "in Dr. GRPO, it does not divide by the completion's length. CoMLRL does the same.",
    "learners/configs/groups.py",
    'reduction: Literal["token_mean", "sequence_sum", "sequence_mean"] = "sequence_sum"',
    (MAGRPO_LOSS,),
)
EXPANSION = Detail(
    "**Depth of the tree.** One joint action of each node leads to a new node with groups of its own "
    "(`expand=1`). The others are continued with one sampled completion per turn. `expand=None` expands "
    "all of them, as CoMLRL does; the cost is K to the power of the depth.",
    "rollout/trees.py",
    "expanded = self.rng.sample(expanded, min(self.expand, len(expanded)))",
    (MAGRPO_TREE,),
)
PAIRING = Detail(
    '**Joint actions.** The g-th completions of all agents form a joint action (`mode="align"`). '
    '`mode="cross"` tries all combinations and gives each completion the mean return of its combinations. '
    "CoMLRL uses the sum.",
    "rollout/trees.py",
    "returns=tuple(sum(values[j] for j in js) / len(js) for js in actions),",
    (MAGRPO_TREE,),
)
DISCOUNT = Detail(
    "**Discount.** A return is discounted once per turn of the agent itself, regardless of who acts in "
    "between. The default is no discount.",
    "rollout/trees.py",
    "return {k: self.gamma * v if k[0] in agents else v for k, v in mean.items()}",
)
REACH = Detail(
    "**Later turns.** Each advantage is multiplied by the estimated probability that the policy reaches "
    "the node. An entropy bonus is not weighted. With `weigh_by_reach=False` every node has the same "
    "weight, as in CoMLRL. In a game with hidden information, `expand=1` then evaluates completions under "
    "a wrong distribution of what is hidden.",
    "learners/groups.py",
    "return [ScoredGroup(c.group, c.advantages * c.group.reach) for c in scored]",
)
DEVIATION = Detail(
    "**Division by the standard deviation.** The divisor is the biased standard deviation of the group's "
    "returns plus 1e-6. A group whose standard deviation is within rounding error gets zeros. TRL uses "
    "the unbiased standard deviation plus 1e-4.",
    "learners/advantages.py",
    "return advantages / (spread + eps)",
    (GRPO_ADVANTAGES,),
)
PARTS = Detail(
    '**Reward components.** `normalize="components"` credits each reward component as if it were the '
    "whole reward, divides by the component's own standard deviation, and sums (GDPO). The scale of a "
    "component then has no effect; only the differences between completions matter. Returns of components "
    "are discounted like the whole return. `whiten=True` then divides by the standard deviation over each "
    'policy\'s batch, as GDPO does. In TRL this is `multi_objective_aggregation="normalize_then_sum"`.',
    "learners/groups.py",
    "divided = [normalize_by_std(self.credit(p), torch.tensor(p.returns)) for p in parts]",
    (GRPO_ADVANTAGES,),
)
CLIPPING = Detail(
    "**Clipping.** PPO's minimum of the unclipped and the clipped term, with `clip=0.2`. By default there "
    "is one step per batch, so the ratio is 1 up to rounding; clipping matters only from the second step "
    "on. `clip_high` and `dual_clip` change the bounds.",
    "learners/losses.py",
    "return -torch.minimum(ratio * weights, ratio.clamp(1 - low, 1 + high) * weights)",
    (GRPO_LOSS,),
)

EQUAL_RETURNS = Detail(
    "**Groups without differences.** A group whose returns are all equal has zero advantages. Its "
    "completions still count in N, so many such groups make the gradient smaller. "
    '`zero_variance_groups="drop"` leaves them out, and `"resample"` plays more episodes (dynamic '
    "sampling, DAPO).",
    "learners/updates/batch_training.py",
    "contributing = [c for c in minibatch if include_zero_advantage or bool(c.advantages.any())]",
)
CCPO_EQUAL_RETURNS = replace(
    EQUAL_RETURNS,
    text=EQUAL_RETURNS.text.replace(
        "are all equal", "are all equal, including those with replacements,"
    ),
)
ALL_COUNT = Detail(
    "**Groups without differences.** Their advantages need not be 0, so they are trained on. "
    '`zero_variance_groups="drop"` leaves them out.',
    "learners/groups.py",
    'or config_of(c.group.agent).zero_variance_groups == "keep"',
)

_TREE = (EXPANSION, PAIRING, DISCOUNT, REACH)
_UPDATE = (ONE_UPDATE, SUM_OF_TOKENS, KL, TRUNCATED, SAMPLED_ONLY, OPTIMIZER)

METHODS = {
    "mareinforce": Method(
        credit=equation("A_k = R_k", _RETURNS),
        loss=PLAIN_LOSS,
        example=_credit_example(
            "mareinforce", "[1.0, 0.0, 0.5, 0.5]", "the returns themselves: nothing is subtracted"
        ),
        details=(
            Detail(
                "**No baseline.** The advantage is the return. A constant added to all rewards changes "
                "the variance of the gradient and so affects training.",
                "learners/advantages.py",
                "return returns.clone()",
                (MAGRPO_ADVANTAGES,),
            ),
            Detail(
                "**Reward scale.** `rewards` transforms the returns of a batch before credit is computed. "
                '`rewards=["standardised"]` makes the batch mean the baseline, as REINFORCE++ does.',
                "learners/groups.py",
                "shaped = returns.transform_returns(learner_groups, agent_learner.config.rewards)",
            ),
            ALL_COUNT,
            *_TREE,
            *_UPDATE,
        ),
    ),
    "magrpo": Method(
        credit=equation("A_k = R_k - 1/K sum_j R_j", _RETURNS),
        loss=PLAIN_LOSS,
        example=_credit_example(
            "magrpo", "[0.5, -0.5, 0.0, 0.0]", "the mean of the four returns is 0.5"
        ),
        details=(
            Detail(
                "**Baseline.** The mean includes the completion's own return.",
                "learners/advantages.py",
                "return returns - returns.mean()",
                (MAGRPO_ADVANTAGES,),
            ),
            Detail(
                "**No division by the standard deviation.** `normalize=True` divides as GRPO does; every "
                "group learner has this option.",
                "learners/groups.py",
                "if not self.config.normalize:",
            ),
            PARTS,
            EQUAL_RETURNS,
            *_TREE,
            *_UPDATE,
        ),
    ),
    "marloo": Method(
        credit=equation("A_k = R_k - 1/(K-1) sum_(j != k) R_j", _RETURNS),
        loss=PLAIN_LOSS,
        example=_credit_example(
            "marloo",
            "[2 / 3, -2 / 3, 0.0, 0.0]",
            "the first: 1 - (0 + 0.5 + 0.5) / 3; the second: 0 - (1 + 0.5 + 0.5) / 3",
        ),
        details=(
            Detail(
                "**Baseline.** The mean return of the other completions. It is computed as K/(K-1) times "
                "the difference from the mean of all.",
                "learners/advantages.py",
                "return (returns - returns.mean()) * (k / (k - 1))",
                (RLOO_ADVANTAGES, MAGRPO_ADVANTAGES),
            ),
            Detail(
                "**A single completion.** With `group_size=1` there is no other completion to compare "
                "with, so it is rejected.",
                "learners/groups.py",
                "and self.config.group_size == 1",
            ),
            Detail(
                "**No ratio of whole completions.** TRL's RLOO clips the ratio of the whole completion "
                "and subtracts the KL from the reward. Here the loss is REINFORCE's, and `kl` is a term "
                "of the loss.",
                "learners/losses.py",
                "return -expand_per_token(advantages) * logprobs",
                (RLOO_LOSS, RLOO_ADVANTAGES),
            ),
            EQUAL_RETURNS,
            *_TREE,
            *_UPDATE,
        ),
    ),
    "maxrl": Method(
        credit=equation(
            "A_k = (s_k - mean(s)) / mean(s),  s_k = max(R_k, 0)\n"
            "s_k = 1 if R_k >= success else 0          if success is set",
            {**_RETURNS, "s [K]": "degrees of success; if all are 0, so are the advantages"},
        ),
        loss=PLAIN_LOSS,
        example=_credit_example(
            "maxrl",
            "[3.0, -1.0, -1.0, -1.0]",
            "one of four succeeds: (1 - 1/4) / (1/4), and (0 - 1/4) / (1/4)",
            options="success=1.0",
        ),
        details=(
            Detail(
                "**Groups without a success** have zero advantages. Keeping the subtracted mean there "
                "would make every completion less likely, and would add the last of K terms to the "
                "objective.",
                "learners/advantages.py",
                "return (clipped - mean) / mean if mean > 0 else torch.zeros_like(returns)",
            ),
            Detail(
                "**Negative returns** count as 0. To keep their differences, shift all returns up with "
                '`rewards=["shift 1"]`.',
                "learners/advantages.py",
                "clipped = returns.clamp_min(0)",
            ),
            Detail(
                "**Graded returns.** Without `success` a return from 0 to 1 is a partial success. The "
                "scale of returns cancels.",
                "learners/maxrl.py",
                "returns = (returns >= self.config.success).to(returns)",
            ),
            EQUAL_RETURNS,
            *_TREE,
            *_UPDATE,
        ),
    ),
    "ccpo": Method(
        credit=equation(
            "A_k = R_k - 1/M sum_m R(y_(k+m), others' y_k),  m = 1 ... M",
            {
                **_RETURNS,
                "R(y_j, others' y_k)": "return of the k-th joint action with this agent's completion replaced by its "
                "j-th one, where j wraps around the group (scalar)",
                "M": "`counterfactuals`, or K-1",
            },
        ),
        loss=PLAIN_LOSS,
        example=_credit_example(
            "ccpo",
            "[0.25, 0.0, 0.5, -0.5]",
            "each return minus the mean return with another completion in its place",
            counterfactual_returns="(0.75, 0.0, 0.0, 1.0)",
        ),
        details=(
            Detail(
                "**Replacements** are the group's other completions, which were sampled from the same "
                "policy for the same prompt. No further completions are sampled at the node.",
                "rollout/trees.py",
                "for step in range(1, self.counterfactuals.get(agent, 0) + 1)",
            ),
            Detail(
                "**Play after a replacement** continues with one sampled completion per turn, as after "
                "every completion that is not expanded.",
                "rollout/trees.py",
                "running = [j for j, f in enumerate(forks) if not is_over(f)]",
            ),
            Detail(
                "**Transformed returns.** The functions in `rewards` also apply to the returns of "
                "replacements.",
                "learners/returns.py",
                "replace(g, counterfactual_returns=tuple(next(shaped).tolist()))",
            ),
            CCPO_EQUAL_RETURNS,
            *_TREE,
            *_UPDATE,
        ),
    ),
    "maremax": Method(
        credit=equation(
            'A_k = R_k - R_greedy        baseline="greedy"\n'
            'A_k = R_k - max_j R_j       baseline="group_max"',
            {
                **_RETURNS,
                "R_greedy": "return of the joint greedy action at the same node (scalar)",
            },
        ),
        loss=PLAIN_LOSS,
        example=_credit_example(
            "maremax",
            "[0.25, -0.75, -0.25, -0.25]",
            "each return minus 0.75: only the first completion beats the greedy one",
            greedy="0.75",
        ),
        details=(
            Detail(
                "**Greedy baseline.** All agents act greedily at the same time, in one more copy of the "
                "episode. These completions are not trained on.",
                "rollout/trees.py",
                "best = yield [SampleRequest(request, 1, True) for request in requests]",
            ),
            Detail(
                "**Play after the greedy completion** continues with sampled completions, as after every "
                "other completion. So R_greedy is itself a sample unless the episode ends there.",
                "rollout/trees.py",
                "running = [j for j, f in enumerate(forks) if not is_over(f)]",
            ),
            Detail(
                '**The best return as baseline.** `baseline="group_max"` is what CoMLRL calls MAReMax: no '
                "advantage is positive. ReMax itself subtracts the return of the greedy completion.",
                "learners/advantages.py",
                "return returns - returns.max()",
                (MAGRPO_ADVANTAGES,),
            ),
            Detail(
                "**Transformed returns.** The functions in `rewards` also apply to the return of the "
                "greedy completion.",
                "learners/returns.py",
                "g if g.greedy is None else replace(g, greedy=next(shaped).item()) for g in changed",
            ),
            ALL_COUNT,
            *_TREE,
            *_UPDATE,
        ),
    ),
    "at_grpo": Method(
        credit=equation(
            "A_k = r_k - mean(r)\nr_k = alpha team_k + local_k",
            {
                "r [K]": "rewards of the K completions for one observation: the sum of the agent's rewards from the "
                "completion to its next decision; team_k and local_k are its components",
                "alpha": "`team_reward_weight` (scalar)",
                **ADVANTAGES,
            },
        ),
        loss=equation(CLIPPED + TOKEN_MEAN, {**_TOKENS, **OLD}),
        example=_credit_example(
            "at_grpo",
            "[0.5, -0.5, 0.0, 0.0]",
            "the rewards minus their mean, 0.5",
        ),
        details=(
            Detail(
                "**Reward of a turn.** If other agents must act before the agent is rewarded, they act "
                "once in a copy of the episode. The reward is the mean over `continuations` such copies.",
                "rollout/turn_trees.py",
                "n: fmean(amounts.get(n, 0.0) for amounts in continued)",
            ),
            Detail(
                "**Without continuations.** If the environment declares that a completion is scored at "
                "its own step, nothing more is played.",
                "rollout/turn_trees.py",
                'return 0 if agent in (env.metadata.get("immediate_credit_agents") or ()) else 1',
            ),
            Detail(
                "**Team and local reward.** `team_reward_weight` multiplies the named team reward "
                "components. A reward without named components is not changed.",
                "rollout/turn_trees.py",
                "total = reward + (team_weight - 1.0) * sum(components[name] for name in team)",
            ),
            Detail(
                "**Which completion is carried out.** A random one, so that the prompts of later turns "
                'have the distribution of the policy\'s own play. `select="greedy"`, as published, takes '
                "the one with the best reward, and the first of equal ones.",
                "rollout/turn_trees.py",
                "return max(range(len(rewards)), key=lambda i: rewards[i])",
            ),
            Detail(
                "**Simultaneous agents.** Each of an agent's K completions is combined with the first "
                "completions of the other agents.",
                "rollout/turn_trees.py",
                "joint_actions = [(*first[:index], c.text, *first[index + 1 :]) for c in completions]",
            ),
            Detail(
                "**No division by the standard deviation.** `normalize=True` divides, as published, by "
                "the biased standard deviation of the group's rewards plus 1e-6. PettingLLMs leaves this "
                "to verl (`norm_adv_by_std_in_grpo`).",
                DEVIATION.file,
                DEVIATION.fragment,
                (*DEVIATION.see, AT_GRPO_UPDATE),
            ),
            PARTS,
            EQUAL_RETURNS,
            CLIPPING,
            Detail(
                "**Mean over tokens.** The loss is the mean over all sampled tokens of the minibatch, so "
                "long completions have more weight.",
                "learners/configs/surrogate.py",
                'reduction: Reduction = "token_mean"',
            ),
            OLD_LOGPROBS,
            KL,
            TRUNCATED,
            SAMPLED_ONLY,
            OPTIMIZER,
        ),
    ),
    "grpo": Method(
        credit=equation("A_k = (R_k - mean(R)) / (std(R) + 1e-6)", _RETURNS),
        loss=equation(CLIPPED + _SEQUENCE_MEAN, {**_TOKENS, **OLD}),
        example=_credit_example(
            "grpo",
            "[0.5, -0.5, 0.0, 0.0]",
            "normalize=False, as in Dr. GRPO: the returns minus their mean, 0.5",
            options="normalize=False",
        ),
        details=(
            Detail(
                "**One agent.** Environments with a `num_agents` argument are created with "
                "`num_agents=1`.",
                "learners/grpo.py",
                'env_defaults: ClassVar[Mapping[str, Any]] = ENV_DEFAULTS["grpo"]',
            ),
            DEVIATION,
            PARTS,
            EQUAL_RETURNS,
            CLIPPING,
            Detail(
                "**Mean over each completion.** Token losses are first averaged over each completion, as "
                'published. In TRL this is `loss_type="grpo"`, which is not its default.',
                "learners/losses.py",
                "return mask / mask.sum(dim=-1, keepdim=True).clamp_min(1) / rows",
                (GRPO_LOSS,),
            ),
            Detail(
                "**No KL by default.** The published weight is 0.04; `kl=0.04` restores it.",
                "learners/configs/surrogate.py",
                "kl: float = 0.0  # weight of the KL to the frozen starting policy (k3 estimate)",
            ),
            Detail(
                "**Several turns.** Each turn has its own group. Its completions share one prompt, and "
                "their returns run to the end of the episode. The paper has a single turn.",
                "rollout/trees.py",
                "key=(self.seed, *path, agent),",
            ),
            OLD_LOGPROBS,
            KL,
            EXPANSION,
            DISCOUNT,
            TRUNCATED,
            SAMPLED_ONLY,
            OPTIMIZER,
        ),
    ),
}
