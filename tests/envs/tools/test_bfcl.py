"""bfcl_v0: reading calls, the rules by which they are judged, and what each agent is paid."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import llmzoo
from llmzoo.envs import sources
from llmzoo.envs.tools.bfcl import call_format, players, scoring, tasks
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.errors import ConfigError, FallbackWarning

PICKS = {
    "first": players.first,
    "last": lambda values: values[-1],
    "given": lambda values: next((value for value in values if value != ""), ""),
    "left_out": lambda values: "" if "" in values else values[0],
}
SAMPLE = tasks.PUBLIC_SET.load("sample").tasks


def record(accepted, *, required=(), types=None, **more):
    """A record with one function ``shop.order`` and one call of it for each of ``accepted``."""
    calls = accepted if isinstance(accepted, list) else [accepted]
    names = {name for call in calls for name in call}
    types = types or {}
    properties = {name: {"type": types.get(name, "integer")} for name in sorted(names)}
    return {
        "question": [[{"role": "user", "content": "Order it."}]],
        "function": [
            {
                "name": "shop.order",
                "description": "Order.",
                "parameters": {
                    "type": "dict",
                    "properties": properties,
                    "required": list(required),
                },
            }
        ],
        "ground_truth": [{"shop.order": call} for call in calls],
        **more,
    }


def is_right(accepted, text, **kwargs):
    request = tasks.parse_record(record(accepted, **kwargs))
    return scoring.is_exact_match(call_format.parse_calls(text), request)


def played(env, *answers, task=0):
    """The success and each agent's return of an episode in which the agents give ``answers``."""
    env.reset(options={"task": task})
    total = dict.fromkeys(env.possible_agents, 0.0)
    answers = list(answers)
    success = None
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        total[agent] += reward
        success = info.get("success")
        env.step(None if terminated or truncated else answers.pop(0))
    return success, total


# Reading


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[]", []),
        ("[f()]", [ToolCall("f", {})]),
        ("[f(a=1), g.h(b='x')]", [ToolCall("f", {"a": 1}), ToolCall("g.h", {"b": "x"})]),
        ("f(a=1)\ng(a=2)", [ToolCall("f", {"a": 1}), ToolCall("g", {"a": 2})]),
        ("(f(a=-1.5), f(a=+2))", [ToolCall("f", {"a": -1.5}), ToolCall("f", {"a": 2})]),
        (
            "[f(a=true, b=None, c=null, d=False)]",
            [ToolCall("f", {"a": True, "b": None, "c": None, "d": False})],
        ),
        ("[f(a=[1, (2, 3)], b={'k': [4]})]", [ToolCall("f", {"a": [1, [2, 3]], "b": {"k": [4]}})]),
        ("Two at once:\n```python\n[f(a=1)]\n```\nDone.", [ToolCall("f", {"a": 1})]),
        ("I thought of [f(a=2)], but:\n[f(a=1)]", [ToolCall("f", {"a": 1})]),
        ("Nothing is left for me: []", []),
        ("```\n[f(a=1)]", [ToolCall("f", {"a": 1})]),
        ('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', [ToolCall("f", {"a": 1})]),
        ('[{"name": "f.g", "arguments": {"a": [1]}}]', [ToolCall("f.g", {"a": [1]})]),
    ],
)
def test_forms_that_are_read(text, calls):
    assert list(call_format.parse_calls(text)) == calls


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no calls"),
        ("I call nothing.", "no calls"),
        ("[f(1)]", "without a name"),
        ("[f(a=1), f(2)]", "without a name"),
        ("[f(**{'a': 1})]", "write each by name"),
        ("[f(a=x)]", "an argument that is no"),
        ("[f(a=g())]", "an argument that is no"),
        ("[f(a=1 + 1)]", "an argument that is no"),
        ("[f(a=b'x')]", "an argument that is no"),
        ("[f(a={1: 2})]", "an argument that is no"),
        ("[f(a={**{}})]", "an argument that is no"),
        ("[(lambda: 1)()]", "called by its name"),
        ("[f(a=1)" * 40, "no calls"),
        (f"[{'f(a=1), ' * 41}]", "more than 40 calls"),
        ("[f(a=1)]" + " " * 20_000, "longer than"),
        ("<tool_call>{oops}</tool_call>", "JSON"),
    ],
)
def test_forms_that_are_not_read(text, reason):
    with pytest.raises(call_format.NoCalls, match=reason):
        call_format.parse_calls(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "[f(a=" * 4_000,
        "f" + "()" * 9_990,
        "f" + ".a" * 9_990 + "()",
        "[f(a=" + "-" * 19_000 + "1)]",
        "[f(a=" + "9" * 19_000 + ")]",
        "[f(a='" + "\\" * 19_000,
        "```" * 6_600,
        "\n[" * 9_999 + "]",
        "[f(a='\ud800')]",
        "<tool_call>" * 1_800,
        '{"a":' * 4_000,
    ],
)
def test_hostile_text_is_read_quickly_or_refused(text, no_collector):
    began = time.process_time()
    with contextlib.suppress(call_format.NoCalls):
        call_format.parse_calls(text)
    assert time.process_time() - began < 0.2


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {"a": []}}</tool_call>',
        '{"name": "f", "parameters": {"a": []}}',
        '[TOOL_CALLS] [{"name": "f", "arguments": {"a": []}}]',
        '<function=f>{"a": []}</function>',
    ],
)
def test_an_empty_list_in_a_call_of_json_is_no_list_of_calls(text):
    assert call_format.parse_calls(text) == (ToolCall("f", {"a": []}),)


