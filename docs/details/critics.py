"""Learners with a critic: ppo, ippo, mappo, iac, maac."""

from __future__ import annotations

from .groups import CLIPPED, KL, LOGPROBS, MASK, OLD, OLD_LOGPROBS, OPTIMIZER, TOKEN_MEAN
from .parts import (
    CLEANRL,
    IAC_ADVANTAGES,
    IAC_ROLLOUTS,
    MAPPO_CRITIC,
    MAPPO_TRAIN,
    MAPPO_UPDATE,
    MAPPO_VALUE_LOSS,
    SB3_GAE,
    SB3_ROLLOUTS,
    SB3_TRAIN,
    Detail,
    Method,
    equation,
)

_TURNS = {
    "r [T]": "rewards of the agent's T turns in an episode, each the sum of the rewards before its next turn",
    "V [T+1]": "values that the critic predicts at each turn; the last one is the value after the episode",
    "A [T]": "advantages; no gradient flows through them",
    "target [T]": "training targets of the critic",
}
_GAE = equation(
    """delta_t = r_t + gamma V_(t+1) - V_t
A_t = delta_t + gamma lam A_(t+1)
target_t = A_t + V_t""",
    {
        **_TURNS,
        "A [T]": "advantages; the loss gets (A - mean(A)) / (std(A) + 1e-6), over all turns of the batch",
    },
)
_STEP = equation(
    """A_t = r_t + gamma V_(t+1) - V_t
target_t = r_t + gamma V_(t+1)""",
    _TURNS,
)
_SYMBOLS = {
    "A_i": "advantage of the turn with completion i, the same at each of its tokens",
    **MASK,
    **LOGPROBS,
    "v [M]": "values of the minibatch's M turns under the current weights",
}
_PPO_LOSS = equation(
    f"""{CLIPPED}{TOKEN_MEAN}

L_critic = 1/M sum_i 1/2 max((v_i - target_i)^2, (V_i + clip(v_i - V_i, -c, c) - target_i)^2)""",
    {**_SYMBOLS, **OLD, "c": "value_clip (scalar)"},
)
_AC_LOSS = equation(
    f"""L = sum_i sum_t w_it (-A_i log pi_it)
{TOKEN_MEAN}

L_critic = 1/M sum_i 1/2 (v_i - target_i)^2""",
    _SYMBOLS,
)

