"""The record types of a learner's page, and references to the same code in other libraries.

Versions of the other libraries: TRL 1.16.0; CoMLRL at commits 16657843 (MAGRPO),
77046d40 (MAREINFORCE, MARLOO, MAReMax), 4cd3d00f (MADPO) and 10c50835 (actor-critic); PettingLLMs at 0275a4c7;
CleanRL at 020cf0e5; stable-baselines3 at 019aeadc (buffers) and 02888c61 (PPO); on-policy at 6326fec7 and
2e55e78c (R_Critic).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

PROJECTS = {
    "TRL": "https://github.com/huggingface/trl",
    "CoMLRL": "https://github.com/OpenMLRL/CoMLRL",
    "PettingLLMs": "https://github.com/pettingllms-ai/PettingLLMs",
    "CleanRL": "https://github.com/vwxyzjn/cleanrl",
    "stable-baselines3": "https://github.com/DLR-RM/stable-baselines3",
    "on-policy": "https://github.com/marlbenchmark/on-policy",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A function in another library. ``function``: empty for a script without functions."""

    project: str  # of PROJECTS
    file: str
    function: str = ""


@dataclass(frozen=True, slots=True)
class Detail:
    """One implementation choice, and the line of code that makes it.

    ``fragment``: a part of one line of ``file`` (below ``llmzoo/``) that occurs exactly once.
    """

    text: str
    file: str
    fragment: str
    see: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Method:
    """The equations of a learner, an example that runs in seconds, and implementation details."""

    credit: str
    loss: str
    example: str
    details: tuple[Detail, ...]


def equation(lines: str, symbols: Mapping[str, str]) -> str:
    """Formulas, followed by their symbols and meanings in two columns."""
    width = max(map(len, symbols)) + 2
    symbol_lines = [
        textwrap.fill(
            text,
            width=100,
            initial_indent=symbol.ljust(width),
            subsequent_indent=" " * width,
            break_long_words=False,
        )
        for symbol, text in symbols.items()
    ]
    return "\n".join([lines, "", *symbol_lines])


GRPO_ADVANTAGES = Reference(
    "TRL", "trl/trainer/grpo_trainer.py", "GRPOTrainer._generate_and_score_completions"
)
GRPO_LOSS = Reference("TRL", "trl/trainer/grpo_trainer.py", "GRPOTrainer._compute_loss")
RLOO_ADVANTAGES = Reference(
    "TRL", "trl/trainer/rloo_trainer.py", "RLOOTrainer._generate_and_score_completions"
)
RLOO_LOSS = Reference("TRL", "trl/trainer/rloo_trainer.py", "RLOOTrainer._compute_loss")
SFT_LOSS = Reference("TRL", "trl/trainer/sft_trainer.py", "SFTTrainer.compute_loss")
DPO_LOSS = Reference("TRL", "trl/trainer/dpo_trainer.py", "DPOTrainer._compute_loss")
DISTILLATION_LOSS = Reference(
    "TRL", "trl/trainer/distillation_trainer.py", "DistillationTrainer._compute_loss"
)
DISTILLATION_TEACHER = Reference(
    "TRL", "trl/trainer/distillation_trainer.py", "DistillationTrainer.__init__"
)
IW_OPD_LOSS = Reference(
    "TRL", "trl/experimental/iw_opd/iw_opd_trainer.py", "IWOPDTrainer._compute_iw_opd_loss"
)

_MAGRPO = "comlrl/trainers/reinforce/magrpo.py"
MAGRPO_ADVANTAGES = Reference("CoMLRL", _MAGRPO, "MAGRPOTrainer._compute_advantages")
MAGRPO_LOSS = Reference("CoMLRL", _MAGRPO, "MAGRPOTrainer._compute_loss_with_gradients")
MAGRPO_TREE = Reference("CoMLRL", _MAGRPO, "MAGRPOTrainer._train_step_returns")
MADPO_LOSS = Reference(
    "CoMLRL", "comlrl/trainers/preference/madpo.py", "MADPOTrainer._agent_preference_loss"
)
MADPO_PAIRS = Reference(
    "CoMLRL", "comlrl/trainers/preference/madpo.py", "MADPOTrainer._select_preference_pair_indices"
)
MADPO_STEPS = Reference(
    "CoMLRL", "comlrl/trainers/preference/madpo.py", "MADPOTrainer._update_from_preference_batch"
)
IAC_ROLLOUTS = Reference(
    "CoMLRL", "comlrl/trainers/actor_critic/iac.py", "IACTrainer._collect_rollouts"
)
IAC_ADVANTAGES = Reference(
    "CoMLRL",
    "comlrl/trainers/actor_critic/ac_base.py",
    "ActorCriticTrainerBase._prepare_advantages",
)

AT_GRPO_UPDATE = Reference(
    "PettingLLMs",
    "pettingllms/trainer/multi_agents_ppo_trainer.py",
    "MultiAgentsPPOTrainer._update_parameters",
)

CLEANRL = Reference("CleanRL", "cleanrl/ppo.py")
SB3_GAE = Reference(
    "stable-baselines3",
    "stable_baselines3/common/buffers.py",
    "RolloutBuffer.compute_returns_and_advantage",
)
SB3_TRAIN = Reference("stable-baselines3", "stable_baselines3/ppo/ppo.py", "PPO.train")
SB3_ROLLOUTS = Reference(
    "stable-baselines3",
    "stable_baselines3/common/on_policy_algorithm.py",
    "OnPolicyAlgorithm.collect_rollouts",
)
MAPPO_VALUE_LOSS = Reference(
    "on-policy", "onpolicy/algorithms/r_mappo/r_mappo.py", "R_MAPPO.cal_value_loss"
)
MAPPO_TRAIN = Reference("on-policy", "onpolicy/algorithms/r_mappo/r_mappo.py", "R_MAPPO.train")
MAPPO_UPDATE = Reference(
    "on-policy", "onpolicy/algorithms/r_mappo/r_mappo.py", "R_MAPPO.ppo_update"
)
MAPPO_CRITIC = Reference(
    "on-policy", "onpolicy/algorithms/r_mappo/algorithm/r_actor_critic.py", "R_Critic"
)
