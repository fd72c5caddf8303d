"""What numbers of a training row are called in figures, and their units; docs/metrics.md explains them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """``unit`` is empty for a pure number that no unit is needed for."""

    title: str
    unit: str
    section: str = "Learning"

    @property
    def axis(self) -> str:
        """The label of an axis."""
        return f"{self.title.lower()} ({self.unit})" if self.unit else self.title.lower()


# in the order in which they are shown
MEASURES = {
    "loss": Measure(title="Loss", unit=""),
    "entropy": Measure(title="Entropy", unit="nats per token"),
    "grad_norm": Measure(title="Gradient norm", unit="before clipping"),
    "drift": Measure(title="Drift from the sampler", unit="nats"),
    "update_kl": Measure(title="KL of the update", unit="nats"),
    "kl": Measure(title="KL to the start", unit="nats per token"),
    "ratio": Measure(title="Probability ratio", unit="mean"),
    "clip_fraction": Measure(title="Clipped tokens", unit="share"),
    "informative": Measure(title="Informative groups", unit="share"),
    "dropped_groups": Measure(title="Dropped groups", unit="groups"),
    "advantage_std": Measure(title="Spread of advantages", unit="standard deviation"),
    "value_loss": Measure(title="Value loss", unit=""),
    "explained_variance": Measure(title="Explained variance of returns", unit=""),
    "explained_target_variance": Measure(title="Explained variance of targets", unit=""),
    "value_grad_norm": Measure(title="Critic's gradient norm", unit="before clipping"),
    "mean_token_accuracy": Measure(title="Token accuracy", unit="share"),
    "learning_rate": Measure(title="Learning rate", unit=""),
    "completion_tokens": Measure(title="Length of answers", unit="tokens", section="Answers"),
    "truncated": Measure(title="Truncated answers", unit="share", section="Answers"),
    "tokens_per_second": Measure(title="Speed", unit="tokens per second", section="Time"),
}

# of the numbers of each agent
AGENT_SHARES = {
    "invalid": Measure(title="Answers with an error", unit="share", section="Answers"),
    "flat_groups": Measure(title="Groups without differences", unit="share", section="Learning"),
}

# counts, and what has a figure of its own
HIDDEN = {
    *("step", "success", "groups", "completions", "tokens", "env_steps", "env_steps_per_second"),
    *("rollout_seconds", "sampling_seconds", "stepping_seconds", "update_seconds"),
    *("demonstrated_tokens", "steps", "examples", "world_examples", "too_long", "pairs"),
    "refused",
}
