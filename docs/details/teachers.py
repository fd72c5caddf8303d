"""The learner with a teacher: opd."""

from __future__ import annotations

from .groups import KL, LOGPROBS, MASK, OLD, OLD_LOGPROBS, ONE_UPDATE, OPTIMIZER, SAMPLED_ONLY
from .parts import DISTILLATION_LOSS, DISTILLATION_TEACHER, IW_OPD_LOSS, Detail, Method, equation

METHODS = {
    "opd": Method(
        credit=equation(
            """A_it = log t_it - log pi_old_it + discount A_i(t+1) + w (R_i - mean(R))    loss="reverse_kl\"""",
            {
                "A [K, C]": "advantages, one per token; no gradient flows through them",
                "log t [K, C]": "the teacher's log-probabilities of the same tokens",
                **OLD,
                "w": "`reward_weight`; the reward term is added to each token once, after the discount",
                "R [K]": "returns of the K completions of one prompt",
            },
        ),
        loss=equation(
            """L = sum_i sum_t w_it (-A_it log pi_it)                         loss="reverse_kl"
L = sum_i sum_t w_it (D_it - w (R_i - mean(R)) log pi_it)     loss="jsd"
D = beta KL(t || m) + (1 - beta) KL(pi || m),  m = beta t + (1 - beta) pi
D = KL(t || pi) for beta 0,  KL(pi || t) for beta 1
w_it = m_it / sum(m)""",
            {
                "D [N, C]": "divergence of the distributions over the whole vocabulary before each token",
                "t, pi": "distributions of the teacher and of the student, both at the student's temperature",
                **MASK,
                **LOGPROBS,
            },
        ),
        example="""from math import log

import torch

from llmzoo.learners.updates.distillation import log_ratios
from llmzoo.models.divergence import generalized_jsd

# three tokens: log-probabilities as sampled, and the teacher's
sampled, teacher = (-2.0, -0.5, -1.5), torch.tensor([-1.0, -0.5, -2.0])
assert log_ratios(sampled, teacher, 0.0).tolist() == [1.0, 0.0, -0.5]
# half of the next token's credit is added: 0 - 0.25, then 1 - 0.125
assert log_ratios(sampled, teacher, 0.5).tolist() == [0.875, -0.25, -0.5]

student, teacher = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.75, 0.25]).log()
reverse = 0.5 * log(0.5 / 0.75) + 0.5 * log(0.5 / 0.25)
assert abs(generalized_jsd(student, teacher, 1.0).item() - reverse) < 1e-6""",
        details=(
            Detail(
                "**Per-token credit.** By default a token is credited only for itself (`discount=0`), as "
                "in Thinking Machines Lab's work. TRL's importance-weighted form weights the same "
                "log-ratios by their position in the completion.",
                "learners/updates/distillation.py",
                "credit = teacher - torch.tensor(logprobs, dtype=teacher.dtype)",
                (IW_OPD_LOSS,),
            ),
            Detail(
                "**The student's log-probability** in the log-ratio is the one recorded during sampling. "
                "Under top-k or top-p it is that of the filtered distribution, from which the student "
                "samples. The teacher's distribution is never filtered.",
                "learners/updates/teachers.py",
                "replace(student.sampling_for(group.agent), top_p=1.0, top_k=0)",
            ),
            Detail(
                "**Temperature.** Both distributions use the student's sampling temperature, as in TRL.",
                "models/divergence.py",
                "(x[..., :size].float() / temperature).log_softmax(dim=-1) for x in (logits, wanted)",
                (DISTILLATION_LOSS,),
            ),
            Detail(
                "**Limits of beta.** The formula itself gives 0 for beta 0 and 1. As in TRL, these values "
                "mean the forward and the reverse KL.",
                "models/divergence.py",
                "mixture = torch.logaddexp(student + math.log1p(-beta), teacher + math.log(beta))",
                (DISTILLATION_LOSS,),
            ),
            Detail(
                "**Padded vocabularies.** Models of one family may pad their output layers to different "
                "sizes. Only the tokens that both have are compared. TRL rejects such pairs.",
                "models/divergence.py",
                "size = min(logits.shape[-1], wanted.shape[-1])  # larger models pad their vocabulary",
                (DISTILLATION_TEACHER,),
            ),
            Detail(
                "**One tokenizer.** Teacher and student must have the same vocabulary. The "
                "end-of-sequence token is scored like any other, and a chat model that teaches a base "
                "model may expect a different one.",
                "learners/updates/teachers.py",
                "if student.tokenizer.get_vocab() != teacher.tokenizer.get_vocab():",
            ),
            Detail(
                "**A teacher on the student's base.** If the student is a LoRA adapter, and the teacher "
                "is its base model or an adapter of the same base in a local folder, the base is loaded "
                "once.",
                "learners/updates/teachers.py",
                "if lora.is_peft(host.model) and lora.is_based_on(host.model, name):",
            ),
            Detail(
                "**Rewards** are compared within groups, as in `magrpo`, or with a running mean per role "
                "(`role_baseline`). With the default `reward_weight=0` they have no effect.",
                "learners/updates/distillation.py",
                "advantages[k, : len(row)] = ratios + c.advantages[k]",
            ),
            OLD_LOGPROBS,
            ONE_UPDATE,
            KL,
            SAMPLED_ONLY,
            OPTIMIZER,
        ),
    ),
}
