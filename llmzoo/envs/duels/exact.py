"""Exact measures of strategies in games small enough to walk through.

A strategy maps an information state, as :meth:`GameRules.terse_information_text` writes it, and its legal moves to a
probability for each move.

* :func:`best_response`: the most that a player can earn against a strategy of the other.
* :func:`outcome_distribution`, :func:`expected_returns`: the payoffs, and their means.
* :func:`exploitability`: how much players can gain by leaving a pair of strategies, on average over the players:
  NashConv (Lanctot et al., 2017, arXiv 1711.00832) divided by 2. It is 0 in an equilibrium and nowhere else.
* :func:`solve_cfr_plus`: an approximate equilibrium by CFR+ (Tammelin, 2014, arXiv 1407.5042).
* :func:`best_moves`: the perfect moves in a game without chance or hidden cards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from llmzoo.envs.duels.rules import GameRules
from llmzoo.errors import ConfigError

Strategy = Callable[[str, Sequence[str]], Sequence[float]]

MAX_STATES = 400_000  # of a game that is walked through


@dataclass(frozen=True, slots=True)
class Node:
    """A state of a game. ``player``: None for chance. ``information``: what the player has seen.

    ``moves`` are the player's; ``chances`` are chance's probabilities. ``returns`` is given at an end.
    """

    state: Any
    player: int | None
    information: str = ""
    moves: tuple[str, ...] = ()
    chances: tuple[float, ...] = ()
    children: tuple[Node, ...] = ()
    returns: tuple[float, float] | None = None


@lru_cache(maxsize=8)
def build_tree(rules: GameRules[Any]) -> Node:
    """The whole game. Equal states are one node. Raises :class:`ConfigError` for one with over 400,000."""
    if not rules.is_enumerable:
        raise ConfigError(f"{rules.name} has too many states to walk through")
    nodes: dict[Any, Node] = {}

    def get_node(state: Any) -> Node:
        if state not in nodes:
            if len(nodes) >= MAX_STATES:
                raise ConfigError(
                    f"{rules.name} has more than {MAX_STATES:,} states: too many to walk through"
                )
            nodes[state] = make_node(state)
        return nodes[state]

    def make_node(state: Any) -> Node:
        if outcomes := rules.chances(state):
            chances, states = zip(*outcomes, strict=True)
            return Node(state, None, chances=chances, children=tuple(map(get_node, states)))
        player = rules.player(state)
        if player is None:
            return Node(state, None, returns=rules.returns(state))
        moves = rules.moves(state)
        children = tuple(get_node(rules.after(state, move)) for move in moves)
        return Node(
            state, player, rules.terse_information_text(state, player), moves, children=children
        )

    return get_node(rules.start())


@lru_cache(maxsize=8)
def decision_nodes(rules: GameRules[Any]) -> Mapping[tuple[int, str], Node]:
    """A node of each information state of both players."""
    nodes = _nodes(rules)
    return {(node.player, node.information): node for node in nodes if node.player is not None}


@lru_cache(maxsize=8)
def _nodes(rules: GameRules[Any]) -> tuple[Node, ...]:
    """All nodes, each after those that lead to it."""
    ordered: dict[int, Node] = {}

    def visit(node: Node) -> None:
        if id(node) not in ordered:
            for child in node.children:
                visit(child)
            ordered[id(node)] = node

    visit(build_tree(rules))
    return tuple(ordered.values())[::-1]


def uniform_strategy(information: str, moves: Sequence[str]) -> list[float]:
    """The strategy that plays each legal move with the same probability."""
    return [1 / len(moves)] * len(moves)


def outcome_distribution(
    rules: GameRules[Any], strategies: tuple[Strategy, Strategy]
) -> dict[tuple[float, float], float]:
    """The probability of each pair of returns."""
    found: dict[tuple[float, float], float] = defaultdict(float)
    for node, reach in reach_probabilities(rules, strategies):
        if node.returns is not None and reach:
            found[node.returns] += reach
    return dict(found)


def expected_returns(
    rules: GameRules[Any], strategies: tuple[Strategy, Strategy]
) -> tuple[float, float]:
    """The expected returns of both players."""
    paid = outcome_distribution(rules, strategies).items()
    return sum(p[0] * chance for p, chance in paid), sum(p[1] * chance for p, chance in paid)


def reach_probabilities(
    rules: GameRules[Any], strategies: tuple[Strategy | None, Strategy | None]
) -> list[tuple[Node, float]]:
    """All nodes with their reach probabilities. A player whose strategy is None counts as playing every
    move with probability 1."""
    nodes = _nodes(rules)
    reach = dict.fromkeys(map(id, nodes), 0.0)
    reach[id(nodes[0])] = 1.0
    for node in nodes:
        for child, weight in zip(
            node.children, _child_probabilities(node, strategies), strict=True
        ):
            reach[id(child)] += reach[id(node)] * weight
    return [(node, reach[id(node)]) for node in nodes]


def _child_probabilities(
    node: Node, strategies: tuple[Strategy | None, Strategy | None]
) -> Sequence[float]:
    """The probability of each child; see :func:`reach_probabilities`."""
    if node.player is None:
        return node.chances
    strategy = strategies[node.player]
    if strategy is None:
        return (1.0,) * len(node.children)
    return strategy(node.information, node.moves)


def best_response(
    rules: GameRules[Any], player: int, other: Strategy
) -> tuple[float, dict[str, str]]:
    """The value of a best response of ``player`` to the other's strategy, and its move in each information state.

    Players remember all that they saw, so the move of each information state can be chosen on its own:
    the one with the highest value over the states, weighted with the probability that chance and the
    other player lead there.
    """
    strategies = (None, other) if player == 0 else (other, None)
    states: dict[str, list[tuple[Node, float]]] = defaultdict(list)
    for node, reach in reach_probabilities(rules, strategies):
        if node.player == player:
            states[node.information].append((node, reach))
    chosen: dict[str, str] = {}
    known: dict[int, float] = {}

    def value(node: Node) -> float:
        if id(node) not in known:
            known[id(node)] = _value(node)
        return known[id(node)]

    def _value(node: Node) -> float:
        if node.returns is not None:
            return node.returns[player]
        if node.player == player:
            return value(node.children[node.moves.index(choice(node.information))])
        weights = _child_probabilities(node, strategies)
        return sum(w * value(child) for w, child in zip(weights, node.children, strict=True) if w)

    def choice(information: str) -> str:
        if information not in chosen:
            worth = {
                move: sum(reach * value(node.children[i]) for node, reach in states[information])
                for i, move in enumerate(states[information][0][0].moves)
            }
            chosen[information] = max(worth, key=lambda move: worth[move])
        return chosen[information]

    for information in states:
        choice(information)
    return value(build_tree(rules)), chosen


def exploitability(rules: GameRules[Any], strategies: tuple[Strategy, Strategy]) -> float:
    """The gain of a player by a best response to the other's strategy, averaged over both players."""
    earned = expected_returns(rules, strategies)
    gains = [best_response(rules, p, strategies[1 - p])[0] - earned[p] for p in (0, 1)]
    return sum(gains) / 2


