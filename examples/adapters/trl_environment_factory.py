"""TRL's GRPOTrainer for one agent of an environment; the expert plays the other.

The agent's answers of an episode are one conversation. Pass another model as the first argument.
"""

import sys

from trl import GRPOConfig, GRPOTrainer

from llmzoo.adapters import trl as adapter
from llmzoo.policies import load_model

policy = load_model(sys.argv[1] if len(sys.argv) > 1 else "tiny")
tokenizer = policy.tokenizer
trainer = GRPOTrainer(
    model=policy.model,
    # a model with a chat template of its own keeps it
    processing_class=tokenizer if tokenizer.chat_template else adapter.with_plain_chat(tokenizer),
    environment_factory=adapter.environment_factory(
        "sudoku_v0",
        agent="planner_1",
        others="expert",
        env_args={"prompt": policy.prompt_style or "full", "max_turns": 2},
    ),
    reward_funcs=adapter.agent_return,
    train_dataset=adapter.dataset(range(64)),
    args=GRPOConfig(
        output_dir="runs/trl_agent",
        max_steps=3,
        per_device_train_batch_size=16,
        num_generations=8,
        max_completion_length=256,
        max_tool_calling_iterations=1,
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
        print(f"return {row['rewards/agent_return/mean']:.3f}, success {row['success']:.2f}")
