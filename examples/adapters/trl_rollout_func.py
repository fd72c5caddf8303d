"""TRL's GRPOTrainer for all agents of an environment: one model, trained in every agent's decisions.

Pass another model as the first argument.
"""

import sys

from trl import GRPOConfig, GRPOTrainer

from llmzoo.adapters import trl as adapter
from llmzoo.policies import load_model

policy = load_model(sys.argv[1] if len(sys.argv) > 1 else "tiny")
trainer = GRPOTrainer(
    model=policy.model,
    processing_class=policy.tokenizer,
    rollout_func=adapter.rollout_func(
        "sudoku_v0", env_args={"prompt": policy.prompt_style or "full", "max_turns": 2}
    ),
    reward_funcs=adapter.decision_return,
    train_dataset=adapter.dataset(range(64), decisions=4),  # two agents in two rounds
    args=GRPOConfig(
        output_dir="runs/trl_agents",
        max_steps=3,
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=64,
        learning_rate=1e-4,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        bf16=False,
    ),
)
trainer.train()
for row in trainer.state.log_history:
    if "success" in row:
        returns = {name: f"{row[name]:.3f}" for name in row if name.startswith("return/")}
        print(f"return {row['rewards/decision_return/mean']:.3f}, by agent {returns}")
