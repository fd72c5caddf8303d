"""A small model of random weights that is taught to look up values on pages of an order book.

It is the start of ``crowd_delegation.yaml``: what a page says about a person or an item is asked for in
words of its own, not in the prompts of ``delegate_v0``, so that it favours none of the forms that are compared.
Half of the pages come before their questions, of which each has several; the others come after their only one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import words
from torch.nn.functional import cross_entropy

from llmzoo.envs.crowd.delegate import prompts, tasks
from llmzoo.models.sampling import Sampling
from llmzoo.policies import load
from llmzoo.policies.transformers import TransformersPolicy

RATE, WARMUP, UNLABELLED = 3e-3, 50, -100
RECORDS = (
    4,
    6,
    8,
    12,
    16,
    24,
    32,
)  # on a page; before the last third of the updates: the first alone
QUESTIONS = 6  # of a page that comes before them
TOKENS = 2000  # in a batch, about
NAMES = (*tasks.MONTHS, *tasks.PEOPLE, *tasks.ITEMS)
MEASURES = ("total", "orders", "first", "last", "price")


def vocabulary(most: int = 2) -> list[str]:
    """The words of the terse prompts of ``delegate_v0`` with at most ``most`` pages for a question, and numbers.

    A record has three tokens: its day with the person, its amount with the item, and the end of the line. Models of
    this size did not learn in minutes which of two neighbouring tokens belongs to the other.
    """
    listed = [*NAMES, *MEASURES, "most", "cost", "page", "task"]
    listed += [f" {word}" for word in listed]
    listed += [
        *map(str, range(30)),
        *(f" {number}" for number in range(30)),
        "pages",
        "ask ",
        "note ",
    ]
    listed += ["delegate lead\n", "delegate worker\n", "delegate reader\n", "report\n", "answer\n"]
    listed += [
        f"write 1 to {most} lines page: task\n",
        "note, then answer N\n",
        "Read: ",
        "Answer: ",
    ]
    for left in range(1, most + 1):
        listed += [f"read PAGE ({left} left) or answer N\n"]
        listed += [f"note, then read PAGE ({left} left) or answer N\n"]
    listed += [f"{day} {who}" for day in tasks.DAYS for who in (*tasks.PEOPLE, "price")]
    for amount in tasks.AMOUNTS:
        listed += [f" {amount} {item}" for item in tasks.ITEMS]
        listed += [f" {item} {amount}" for item in tasks.ITEMS]
    return [*listed, ": ", " ", "-", "\n"]


def build_model(out: Path, *, hidden: int, layers: int, seed: int, updates: int) -> None:
    """Write the taught model with its tokenizer, and how often it was right as ``lookups.txt`` in its folder."""
    words.build_model(
        out, words=vocabulary(), hidden=hidden, layers=layers, seed=seed, heads=(4, 4)
    )
    policy = load(str(out), sampling=Sampling(max_new_tokens=1), device="cpu")
    lines = []
    for line in teach(policy, updates, seed):
        lines.append(line)
        (out / "lookups.txt").write_text("\n".join(lines) + "\n")
    policy.save(out)


def teach(policy: TransformersPolicy, updates: int, seed: int) -> Iterator[str]:
    """Updates the model; a line after every 250 updates. The rate falls to a fiftieth in the last third."""
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=RATE, betas=(0.9, 0.99))
    rng = random.Random(seed)
    right: dict[str, list[bool]] = {}
    begun = time.process_time()
    for step in range(updates):
        late = step >= 2 * updates // 3
        decay = 3 * (1 - step / updates) if late else 1
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARMUP) * max(0.02, decay)
        rows = rng.choice(RECORDS) if late else RECORDS[0]
        pages = [lookups(policy.tokenizer, rows, rng) for _ in range(TOKENS // (3 * rows + 30))]
        ids_PT, labels_PT = (
            pad([ids for ids, _, _ in pages], 1),
            pad([labels for _, labels, _ in pages], UNLABELLED),
        )
        labels_PT = labels_PT[:, 1:]
        logits = policy.model(input_ids=ids_PT).logits[:, :-1]  # what is padded comes last
        asked = labels_PT != UNLABELLED
        loss = cross_entropy(logits[asked], labels_PT[asked])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.model.parameters(), 1.0)
        optimizer.step()
        marks = (logits[asked].argmax(-1) == labels_PT[asked]).tolist()
        measures = [measure for _, _, found in pages for measure in found]
        for measure, mark in zip(measures, marks, strict=True):
            right.setdefault(measure, []).append(mark)
        if (step + 1) % 250 == 0 or step + 1 == updates:
            shares = {name: round(sum(of) / len(of), 2) for name, of in sorted(right.items())}
            yield f"{step + 1} updates, {time.process_time() - begun:.0f} s: {shares}"
            right = {}


def lookups(
    tokenizer: Any, rows: int, rng: random.Random
) -> tuple[list[int], list[int], list[str]]:
    """A page with questions and their answers: tokens, labels (the answers alone), and the measures asked for."""
    page = tasks._sample_page(rng, rng.choice(tasks.MONTHS), rows, None)
    asked = []
    for record in page.records:
        if isinstance(record, tasks.Price):
            asked.append(("price", record.item))
        else:
            asked.append((rng.choice(["first", "last", "orders"]), record.person))
            asked.append(("total", record.item))
    rng.shuffle(asked)
    text = "\n".join(prompts.format_page(page, terse=True)) + "\n"
    before = rng.random() < 0.5
    asked = asked[: 1 if before else QUESTIONS]
    ids: list[int] = [] if before else tokenizer(text)["input_ids"]
    labels = [UNLABELLED] * len(ids)
    for measure, subject in asked:
        question = f"{measure} {subject}\n" + text * before
        read = tokenizer(question)["input_ids"]
        (answer, *rest) = tokenizer(str(tasks.measure_page(page, measure, subject)))["input_ids"]
        ids += [*read, answer, *rest, tokenizer.eos_token_id]
        labels += [UNLABELLED] * len(read) + [answer] + [UNLABELLED] * (len(rest) + 1)
    return ids, labels, [measure for measure, _ in asked]


def pad(rows: list[list[int]], filler: int) -> torch.Tensor:
    """Rows of one length [P, T]."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])