def mix_strategies(rules: GameRules[Any], player: int, strategies: Sequence[Strategy]) -> Strategy:
    """The strategy of a player who draws one of several at the start of a game, with equal chances.

    In an information state each counts by how likely its own moves lead there (Kuhn's theorem, 1953).
    """
    sums: dict[str, list[float]] = {}
    for strategy in strategies:
        for node, own in _own_reach(rules, player, strategy).values():
            total = sums.setdefault(node.information, [0.0] * len(node.moves))
            for i, chance in enumerate(strategy(node.information, node.moves)):
                total[i] += own * chance
    shares = {i: [t / sum(total) for t in total] for i, total in sums.items() if sum(total) > 0}

    def average_strategy(information: str, moves: Sequence[str]) -> Sequence[float]:
        return shares.get(information) or uniform_strategy(information, moves)

    return average_strategy


def _own_reach(
    rules: GameRules[Any], player: int, strategy: Strategy
) -> dict[str, tuple[Node, float]]:
    """A node of each information state of a player, and how likely the player's own moves lead there."""
    alone = (strategy, None) if player == 0 else (None, strategy)
    found: dict[str, tuple[Node, float]] = {}

    def walk(node: Node, own: float) -> None:
        if node.player == player:
            found[node.information] = node, own
        for child, weight in zip(node.children, _child_probabilities(node, alone), strict=True):
            walk(child, own * weight if node.player == player else own)

    walk(build_tree(rules), 1.0)
    return found