def test_text_of_an_argument_is_no_call():
    text = '<tool_call>{"name": "f", "arguments": {"a": "[g(b=1)]"}}</tool_call>'
    assert call_format.parse_calls(text) == (ToolCall("f", {"a": "[g(b=1)]"}),)


def test_nothing_that_is_written_runs(tmp_path):
    victim = tmp_path / "victim"
    with pytest.raises(call_format.NoCalls):
        call_format.parse_calls(f"[f(a=open({str(victim)!r}, 'w'))]")
    assert call_format.parse_calls(f"[open(file={str(victim)!r}, mode='w')]")
    assert not victim.exists()


# The rules


@pytest.mark.parametrize(
    ("accepted", "types", "text", "expected"),
    [
        ({"a": [1]}, {}, "[shop.order(a=1)]", True),
        ({"a": [1]}, {}, "[order(a=1)]", False),
        ({"a": [1]}, {}, "[shop.order(a=2)]", False),
        ({"a": [1]}, {}, "[shop.order(a=1.0)]", False),
        ({"a": [1]}, {}, "[shop.order(a=True)]", False),
        ({"a": [1]}, {}, "[shop.order(a='1')]", False),
        ({"a": [1]}, {}, "[shop.order(a=1, z=1)]", False),
        ({"a": [1]}, {}, "[shop.order()]", False),
        ({"a": [1, ""]}, {}, "[shop.order()]", True),
        ({"a": [1, ""]}, {}, "[shop.order(a=None)]", False),
        ({"a": [1.0]}, {"a": "float"}, "[shop.order(a=1)]", True),
        ({"a": [0.5]}, {"a": "float"}, "[shop.order(a=0.50)]", True),
        ({"a": [0.5]}, {"a": "float"}, "[shop.order(a=False)]", False),
        ({"a": [True]}, {"a": "boolean"}, "[shop.order(a=true)]", True),
        ({"a": [True]}, {"a": "boolean"}, "[shop.order(a=1)]", False),
        ({"a": ["3 May, 2025"]}, {"a": "string"}, "[shop.order(a='3 may 2025')]", True),
        ({"a": ["it's"]}, {"a": "string"}, "[shop.order(a='it\"s')]", True),
        ({"a": ["tea"]}, {"a": "string"}, "[shop.order(a='teas')]", False),
        # the set sometimes accepts a value of another type than it declares
        ({"a": ["all"]}, {"a": "integer"}, "[shop.order(a='all')]", True),
        ({"a": [[1, 2]]}, {"a": "array"}, "[shop.order(a=(1, 2))]", True),
        ({"a": [[1, 2]]}, {"a": "array"}, "[shop.order(a=[2, 1])]", False),
        ({"a": [[1, 2]]}, {"a": "array"}, "[shop.order(a=[1, 2, 3])]", False),
        ({"a": [["New York"]]}, {"a": "array"}, "[shop.order(a=['new-york'])]", True),
        ({"a": [[1.5, 2.0]]}, {"a": "tuple"}, "[shop.order(a=(1.5, 2))]", True),
        ({"a": [{"k": [1, 2], "m": ["x", ""]}]}, {"a": "dict"}, "[shop.order(a={'k': 2})]", True),
        ({"a": [{"k": [1, 2]}]}, {"a": "dict"}, "[shop.order(a={'k': 3})]", False),
        ({"a": [{"k": [1]}]}, {"a": "dict"}, "[shop.order(a={'k': 1, 'z': 0})]", False),
        ({"a": [{"k": [1]}]}, {"a": "dict"}, "[shop.order(a={})]", False),
        ({"a": [[{"k": [1, 2]}]]}, {"a": "array"}, "[shop.order(a=[{'k': 2}])]", True),
    ],
)
def test_when_a_call_is_right(accepted, types, text, expected):
    assert is_right(accepted, text, types=types) is expected


