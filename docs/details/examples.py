"""Learners that train on given completions: sft, dpo, madpo."""

from __future__ import annotations

from .groups import LOGPROBS, OPTIMIZER
from .parts import (
    DPO_LOSS,
    MADPO_LOSS,
    MADPO_PAIRS,
    MADPO_STEPS,
    SFT_LOSS,
    Detail,
    Method,
    equation,
)

_PAIRS = {
    "M": "pairs in the batch",
    "log pi [M, 2]": "log-probabilities of the chosen (c) and the rejected (r) completion, summed over tokens",
    "log ref [M, 2]": "the same under the reference policy, which is fixed during a round",
}
_LOSS = equation(
    "L = 1/M sum_i -log sigmoid(beta margin_i)",
    {"beta": "strength of the implicit KL penalty to the reference (scalar)"},
)

TEMPERATURE = Detail(
    "**Temperature 1.** Log-probabilities are those of the model itself, regardless of the temperature "
    "and top-p of sampling.",
    "learners/updates/rows.py",
    "plain = replace(policy.sampling, temperature=1.0, top_p=1.0, top_k=0)",
)
SCHEDULE = Detail(
    "**Schedule.** The number of remaining steps is estimated before each iteration, because iterations "
    "have different numbers of rows.",
    "learners/updates/rows.py",
    "optimizer.total = optimizer.steps + steps * max(1, self.total_steps - self.iterations)",
)
TIES = Detail(
    "**Ties.** Two completions do not form a pair if their returns differ only by rounding, or if they "
    "have the same tokens.",
    "learners/preferences.py",
    "if tie or gap < min_gap or (same is not None and same[i] == same[j]):",
)
LORA_REFERENCE = Detail(
    "**Reference of an adapter.** While a new LoRA adapter still has no effect, the reference is the base "
    "model without an adapter, and no copy is made.",
    "learners/updates/dpo_reference.py",
    "return self._policy.adapter is not None and player.adapter is None",
    (DPO_LOSS,),
)
ROUNDS = Detail(
    "**Rounds.** At the start of each round the reference becomes a copy of the policy, and the reference "
    "plays during the round. `rounds=1` is the paper's DPO. If trained agents play against each other, it "
    "is the default, with `beta` 0.5.",
    "learners/updates/dpo.py",
    "reference.refresh()",
)

