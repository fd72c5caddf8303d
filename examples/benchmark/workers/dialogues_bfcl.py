"""Dialogues of BFCL played by bfcl-eval; run by its interpreter, asked by ``dialogue_peers.py``.

A dialogue is played as bfcl-eval does when a model answers with the calls of the ground truth: the calls
of each turn are executed, and the checker then judges all turns.
"""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils as package
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker
from games import rate
from serving import serve

_turn = itertools.count()
_dialogues: list[dict[str, Any]] = []


def play(dialogue: dict[str, Any]) -> None:
    turns = [[calls] if calls else [] for calls in dialogue["ground_truth"]]
    for step in itertools.chain(*turns):
        package.execute_multi_turn_func_call(
            step, dialogue["initial_config"], dialogue["involved_classes"], "played", dialogue["id"]
        )
    verdict = multi_turn_checker(turns, dialogue["ground_truth"], dialogue, "", "judged")
    if not verdict["valid"]:
        raise RuntimeError(f"{dialogue['id']} is wrong by its own ground truth: {verdict}")
    for name in [name for name in vars(package) if name.endswith("_instance")]:
        delattr(package, name)  # the state of this dialogue


def answer(do: str, **details: Any) -> dict[str, Any]:
    if do == "where":
        (folder,) = importlib.util.find_spec("bfcl_eval").submodule_search_locations
        return {"folder": str(Path(folder))}
    if do == "dialogues":
        _dialogues[:] = details["dialogues"]
        return {}
    if do == "play":
        work = lambda: play(_dialogues[next(_turn) % len(_dialogues)])  # noqa: E731
        return {"rate": rate(work, details["seconds"])}
    raise ValueError(f"unknown request {do!r}")


serve(answer)
