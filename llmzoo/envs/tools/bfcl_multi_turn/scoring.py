"""The team's reward: what each user turn is worth, and the whole dialogue."""

from __future__ import annotations

from llmzoo.envs.tools.bfcl_multi_turn.checking import Judged

STATE, RESPONSE, FORM, VERDICT = "state", "response", "form", "verdict"
WORTH = {STATE: 0.3, RESPONSE: 0.3, FORM: 0.1, VERDICT: 0.3}


def turn_parts(
    judged: Judged | None, *, checked: int, turns: int, readable: bool, last: bool
) -> dict[str, float]:
    """What the end of a user turn pays.

    judged: None for a turn that is not checked. checked, turns: how many turns of the dialogue are checked,
    and how many there are. readable: no answer of the turn was malformed. last: it is the dialogue's last.
    """
    parts = dict.fromkeys(WORTH, 0.0)
    parts[FORM] = WORTH[FORM] / turns if readable else 0.0
    if judged is not None and not judged.silent:
        parts[RESPONSE] = WORTH[RESPONSE] * judged.found / checked
        # a state that is right because nothing was done earns nothing
        parts[STATE] = 0.0 if judged.differs else WORTH[STATE] * judged.found / checked
    if last and (judged is None or judged.valid):
        parts[VERDICT] = WORTH[VERDICT]
    return parts