METHODS = {
    "sft": Method(
        credit=equation(
            "none: every token of the kept episodes has the same weight",
            {
                "kept": "the agent's episodes that succeeded (success_only) and have a return of at least min_return; "
                "of these, the fraction top with the highest returns",
            },
        ),
        loss=equation(
            """L = 1/T sum_i sum_t m_it (-log pi_it)              loss_type="nll"
L = 1/T sum_i sum_t m_it (-sg(pi_it) log pi_it)    loss_type="dft\"""",
            {
                "T": "completion tokens of the batch's N rows, including end-of-sequence tokens",
                "m [N, C]": "1 on completion tokens, 0 on padding to C tokens; prompts are not included",
                **LOGPROBS,
                "sg": "stop-gradient",
            },
        ),
        example="""import llmzoo

llmzoo.fit(
    "sft",
    "plan_path_v0",
    env_args={"max_turns": 1},
    learner_args={"source": "expert", "success_only": True},
    model="tiny",
    out="runs/sft",
    steps=1,
    episodes_per_step=2,
    eval_tasks=1,
)""",
        details=(
            Detail(
                "**Mean over tokens.** The loss is the mean over all completion tokens of a batch, as in TRL. A "
                "batch that is split into microbatches has the same gradient.",
                "learners/updates/sft.py",
                "return (losses * now.mask).sum() / tokens, metrics",
                (SFT_LOSS,),
            ),
            Detail(
                "**End of sequence.** A demonstration ends with the policy's end-of-sequence token, which "
                "is trained on too.",
                "learners/updates/examples.py",
                "return (*ids, min(policy.eos_ids) if eos_id is None else int(eos_id))",
            ),
            Detail(
                "**The model's own completions** are trained on as sampled. They are not tokenised again.",
                "learners/updates/sft.py",
                "return [Example(completion.prompt_ids, completion.ids, False)]",
            ),
            Detail(
                "**Filters.** They select whole episodes, separately for each agent, because rewards may "
                "have different scales for different agents.",
                "records/trajectories.py",
                "best = sorted(entries, key=lambda entry: -entry[1])[:count]",
            ),
            Detail(
                '**Dynamic fine-tuning.** `loss_type="dft"` weights a token by its probability, as '
                "in TRL.",
                "learners/updates/sft.py",
                "losses = losses * now.logprobs.detach().exp()",
                (SFT_LOSS,),
            ),
            Detail(
                "**Rows that are too long** for the model's context are left out. They are truncated only "
                "if `max_length` is set.",
                "learners/updates/sft.py",
                "if fits_context(policy, example)",
            ),
            Detail(
                "**No dropout.** Training uses no dropout, and an adapter with dropout is rejected.",
                "learners/updates/sft.py",
                '"sft trains without dropout: set lora_dropout to 0"',
            ),
            TEMPERATURE,
            SCHEDULE,
            OPTIMIZER,
        ),
    ),
    "dpo": Method(
        credit=equation("margin_i = (log pi_ic - log ref_ic) - (log pi_ir - log ref_ir)", _PAIRS),
        loss=_LOSS,
        example="""import torch

from llmzoo.learners.preference_losses import PairLogProbs, pair_losses

pairs = PairLogProbs(  # one pair: the chosen completion and the rejected one
    logps=torch.tensor([[-4.0, -7.0]]),
    reference=torch.tensor([[-5.0, -6.0]]),
    lengths=torch.tensor([[3, 3]]),
    token_logps=torch.tensor(-4 / 3),
)
# the margin is (-4 + 5) - (-7 + 6) = 2, and beta 0.1
expected = -torch.tensor([0.2]).sigmoid().log()
torch.testing.assert_close(pair_losses(pairs), expected)""",
        details=(
            Detail(
                '**Which pairs.** By default, all pairs in a group whose returns differ. `pairs="gap"` '
                "takes only the best completion and the worst one, or the first such pair in a tie; "
                '`"random"` takes one pair. `min_gap` sets the smallest difference. The paper uses '
                "labelled pairs.",
                "learners/preferences.py",
                'if choice == "all" or not usable:',
            ),
            TIES,
            Detail(
                "**Sum over tokens.** A completion's log-probability is the sum over its tokens. Only "
                "`sigmoid_norm` and `ipo` divide by lengths, as in TRL.",
                "learners/updates/dpo.py",
                "return logps.sum(dim=1).view(-1, 2), now",
                (DPO_LOSS,),
            ),
            ROUNDS,
            Detail(
                "**Reference log-probabilities** are computed once per iteration, before its first step.",
                "learners/updates/dpo.py",
                "reference = self.logps(self.references[name].player, pairs)",
            ),
            LORA_REFERENCE,
            Detail(
                "**Other losses.** `loss_type` accepts TRL's names. `ipo` squares the margin per token, "
                "as TRL does.",
                "learners/preference_losses.py",
                "return (pairs.mean_margin / beta - 1 / (2 * beta)) ** 2",
                (DPO_LOSS,),
            ),
            TEMPERATURE,
            SCHEDULE,
            OPTIMIZER,
        ),
    ),
    "madpo": Method(
        credit=equation(
            "margin_i = sum_s ((log pi_sic - log ref_sic) - (log pi_sir - log ref_sir))",
            {"s": "the agents that act at the node, each with the following", **_PAIRS},
        ),
        loss=_LOSS,
        example="""import llmzoo

llmzoo.fit(
    "madpo",
    "plan_path_v0",
    env_args={"max_turns": 1},
    learner_args={"group_size": 4, "beta": 0.1},
    model="tiny",
    out="runs/madpo",
    steps=1,
    episodes_per_step=2,
    eval_tasks=1,
)""",
        details=(
            Detail(
                "**Gradient of an agent.** Each policy trains on the joint margin, in which the margins "
                "of the others are constants. The sum of these gradients is the gradient of the joint "
                "loss. CoMLRL does the same, but without a reference.",
                "learners/updates/dpo.py",
                "others = total[numbers[name]] - ratios[name]",
                (MADPO_LOSS,),
            ),
            Detail(
                "**Order of steps.** All margins of a batch are computed before any policy takes its step.",
                "learners/updates/dpo.py",
                "for name, part in parts.items():  # all before any policy's step",
                (MADPO_STEPS,),
            ),
            Detail(
                "**Return of a joint completion.** The mean of the returns of the learning agents that "
                "act at the node.",
                "learners/updates/pairs.py",
                "returns = [sum(r) / len(at_node) for r in zip(*(g.returns for g in at_node), strict=True)]",
            ),
            Detail(
                "**Agents left out.** An agent whose prompt was too long for its model is left out of the "
                "pair. The other agents stay in.",
                "learners/updates/pairs.py",
                "sampled = [g for g in at_node if all(c.trainable for c in g.completions)]",
            ),
            Detail(
                "**Which pairs.** By default, all pairs of joint completions at a node whose returns "
                'differ; `pairs="gap"` takes only the best against the worst. CoMLRL takes up to 16 pairs '
                "per prompt.",
                "learners/updates/pairs.py",
                "choose_pairs(returns, choice, rng=rng, min_gap=min_gap, same=same)",
                (MADPO_PAIRS,),
            ),
            Detail(
                "**Other losses.** Only losses that depend on a single pair, and not on lengths, have a "
                "joint form.",
                "learners/configs/preferences.py",
                "allowed_losses: ClassVar[Collection[str]] = JOINT_LOSS_NAMES",
            ),
            TIES,
            ROUNDS,
            LORA_REFERENCE,
            TEMPERATURE,
            OPTIMIZER,
        ),
    ),
}
