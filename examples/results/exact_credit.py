"""What a credit rule leads to in Kuhn poker without any noise: exact policy gradients on a table of logits.

    python examples/results/exact_credit.py        # seconds; writes docs/results/logs/exact_credit.jsonl

Two rules: an answer's worth is what is paid until the end of the game (``return``, as MAGRPO and IPPO have
it), or until its seat decides again (``turn``, as AT-GRPO has it). Both play against themselves, with an
entropy bonus that may fall over the run. What a model reaches above these numbers is noise, or its limits.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from llmzoo.envs.duels import exact
from llmzoo.envs.duels.exact import Node, Strategy
from llmzoo.envs.duels.kuhn_poker import KuhnPoker

LOG = Path(__file__).resolve().parents[2] / "docs" / "results" / "logs" / "exact_credit.jsonl"
RULES = KuhnPoker()
ENTROPIES = (
    (0.0, 0.0),
    (0.05, 0.05),
    (0.1, 0.1),
    (0.2, 0.2),
    (0.2, 0.0),
)  # at the start and the end
RATE = 2.0


class Table:
    """Logits of each move in each information state, as a strategy of both players."""

    def __init__(self) -> None:
        self.logits: dict[tuple[int, str], list[float]] = {
            key: [0.1 * place * (1 if number % 2 else -1) for place, _ in enumerate(node.moves)]
            for number, (key, node) in enumerate(exact.decisions(RULES).items())
        }

    def chances(self, key: tuple[int, str]) -> list[float]:
        weights = [math.exp(logit) for logit in self.logits[key]]
        return [weight / sum(weights) for weight in weights]

    def strategies(self) -> tuple[Strategy, Strategy]:
        """As it is now: later steps do not change it."""
        found = {key: self.chances(key) for key in self.logits}
        return tuple(lambda seen, moves, p=p: found[p, seen] for p in (0, 1))  # type: ignore[return-value]


def worth(node: Node, player: int, pair: tuple[Strategy, Strategy], *, turn: bool) -> float:
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


def step(table: Table, *, turn: bool, entropy: float) -> None:
    """One step along the exact gradient, in all information states at once."""
    pair = table.strategies()
    pushes: dict[tuple[int, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for node, reach in exact.reached(RULES, pair):
        if node.player is None:
            continue
        key = node.player, node.information
        chances = table.chances(key)
        gains = [
            worth(child, node.player, pair, turn=turn) - entropy * math.log(chance)
            for child, chance in zip(node.children, chances, strict=True)
        ]
        mean = sum(p * gain for p, gain in zip(chances, gains, strict=True))
        for move, (p, gain) in enumerate(zip(chances, gains, strict=True)):
            pushes[key][move] += reach * p * (gain - mean)
    for key, push in pushes.items():
        table.logits[key] = [
            old + RATE * new for old, new in zip(table.logits[key], push, strict=True)
        ]


def learned(*, turn: bool, entropies: tuple[float, float], steps: int) -> dict[str, float]:
    """Exploitability after training, its extremes over the last half, and that of the average since then."""
    table, kept, measured = Table(), [], []
    first, last = entropies
    for number in range(steps):
        step(table, turn=turn, entropy=first + (last - first) * number / steps)
        if number >= steps // 2 and number % 5 == 0:
            kept.append(table.strategies())
            measured.append(exact.exploitability(RULES, kept[-1]))
    mixed = [exact.mixed(RULES, player, [pair[player] for pair in kept]) for player in (0, 1)]
    return {
        "end": exact.exploitability(RULES, table.strategies()),
        "lowest": min(measured),
        "highest": max(measured),
        "average": exact.exploitability(RULES, (mixed[0], mixed[1])),
    }


def table_of(rows: Sequence[dict[str, float]]) -> str:
    """The table of docs/results/duels.md."""
    lines = [
        "| paid | entropy bonus | end | lowest and highest, second half | average of the second half |"
    ]
    lines += ["|---|---|---|---|---|"]
    for row in rows:
        paid = "until the seat's next turn" if row["turn"] else "until the end"
        bonus = str(row["from"]) if row["from"] == row["to"] else f"{row['from']} to {row['to']}"
        between = f"{row['lowest']:.3f} to {row['highest']:.3f}"
        lines.append(f"| {paid} | {bonus} | {row['end']:.3f} | {between} | {row['average']:.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--out", type=Path, default=LOG)
    args = parser.parse_args()
    rows = []
    for turn in (False, True):
        for entropies in ENTROPIES:
            found = learned(turn=turn, entropies=entropies, steps=args.steps)
            rows.append({"turn": turn, "from": entropies[0], "to": entropies[1], **found})
            print(json.dumps(rows[-1]), flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
