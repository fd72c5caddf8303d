"""Games of two players against each other: cards, dice and boards, most of them small enough for exact measures,
and a negotiation."""

from __future__ import annotations

from llmzoo.registry import register

for _id, _summary in {
    "kuhn_poker_v0": "Kuhn poker: three cards, one bet; an equilibrium bluffs.",
    "leduc_poker_v0": "Leduc poker: six cards, two rounds of bets, a public card.",
    "liars_dice_v0": "Liar's dice: bid on two dice of which each player sees one.",
    "tic_tac_toe_v0": "Tic-tac-toe: perfect players draw.",
    "connect_four_v0": "Connect four: seven columns, four in a row.",
    "tiny_hanabi_v0": "Tiny Hanabi: two players who can tell each other's card by what they play.",
    "negotiation_v0": "Negotiation: divide things that are worth different amounts to each player.",
}.items():
    register(
        _id,
        f"llmzoo.envs.duels.{_id.removesuffix('_v0')}:env",
        family="duels",
        agents=("player_0", "player_1"),
        summary=_summary,
        terse={"prompt": "terse"},
    )
