"""A training step of comlrl's ``MAGRPOTrainer``: two agents with a model each.

comlrl samples one prompt at a time, K completions for each agent, and reads each completion by
itself in the update. A step is 16 prompts: its buffer and its batch are set to 16, so that each
agent takes one optimiser step over all of them, and an epoch is one such step.
"""

from __future__ import annotations

import argparse
from typing import Any

import step_task
from comlrl.trainers.reinforce import MAGRPOConfig, MAGRPOTrainer
from datasets import Dataset
from serving import serve
from step_task import LEARNING_RATE, Watch

AGENTS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--parallel",
        action="store_true",
        help="a thread for each agent; its arithmetic has one thread then",
    )
    task, found = step_task.from_arguments(parser)
    models = [step_task.build_model(task.vocabulary, task.millions) for _ in range(AGENTS)]
    tokenizer = step_task.build_tokenizer(task)
    sampled = 0

    def paid(*texts: list[str]) -> list[float]:
        nonlocal sampled
        together = list(zip(*texts, strict=True))
        sampled += sum(len(text.split()) for joint in together for text in joint)
        return [step_task.reward(*joint) for joint in together]

    parallel = {"parallel_training": "mp", "agent_devices": ["cpu", "cpu:0"]}
    trainer = MAGRPOTrainer(
        agents=models,
        num_agents=AGENTS,
        tokenizer=tokenizer,
        train_dataset=Dataset.from_dict({"prompt": step_task.prompts(task)}),
        reward_func=paid,
        args=MAGRPOConfig(
            num_agents=AGENTS,
            num_turns=1,
            num_train_epochs=1,
            num_generations=task.k,
            max_new_tokens=task.new_tokens,
            temperature=1.0,
            top_p=1.0,
            top_k=0,
            agent_learning_rate=LEARNING_RATE,
            rollout_buffer_size=task.prompts,
            train_batch_size=task.prompts,
            eval_interval=0,
            **(parallel if found.parallel else {}),
        ),
    )
    trainer.verbose = False  # no progress bar

    def step(threads: int, count: bool) -> dict[str, Any]:
        nonlocal sampled
        sampled = 0
        # threads that have begun keep theirs: give always the same then
        watch = Watch(models, threads, count)
        trainer.train()
        return watch.stop() | {"sampled": sampled}

    serve(step)


if __name__ == "__main__":
    main()