def test_a_required_parameter_is_required_whatever_is_accepted():
    assert not is_right({"a": [1, ""]}, "[shop.order()]", required=["a"])


def test_parallel_calls_match_in_any_order_and_each_once():
    two = [{"a": [1]}, {"a": [2]}]
    assert is_right(two, "[shop.order(a=2), shop.order(a=1)]")
    assert not is_right(two, "[shop.order(a=1), shop.order(a=1)]")
    assert not is_right(two, "[shop.order(a=1), shop.order(a=2), shop.order(a=2)]")
    assert not is_right(two, "[shop.order(a=1)]")


def test_the_largest_matching_is_found():
    # the first call fits both truths, the second only the first: taking the first fit fails
    assert is_right([{"a": [1, 2]}, {"a": [1]}], "[shop.order(a=1), shop.order(a=2)]")


# Records


def mutants(calls):
    """The right calls, spoilt in every way that must be noticed."""
    head, *tail = calls
    yield "other function", [replace(head, name=f"{head.name}_x"), *tail]
    yield "unknown parameter", [replace(head, arguments={**head.arguments, "zzz": 1}), *tail]
    yield "a call twice", [head, head, *tail]
    yield "no call", tail
    for name, value in head.arguments.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        wrong = value + 1_000_003 if number else ["no such value"]
        yield f"wrong {name}", [replace(head, arguments={**head.arguments, name: wrong}), *tail]


def assert_judged(requests):
    for request in requests:
        for name, pick in PICKS.items():
            calls = tuple(players.build_call(truth, request, pick) for truth in request.truths)
            assert call_format.parse_calls(call_format.format_calls(calls)) == calls
            assert scoring.is_exact_match(calls, request), (request.name, name)
            assert [scoring.find_schema_error(call, request) for call in calls] == [None] * len(
                calls
            )
            for kind, wrong in mutants(calls):
                assert not scoring.is_exact_match(wrong, request), (request.name, name, kind)
        for truth in request.truths:
            call = players.build_call(truth, request)
            for required in request.functions[truth.name].required:
                short = {k: v for k, v in call.arguments.items() if k != required}
                assert not scoring.is_correct_call(replace(call, arguments=short), truth, request)


def test_the_longest_turn_of_a_reference_fits_one_answer():
    calls = tuple(ToolCall("f", {"a": number}) for number in range(34))
    assert call_format.parse_calls(call_format.format_calls(calls)) == calls


def test_every_record_of_the_sample_is_right_for_its_own_truth():
    assert_judged(SAMPLE)


