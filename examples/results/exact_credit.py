"""What a credit rule leads to in Kuhn poker without any noise: exact policy gradients on a table of logits.

    python examples/results/exact_credit.py        # seconds; writes docs/results/logs/exact_credit.jsonl

Three rules. An answer's worth is what is paid until the end of the game, as IPPO and MAGRPO's full tree
have it (``return``), or until its agent decides again, as AT-GRPO has it (``turn``). The third (``tree``) has returns
too, but MAGRPO's default tree, in which one of the answers that go on becomes a node: later decisions are met in
other proportions than in play, :func:`met`. All play against themselves, with an entropy bonus that may fall over
the run.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llmzoo.envs.duels import exact
from llmzoo.envs.duels.exact import Node, Strategy
from llmzoo.envs.duels.kuhn_poker import KuhnPoker

LOG = Path(__file__).resolve().parents[2] / "docs" / "results" / "logs" / "exact_credit.jsonl"
RULES = KuhnPoker()
Pair = tuple[Strategy, Strategy]
ENTROPIES = (
    (0.0, 0.0),
    (0.05, 0.05),
    (0.1, 0.1),
    (0.2, 0.2),
    (0.2, 0.0),
)  # at the start and the end
RATE = 2.0
ANSWERS = 8  # in a group of the tree
PAID = {
    "return": "until the end",
    "turn": "until the agent's next turn",
    "tree": f"until the end, in a tree with `expand=1` and {ANSWERS} answers",
}


class Table:
    """Logits of each move in each information state, as a strategy of both players."""

    def __init__(self) -> None:
        self.logits: dict[tuple[int, str], list[float]] = {
            key: [0.1 * place * (1 if number % 2 else -1) for place, _ in enumerate(node.moves)]
            for number, (key, node) in enumerate(exact.decision_nodes(RULES).items())
        }

    def chances(self, key: tuple[int, str]) -> list[float]:
        weights = [math.exp(logit) for logit in self.logits[key]]
        return [weight / sum(weights) for weight in weights]

    def strategies(self) -> Pair:
        """As it is now: later steps do not change it."""
        found = {key: self.chances(key) for key in self.logits}
        return tuple(lambda seen, moves, p=p: found[p, seen] for p in (0, 1))  # type: ignore[return-value]


def worth(node: Node, player: int, pair: Pair, *, turn: bool) -> float:
    """What ``player`` is paid from here on; with ``turn`` until it decides again."""
    if node.returns is not None:
        return node.returns[player]
    if turn and node.player == player:
        return 0.0
    weights = (
        node.chances if node.player is None else pair[node.player](node.information, node.moves)
    )
    return sum(
        w * worth(child, player, pair, turn=turn)
        for w, child in zip(weights, node.children, strict=True)
    )


def met(pair: Pair, answers: int | None) -> list[tuple[Node, float]]:
    """All decisions, and how often each is met: in play, or in trees with groups of ``answers``.

    In a tree one of the answers that go on becomes a node, if there is any: with chance 1 - (1 - q)^answers,
    where q is the chance that an answer goes on. What is hidden from a player changes q, so the states that it cannot
    tell apart are met in other proportions than in play.
    """
    if answers is None:
        return [
            (node, reach)
            for node, reach in exact.reach_probabilities(RULES, pair)
            if node.player is not None
        ]
    found: list[tuple[Node, float]] = []

    def walk(node: Node, weight: float) -> None:
        if node.player is None:
            for child, chance in zip(node.children, node.chances, strict=True):
                walk(child, weight * chance)
            return
        found.append((node, weight))
        chances = pair[node.player](node.information, node.moves)
        on = [
            (child, chance)
            for child, chance in zip(node.children, chances, strict=True)
            if child.returns is None and chance
        ]
        goes_on = sum(chance for _, chance in on)
        for child, chance in on:
            walk(child, weight * (1 - (1 - goes_on) ** answers) * chance / goes_on)

    walk(exact.build_tree(RULES), 1.0)
    return found


def step(table: Table, *, rule: str, entropy: float) -> None:
    """One step along the exact gradient, in all information states at once."""
    pair = table.strategies()
    pushes: dict[tuple[int, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for node, weight in met(pair, ANSWERS if rule == "tree" else None):
        assert node.player is not None
        key = node.player, node.information
        chances = table.chances(key)
        gains = [
            worth(child, node.player, pair, turn=rule == "turn") - entropy * math.log(chance)
            for child, chance in zip(node.children, chances, strict=True)
        ]
        mean = sum(p * gain for p, gain in zip(chances, gains, strict=True))
        for move, (p, gain) in enumerate(zip(chances, gains, strict=True)):
            pushes[key][move] += weight * p * (gain - mean)
    for key, push in pushes.items():
        table.logits[key] = [
            old + RATE * new for old, new in zip(table.logits[key], push, strict=True)
        ]


def learned(*, rule: str, entropies: tuple[float, float], steps: int) -> dict[str, float]:
    """Exploitability after training, its extremes over the last half, and that of the average since then."""
    table, kept, measured = Table(), [], []
    first, last = entropies
    for number in range(steps):
        step(table, rule=rule, entropy=first + (last - first) * number / steps)
        if number >= steps // 2 and number % 5 == 0:
            kept.append(table.strategies())
            measured.append(exact.exploitability(RULES, kept[-1]))
    return {
        "end": exact.exploitability(RULES, table.strategies()),
        "lowest": min(measured),
        "highest": max(measured),
        "average": averaged(kept),
    }


def averaged(pairs: Sequence[Pair]) -> float:
    """The exploitability of the player who draws one of these strategies for each game."""
    first, second = (
        exact.mix_strategies(RULES, player, [pair[player] for pair in pairs]) for player in (0, 1)
    )
    return exact.exploitability(RULES, (first, second))


def table_of(rows: Sequence[dict[str, Any]]) -> str:
    """The table of docs/results/archive/duels.md."""
    lines = [
        "| paid | entropy bonus | end | lowest and highest, second half | average of the second half |"
    ]
    lines += ["|---|---|---|---|---|"]
    for row in rows:
        bonus = str(row["from"]) if row["from"] == row["to"] else f"{row['from']} to {row['to']}"
        between = f"{row['lowest']:.3f} to {row['highest']:.3f}"
        lines.append(
            f"| {PAID[row['rule']]} | {bonus} | {row['end']:.3f} | {between} | {row['average']:.3f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--out", type=Path, default=LOG)
    args = parser.parse_args()
    rows = []
    for rule in PAID:
        for entropies in ENTROPIES:
            found = learned(rule=rule, entropies=entropies, steps=args.steps)
            rows.append({"rule": rule, "from": entropies[0], "to": entropies[1], **found})
            print(json.dumps(rows[-1]), flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
