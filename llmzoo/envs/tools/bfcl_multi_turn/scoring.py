"""The team's reward: what each user turn is worth, and the whole dialogue."""

from __future__ import annotations

from llmzoo.envs.tools.bfcl_multi_turn.checking import TurnVerdict

STATE, RESPONSE, FORM, VERDICT = "state", "response", "form", "verdict"
REWARD_WEIGHTS = {STATE: 0.3, RESPONSE: 0.3, FORM: 0.1, VERDICT: 0.3}


def turn_rewards(
    verdict: TurnVerdict | None, *, checked: int, turns: int, readable: bool, last: bool
) -> dict[str, float]:
    """What the end of a user turn pays.

    verdict: None for a turn that is not checked. checked, turns: how many turns of the dialogue are checked,
    and how many there are. readable: no answer of the turn was malformed. last: it is the dialogue's last.
    """
    rewards = dict.fromkeys(REWARD_WEIGHTS, 0.0)
    rewards[FORM] = REWARD_WEIGHTS[FORM] / turns if readable else 0.0
    if verdict is not None and not verdict.silent:
        rewards[RESPONSE] = REWARD_WEIGHTS[RESPONSE] * verdict.response_share / checked
        # a state that is right because nothing was done earns nothing
        if not verdict.wrong_state:
            rewards[STATE] = REWARD_WEIGHTS[STATE] * verdict.response_share / checked
    if last and (verdict is None or verdict.valid):
        rewards[VERDICT] = REWARD_WEIGHTS[VERDICT]
    return rewards