RECURSION = Detail(
    "**Generalised advantages.** The recursion runs over the agent's own turns and skips the turns of other "
    "agents.",
    "learners/value_estimation.py",
    "following = errors[t] + decay[t] * following",
    (SB3_GAE, CLEANRL),
)
PAYMENT = Detail(
    "**Time of rewards.** A turn's reward is the sum of all rewards before the agent's next turn. Rewards "
    "that follow a completion not sampled by a model are added to the previous sampled turn.",
    "learners/updates/turns.py",
    "turns[-1] = replace(turns[-1], reward=turns[-1].reward + decision.reward)",
)
TIME_LIMIT = Detail(
    "**End of an episode.** The value after the last turn is 0. If a time limit outside the task "
    "truncated the episode, it is the critic's value; if the limit is a rule of the task, it is 0. "
    '`time_limit="bootstrap"` and `"end"` override this. stable-baselines3 bootstraps at every time '
    "limit, CleanRL's PPO at none.",
    "learners/updates/actor_critic.py",
    "return trajectory.cut_off and not trajectory.timed_task",
    (SB3_ROLLOUTS, CLEANRL),
)
WHITENING = Detail(
    "**Whitening.** Advantages are standardised once per batch and policy, with the biased standard "
    "deviation plus 1e-6. stable-baselines3 and CleanRL do this per minibatch, on-policy per batch.",
    "learners/updates/actor_critic.py",
    "items = _with_advantages(items, whiten(flat))",
    (SB3_TRAIN, CLEANRL, MAPPO_TRAIN),
)
VALUE_CLIP = Detail(
    "**Value clipping.** The loss is the larger of the unclipped and the clipped squared error, as in CleanRL. "
    "stable-baselines3 uses only the clipped error, and only if `clip_range_vf` is set. on-policy uses Huber "
    "losses.",
    "learners/value_estimation.py",
    "return 0.5 * torch.maximum(plain, (near - targets) ** 2)",
    (CLEANRL, SB3_TRAIN, MAPPO_VALUE_LOSS),
)
PLAIN_VALUE = Detail(
    "**Value loss.** Half the squared error, without clipping (`value_clip=None`).",
    "learners/configs/critics.py",
    "value_clip: float | None = None",
)
ZERO_HEAD = Detail(
    "**Initialisation of the critic.** A separate critic is a copy of the actor's weights with a linear "
    "head initialised to 0, so the first values are 0.",
    "policies/critic_models.py",
    "nn.init.zeros_(self.linear.weight)",
)
VALUE_HEAD = Detail(
    "**Weight of the value loss.** A separate critic has its own optimiser, so its loss needs no weight. "
    'With `critic="value_head"` the value loss is added to the actor\'s loss, weighted by `value_weight`.',
    "learners/updates/actor_critic.py",
    "loss = loss + self.config.value_weight * mean",
)
ONE_VALUE = Detail(
    "**One value per turn.** The critic reads the prompt of a turn and predicts one value. With "
    '`values="token"` it predicts one before each token; lambda then applies per token, and a turn\'s '
    "reward is received at its last token.",
    "learners/updates/turns.py",
    "rewards[at] = turn.reward",
)
EARLY_STOP = Detail(
    "**Early stopping.** Training on a batch stops after any step whose estimated KL exceeds `target_kl`. "
    "CleanRL checks once per epoch; stable-baselines3 compares with 1.5 times the limit. Off by default.",
    "learners/updates/actor_critic.py",
    'stop_early=lambda means: target is not None and means.get("update_kl", 0.0) > target,',
    (CLEANRL, SB3_TRAIN),
)
EPOCHS = Detail(
    "**Passes.** Four passes over each batch, with one step each (`minibatches=1`). Actor and critic make "
    "the same number of passes; the actor goes first.",
    "learners/configs/critics.py",
    "epochs: int = 4",
)
ENTROPY = Detail(
    "**No entropy bonus by default**, as in stable-baselines3. CleanRL uses 0.01.",
    "learners/configs/surrogate.py",
    "entropy: float = 0.0  # weight of the entropy bonus",
    (SB3_TRAIN, CLEANRL),
)
MEAN_OVER_TOKENS = Detail(
    "**Mean over tokens.** A turn's advantage applies to each of its tokens. The loss is the mean over "
    "the minibatch's tokens, so long completions have more weight.",
    "learners/losses.py",
    "return mask / total",
)
TOKEN_RATIO = Detail(
    '**Ratio per token.** Each token has its own ratio. `ratio="sequence"` uses one ratio for the whole '
    "completion (GSPO).",
    "learners/losses.py",
    "return logprobs - old_logprobs",
)
CENTRAL_STATE = Detail(
    "**Input of the critic.** The text of `env.state()`, which the rollout records at each turn. An "
    "environment without it is rejected.",
    "learners/updates/critics.py",
    "return _encode(self._reader, turn.state)",
)
ONE_STATE = Detail(
    '**One value per turn.** A state is evaluated once per turn. `values="token"` and '
    '`critic="value_head"` are rejected.',
    "learners/configs/critics.py",
    "a central critic predicts one value per state: set values='turn'",
)
AGENT_OUTPUTS = Detail(
    "**One output for each agent**, because agents may have different rewards. on-policy's critic has one output.",
    "learners/updates/critics.py",
    "outputs=len(agents) if central else 1,",
    (MAPPO_CRITIC,),
)
CRITIC_ONCE = Detail(
    "**Training of the critic.** It is trained once per batch on the turns of all agents, after the actors.",
    "learners/updates/actor_critic.py",
    "if isinstance(critic, ModelCritic) and scored[name]:",
)
ONE_STEP = Detail(
    "**One step ahead.** `lam` is 0 and cannot be changed. The value target is r + gamma V(next).",
    "learners/configs/critics.py",
    "lam: float = 0.0",
)
NO_WHITENING = Detail(
    "**No whitening.** Advantages keep the scale of the rewards. CoMLRL's `advantage_normalization` "
    "normalises them.",
    "learners/configs/critics.py",
    "whiten: bool = False",
    (IAC_ADVANTAGES,),
)
ONE_PASS = Detail(
    "**One pass.** Each batch is used for one step, without an importance ratio.",
    "learners/updates/policy_gradient.py",
    "per_token = policy_gradient_loss(now.logprobs, advantages)",
)

_COMMON = (TIME_LIMIT, PAYMENT, MEAN_OVER_TOKENS)
_PPO = (
    RECURSION,
    *_COMMON,
    WHITENING,
    VALUE_CLIP,
    ZERO_HEAD,
    EPOCHS,
    TOKEN_RATIO,
    OLD_LOGPROBS,
    EARLY_STOP,
    ENTROPY,
    KL,
    OPTIMIZER,
)