@pytest.mark.parametrize("name", ["simple_python", "multiple"])
def test_every_real_record_is_right_for_its_own_truth(shared_data, name):
    result = tasks.PUBLIC_SET.load(str(shared_data / f"bfcl_{name}_dev.jsonl"))
    assert len(result.tasks) == 80
    assert {request.category for request in result.tasks} == {name.removesuffix("_python")}
    assert_judged(result.tasks)


@pytest.mark.parametrize("name", ["simple_python", "multiple"])
def test_the_expert_solves_every_real_record(shared_data, name):
    source = str(shared_data / f"bfcl_{name}_dev.jsonl")
    env = llmzoo.make("bfcl_v0", source=source, split="all")
    env.reset(seed=0)
    assert env.infos["caller_0"]["tasks"] == 80
    llmzoo.testing.check_expert(lambda: env, range(80), best=2.0)


def test_the_sample_has_as_many_of_each_category_and_up_to_four_calls():
    result = [request.category for request in SAMPLE]
    assert {name: result.count(name) for name in tasks.CATEGORIES} == dict.fromkeys(
        tasks.CATEGORIES, 28
    )
    numbers = {len(request.truths) for request in SAMPLE if request.category == "parallel"}
    assert numbers == {2, 3, 4}
    assert len({tasks.canonical(request) for request in SAMPLE}) == 84


def test_the_sample_has_thirty_test_tasks():
    result = llmzoo.evaluate("bfcl_v0", "expert", env_args={"source": "sample"})
    assert result.tasks >= 30
    assert result.success == 1.0
    assert result.notes == ()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"question": "Order it."}, "question"),
        ({"question": [[], []]}, "question"),
        ({"ground_truth": []}, "ground_truth"),
        ({"ground_truth": [{"other": {}}]}, "other, which is not described"),
        ({"ground_truth": [{"shop.order": {"a": 1}}]}, "a list of values"),
        ({"function": [{"name": "shop.order"}]}, "parameters"),
        (
            {"function": [{"name": "shop.order", "parameters": {"properties": {"a": "integer"}}}]},
            "properties",
        ),
    ],
)
def test_a_malformed_record_is_named(tmp_path, change, where):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({**record({"a": [1]}), **change}))
    with pytest.raises(ConfigError, match=rf"records.jsonl:1: .*{where}"):
        llmzoo.make("bfcl_v0", source=str(path))


@pytest.fixture
def no_tasks_yet(monkeypatch):
    monkeypatch.setattr(sources, "_loaded", {})
    monkeypatch.setattr(sources, "_warned", set())


@pytest.mark.usefixtures("no_tasks_yet")
def test_the_hubs_two_files_are_joined_by_id(monkeypatch):
    whole = record({"a": [1]}, id="simple_0")
    truth = whole.pop("ground_truth")
    other = {**whole, "id": "simple_1", "question": [[{"role": "user", "content": "Again."}]]}
    files = {
        tasks.FILES[0]: [whole, other],
        f"possible_answer/{tasks.FILES[0]}": [
            {"id": "simple_1", "ground_truth": [{"shop.order": {"a": [2]}}]},
            {"id": "simple_0", "ground_truth": truth},
        ],
    }
    monkeypatch.setattr(tasks, "_hub_file", lambda name, cached: files.get(name, []))
    result = tasks.PUBLIC_SET.load("hub")
    assert result.source == "hub"
    assert [request.truths[0].accepted_values for request in result.tasks] == [
        {"a": [1]},
        {"a": [2]},
    ]


@pytest.mark.usefixtures("no_tasks_yet")
def test_auto_falls_back_to_the_sample_loudly_and_hub_does_not(monkeypatch):
    def unreachable(name, cached):
        raise ConfigError("no network")

    monkeypatch.setattr(tasks, "_hub_file", unreachable)
    with pytest.warns(FallbackWarning, match="cannot be reached"):
        env = llmzoo.make("bfcl_v0")
    assert env.unwrapped.fallback
    with pytest.raises(ConfigError, match="no network"):
        llmzoo.make("bfcl_v0", source="hub")


