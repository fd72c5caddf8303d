"""An environment of ours in CoMLRL's MAGRPO trainer: three steps of two turns each.

pip install comlrl
python examples/adapters/comlrl_trainer.py --model Qwen/Qwen2.5-0.5B-Instruct --steps 100
"""

from __future__ import annotations

import argparse

from comlrl.trainers import MAGRPOConfig, MAGRPOTrainer
from transformers import AutoModelForCausalLM, AutoTokenizer

from llmzoo.adapters.comlrl import bridge
from llmzoo.models.loading import TINY_FOLDER

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--model", default=str(TINY_FOLDER), help="the embedded model by default")
parser.add_argument("--steps", type=int, default=3)
args = parser.parse_args()

maths = bridge("math_v0", prompt="terse", max_turns=2)
trainer = MAGRPOTrainer(
    agents=[AutoModelForCausalLM.from_pretrained(args.model) for _ in maths.agents],
    num_agents=maths.num_agents,
    tokenizer=[AutoTokenizer.from_pretrained(args.model) for _ in maths.agents],
    formatters=maths.formatters,
    reward_func=maths.reward_func,
    external_transition=maths.external_transition,
    train_dataset=maths.dataset(range(args.steps)),
    eval_dataset=maths.dataset(range(1000, 1004)),
    args=MAGRPOConfig(
        num_train_epochs=1,
        num_turns=2,
        num_generations=4,
        agent_learning_rate=1e-4,
        temperature=1.0,
        max_new_tokens=32,
        rollout_buffer_size=1,
        early_termination_threshold=None,  # its default stops at any mean reward above -0.2
        eval_interval=0,
    ),
)
before = trainer.agents[0].get_input_embeddings().weight.detach().clone()
trainer.train()
moved = (trainer.agents[0].get_input_embeddings().weight - before).abs().max().item()
print(f"{trainer.env_step} joint answers were paid; the weights moved by up to {moved:.1e}")
print(trainer.evaluate())
