"""SFT: supervised fine-tuning on demonstrations, or on the model's best episodes (RAFT, arXiv 2304.06767).

The loss is the mean cross-entropy of the completions' tokens, including the end-of-sequence token.
It equals the loss of TRL's SFTTrainer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from llmzoo.learners.base import Learner, RunPolicies
from llmzoo.learners.configs.rows import SFTConfig
from llmzoo.learners.updates.sft import Demonstrations, SFTUpdater, demonstration_policies
from llmzoo.policies.base import Policy
from llmzoo.rollout.plans import WholeEpisodes


class SFT(Learner):
    """Credit: none; every token of the episodes that pass the filters has the same weight.

    ``source`` selects who plays the episodes. With ``expert``, ``noisy_expert`` and ``mixed``, the
    environment's scripted policies play all agents. They may use information that is not in the
    prompt. With ``self``, the models play and imitate their own best episodes. This is
    reward-ranked fine-tuning (RAFT, arXiv 2304.06767); it requires ``top``, ``min_return`` or
    ``success_only``. Any other source is a file or a hub id of trajectories
    (``llmzoo.records.trajectories``), or a folder that ``llmzoo serve gateway`` or ``llmzoo eval --out``
    wrote; conversations keep their messages. With such a source no episodes are played.
    Instead, each iteration takes the next ``episodes_per_step`` episodes. The run's seed fixes
    their order, which differs in each pass.

    Completions of other policies are tokenised by the policy's tokenizer and end with its
    end-of-sequence token. The policy's own completions are trained on as sampled; truncated ones
    have no end-of-sequence token. Each policy learns the decisions of its own agents.

    ``mode="world_model"`` predicts an agent's next observation from its observation and action (the
    implicit world model of arXiv 2510.08558). Failed episodes are useful for this too, so the
    filters apply to behaviour rows only. ``mode="mix"`` trains on ``world_model_weight``
    world-model rows for each behaviour row, sampled at random. The weight refers to the number of
    rows. The loss is the mean over all tokens of a batch, in which a long observation counts more
    than a short completion.

    A token budget counts each demonstrated token that is trained on once per iteration.
    """

    Config: ClassVar[type[SFTConfig]] = SFTConfig
    config: SFTConfig

    def __init__(self, config: SFTConfig | None = None):
        super().__init__(config)
        self.demonstrations = (
            None if self.config.plays_episodes else Demonstrations(self.config.source)
        )

    @property
    def separable(self) -> bool:
        return True

    @property
    def plan(self) -> Demonstrations | ScriptedEpisodes:
        return self.demonstrations or ScriptedEpisodes(config=self.config)

    def updater(self, run: RunPolicies) -> SFTUpdater:
        if self.demonstrations is not None:
            self.demonstrations.check(list(run.agent_policies))
            self.demonstrations.load_state_dict({"taken": 0, "seed": None})
        return SFTUpdater(self.config, run, self.demonstrations)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedEpisodes(WholeEpisodes):
    """Episodes of the scripted players that ``config.source`` names, or of the models themselves."""

    config: SFTConfig

    def rollout_policies(self, agent_policies: Mapping[str, Policy]) -> Mapping[str, Policy]:
        return demonstration_policies(self.config, agent_policies)
