"""The APIs of bfcl_multi_turn_v0: hostile calls end soon, nothing leaves the simulation, copies are apart."""

from __future__ import annotations

import copy
import time

import pytest

from llmzoo.envs.tools.bfcl_multi_turn import execution
from llmzoo.envs.tools.bfcl_multi_turn.apis import APIS, padding
from llmzoo.envs.tools.bfcl_multi_turn.execution import build_world, execute, parse_call
from llmzoo.envs.tools.call_syntax import ToolCall

TREE = {"root": {"top": {"type": "directory", "contents": {}}}}


def respond(world, *calls):
    return execute(map(parse_call, calls), world)


def world_of(api, config=None):
    return build_world([api], {api: config or {}}, None)


@pytest.mark.parametrize(
    ("call", "response"),
    [
        ("power(base=10, exponent=1000000000000)", "Exceeds the limit (4300 digits)"),
        ("power(base=-3, exponent=99999999)", "Exceeds the limit (4300 digits)"),
        ("power(base=2, exponent=20000)", "Exceeds the limit (4300 digits)"),
        ("power(base=2, exponent=10)", '{"result": 1024}'),
        ("power(base=1, exponent=10**0 if False else 999999999999)", None),
        ("power(base=2.5, exponent=100000)", "Error during execution: (34, "),
        ("round_number(number=5, decimal_places=-1000000000000)", '{"result": 0}'),
        ("round_number(number=5, decimal_places=1000000000000)", '{"result": 5}'),
        ("square_root(number=2, precision=1000000000)", "at most 10000 digits"),
        ("square_root(number=2, precision=5)", "{'result': Decimal('1.4142')}"),
        ("logarithm(value=2, base=3, precision=1000000000)", "at most 1000 digits"),
        ("logarithm(value=-2, base=3, precision=5)", "not real"),
        ("logarithm(value=8, base=2, precision=5)", "{'result': mpf('3.0')}"),
        ("multiply(a='a', b=100000000)", "Both inputs must be numbers"),
    ],
)
def test_arithmetic_ends_soon(call, response):
    if response is None:
        with pytest.raises(ValueError, match="no call of literals"):
            parse_call(call)
        return
    before = time.process_time()
    (said,) = respond(world_of("MathAPI"), call)
    assert response in said
    assert time.process_time() - before < 2


def test_paths_stay_in_the_simulation():
    world = world_of("GorillaFileSystem", TREE)
    tricks = ["/etc/passwd", "../../etc/passwd", "//etc", "~/.ssh", "..\\..", "/proc/self/environ"]
    for path in tricks:
        calls = [ToolCall("cat", {"file_name": path}), ToolCall("cd", {"folder": path})]
        calls += [
            ToolCall("find", {"path": path}),
            ToolCall("echo", {"content": "x", "file_name": path}),
        ]
        responses = execute([*calls, ToolCall("mkdir", {"dir_name": path})], world)
        assert all("error" in each for each in responses), responses
    assert respond(world, "pwd()") == ['{"current_working_directory": "/top"}']


def test_deep_directories_are_copied_and_compared():
    world = world_of("GorillaFileSystem", TREE)
    execute([parse_call("mkdir('d')"), parse_call("cd('d')")] * 5_000, world)
    copied = execution.copy_world(world)
    files, others = world["GorillaFileSystem"], copied["GorillaFileSystem"]
    assert files._state_differences(others) == []
    respond(copied, "touch('end')")
    assert files._state_differences(others) == ["root"]
    assert respond(world, "du()") == ['{"disk_usage": "0 bytes"}']


def test_directories_that_hold_themselves():
    world = world_of("GorillaFileSystem", TREE)
    assert respond(world, "mkdir('a')", "cp('a', 'a')") == [
        "None",
        "{\"result\": \"'a' copied to 'a/a'\"}",
    ]
    (found,) = respond(world, "find()")
    assert found == "Error during execution: maximum recursion depth exceeded"
    same = execution.copy_world(world)["GorillaFileSystem"]
    assert world["GorillaFileSystem"]._state_differences(same) == []


def test_directories_that_double_with_each_copy():
    """Each round puts a copy of the directory into it, so that its tree is twice as large."""
    world = world_of("GorillaFileSystem", TREE)
    respond(world, "mkdir('d')")
    for number in range(40):
        respond(world, f"cp('d', 'x{number}')", f"mv('x{number}', 'd')")
    before = time.process_time()
    assert "maximum recursion depth" in respond(world, "find()")[0]
    assert "maximum recursion depth" in respond(world, "du()")[0]
    same = execution.copy_world(world)["GorillaFileSystem"]
    assert world["GorillaFileSystem"]._state_differences(same) == []
    assert time.process_time() - before < 2


def test_a_moved_directory_keeps_the_way_back():
    """As in BFCL: the entries of a moved directory lead back to where it was, with the same contents."""
    world = world_of("GorillaFileSystem", TREE)
    respond(world, "mkdir('a')", "cd('a')", "mkdir('b')", "cd('..')", "mv('a', 'c')")
    respond(world, "cd('c')", "cd('b')", "cd('..')")
    assert respond(world, "pwd()") == ['{"current_working_directory": "/top/a"}']
    respond(world, "touch('new')", "cd('/')", "cd('c')")
    assert respond(world, "ls()") == ['{"current_directory_content": ["b", "new"]}']


def test_a_response_that_is_too_long():
    world = world_of("TwitterAPI", {"authenticated": True})
    text = "x" * 19_000
    execute([ToolCall("post_tweet", {"content": text})] * 30, world)
    (said,) = execute([ToolCall("search_tweets", {"keyword": "x"})], world)
    assert said == "Error during execution: a response of more than 400000 characters"


@pytest.mark.parametrize("api", APIS)
def test_a_copy_is_apart_and_the_configuration_stays(api):
    config = {api: TREE if api == "GorillaFileSystem" else {}}
    kept = copy.deepcopy(config)
    world = build_world([api], config, padding.make_sample_padding())
    other = execution.copy_world(world)
    assert other[api]._state_differences(world[api]) == []
    changes = {
        "GorillaFileSystem": "touch('new')",
        "TradingBot": "add_to_watchlist('ZETA')",
        "TravelAPI": "authenticate_travel('a', 'b', 'c', 'read', 'Ann', 'Lee')",
        "VehicleControlAPI": "lockDoors(unlock=False, door=['driver'])",
        "MessageAPI": "add_contact('Zoe')",
        "TwitterAPI": "mention(0, [])",
        "TicketAPI": "ticket_login('u', 'p')",
        "MathAPI": "add(1, 2)",
    }
    respond(other, changes[api])
    stateless = api in ("MathAPI", "TwitterAPI")
    assert bool(other[api]._state_differences(world[api])) is not stateless
    assert config == kept


def test_drawn_ids_follow_the_seed_of_the_configuration():
    """The first two numbers of five digits that Python's generator draws with the seed 200191."""
    import random

    rng = random.Random(200191)
    wanted = [rng.randint(10_000, 99_999) for _ in range(2)]
    world = world_of("MessageAPI", {"current_user": "USR001"})
    for number in wanted:
        (said,) = respond(world, "send_message('USR002', 'hello')")
        assert f'"message_id": {{"new_id": {number}}}' in said