@pytest.mark.usefixtures("no_tasks_yet")
@pytest.mark.parametrize("source", ["auto", "hub"])
def test_a_malformed_record_of_the_hub_is_no_hub_out_of_reach(monkeypatch, source):
    """A request whose right calls are missing is an error, not a reason to play the sample."""
    requests = {tasks.FILES[0]: [record({"a": [1]}, id="simple_0", ground_truth=None)]}
    monkeypatch.setattr(tasks, "_hub_file", lambda name, cached: requests.get(name, []))
    with pytest.raises(ConfigError, match="field 'ground_truth' is missing"):
        llmzoo.make("bfcl_v0", source=source)


# The environment


@pytest.fixture
def parallel(tmp_path):
    """Makes the environment with one task: three calls, of which caller_0 is to write two."""
    path = tmp_path / "three.jsonl"
    path.write_text(json.dumps(record([{"a": [1]}, {"a": [2]}, {"a": [3]}])))
    return lambda **kwargs: llmzoo.make("bfcl_v0", source=str(path), split="all", **kwargs)


FIRST = "[shop.order(a=1), shop.order(a=2)]"
REST = "[shop.order(a=3)]"


@pytest.mark.parametrize(
    ("answers", "team", "local"),
    [
        ((FIRST, REST), 1.0, (1.0, 1.0)),
        (("[shop.order(a=2), shop.order(a=1)]", REST), 1.0, (1.0, 1.0)),
        # F1 of one right of 1 written and 2 due: 2/3
        (("[shop.order(a=1)]", REST), 0.0, (0.2 + 0.8 * 2 / 3, 1.0)),
        # both write all: F1 of caller_0 4/5, of caller_1 2/4
        ((FIRST[:-1] + ", shop.order(a=3)]",) * 2, 0.0, (0.2 + 0.8 * 0.8, 0.2 + 0.8 * 0.5)),
        # each the other's half: all calls are there, but nobody did its own
        ((REST, FIRST), 1.0, (0.2, 0.2)),
        (("[]", "[]"), 0.0, (0.2, 0.2)),
        (("no calls", REST), 0.0, (0.0, 1.0)),
        # a malformed answer spoils the round, though the other agent wrote everything
        ((FIRST[:-1] + ", shop.order(a=3)]", "nothing"), 0.0, (0.2 + 0.8 * 0.8, 0.0)),
    ],
)
def test_rewards_of_a_round(parallel, answers, team, local):
    success, total = played(parallel(), *answers)
    assert list(total.values()) == pytest.approx([team + own for own in local])
    assert success is bool(team)


def test_team_weight_scales_the_team_part_only(parallel):
    _, total = played(parallel(team_weight=3.0), FIRST, REST)
    assert list(total.values()) == pytest.approx([4.0, 4.0])


def test_an_episode_of_rounds_is_worth_its_last(parallel):
    env = parallel(max_turns=3)
    _, total = played(env, REST, "[]", FIRST, "nothing", "[]", REST)
    assert list(total.values()) == pytest.approx([0.2, 1.0])
    _, total = played(env, REST, "[]", FIRST, REST)
    assert list(total.values()) == pytest.approx([2.0, 2.0])


def test_of_a_single_call_the_second_agent_writes_nothing():
    env = llmzoo.make("bfcl_v0", source="sample", category="simple")
    env.reset(options={"task": 0})
    assert env.unwrapped.expert("caller_1") == "[]"
    one = env.unwrapped.expert("caller_0")
    _, total = played(env, one, "[]")
    assert total == pytest.approx({"caller_0": 2.0, "caller_1": 2.0})
    # it is paid for the list of both, so that "[]" alone earns what "[]" is worth
    _, total = played(env, "[]", "[]")
    assert total == pytest.approx({"caller_0": 0.2, "caller_1": 0.2})
    # two calls where one is due: F1 of the list is 2/3 for caller_1, and of caller_0's own part 1
    _, total = played(env, one, one)
    assert total == pytest.approx({"caller_0": 1.0, "caller_1": 0.2 + 0.8 * 2 / 3})