def solve_cfr_plus(rules: GameRules[Any], iterations: int) -> Strategy:
    """The average strategy of CFR+: regrets never below 0, both players in turn, later iterations weigh more.

    The same for both players, since an information state belongs to one of them only.
    """
    regrets: dict[str, list[float]] = {}
    sums: dict[str, list[float]] = {}

    def key(node: Node) -> str:
        return f"{node.player}{node.information}"

    def current(node: Node) -> list[float]:
        held = regrets.setdefault(key(node), [0.0] * len(node.moves))
        total = sum(held)
        return [r / total for r in held] if total > 0 else [1 / len(held)] * len(held)

    gained: dict[str, list[float]] = {}

    def walk(node: Node, player: int, own: float, others: float, weight: int) -> float:
        if node.returns is not None:
            return node.returns[player]
        if node.player is None:
            return sum(
                chance * walk(child, player, own, others * chance, weight)
                for chance, child in zip(node.chances, node.children, strict=True)
            )
        strategy = (
            plan[key(node)] if key(node) in plan else plan.setdefault(key(node), current(node))
        )
        if node.player != player:
            return sum(
                p * walk(child, player, own, others * p, weight)
                for p, child in zip(strategy, node.children, strict=True)
            )
        worth = [
            walk(child, player, own * p, others, weight)
            for p, child in zip(strategy, node.children, strict=True)
        ]
        mean = sum(p * w for p, w in zip(strategy, worth, strict=True))
        regret = gained.setdefault(key(node), [0.0] * len(worth))
        total = sums.setdefault(key(node), [0.0] * len(worth))
        for i, (p, w) in enumerate(zip(strategy, worth, strict=True)):
            regret[i] += others * (w - mean)
            total[i] += weight * own * p
        return mean

    root = build_tree(rules)
    for iteration in range(1, iterations + 1):
        for player in (0, 1):
            plan: dict[str, list[float]] = {}
            gained.clear()
            walk(root, player, 1.0, 1.0, iteration)
            for where, gains in gained.items():
                held = regrets[where]
                regrets[where] = [max(0.0, r + g) for r, g in zip(held, gains, strict=True)]
    by_information = {(where[0], where[1:]): total for where, total in sums.items()}
    return _AverageStrategy(rules, by_information)


class _AverageStrategy:
    """The average strategy as a function. Which player moves follows from the information state's moves."""

    def __init__(self, rules: GameRules[Any], sums: Mapping[tuple[str, str], Sequence[float]]):
        self._sums: dict[str, list[float]] = {}
        for (player, information), node in decision_nodes(rules).items():
            total = sums[str(player), information]
            mass = sum(total)  # 0 where the player itself never goes
            chances = (
                [t / mass for t in total] if mass else uniform_strategy(information, node.moves)
            )
            if self._sums.setdefault(information, chances) is not chances:
                raise ConfigError(f"{rules.name}: {information!r} is seen by both players")

    def __call__(self, information: str, moves: Sequence[str]) -> Sequence[float]:
        return self._sums[information]


def best_moves(rules: GameRules[Any], state: Any) -> list[str]:
    """The moves with which the player whose turn it is earns the most against a perfect other."""
    player = rules.player(state)
    assert player is not None
    worth = {
        move: _perfect_play_returns(rules, rules.after(state, move))[player]
        for move in rules.moves(state)
    }
    best = max(worth.values())
    return [move for move, value in worth.items() if value == best]


@lru_cache(maxsize=100_000)
def _perfect_play_returns(rules: GameRules[Any], state: Any) -> tuple[float, float]:
    """What perfect players earn from here on."""
    player = rules.player(state)
    if player is None:
        return rules.returns(state)
    ahead: list[tuple[float, float]] = [
        _perfect_play_returns(rules, rules.after(state, move)) for move in rules.moves(state)
    ]
    return max(ahead, key=lambda paid: paid[player])
