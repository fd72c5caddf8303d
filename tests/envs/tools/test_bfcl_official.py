"""The APIs and the checker of bfcl_multi_turn_v0 against those of the package bfcl-eval.

Needs ``pip install --no-deps bfcl-eval`` and mpmath, and is skipped without them. The package's records are
played twice, by its own execution and checker and by ours: with the ground truth's calls and with changed
ones. Every response and every verdict must be the same.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib.util
import random
import re
from itertools import chain
from pathlib import Path

import pytest

from llmzoo.envs.tools.bfcl_multi_turn import checking, execution, tasks
from llmzoo.envs.tools.bfcl_multi_turn.apis import APIS, padding
from llmzoo.envs.tools.bfcl_multi_turn.tools import api_tools

pytest.importorskip("mpmath", reason="bfcl-eval computes logarithms with mpmath")
pytest.importorskip("bfcl_eval", reason="needs: pip install --no-deps bfcl-eval")
checker = pytest.importorskip("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")

from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils as official  # noqa: E402
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code import (  # noqa: E402
    long_context,
    message_api,
    posting_api,
)
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.math_api import MathAPI  # noqa: E402

SUPPORT = (
    "Thank you for contacting customer support. Your message has been received and we will get back to you "
    "shortly."
)
CLASSES = "{'economy', 'business', 'first'}"
OURS = "Your message has arrived. You will hear from us soon."
CHANGES = ("truth", "drop", "argument", "swap", "harmless", "harmful", "silent", "early", "type")
HARMLESS = {
    "GorillaFileSystem": ["pwd()", "ls(a=True)", "find()", "du(human_readable=True)"],
    "TradingBot": ["get_current_time()", "get_watchlist()", "get_transaction_history()"],
    "TravelAPI": ["list_all_airports()", "get_all_credit_cards()", "get_budget_fiscal_year()"],
    "VehicleControlAPI": ["check_tire_pressure()", "displayCarStatus(option='climate')"],
    "MessageAPI": ["list_users()", "view_messages_sent()", "search_messages(keyword='the')"],
    "TwitterAPI": ["get_user_stats(username='john')", "search_tweets(keyword='a')"],
    "TicketAPI": ["ticket_get_login_status()", "get_user_tickets()", "get_ticket(ticket_id=1)"],
    "MathAPI": ["mean(numbers=[1, 2.5])", "logarithm(value=7, base=3, precision=12)"],
}
HARMFUL = {
    "GorillaFileSystem": ["mkdir(dir_name='zz')", "touch(file_name='zz.txt')", "cd(folder='..')"],
    "TradingBot": ["trading_logout()", "fund_account(amount=10)", "add_to_watchlist(stock='ZETA')"],
    "TravelAPI": [
        "authenticate_travel('a', 'b', 'c', 'read', 'Ann', 'Lee')",
        "set_budget_limit(access_token='abc123xyz', budget_limit=5)",
    ],
    "VehicleControlAPI": [
        "setHeadlights(mode='on')",
        "lockDoors(unlock=True, door=['driver'])",
        "get_outside_temperature_from_google()",  # draws a random number
        "adjustClimateControl(70, 'fahrenheit')",
    ],
    "MessageAPI": ["add_contact(user_name='Zoe')", "send_message('USR002', 'hello')"],
    "TwitterAPI": ["follow_user('zed')", "post_tweet('hello', ['#a'])", "comment(0, 'yes')"],
    "TicketAPI": ["create_ticket(title='z')", "logout()", "ticket_login('u', 'p')"],
    "MathAPI": ["divide(a=1, b=0)"],
}


@functools.cache
def package() -> Path:
    return Path(importlib.util.find_spec("bfcl_eval").submodule_search_locations[0])


@functools.cache
def padding_of_package():
    return padding.load(str(padding.find_near(package())))


@functools.cache
def entries() -> list[dict]:
    """The package's records. BFCL's own standard messages stand in all of them: ours have other words."""
    found = []
    for _, record in tasks.records_of(str(package())):
        if "MessageAPI" in record["involved_classes"]:
            config = record["initial_config"].setdefault("MessageAPI", {})
            config.setdefault("inbox", copy.deepcopy(message_api.DEFAULT_STATE["inbox"]))
        found.append(record)
    return found


def changed(record: dict, change: str) -> list[list[list[str]]]:
    """The calls of a model: the ground truth's in one step for each turn, with a change."""
    rng = random.Random(f"{record['id']} {change}")
    turns = [[list(calls)] if calls else [] for calls in record["ground_truth"]]
    busy = [number for number, turn in enumerate(turns) if turn]
    turn = rng.choice(busy)
    calls = turns[turn][0]
    if change == "drop":
        calls.pop(rng.randrange(len(calls)))
    elif change == "argument":
        number = rng.randrange(len(calls))
        calls[number] = with_another_value(calls[number], rng)
    elif change == "swap":
        rng.shuffle(calls)
    elif change in ("harmless", "harmful"):
        among = HARMLESS if change == "harmless" else HARMFUL
        extra = rng.choice(among[rng.choice(record["involved_classes"])])
        calls.insert(rng.randrange(len(calls) + 1), extra)
    elif change == "silent":
        turns[turn] = []
    elif change == "early" and turn + 1 < len(turns):
        turns[turn], turns[turn + 1] = turns[turn] + turns[turn + 1], []
    elif change == "type":
        calls[rng.randrange(len(calls))] = call_at_random(record, rng)
    return turns


