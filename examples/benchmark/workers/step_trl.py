"""A training step of TRL's ``GRPOTrainer``, which is halted between its optimiser steps.

Its settings are the defaults but for: float32 instead of bfloat16, which is what the other side
computes in; no gradient checkpointing, which would make it slower; one batch of all completions a
step, in a fixed order; and nothing logged, saved or reported. The large model's gradient of long completions
is accumulated over four parts of the batch, since one would take more than 20 GB.
"""

from __future__ import annotations

import argparse
import os
import queue
import tempfile
import threading
from typing import Any

import step_task
import torch
from datasets import Dataset
from serving import serve
from step_task import LEARNING_RATE, Watch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl import GRPOConfig, GRPOTrainer

STEPS = 1_000  # more than are ever asked for


class Halting(TrainerCallback):
    """Lets the trainer take one step for each request, and times all that it does in between."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.sampled_completions = 0  # tokens, as the reward function saw them
        self._model = model
        self._requests: queue.Queue[tuple[int, bool] | None] = queue.Queue()
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._watch: Watch  # of the step that is being taken

    def step(self, threads: int, count: bool) -> dict[str, Any]:
        """One step, asked for by another thread than the trainer's."""
        self._requests.put((threads, count))
        return self._answers.get()

    def end(self) -> None:
        self._requests.put(None)

    def paid(
        self, completions: list[str], completion_ids: list[list[int]], **_: Any
    ) -> list[float]:
        self.sampled_completions += sum(map(len, completion_ids))
        return [step_task.reward(text) for text in completions]

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._wait(control)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._answers.put(self._watch.stop() | {"sampled": self.sampled_completions})
        self._wait(control)

    def _wait(self, control: TrainerControl) -> None:
        request = self._requests.get()
        if request is None:
            control.should_training_stop = True
            return
        self.sampled_completions = 0
        self._watch = Watch([self._model], *request)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpointing", action="store_true", help="as TRL does by default")
    task, found = step_task.from_arguments(parser)
    model = step_task.build_model(task.vocabulary, task.millions)
    halting = Halting(model)
    parts = 4 if step_task.DEVICE == "cpu" and task.millions > 100 and task.new_tokens > 32 else 1
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=halting.paid,
            processing_class=step_task.build_tokenizer(task),
            train_dataset=Dataset.from_dict({"prompt": step_task.prompts(task) * STEPS}),
            callbacks=[halting],
            args=GRPOConfig(
                output_dir=folder,
                use_cpu=step_task.DEVICE == "cpu",
                bf16=False,
                gradient_checkpointing=found.checkpointing,
                per_device_train_batch_size=task.prompts * task.k // parts,
                gradient_accumulation_steps=parts,
                num_generations=task.k,
                max_completion_length=task.new_tokens,
                learning_rate=LEARNING_RATE,
                max_steps=STEPS,
                shuffle_dataset=False,
                logging_strategy="no",
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
            ),
        )

        def requests() -> None:
            try:
                serve(halting.step)
            finally:  # also where nobody reads the answers any more
                halting.end()

        # the trainer has the main thread, as it does for its users
        threading.Thread(target=requests, daemon=True).start()
        trainer.train()


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
