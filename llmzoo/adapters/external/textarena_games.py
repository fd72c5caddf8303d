"""What is known of TextArena's games at version 0.7.4: how many play, and which are refused."""

from __future__ import annotations

import sys

# minimum numbers of players, from the comments in TextArena's registry; games in neither table have 2
_SINGLE_PLAYER = frozenset(
    [
        "Game2048", "Bandit", "Blackjack", "Countdown", "Crosswords", "Cryptarithm",
        "FifteenPuzzle", "FrozenLake", "GuessTheNumber", "GuessWho", "Hangman", "LightsOut",
        "LogicPuzzle", "Mastermind", "Minesweeper", "PegJump", "RushHour", "Secretary", "Set",
        "Klondike", "Slitherlink", "Sokoban", "Sudoku", "ThreeCardMonte", "TowerOfHanoi",
        "TwentyQuestions", "WordLadder", "Wordle", "WordSearch", "BabyAiText",
        "UltimateTexasHoldem",
    ]
)  # fmt: skip
_MIN_PLAYERS = {
    **dict.fromkeys(("ThreePlayerTicTacToe", "ThreePlayerGOPS", "ThreePlayerIPD"), 3),
    "CharacterConclave": 3,
    **dict.fromkeys(("Taboo", "Codenames", "SettlersOfCatan"), 4),
    "SecretMafia": 6,
}

_WORDS = "it downloads word lists when it is imported (nltk.download)"
_MODEL = "a model behind OpenRouter plays or judges in it"
_FILES = "the package lacks files that it reads"
_NO_NUMBER = "it pays a text in place of a number after a wrong move"
_SYNTAX = "its source needs Python 3.12 (quotes inside an f-string)"
_REFUSED = {
    **dict.fromkeys(
        [
            "Hangman",
            "WordLadder",
            "Wordle",
            "WordSearch",
            "DontSayIt",
            "LetterAuction",
            "SpellingBee",
            "WordChains",
            "Codenames",
        ],
        _WORDS,
    ),
    **dict.fromkeys(("GuessWho", "TwentyQuestions", "Debate", "ScenarioPlanning"), _MODEL),
    **dict.fromkeys(("UsedCarNegotiation", "UsedCar", "ScorableGames"), _FILES),
    **dict.fromkeys(("Countdown", "Cryptarithm", "Slitherlink", "ThreeCardMonte"), _NO_NUMBER),
    "BabyAiText": "it needs gym, the predecessor of gymnasium",
    "CharacterConclave": "it cannot be started: reset raises TypeError",
    "Klondike": "its source is no valid Python (a syntax error)",
}
_NEWER_PYTHON = frozenset(
    ("Checkers", "Chess", "IteratedStagHunt", "ReverseTicTacToe", "UltimateTexasHoldem")
)
_SLOW = "an episode may take a minute and more to begin"
_NOT_REPRODUCIBLE = "its episodes were not the same in two processes when it was tested"
_REFUSED_VARIANTS = {
    **dict.fromkeys(("Sokoban-v0-medium", "Sudoku-v0-hard"), _SLOW),
    **dict.fromkeys(("RushHour-v0", "Sokoban-v0", "Taboo-v0-food"), _NOT_REPRODUCIBLE),
}


def min_players(game: str) -> int:
    """The fewest players of a game, by its folder in the package."""
    return 1 if game in _SINGLE_PLAYER else _MIN_PLAYERS.get(game, 2)


def refusal_reason(name: str, game: str) -> str:
    """Why a registered game is refused; "" if it is not. ``game``: its folder in the package."""
    if game in _NEWER_PYTHON and sys.version_info < (3, 12):
        return _SYNTAX
    return _REFUSED_VARIANTS.get(name.removesuffix("-train")) or _REFUSED.get(game, "")