def with_another_value(call: str, rng: random.Random) -> str:
    tree = ast.parse(call, mode="eval").body
    values = [*tree.args, *(keyword.value for keyword in tree.keywords)]
    if not values:
        return call[:-1] + "unknown=1)"
    value = rng.choice(values)
    was = ast.literal_eval(value)
    others = [f"{was}x", "", 3, -2.5, None, True, [], ["a"], was if was != 1 else 2]
    other = ast.parse(repr(rng.choice(others)), mode="eval").body
    for keyword in tree.keywords:
        if keyword.value is value:
            keyword.value = other
    tree.args = [other if arg is value else arg for arg in tree.args]
    return ast.unparse(tree)


def call_at_random(record: dict, rng: random.Random) -> str:
    """A call of any function of the record's APIs, with values from its ground truth or odd ones."""
    tool = rng.choice(list(api_tools(rng.choice(record["involved_classes"])).values()))
    given = [0, 1, 2, "a", "", "driver", -1, 0.5, None, True, ["x"], "2024-05-01", "Technology"]
    for turn in record["ground_truth"]:
        for call in turn:
            tree = ast.parse(call, mode="eval").body
            given += [ast.literal_eval(k.value) for k in tree.keywords]
    chosen = [n for n in tool.parameters["properties"] if rng.random() < 0.9]
    return f"{tool.name}({', '.join(f'{n}={rng.choice(given)!r}' for n in chosen)})"


def played_by_package(record: dict, turns) -> tuple[list[list[str]], bool]:
    """The responses of all calls of each turn, and the verdict."""
    responses = []
    for turn in turns:
        responses.append([])
        for step in turn:
            given, _ = official.execute_multi_turn_func_call(
                step,
                record["initial_config"],
                record["involved_classes"],
                "responses",
                record["id"],
                long_context="long_context" in record["id"],
            )
            responses[-1] += map(in_our_words, given)
    clean()
    verdict = checker.multi_turn_checker(turns, record["ground_truth"], record, "", "verdict")
    clean()
    return responses, verdict["valid"]


def in_our_words(response: str) -> str:
    """A response of the package without what it writes in no fixed order, or in other words than ours."""
    response = re.sub(r"Must be one of \{[^}]*\}", f"Must be one of {CLASSES}", response)
    return response.replace(SUPPORT, OURS)


def explained(call: str) -> bool:
    """Whether a response may differ: a logarithm of a negative number, or of text, or of very many digits,
    which are errors here."""
    return call.startswith("logarithm(")


def clean() -> None:
    """Forget what the package keeps between dialogues: instances, and lists that its calls change."""
    for name in [n for n in vars(official) if n.endswith("_instance")]:
        delattr(official, name)
    posting_api.TwitterAPI.post_tweet.__defaults__ = ([], [])
    long_context.CREDIT_CARD_EXTENSION.clear()
    long_context.CREDIT_CARD_EXTENSION.update(
        copy.deepcopy(padding_of_package()["CREDIT_CARD_EXTENSION"])
    )


def played_by_us(record: dict, turns) -> tuple[list[list[str]], bool]:
    dialogue = tasks.parse_record(record)
    steps = [[[execution.parse_call(call) for call in step] for step in turn] for turn in turns]
    world = dialogue.start(padding_of_package())
    responses = [[r for step in turn for r in execution.execute(step, world)] for turn in steps]
    wrong = checking.first_wrong_turn(dialogue, steps, padding_of_package())
    return responses, wrong is None


def test_the_package_has_the_whole_set():
    assert len(entries()) == 800


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_responses_and_verdicts_are_those_of_the_package(change, every):
    differ, reworded, valid = [], 0, 0
    records = entries()[::every]
    for record in records:
        turns = changed(record, change)
        (theirs, accepted), (ours, accepted_by_us) = (
            played_by_package(record, turns),
            played_by_us(record, turns),
        )
        valid += accepted
        if accepted != accepted_by_us:
            differ.append((record["id"], accepted, accepted_by_us))
        calls = [call for turn in turns for step in turn for call in step]
        pairs = zip(chain(*theirs), chain(*ours), strict=True)
        for call, (a, b) in zip(calls, pairs, strict=True):
            if a != b and not (change in ("argument", "type") and explained(call)):
                differ.append((record["id"], call, a[:300], b[:300]))
            reworded += a != b
    print(f"{change}: {len(records)} dialogues, {valid} valid, {reworded} responses explained")
    assert not differ, "\n".join(map(str, differ[:40]))
    if change in ("truth", "harmless"):
        assert valid == len(records)
    elif change in ("drop", "silent"):
        assert valid == 0
    else:
        assert 0 < valid < len(records) or every > 1


def test_logarithms_are_those_of_mpmath():
    rng = random.Random(0)
    theirs, ours = MathAPI(), APIS["MathAPI"]({})
    for _ in range(500):
        value = rng.choice(
            [rng.randint(1, 10**6), rng.uniform(0, 3), 10.0 ** rng.randint(-300, 300), 0, 1]
        )
        base = rng.choice([2, 10, 0.5, 1, rng.uniform(0, 100), 10**40])
        precision = rng.choice([1, 2, 4, 5, 10, 14, 15, 16, 17, 30, 100])
        assert repr(ours.logarithm(value, base, precision)) == repr(
            theirs.logarithm(value, base, precision)
        ), (value, base, precision)
