"""Learners that compare the answers of a group: mareinforce, magrpo, marloo, maxrl, maremax, at_grpo, grpo."""

from __future__ import annotations

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
    "R [K]": "returns of the K answers to one prompt: all that the agent is paid after the answer, discounted "
    "by gamma once for each turn of its own",
    **ADVANTAGES,
}
MASK = {"m [N, C]": "1 on sampled tokens, 0 on padding to C tokens"}
LOGPROBS = {"log pi [N, C]": "log-probabilities under the current weights"}
OLD = {"log pi_old [N, C]": "log-probabilities recorded during sampling"}
_TOKENS = {
    "N": "answers in the minibatch, those without an advantage included",
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


def _worked(
    name: str, expected: str, why: str, *, greedy: str = "", redrawn: str = "", options: str = ""
) -> str:
    """Python that has a learner judge the group of learners/index.md."""
    made = f"learner.Config({options})" if options else ""
    greedily = f"\n    greedy={greedy}," if greedy else ""
    greedily += f"\n    redrawn={redrawn}," if redrawn else ""
    return f"""import torch

from llmzoo.learners import learner_class
from llmzoo.records import Completion, Group

learner = learner_class("{name}")
answer = Completion(text="U", prompt_ids=(1,), ids=(2,), logprobs=(-1.0,))
group = Group(
    agent="planner_1",
    turn=0,
    key=(0, "planner_1"),
    prompt_ids=(1,),
    completions=(answer,) * 4,
    returns=(1.0, 0.0, 0.5, 0.5),{greedily}
)
(credited,) = learner({made}).compute_advantages([group])
# {why}
expected = torch.tensor({expected})
torch.testing.assert_close(credited.advantages, expected, atol=1e-4, rtol=0)"""


SAMPLED_ONLY = Detail(
    "**Answers that no model sampled.** Answers of scripted agents and failed calls have no "
    "log-probabilities. They enter no baseline and no loss.",
    "learners/groups.py",
    "scored = [ScoredGroup(group, self._normalize(group)) for group in keep_sampled(groups)]",
)
TRUNCATED = Detail(
    "**Truncated answers.** An answer that the token limit cut off is trained on like any other. "
    "`mask_truncated=True` leaves it out of the loss and keeps its return in the baseline. TRL's "
    "option is `mask_truncated_completions`.",
    "learners/groups.py",
    "whole = [i for i, c in enumerate(scored.group.completions) if not c.truncated]",
    (GRPO_ADVANTAGES,),
)
KL = Detail(
    "**KL penalty.** `kl` is the weight of the k3 estimate of the KL to the frozen starting policy. "
    "Each token's estimate is multiplied by its ratio, so that the gradient is that of the KL. TRL "
    "does the same by default (`use_bias_correction_kl`). If trained agents play against each other, "
    "the default is 0.2, 0.5 with a critic and 1.0 for `maxrl` ([self-play](../leagues.md)).",
    "learners/updates/policy_gradient.py",
    "per_token = per_token + config.kl * kl * token_log_ratio(now.logprobs, old).exp()",
    (GRPO_LOSS,),
)
OLD_LOGPROBS = Detail(
    "**Old log-probabilities.** They are recorded during sampling, at the sampling temperature, and not "
    "recomputed before the update.",
    "learners/updates/policy_gradient.py",
    "old[row, : len(completion.ids)] = torch.tensor(completion.logprobs)",
)
ONE_UPDATE = Detail(
    "**One update of a batch.** Without `clip` the loss has no importance ratio, and a batch is used for a "
    "single optimiser step. `epochs` and `minibatches` above 1 are refused.",
    "learners/configs/surrogate.py",
    '"several updates from one batch need the clipped ratio: set clip, such as 0.2"',
)
OPTIMIZER = Detail(
    "**Optimiser.** AdamW with betas 0.9 (`adam_beta1`) and 0.99, no weight decay, and a gradient norm of "
    "at most 1. For small models without a known learning rate, "
    "[the KL of each update is limited](../training.md#assigning-models-to-agents) too.",
    "learners/updates/optimizer.py",
    "betas=(float(config.adam_beta1), 0.99),",
)
SUM_OF_TOKENS = Detail(
    "**Sum over tokens.** The loss sums over an answer's tokens and averages over answers. It does not "
    "divide by the answer's length, as Dr. GRPO proposes. CoMLRL does the same.",
    "learners/configs/groups.py",
    'reduction: Literal["token_mean", "sequence_sum", "sequence_mean"] = "sequence_sum"',
    (MAGRPO_LOSS,),
)
EXPANSION = Detail(
    "**Depth of the tree.** One joint answer of each node goes on to a node of its own (`expand=1`). The "
    "others are played on with one sampled answer a turn. `expand=None` expands all of them, as CoMLRL "
    "does, at a cost of K to the power of the depth.",
    "rollout/trees.py",
    "expanded = self.rng.sample(expanded, min(self.expand, len(expanded)))",
    (MAGRPO_TREE,),
)
PAIRING = Detail(
    '**Joint answers.** The g-th answers of all agents form a joint answer (`mode="align"`). '
    '`mode="cross"` tries all combinations and gives each answer the mean of its combinations. CoMLRL '
    "takes the sum.",
    "rollout/trees.py",
    "returns=tuple(sum(values[j] for j in js) / len(js) for js in actions),",
    (MAGRPO_TREE,),
)
DISCOUNT = Detail(
    "**Discount.** A return is discounted once for each turn of the agent's own, whoever acts in between. "
    "The default is no discount.",
    "rollout/trees.py",
    "return {k: self.gamma * v if k[0] in agents else v for k, v in mean.items()}",
)
REACH = Detail(
    "**Later turns.** Each advantage is multiplied by the estimated probability that the policy reaches the node; "
    "an entropy bonus is not weighed. With `weigh_by_reach=False` every node counts the same, as in CoMLRL. Where a "
    "player does not see everything, `expand=1` then judges its completions for a wrong guess of what is hidden.",
    "learners/groups.py",
    "return [ScoredGroup(c.group, c.advantages * c.group.reach) for c in scored]",
)
DEVIATION = Detail(
    "**Division by the deviation.** It is the biased standard deviation of the group's returns plus 1e-6. A "
    "group whose deviation is no more than rounding gets zeros. TRL takes the unbiased deviation plus "
    "1e-4.",
    "learners/advantages.py",
    "return advantages / (spread + eps)",
    (GRPO_ADVANTAGES,),
)
PARTS = Detail(
    '**Reward components.** `normalize="components"` credits each reward component as if it were all that is '
    "paid, divides it by its own deviation, and sums (GDPO). How much a part is paid no longer matters, "
    "only how the answers differ in it. Returns of parts are discounted like the whole. "
    "`whiten=True` then divides by the deviation of the batch of each policy, as GDPO does. In TRL this is "
    '`multi_objective_aggregation="normalize_then_sum"`.',
    "learners/groups.py",
    "divided = [normalize_by_std(self.credit(p), torch.tensor(p.returns)) for p in parts]",
    (GRPO_ADVANTAGES,),
)
CLIPPING = Detail(
    "**Clipping.** PPO's minimum of the plain and the clipped term, with `clip=0.2`. With the default of one "
    "step for each batch the ratio is 1 but for rounding, and clipping matters only from the second step on. "
    "`clip_high` and `dual_clip` change the bounds.",
    "learners/losses.py",
    "return -torch.minimum(ratio * weights, ratio.clamp(1 - low, 1 + high) * weights)",
    (GRPO_LOSS,),
)

EQUAL_RETURNS = Detail(
    "**Groups without differences.** A group whose returns are all equal has the advantages 0. Its "
    "answers still count in N, so many such groups make the gradient smaller. "
    '`zero_variance_groups="drop"` leaves them out and `"resample"` plays more episodes (dynamic sampling, DAPO).',
    "learners/updates/batch_training.py",
    "contributing = [c for c in minibatch if include_zero_advantage or bool(c.advantages.any())]",
)
ALL_COUNT = Detail(
    "**Groups without differences.** Their advantages need not be 0, so they are trained on. "
    '`zero_variance_groups="drop"` leaves them out.',
    "learners/groups.py",
    'if c.group.differs or config_of(c.group.agent).zero_variance_groups == "keep"',
)

_TREE = (EXPANSION, PAIRING, DISCOUNT, REACH)
_UPDATE = (ONE_UPDATE, SUM_OF_TOKENS, KL, TRUNCATED, SAMPLED_ONLY, OPTIMIZER)

METHODS = {
    "mareinforce": Method(
        credit=equation("A_k = R_k", _RETURNS),
        loss=PLAIN_LOSS,
        example=_worked(
            "mareinforce", "[1.0, 0.0, 0.5, 0.5]", "the returns themselves: nothing is subtracted"
        ),
        details=(
            Detail(
                "**No baseline.** The advantage is the return. A constant added to all rewards changes the "
                "variance of the gradient, and with it the training.",
                "learners/advantages.py",
                "return returns.clone()",
                (MAGRPO_ADVANTAGES,),
            ),
            Detail(
                "**Reward scale.** `rewards` changes the returns of a batch before they are credited. "
                '`rewards=["standardised"]` makes the batch\'s mean the baseline, as REINFORCE++ does.',
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
        example=_worked("magrpo", "[0.5, -0.5, 0.0, 0.0]", "the mean of the four returns is 0.5"),
        details=(
            Detail(
                "**Baseline.** The mean includes the answer's own return.",
                "learners/advantages.py",
                "return returns - returns.mean()",
                (MAGRPO_ADVANTAGES,),
            ),
            Detail(
                "**No division by the deviation.** `normalize=True` divides as GRPO does, here for any "
                "learner.",
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
        example=_worked(
            "marloo",
            "[2 / 3, -2 / 3, 0.0, 0.0]",
            "the first: 1 - (0 + 0.5 + 0.5) / 3; the second: 0 - (1 + 0.5 + 0.5) / 3",
        ),
        details=(
            Detail(
                "**Baseline.** The mean of the other answers, computed as K/(K-1) times the distance to the "
                "mean of all.",
                "learners/advantages.py",
                "return (returns - returns.mean()) * (k / (k - 1))",
                (RLOO_ADVANTAGES, MAGRPO_ADVANTAGES),
            ),
            Detail(
                "**A single answer.** With `group_size=1` there is nothing to compare with; it is refused.",
                "learners/groups.py",
                "and self.config.group_size == 1",
            ),
            Detail(
                "**No ratio of answers.** TRL's RLOO clips the ratio of the whole answer and subtracts the "
                "KL from the reward. Here the loss is REINFORCE's, and `kl` is a term of the loss.",
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
            "s_k = 1 if R_k >= success else 0          success: a number",
            {**_RETURNS, "s [K]": "shares of success; where all are 0, so are the advantages"},
        ),
        loss=PLAIN_LOSS,
        example=_worked(
            "maxrl",
            "[3.0, -1.0, -1.0, -1.0]",
            "one of four succeeds: (1 - 1/4) / (1/4), and (0 - 1/4) / (1/4)",
            options="success=1.0",
        ),
        details=(
            Detail(
                "**Groups without a success** have the advantages 0. Keeping the subtracted mean there would "
                "make every answer less likely, and add the last of K terms to the objective.",
                "learners/advantages.py",
                "return (shares - mean) / mean if mean > 0 else torch.zeros_like(returns)",
            ),
            Detail(
                '**Negative returns** count as 0. `rewards=["shift 1"]` moves all of them up instead.',
                "learners/advantages.py",
                "shares = returns.clamp_min(0)",
            ),
            Detail(
                "**Graded returns.** Without `success` a return is a share of a success, and its scale cancels.",
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
                "R(y_j, others' y_k)": "return of the k-th joint answer with this agent's part replaced by its "
                "answer j, counted around the group (scalar)",
                "M": "`redraws`, or K-1",
            },
        ),
        loss=PLAIN_LOSS,
        example=_worked(
            "ccpo",
            "[0.25, 0.0, 0.5, -0.5]",
            "each return less the mean return with another answer in its place",
            redrawn="(0.75, 0.0, 0.0, 1.0)",
        ),
        details=(
            Detail(
                "**The replacements** are the group's other answers, which were drawn from the same policy for the "
                "same prompt. Nothing is sampled for them at the node.",
                "rollout/trees.py",
                "for step in range(1, self.redraws.get(agent, 0) + 1)",
            ),
            Detail(
                "**What follows a replacement** is played with sampled answers, one a turn, as after every answer "
                "that is not expanded.",
                "rollout/trees.py",
                "running = [j for j, f in enumerate(forks) if not is_over(f)]",
            ),
            Detail(
                "**Functions of the returns** (`rewards`) apply to the returns of replacements too.",
                "learners/returns.py",
                "return [replace(g, redrawn=tuple(next(shaped).tolist())) if g.redrawn else g for g in changed]",
            ),
            EQUAL_RETURNS,
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
                "R_greedy": "return of the joint greedy answer to the same prompt (scalar)",
            },
        ),
        loss=PLAIN_LOSS,
        example=_worked(
            "maremax",
            "[0.25, -0.75, -0.25, -0.25]",
            "each return less 0.75: only the first answer beats the greedy one",
            greedy="0.75",
        ),
        details=(
            Detail(
                "**Baseline of the greedy answer.** All agents answer greedily at once, in one more copy of the "
                "episode. These answers are not trained on.",
                "rollout/trees.py",
                "best = yield [SampleRequest(asked, 1, True) for asked in requests]",
            ),
            Detail(
                "**What follows the greedy answer** is played with sampled answers, as after every other "
                "answer. R_greedy is therefore a sample where the episode goes on.",
                "rollout/trees.py",
                "running = [j for j, f in enumerate(forks) if not is_over(f)]",
            ),
            Detail(
                '**The best return as baseline.** `baseline="group_max"` is what CoMLRL calls MAReMax: no '
                "advantage is positive. ReMax itself subtracts the greedy answer's return.",
                "learners/advantages.py",
                "return returns - returns.max()",
                (MAGRPO_ADVANTAGES,),
            ),
            Detail(
                "**Functions of the returns** (`rewards`) apply to the greedy answer's return too.",
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
                "r [K]": "rewards of the K answers to one observation: all that the agent is paid after the "
                "answer and before it decides again; team_k and local_k are its parts",
                "alpha": "`team_reward_weight` (scalar)",
                **ADVANTAGES,
            },
        ),
        loss=equation(CLIPPED + TOKEN_MEAN, {**_TOKENS, **OLD}),
        example=_worked(
            "at_grpo",
            "[0.5, -0.5, 0.0, 0.0]",
            "the rewards less their mean, 0.5",
        ),
        details=(
            Detail(
                "**Reward of a turn.** If other agents must answer before the agent is paid, they answer once in "
                "a copy of the episode. The reward is the mean over `continuations` such copies.",
                "rollout/turn_trees.py",
                "n: fmean(amounts.get(n, 0.0) for amounts in continued)",
            ),
            Detail(
                "**Without continuations.** Where the environment declares that the answer's own step judges "
                "it, nothing is played on.",
                "rollout/turn_trees.py",
                'return 0 if agent in (env.metadata.get("immediate_credit_agents") or ()) else 1',
            ),
            Detail(
                "**Team and local reward.** `team_reward_weight` multiplies the named team reward components. A reward "
                "without named parts counts as it is.",
                "rollout/turn_trees.py",
                "total = reward + (team_weight - 1.0) * sum(parts[name] for name in team)",
            ),
            Detail(
                "**Which answer goes on.** A random one, so that the prompts of later turns are those of the policy's own "
                'play. `select="greedy"`, as published, takes the best reward, the first of equal ones.',
                "rollout/turn_trees.py",
                "return max(range(len(rewards)), key=lambda i: rewards[i])",
            ),
            Detail(
                "**Simultaneous agents.** Each agent's K answers are tried beside the other agents' first answers.",
                "rollout/turn_trees.py",
                "joint_actions = [(*first[:index], c.text, *first[index + 1 :]) for c in completions]",
            ),
            Detail(
                "**No division by the deviation.** `normalize=True` divides, as published: by the biased "
                "standard deviation of the group's rewards plus 1e-6. PettingLLMs leaves this to "
                "verl (`norm_adv_by_std_in_grpo`).",
                DEVIATION.file,
                DEVIATION.fragment,
                (*DEVIATION.see, AT_GRPO_UPDATE),
            ),
            PARTS,
            EQUAL_RETURNS,
            CLIPPING,
            Detail(
                "**Mean over tokens.** The loss is the mean over all sampled tokens of the minibatch, so long "
                "answers weigh more.",
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
        example=_worked(
            "grpo",
            "[0.5, -0.5, 0.0, 0.0]",
            "normalize=False, as in Dr. GRPO: the returns less their mean, 0.5",
            options="normalize=False",
        ),
        details=(
            Detail(
                "**One agent.** Environments with a choice of the number of agents are made with `num_agents=1`.",
                "learners/grpo.py",
                'env_defaults: ClassVar[Mapping[str, Any]] = ENV_DEFAULTS["grpo"]',
            ),
            DEVIATION,
            PARTS,
            EQUAL_RETURNS,
            CLIPPING,
            Detail(
                "**Mean over each answer.** Token losses are averaged over each answer first, as published. In "
                'TRL this is `loss_type="grpo"`; its default is another one.',
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
                "**Several turns.** Each turn has a group of its own, whose answers share one prompt and whose "
                "returns run to the end of the episode. The paper has a single turn.",
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