METHODS = {
    "ppo": Method(
        credit=_GAE,
        loss=_PPO_LOSS,
        example="""import torch

from llmzoo.learners.value_estimation import gae

rewards = torch.tensor([0.0, 1.0])  # two turns
values = torch.tensor([0.5, 0.5, 0.0])  # before each turn, then 0 because the episode has ended
advantages = gae(rewards, values, discounts=torch.ones(2), lam=0.95)
# the second: 1 + 0 - 0.5; the first: 0 + 0.5 - 0.5 + 0.95 x 0.5
torch.testing.assert_close(advantages, torch.tensor([0.475, 0.5]))""",
        details=(
            Detail(
                "**One agent.** Environments with a `num_agents` argument are created with `num_agents=1`.",
                "learners/actor_critic.py",
                'env_defaults: ClassVar[Mapping[str, Any]] = ENV_DEFAULTS["ppo"]',
            ),
            *_PPO,
            ONE_VALUE,
            VALUE_HEAD,
        ),
    ),
    "ippo": Method(
        credit=_GAE,
        loss=_PPO_LOSS,
        example="""import torch

from llmzoo.learners.losses import clipped_surrogate_loss

ratios = torch.tensor([[1.5, 0.5]])  # one completion of two tokens
loss = clipped_surrogate_loss(ratios.log(), torch.tensor([1.0]), low=0.2, high=0.2)
# the first ratio is clipped to 1.2; the second is not, because the minimum is taken
torch.testing.assert_close(loss, torch.tensor([[-1.2, -0.5]]))""",
        details=(
            Detail(
                "**One critic for each policy.** A policy for several agents has one critic, which reads the "
                "agent in the prompt. Separate policies have separate critics.",
                "learners/updates/actor_critic.py",
                "for name, policy in self.policies.items() if not central else ():",
            ),
            *_PPO,
            ONE_VALUE,
            VALUE_HEAD,
        ),
    ),
    "mappo": Method(
        credit=_GAE,
        loss=_PPO_LOSS,
        example="""import llmzoo

env = llmzoo.make("plan_path_v0", max_turns=1)
env.reset(seed=0)
print(env.state())  # what the critic reads
print(env.observe(env.agent_selection))  # what the agent reads
assert env.state() != env.observe(env.agent_selection)""",
        details=(
            CENTRAL_STATE,
            ONE_STATE,
            AGENT_OUTPUTS,
            CRITIC_ONCE,
            Detail(
                "**No normalisation of values.** The critic predicts returns on the scale of the rewards. "
                "on-policy can normalise them with running statistics.",
                "learners/value_estimation.py",
                "plain = (values - targets) ** 2",
                (MAPPO_VALUE_LOSS,),
            ),
            *_PPO,
            Detail(
                "**Actors.** Each policy has its own optimiser and makes its own passes, as in on-policy "
                "without shared policies.",
                "learners/updates/actor_critic.py",
                "policy_metrics = {} if not items else self._update_actor(name, policy, items, seed)",
                (MAPPO_UPDATE,),
            ),
        ),
    ),
    "iac": Method(
        credit=_STEP,
        loss=_AC_LOSS,
        example="""import llmzoo

llmzoo.fit(
    "iac",
    "plan_path_v0",
    env_args={"max_turns": 1},
    learner_args={"critic": "value_head"},  # no second model
    model="tiny",
    out="runs/iac",
    steps=1,
    episodes_per_step=2,
    eval_tasks=1,
)""",
        details=(
            ONE_STEP,
            Detail(
                "**Values before the update.** Both values of a difference were predicted before the "
                "update. CoMLRL's single-turn difference is the return minus the value.",
                "learners/value_estimation.py",
                "return rewards + discounts * values[1:] - values[:-1]",
                (IAC_ROLLOUTS,),
            ),
            NO_WHITENING,
            PLAIN_VALUE,
            ONE_PASS,
            *_COMMON,
            ONE_VALUE,
            ZERO_HEAD,
            VALUE_HEAD,
            KL,
            OPTIMIZER,
        ),
    ),
    "maac": Method(
        credit=_STEP,
        loss=_AC_LOSS,
        example="""import torch

from llmzoo.learners.value_estimation import td_errors

rewards = torch.tensor([0.0, 1.0])  # two turns of one agent
values = torch.tensor([0.5, 0.75, 0.0])  # of each state, then 0 because the episode has ended
advantages = td_errors(rewards, values, discounts=torch.ones(2))
# the first: 0 + 0.75 - 0.5; the second: 1 + 0 - 0.75
torch.testing.assert_close(advantages, torch.tensor([0.25, 0.25]))""",
        details=(
            CENTRAL_STATE,
            ONE_STATE,
            AGENT_OUTPUTS,
            CRITIC_ONCE,
            ONE_STEP,
            NO_WHITENING,
            PLAIN_VALUE,
            ONE_PASS,
            *_COMMON,
            ZERO_HEAD,
            KL,
            OPTIMIZER,
        ),
    ),
}