def test_one_agent_writes_all_calls(parallel):
    _, total = played(parallel(num_agents=1), FIRST[:-1] + ", shop.order(a=3)]")
    assert total == pytest.approx({"caller_0": 2.0})


def test_the_next_round_says_what_is_wrong_by_the_descriptions_only(parallel):
    env = parallel(max_turns=2)
    env.reset(options={"task": 0})
    env.step("[shop.order(a='one'), shop.order(a=2)]")
    env.step("[shop.order(b=3)]")
    assert "a of shop.order is of type integer, not str" in env.observe("caller_0")
    assert "The other caller, caller_1, last wrote: [shop.order(b=3)]" in env.observe("caller_0")
    assert env.unwrapped.infos["caller_1"]["error"] == "wrong: shop.order has no parameter 'b'"
    env.reset(options={"task": 0})
    env.step("[shop.order(a=5)]")
    env.step(REST)
    assert (
        "fit the functions, but the calls of all callers together are not correct yet"
        in env.observe("caller_0")
    )
    assert env.unwrapped.infos["caller_0"]["error"] is None


def test_a_huge_answer_is_cut_where_it_is_shown(parallel):
    env = parallel(max_turns=2)
    env.reset(options={"task": 0})
    env.step("x" * 19_999)
    env.step("y" * 1_000_000)
    assert all(len(env.observe(agent)) < 7_000 for agent in env.possible_agents)


def test_half_characters_are_not_shown_to_tokenizers(parallel):
    env = parallel(max_turns=2)
    env.reset(options={"task": 0})
    env.step("[shop.order(a='\ud800')]")
    env.step("[shop.order(a='\\ud800')]")
    for agent in env.possible_agents:
        str(env.observe(agent)).encode()


def test_a_type_of_several_is_any(tmp_path):
    path = tmp_path / "union.jsonl"
    path.write_text(json.dumps(record({"a": [1]}, types={"a": ["integer", "null"]})))
    env = llmzoo.make("bfcl_v0", source=str(path), split="all", num_agents=1)
    assert played(env, "[shop.order(a=1)]")[1] == pytest.approx({"caller_0": 2.0})
    assert played(env, "[shop.order(a=None)]")[0] is False


@pytest.mark.parametrize(
    ("id", "agent"),
    [
        *(("bfcl_v0", "caller_0"), ("bfcl_multi_turn_v0", "planner_0")),
        *(("airline_v0", "agent_0"), ("telecom_v0", "agent_0")),
    ],
)
def test_it_needs_no_extra(id, agent):
    assert llmzoo.registry.spec(id).extra is None
    code = (
        "import sys\n"
        "for name in ('pydantic', 'bm25s'):\n"
        "    sys.modules[name] = None\n"
        "import llmzoo\n"
        f"env = llmzoo.make({id!r}, **llmzoo.registry.spec({id!r}).offline)\n"
        "env.reset(seed=1)\n"
        f"env.step(env.unwrapped.expert({agent!r}))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("category", tasks.CATEGORIES)
def test_a_category_holds_its_tasks_only(category):
    env = llmzoo.make("bfcl_v0", source="sample", split="all", category=category)
    for task in range(20):
        env.reset(options={"task": task})
        assert env.unwrapped.infos["caller_0"]["category"] == category


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_agents": 3}, "num_agents must be one of 1, 2"),
        ({"prompt": "terse"}, "prompt must be one of full"),
        ({"category": "hard"}, "category must be one of None, simple"),
        ({"split": "dev"}, "split must be one of"),
        ({"source": "nowhere"}, "source must be"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("bfcl_v0", **{"source": "sample", **kwargs})


def test_what_is_accepted_is_not_shown():
    for request in SAMPLE:
        assert all(isinstance(function.text, str) for function in request.functions.values())
    env = llmzoo.make("bfcl_v0", source="sample", split="all")
    for task in range(len(SAMPLE)):
        env.reset(options={"task": task})
        for agent in env.agents:
            assert "ground_truth" not in env.observe(agent)
            assert env.unwrapped.expert("caller_0") not in env.observe(agent)
