"""What a long context adds to states and results: many files, long texts, long lists.

BFCL keeps it in a Python file of its own, ``long_context.py``, of which only the literals are read. It is not
shipped. :func:`make_sample_padding` writes a padding of the same form for the sample.
"""

from __future__ import annotations

import ast
import random
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import Padding
from llmzoo.errors import ConfigError
from llmzoo.sandbox import syntax

NAMES: dict[str, type] = {
    "AUTOMOBILE_EXTENSION": list,
    "BOOKING_RECORD_EXTENSION": dict,
    "CAR_STATUS_METADATA_EXTENSION": str,
    "CREDIT_CARD_EXTENSION": dict,
    "FILES_TAIL_USED": list,
    "FILE_CONTENT_EXTENSION": str,
    "INTERMEDIARY_CITIES": list,
    "LONG_WEATHER_EXTENSION": dict,
    "MA_20_EXTENSION": list,
    "MA_5_EXTENSION": list,
    "ORDER_DETAIL_EXTENSION": dict,
    "PARKING_BRAKE_INSTRUCTION": str,
    "POPULATE_FILE_EXTENSION": list,
    "TECHNOLOGY_EXTENSION": list,
    "TRANSACTION_HISTORY_EXTENSION": list,
    "WATCH_LIST_EXTENSION": list,
}
_IN_PACKAGE = "eval_checker/multi_turn_eval/func_source_code/long_context.py"


def find_near(folder: Path) -> Path | None:
    """BFCL's file in or near a folder of its records; None if there is none."""
    places = (
        folder / "long_context.py",
        folder / _IN_PACKAGE,
        folder / "bfcl_eval" / _IN_PACKAGE,
        folder.parent / _IN_PACKAGE,
    )
    return next((place for place in places if place.is_file()), None)


@lru_cache(maxsize=4)
def load(path: str) -> Padding:
    """The padding in BFCL's file. The file is parsed and not run. Raises ``ConfigError``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = syntax.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError) as error:
        raise ConfigError(f"padding {path!r} cannot be read: {error}") from error
    found: dict[str, Any] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if name in NAMES:
                try:
                    found[name] = ast.literal_eval(statement.value)
                except (ValueError, RecursionError) as error:
                    raise ConfigError(f"padding {path!r}: {name} is no literal") from error
    for name, kind in NAMES.items():
        if not isinstance(found.get(name), kind):
            raise ConfigError(
                f"padding {path!r} has no {kind.__name__} {name}; give BFCL's file long_context.py, "
                "which the package bfcl-eval holds"
            )
    return Padding(found, path)


@lru_cache(maxsize=1)
def make_sample_padding() -> Padding:
    """A padding of the same form, drawn from a fixed seed: some 20,000 characters in all."""
    rng = random.Random("a long context")

    def words(number: int) -> str:
        return " ".join(rng.choice(_WORDS) for _ in range(number))

    def symbols(number: int) -> list[str]:
        return ["".join(rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=4)) for _ in range(number)]

    cards = [str(rng.randrange(10**15, 10**16)) for _ in range(8)]
    values = {
        "AUTOMOBILE_EXTENSION": symbols(100),
        "TECHNOLOGY_EXTENSION": symbols(100),
        "WATCH_LIST_EXTENSION": symbols(100),
        "MA_5_EXTENSION": [round(rng.uniform(200, 250), 2) for _ in range(200)],
        "MA_20_EXTENSION": [round(rng.uniform(200, 250), 2) for _ in range(200)],
        "ORDER_DETAIL_EXTENSION": {
            part: f"On {{symbol}}: {words(80)}." for part in ("overview", "outlook", "risks")
        },
        "TRANSACTION_HISTORY_EXTENSION": [
            {
                "type": rng.choice(("deposit", "withdrawal")),
                "amount": round(rng.uniform(10, 9_999), 2),
                "timestamp": f"2023-{rng.randint(1, 12):02}-{rng.randint(1, 28):02} 12:00:00",
            }
            for _ in range(60)
        ],
        "CREDIT_CARD_EXTENSION": {
            card: {
                "card_number": card,
                "expiration_date": f"{rng.randint(1, 12):02}/29",
                "cardholder_name": f"Holder {number}",
                "card_verification_number": rng.randint(100, 999),
                "balance": float(rng.randint(1_000, 9_999)),
            }
            for number, card in enumerate(cards)
        },
        "BOOKING_RECORD_EXTENSION": {
            f"old_{number}": {
                "card_id": card,
                "travel_date": f"2023-{rng.randint(1, 12):02}-15",
                "travel_from": "SFO",
                "travel_to": "LAX",
                "travel_class": "economy",
                "travel_cost": float(rng.randint(100, 900)),
                "transaction_id": f"paid_{number}",
            }
            for number, card in enumerate(cards)
        },
        "LONG_WEATHER_EXTENSION": {
            f"{-day}_day": {"windSpeed": rng.randint(0, 40), "humidity": rng.randint(20, 95)}
            for day in range(1, 15)
        },
        "CAR_STATUS_METADATA_EXTENSION": f"Notes on the car: {words(150)}.",
        "PARKING_BRAKE_INSTRUCTION": f"On the parking brake: {words(150)}.",
        "INTERMEDIARY_CITIES": [f"Waypoint {number}" for number in range(1, 101)],
        "FILE_CONTENT_EXTENSION": f" {words(150)}.",
        "FILES_TAIL_USED": [],
        "POPULATE_FILE_EXTENSION": [f"scan_{rng.randrange(10**9):09}.png" for _ in range(30)],
    }
    return Padding(values, "own")


_WORDS = (
    "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbour", "island", "juniper",
    "kiln", "lagoon", "meadow", "north", "orchard", "pebble", "quarry", "river", "summit", "tide",
)  # fmt: skip
