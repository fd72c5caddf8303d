"""Who plays each agent, and who of them learns."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from tiny_models import policy as new_policy
from toy_envs import Matcher

import llmzoo
from llmzoo.cli import main
from llmzoo.errors import CheckpointError, ConfigError, UnknownNameError
from llmzoo.learners.magrpo import MAGRPO
from llmzoo.models.sampling import Sampling
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.endpoint import EndpointPolicy
from llmzoo.policies.settings import LoadSettings
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.runs.policy_loading import load_policies, load_run_policies
from llmzoo.runs.policy_plans import AgentConfig
from llmzoo.training.setup import prepare_run

AGENTS = ("a", "b", "c")
RUN = Sampling(max_new_tokens=6)


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> tuple[str, str]:
    """Two models with random weights, which differ."""
    result = []
    for seed in (0, 1):
        folder = tmp_path_factory.mktemp("seat_model")
        new_policy(seed=seed).save(folder)
        result.append(str(folder))
    return result[0], result[1]


@pytest.fixture
def loaded(folders):
    """``load_policies`` for the first model."""

    def take(agents, arrangement, *, model=folders[0], others="expert", sampling=RUN, **options):
        only = options.pop("only", None)
        settings = AgentSettings(
            policies=arrangement, model=model, others=others, sampling=sampling, **options
        )
        return load_policies(agents, settings, only=only)

    return take


def ask(policy, agent, k=1, prompt="the answer is", **options):
    request = PolicyRequest(agent=agent, observation=prompt, env=Matcher())
    return policy.respond([request], k, **options)[0]


def trained(agents, learning):
    """The agents whose policy is one of those that learn, as the engine finds them."""
    return [a for a, policy in agents.items() if any(policy is p for p in learning.values())]


def weights(policy):
    """All that the policy computes with: its model's weights, other adapters left out."""
    return {
        name: tensor.clone()
        for name, tensor in policy.model.state_dict().items()
        if policy.adapter is None or "lora" not in name or policy.adapter in name.split(".")
    }


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)


def disturb(policy):
    """Change whatever this policy trains."""
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.5


# Arrangements


@pytest.mark.parametrize("agents", [AGENTS[:1], AGENTS])
def test_shared_is_one_policy(loaded, agents):
    policies, learning = loaded(agents, "shared")
    assert list(policies) == list(agents)
    assert list(learning) == ["policy"]
    assert all(policy is learning["policy"] for policy in policies.values())
    assert trained(policies, learning) == list(agents)


@pytest.mark.parametrize(
    ("arrangement", "agents"), [("separate", AGENTS[:1]), ("separate", AGENTS), ("lora", AGENTS)]
)
def test_separate_and_lora_agents_learn_apart(loaded, agents, arrangement):
    policies, learning = loaded(agents, arrangement)
    assert list(learning) == list(agents) == list(policies)
    assert all(policies[agent] is learning[agent] for agent in agents)
    assert len({id(policy) for policy in policies.values()}) == len(agents)
    before = {agent: weights(policy) for agent, policy in policies.items()}
    disturb(learning[agents[0]])
    for agent in agents:
        changed = not same(before[agent], weights(policies[agent]))
        assert changed == (agent == agents[0])


@pytest.mark.parametrize("agents", [AGENTS[:1], AGENTS])
def test_lora_agents_are_adapters_on_one_base(loaded, agents):
    policies, learning = loaded(agents, "lora", lora_args={"r": 2})
    assert len({id(policy.model) for policy in policies.values()}) == 1
    # 2 layers of 7 linear maps each, a pair of factors for each; the inner size is r
    assert all(len(policy.parameters()) == 2 * 7 * 2 for policy in learning.values())
    assert all(2 in p.shape for policy in learning.values() for p in policy.parameters())


@pytest.mark.parametrize("agents", [AGENTS[:1], AGENTS])
def test_one_agent_learns_beside_others(loaded, agents):
    policies, learning = loaded(agents, "a")
    assert list(learning) == ["a"]
    assert trained(policies, learning) == ["a"]
    assert [policies[agent].name for agent in agents[1:]] == ["expert"] * len(agents[1:])


def test_others_may_be_a_model_which_does_not_learn(loaded, folders):
    agents, learning = loaded(AGENTS, "b", others=folders[1])
    assert list(learning) == ["b"]
    assert agents["a"] is agents["c"]
    assert trained(agents, learning) == ["b"]
    assert not same(weights(agents["a"]), weights(agents["b"]))


def test_how_learners_are_trained(loaded):
    _, learning = loaded(AGENTS, "separate", precision="bf16", gradient_checkpointing=True)
    for policy in learning.values():
        assert policy.precision == "bf16"
        assert policy.gradient_checkpointing
        assert policy.model.dtype == torch.bfloat16
    agents, learning = loaded(AGENTS, "lora", precision="bf16_autocast")
    assert {p.precision for p in learning.values()} == {"bf16_autocast"}
    assert agents["a"].model.dtype == torch.float32


# Names of models

TWO = {"a": "one", "b": "one", "c": "two"}


def test_two_agents_share_a_model_and_the_third_has_its_own(loaded, folders):
    agents, learning = loaded(AGENTS, TWO, model_args={"two": {"model": folders[1]}})
    assert list(learning) == ["one", "two"]
    assert agents["a"] is agents["b"] is learning["one"]
    assert agents["c"] is learning["two"]
    assert same(weights(agents["a"]), weights(TransformersPolicy.load(folders[0])))
    assert same(weights(agents["c"]), weights(TransformersPolicy.load(folders[1])))
    before = weights(agents["c"])
    disturb(learning["one"])
    assert same(before, weights(agents["c"]))


def test_two_agents_share_an_adapter_on_one_base(loaded):
    form = {"form": "lora"}
    agents, learning = loaded(
        AGENTS, TWO, model_args={"one": form, "two": form}, lora_args={"r": 2}
    )
    assert list(learning) == ["one", "two"]
    assert agents["a"] is agents["b"]
    assert agents["a"].model is agents["c"].model
    assert agents["a"].adapter != agents["c"].adapter
    before = weights(agents["c"])
    disturb(learning["one"])
    assert same(before, weights(agents["c"]))


def test_adapters_on_two_bases_and_all_weights_beside(loaded, folders):
    mapping = {"a": "one", "b": "two", "c": "three"}
    args = {"one": {"form": "lora"}, "two": {"form": "lora", "model": folders[1]}}
    agents, learning = loaded(AGENTS, mapping, model_args=args)
    assert list(learning) == ["one", "two", "three"]
    assert len({id(policy.model) for policy in agents.values()}) == 3
    assert [policy.adapter is None for policy in agents.values()] == [False, False, True]


@pytest.mark.parametrize(
    ("arrangement", "mapping", "form"),
    [
        ("shared", dict.fromkeys(AGENTS, "policy"), "full"),
        ("separate", {agent: agent for agent in AGENTS}, "full"),
        ("lora", {agent: agent for agent in AGENTS}, "lora"),
    ],
)
def test_the_words_are_mappings(loaded, arrangement, mapping, form):
    args = {name: {"form": form} for name in mapping.values()}
    one, learning = loaded(AGENTS, arrangement)
    other, found = loaded(AGENTS, mapping, model_args=args)
    assert list(learning) == list(found)
    for agent in AGENTS:
        assert same(weights(one[agent]), weights(other[agent]))
        assert ask(one[agent], agent, k=4) == ask(other[agent], agent, k=4)


def test_agents_of_one_model_have_their_own_sampling(loaded):
    agents, _ = loaded(AGENTS, TWO, agent_args={"a": {"max_new_tokens": 2}})
    longest = [max(len(c.ids) for c in ask(agents[a], a, k=8)) for a in AGENTS]
    assert longest == [2, 6, 6]


@pytest.mark.parametrize(
    ("mapping", "args", "model_args", "said"),
    [
        ({"a": "one"}, {}, {}, "has no model for b, c: name one, or set policy"),
        ({**TWO, "d": "one"}, {}, {}, "unknown agent 'd'"),
        (TWO, {"c": {"policy": "expert"}}, {}, "'c' has both a model in policies and a policy"),
        (TWO, {"a": {"frozen": True}}, {}, "a cannot be frozen, because other agents"),
        (TWO, {"a": {"learning_rate": 0.1}}, {}, "'a' shares its weights"),
        (TWO, {}, {"three": {}}, "unknown model in policies 'three'"),
        (TWO, {}, {"one": {"forms": "lora"}}, "Did you mean 'form'"),
        (TWO, {}, {"one": {"form": "half"}}, "model 'one': form must be full or lora, got 'half'"),
        (TWO, {}, {"one": "lora"}, "model_args of 'one' must be a mapping"),
        (TWO, {}, {"one": {"model": "expert"}}, "model='expert' cannot learn"),
        ({**TWO, "a": "c"}, {}, {}, "'c' has the name of an agent that it does not play"),
        ({**TWO, "a": "x/y"}, {}, {}, "'x/y' cannot name a folder of weights"),
        ("shared", {}, {"policy": {"form": "lora"}}, "let policies map agents to names"),
    ],
)
def test_mappings_that_cannot_be_had(loaded, mapping, args, model_args, said):
    with pytest.raises((ConfigError, UnknownNameError), match=said):
        loaded(AGENTS, mapping, agent_args=args, model_args=model_args)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["full", "lora"])
def test_a_run_with_a_mapping_is_played_and_gone_on_from(loaded, folders, tmp_path, form):
    args = {"one": {"form": form}, "two": {"form": form}}
    _, first = loaded(AGENTS, TWO, model_args=args)
    for policy in first.values():
        disturb(policy)
    run = a_run(tmp_path / "run", folders[0], first, policies=TWO, model_args=args)
    agents = load_run_policies(run, AGENTS, LoadSettings(sampling={"max_new_tokens": 6}))
    assert agents["a"] is agents["b"]
    assert (agents["a"].model is agents["c"].model) == (form == "lora")
    for agent, name in TWO.items():
        folder = f"{run}/checkpoints/step_000010/{name}"
        alone = TransformersPolicy.load(folder, sampling=RUN)
        assert ask(agents[agent], agent, greedy=True) == ask(alone, agent, greedy=True)
    again, learning = loaded(AGENTS, TWO, model=run, model_args=args)
    assert list(learning) == ["one", "two"]
    assert ask(again["c"], "c", greedy=True) == ask(agents["c"], "c", greedy=True)


# Settings of single agents


@pytest.mark.parametrize("arrangement", ["shared", "separate", "lora"])
def test_each_agent_samples_with_its_settings(loaded, arrangement):
    agents, _ = loaded(
        AGENTS,
        arrangement,
        agent_args={
            "a": {"max_new_tokens": 2},
            "b": {"temperature": 1e-4, "max_new_tokens": 9},
        },
    )
    answers = {agent: ask(agents[agent], agent, k=16) for agent in AGENTS}
    longest = {agent: max(len(c.ids) for c in answers[agent]) for agent in AGENTS}
    assert longest == {"a": 2, "b": 9, "c": 6}
    # next to no temperature: sixteen times the most likely answer
    (best,) = ask(agents["b"], "b", greedy=True)
    assert {c.ids for c in answers["b"]} == {best.ids}
    assert len({c.ids for c in answers["c"]}) > 8


@pytest.mark.parametrize("arrangement", ["shared", "separate", "lora"])
def test_stop_strings_reach_the_sampler(loaded, arrangement):
    letters = list("aeio")
    agents, _ = loaded(
        AGENTS[:2],
        arrangement,
        sampling=Sampling(max_new_tokens=12),
        agent_args={"a": {"stop": letters}},
    )
    stopped, free = ask(agents["a"], "a", k=32), ask(agents["b"], "b", k=32)
    assert not any(letter in c.text for c in stopped for letter in letters)
    assert any(letter in c.text for c in free for letter in letters)
    decode = agents["a"].tokenizer.decode
    ended = [c for c in stopped if any(letter in decode(c.ids) for letter in letters)]
    assert ended  # these would have gone on
    assert not any(c.truncated for c in ended)


def test_top_k_and_top_p_of_an_agent(loaded):
    agents, _ = loaded(AGENTS, "shared", agent_args={"a": {"top_k": 1}, "b": {"top_p": 1e-6}})
    (best,) = ask(agents["a"], "a", greedy=True)
    assert {c.ids for agent in "ab" for c in ask(agents[agent], agent, k=8)} == {best.ids}
    assert len({c.ids for c in ask(agents["c"], "c", k=8)}) > 1


def test_learning_rates(loaded):
    for arrangement in ("separate", "lora"):
        _, learning = loaded(AGENTS, arrangement, agent_args={"b": {"learning_rate": 3e-4}})
        assert {a: p.learning_rate for a, p in learning.items()} == {
            "a": None,
            "b": 3e-4,
            "c": None,
        }
    _, learning = loaded(AGENTS, "c", agent_args={"c": {"learning_rate": 1}})
    assert learning["c"].learning_rate == 1


@pytest.mark.parametrize("arrangement", ["separate", "lora"])
def test_a_frozen_agent_plays_and_nobody_trains_it(loaded, arrangement):
    agents, learning = loaded(AGENTS, arrangement, agent_args={"b": {"frozen": True}})
    assert list(learning) == ["a", "c"]
    assert trained(agents, learning) == ["a", "c"]
    first = ask(agents["b"], "b", greedy=True)
    assert first == ask(agents["a"], "a", greedy=True)  # one start
    own = {id(p) for policy in learning.values() for p in policy.parameters()}
    assert own.isdisjoint(id(p) for p in agents["b"].parameters())
    for policy in learning.values():
        disturb(policy)
    assert ask(agents["b"], "b", greedy=True) == first
    assert ask(agents["a"], "a", greedy=True) != first


@pytest.mark.parametrize("arrangement", ["shared", "separate", "lora", "a"])
def test_an_agent_is_played_by_somebody_of_its_own(loaded, folders, arrangement):
    args = {
        "b": {"policy": "random"},
        "c": {"policy": folders[1], "frozen": True, "max_new_tokens": 3},
    }
    agents, learning = loaded(AGENTS, arrangement, agent_args=args)
    assert agents["b"].name == "random"
    assert trained(agents, learning) == ["a"]
    assert list(learning) == ["policy" if arrangement == "shared" else "a"]
    assert same(weights(agents["c"]), weights(TransformersPolicy.load(folders[1])))
    assert max(len(c.ids) for c in ask(agents["c"], "c", k=8)) == 3


@pytest.mark.parametrize("arrangement", ["shared", "separate", "lora"])
def test_a_model_of_its_own_learns(loaded, folders, arrangement):
    agents, learning = loaded(AGENTS, arrangement, agent_args={"c": {"policy": folders[1]}})
    assert learning["c"] is agents["c"]
    assert trained(agents, learning) == list(AGENTS)
    assert list(learning) == (["policy", "c"] if arrangement == "shared" else list(AGENTS))
    # with all its weights, also beside adapters
    assert len(learning["c"].parameters()) == len(list(learning["c"].model.parameters()))


def test_shared_weights_may_be_frozen_as_a_whole(loaded, folders):
    args = {"a": {"frozen": True}, "b": {"frozen": True}, "c": {"policy": folders[1]}}
    agents, learning = loaded(AGENTS, "shared", agent_args=args)
    assert agents["a"] is agents["b"]
    assert trained(agents, learning) == ["c"]


def test_an_endpoint_plays_an_agent_with_its_settings(loaded, monkeypatch):
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    name = "openai:m@http://localhost:1/v1"
    args = {"b": {"policy": name, "temperature": 0.5, "stop": ["\n"]}}
    agents, learning = loaded(AGENTS, "separate", agent_args=args)
    assert isinstance(agents["b"], EndpointPolicy)
    assert agents["b"].name == name
    wanted = Sampling(max_new_tokens=6, temperature=0.5, stop=("\n",))
    assert agents["b"].sampling_for("b") == wanted
    assert trained(agents, learning) == ["a", "c"]
    agents, learning = loaded(AGENTS, "a", others=name, agent_args={"c": {"max_new_tokens": 9}})
    assert agents["b"] is agents["c"]  # so that both are asked side by side
    assert agents["b"].sampling_for("b") == RUN
    assert agents["c"].sampling_for("c") == Sampling(max_new_tokens=9)


# What cannot be had


@pytest.mark.parametrize(
    ("arrangement", "args", "said"),
    [
        ("shred", {}, "'separate' or one of a, b, c; got 'shred'"),
        ("shared", {"a": {"learning_rate": 0.1}}, "'separate' or 'lora'"),
        ("shared", {"a": {"frozen": True}}, "a cannot be frozen, .*'separate' or 'lora'"),
        ("separate", {agent: {"frozen": True} for agent in AGENTS}, "no trainable agent"),
        ("shared", {agent: {"policy": "random"} for agent in AGENTS}, "no trainable agent"),
        ("a", {"a": {"frozen": True}}, "no trainable agent"),
        (
            "a",
            {"a": {"policy": "noisy_expert"}},
            "no trainable agent: .*a: noisy_expert, b: expert",
        ),
        ("a", {"b": {"policy": "tiny"}}, "set frozen for 'b', or use policies='separate'"),
        (
            "a",
            {"b": {"temperature": 0.5}},
            "'expert', which does not sample: leave out temperature",
        ),
        ("a", {"b": {"learning_rate": 0.5}}, r"does not learn \('expert' plays it\)"),
        ("lora", {"b": {"learning_rate": 0.5, "frozen": True}}, r"does not learn \(it is frozen\)"),
        (
            "lora",
            {"b": {"policy": "expert", "stop": ["x"], "top_k": 1}},
            "leave out top_k, stop",
        ),
        ("separate", {"b": {"policy": 7}}, "agent 'b': policy must be a text, got 7"),
        ("separate", {"b": {"frozen": "yes"}}, "frozen must be true or false"),
        ("separate", {"b": {"temperature": True}}, "temperature must be a number"),
        ("separate", {"b": {"temperature": "1e-3"}}, "temperature must be a number"),
        ("separate", {"b": {"top_k": 1.5}}, "top_k must be a whole number"),
        ("separate", {"b": {"stop": "END"}}, "stop must be a list of texts, got 'END'"),
        ("separate", {"b": {"stop": ["x", ""]}}, "non-empty texts"),
        ("separate", {"b": {"stop": [3]}}, "stop must be a list of non-empty texts"),
        ("separate", {"b": {"temperature": 0}}, "agent 'b': temperature is 0.0001 to 100"),
        ("separate", {"b": {"top_p": 1.5}}, "agent 'b': top_p"),
        ("separate", {"b": {"learning_rate": -1.0}}, "learning_rate must be above 0"),
        ("separate", {"b": {"learning_rate": float("nan")}}, "learning_rate must be above 0"),
        ("separate", {"b": "expert"}, "agent_args of 'b' must be a mapping"),
    ],
)
def test_what_cannot_be_had(loaded, arrangement, args, said):
    with pytest.raises(ConfigError, match=said):
        loaded(AGENTS, arrangement, agent_args=args)


def test_unknown_names(loaded, tmp_path):
    with pytest.raises(UnknownNameError, match=r"unknown agent 'plannr'\. Did you mean 'planner'"):
        loaded(["planner", "critic"], "separate", agent_args={"plannr": {}})
    with pytest.raises(UnknownNameError, match="Did you mean 'learning_rate'"):
        loaded(AGENTS, "separate", agent_args={"a": {"learning_rte": 1.0}})
    with pytest.raises(UnknownNameError, match="Did you mean 'expert'"):
        loaded(AGENTS, "separate", agent_args={"a": {"policy": "exprt"}})
    with pytest.raises(ConfigError, match="no policy or model"):
        loaded(AGENTS, "separate", agent_args={"a": {"policy": str(tmp_path)}})
    with pytest.raises(ConfigError, match="model='expert' cannot learn"):
        loaded(AGENTS, "separate", model="expert")
    with pytest.raises(ConfigError, match="lora_args need policies"):
        loaded(AGENTS, "separate", lora_args={"r": 2})


def test_a_setting_that_is_none_is_not_given():
    assert AgentConfig(policy=None, frozen=False).explicit_settings() == {"frozen": False}
    assert AgentConfig().sampling(RUN) == RUN


# Runs as starts


def a_run(folder: Path, model: str, trained, **config) -> str:
    """The folder of a run whose newest checkpoint holds ``trained``."""
    settings = {"model": model, "policies": "separate", "others": "expert", "max_new_tokens": 5}
    settings |= {"temperature": 1.0, "top_p": 1.0, "top_k": 0, **config}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(settings))
    for step in ("step_000002", "step_000010"):
        for name, policy in trained.items():
            policy.save(folder / "checkpoints" / step / name)
            disturb(policy)  # the later checkpoint is another
    return str(folder)


@pytest.fixture
def apart(folders, tmp_path) -> str:
    """A run whose agents a and b learned apart."""
    policies = {"a": new_policy(seed=2), "b": new_policy(seed=3)}
    return a_run(tmp_path / "apart", folders[0], policies)


@pytest.fixture
def together(folders, tmp_path) -> str:
    """A run whose agents learned in one policy."""
    return a_run(
        tmp_path / "together", folders[0], {"policy": new_policy(seed=4)}, policies="shared"
    )


def saved(run, name):
    return weights(TransformersPolicy.load(f"{run}/checkpoints/step_000010/{name}"))


def test_agents_start_from_what_a_run_has_for_them(loaded, apart, folders):
    agents, learning = loaded(AGENTS[:2], "separate", model=apart)
    assert list(learning) == ["a", "b"]
    assert same(weights(agents["a"]), saved(apart, "a"))
    assert same(weights(agents["b"]), saved(apart, "b"))
    args = {"b": {"policy": apart, "frozen": True}}
    agents, _ = loaded(AGENTS, "separate", agent_args=args)
    assert same(weights(agents["b"]), saved(apart, "b"))
    assert same(weights(agents["a"]), weights(TransformersPolicy.load(folders[0])))
    agents, _ = loaded(AGENTS, "c", others=apart)
    assert agents["a"] is not agents["b"]
    assert same(weights(agents["b"]), saved(apart, "b"))


@pytest.mark.slow
@pytest.mark.parametrize("arrangement", ["shared", "separate", "lora", "b"])
def test_a_run_with_shared_weights_starts_any_agent(loaded, together, arrangement):
    agents, _ = loaded(AGENTS, arrangement, model=together, others=together)
    best = TransformersPolicy.load(f"{together}/checkpoints/step_000010/policy", sampling=RUN)
    for agent in AGENTS:
        assert ask(agents[agent], agent, greedy=True) == ask(best, agent, greedy=True)


@pytest.mark.parametrize("arrangement", ["shared", "lora"])
def test_weights_that_learned_apart_are_no_start_for_one_model(loaded, apart, arrangement):
    with pytest.raises(
        ConfigError, match=r"start from the same model: give one of the folders .*step_000010/a"
    ):
        loaded(AGENTS[:2], arrangement, model=apart)
    agents, _ = loaded(AGENTS[:1], arrangement, model=apart)
    assert ask(agents["a"], "a", greedy=True) == ask(
        TransformersPolicy.load(f"{apart}/checkpoints/step_000010/a", sampling=RUN),
        "a",
        greedy=True,
    )


@pytest.mark.slow
def test_adapters_of_a_run_go_on_upon_their_base(loaded, folders, tmp_path):
    _, first = loaded(AGENTS, "lora", lora_args={"r": 3, "lora_alpha": 5})
    for scale, policy in enumerate(first.values(), start=1):
        with torch.no_grad():
            for parameter in policy.parameters():
                parameter += 0.02 * scale
    options = {"r": 3, "lora_alpha": 5}
    run = tmp_path / "adapted"
    for name, policy in first.items():
        policy.save(run / "checkpoints" / "step_000001" / name)
    wanted = {agent: ask(first[agent], agent, greedy=True) for agent in AGENTS}
    assert len({row[0].ids for row in wanted.values()}) == 3
    (run / "config.json").write_text(json.dumps({"model": folders[0], "lora_args": options}))

    agents, learning = loaded(AGENTS, "lora", model=str(run))
    assert {agent: ask(agents[agent], agent, greedy=True) for agent in AGENTS} == wanted
    assert list(learning) == list(AGENTS)
    assert len({id(policy.model) for policy in agents.values()}) == 1
    before = {agent: weights(agents[agent]) for agent in AGENTS}
    disturb(agents["b"])
    assert [same(before[agent], weights(agents[agent])) for agent in AGENTS] == [True, False, True]
    agents["b"].save(tmp_path / "again")  # and it is saved with the base that it stands on
    again = TransformersPolicy.load(str(tmp_path / "again"), sampling=RUN)
    assert ask(again, "b", greedy=True) == ask(agents["b"], "b", greedy=True)

    agents, learning = loaded(AGENTS, "separate", model=str(run))
    assert {agent: ask(agents[agent], agent, greedy=True) for agent in AGENTS} == wanted
    assert len(learning["a"].parameters()) == 2 * 7 * 2  # still an adapter
    with pytest.raises(CheckpointError, match="another shape"):
        loaded(AGENTS, "lora", model=str(run), lora_args={"r": 4})


def test_runs_that_are_no_start(loaded, apart, tmp_path):
    with pytest.raises(
        ConfigError, match=r"trained no policy for agent 'c': name one of .*/a, .*/b"
    ):
        loaded(AGENTS, "separate", model=apart)
    (tmp_path / "empty" / "checkpoints").mkdir(parents=True)
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        loaded(AGENTS, "shared", model=str(tmp_path / "empty"))


# The agents of a run, to be played again


def test_a_run_is_played_by_who_played_it(folders, tmp_path):
    learned = {"a": new_policy(seed=2), "b": new_policy(seed=3)}
    args = {
        "b": {"max_new_tokens": 2},
        "c": {"policy": folders[1], "frozen": True, "temperature": 1e-4},
        "d": {"policy": "random"},
    }
    run = a_run(tmp_path / "run", folders[0], learned, agent_args=args, temperature=0.5)
    agents = load_run_policies(run, ["a", "b", "c", "d"])
    assert same(weights(agents["a"]), saved(run, "a"))
    assert same(weights(agents["b"]), saved(run, "b"))
    assert same(weights(agents["c"]), weights(TransformersPolicy.load(folders[1])))
    assert agents["d"].name == "random"
    assert agents["a"].sampling_for("a") == Sampling(temperature=0.5, max_new_tokens=5)
    assert agents["b"].sampling_for("b") == Sampling(temperature=0.5, max_new_tokens=2)
    assert agents["c"].sampling_for("c") == Sampling(temperature=1e-4, max_new_tokens=5)
    # what is given now wins, also over an agent's own
    agents = load_run_policies(
        run, ["a", "b", "c", "d"], LoadSettings(sampling={"temperature": 2.0})
    )
    assert [agents[a].sampling_for(a).temperature for a in "abc"] == [2.0] * 3
    assert agents["b"].sampling_for("b").max_new_tokens == 2


def test_a_shared_run_plays_agents_that_it_never_saw(together):
    agents = load_run_policies(together, ["x", "y"])
    assert agents["x"] is agents["y"]
    assert same(weights(agents["x"]), saved(together, "policy"))


def test_a_run_of_one_agent_keeps_the_others(folders, tmp_path):
    run = a_run(tmp_path / "one", folders[0], {"b": new_policy(seed=5)}, policies="b")
    agents = load_run_policies(run, AGENTS)
    assert [agents[a].name for a in "ac"] == ["expert", "expert"]
    assert same(weights(agents["b"]), saved(run, "b"))
    with pytest.raises(ConfigError, match="trained the agent 'b', but the agents here are x"):
        load_run_policies(run, ["x"])


def test_agents_that_a_run_lacks(apart):
    with pytest.raises(ConfigError, match="trained a, b, and has no policy for c"):
        load_run_policies(apart, AGENTS)


def test_a_lora_run_is_played_upon_one_base(loaded, folders, tmp_path):
    _, first = loaded(AGENTS[:2], "lora")
    run = a_run(tmp_path / "lora", folders[0], first, policies="lora")
    agents = load_run_policies(run, AGENTS[:2], LoadSettings(sampling={"max_new_tokens": 6}))
    assert agents["a"].model is agents["b"].model
    for agent in AGENTS[:2]:
        alone = TransformersPolicy.load(f"{run}/checkpoints/step_000010/{agent}", sampling=RUN)
        assert ask(agents[agent], agent, greedy=True) == ask(alone, agent, greedy=True)


@pytest.mark.slow
def test_a_lora_run_with_a_frozen_agent(loaded, folders, tmp_path):
    args = {"b": {"frozen": True}}
    _, first = loaded(AGENTS, "lora", agent_args=args)
    run = a_run(tmp_path / "lora", folders[0], first, policies="lora", agent_args=args)
    agents = load_run_policies(run, AGENTS, LoadSettings(sampling={"max_new_tokens": 6}))
    assert agents["a"].model is agents["c"].model
    starts = {
        "a": f"{run}/checkpoints/step_000010/a",
        "b": folders[0],
        "c": f"{run}/checkpoints/step_000010/c",
    }
    answers = {}
    for agent, start in starts.items():
        alone = TransformersPolicy.load(start, sampling=RUN)
        answers[agent] = ask(alone, agent, greedy=True)
        assert ask(agents[agent], agent, greedy=True) == answers[agent]
    assert answers["a"] != answers["b"]


@pytest.mark.parametrize(
    ("settings", "noted"),
    [
        ({}, ["the agents play against each other, so the default is kl: 0.2 (docs/leagues.md)"]),
        (
            {"learner_args": {"kl": 0.0}},
            ["the agents play against each other, and nothing keeps them"],
        ),
        ({"learner_args": {"kl": 0.2}}, []),
        (
            {"learner": "dpo", "learner_args": {"beta": 0.05}},
            ["the agents play against each other, so the default is rounds: 1 (docs/leagues.md)"],
        ),
        ({"learner_args": {"entropy": 0.1}}, []),
        ({"policies": "player_0"}, []),
        ({"env": "tiny_hanabi_v0"}, []),  # they are paid alike
        ({"opponents": "uniform"}, []),
        ({"learner": "sft"}, []),
        (
            {"learner": "grpo", "env": "sudoku_v0", "policies": "separate"},
            ["there is only one agent, planner_0"],
        ),
    ],
)
def test_what_a_user_may_not_expect_is_noted(settings, noted, tmp_path):
    given = {"learner": "magrpo", "env": "kuhn_poker_v0", "model": "tiny", **settings}
    learner, env = given.pop("learner"), given.pop("env")
    with ExitStack() as opened:
        setup = prepare_run(learner, env, tmp_path / "run", False, None, given, opened)
    assert [note[: len(begin)] for note, begin in zip(setup.notes, noted, strict=True)] == noted


KL = {"kl": 0.2}
SIDES = {"per_side": 2, "reward": "zero-sum"}
FROZEN = {agent: {"policy": "random"} for agent in ("con_1", "con_3")}


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, KL),
        ({"learner": "ippo"}, {"kl": 0.5}),
        ({"learner": "at_grpo", "learner_args": {"group_size": 2}}, KL),
        ({"learner": "maxrl"}, {"kl": 1.0}),
        ({"learner": "dpo"}, {"rounds": 1, "beta": 0.5}),
        ({"learner": "dpo", "learner_args": {"beta": 0.05}}, {"rounds": 1}),
        ({"learner": "dpo", "learner_args": {"rounds": 0}}, {}),
        ({"learner_args": {"kl": 0.0}}, {}),
        ({"learner_args": {"entropy": 0.1}}, {}),
        ({"opponents": "uniform"}, {}),
        ({"env": "tiny_hanabi_v0"}, {}),
        ({"learner": "opd", "learner_args": {"teacher": "tiny"}}, {}),  # it follows its teacher
        # an agent with such an option of its own
        ({"agent_args": {"player_1": {"learner_args": {"entropy": 0.1}}}}, {}),
        (
            {"learner": "maxrl", "agent_args": {"player_1": {"learner_args": {"gamma": 1.0}}}},
            {"kl": 1.0},
        ),
        # one side learns
        ({"env": "debate_v0", "env_args": SIDES, "agent_args": FROZEN}, {}),
        ({"env": "debate_v0", "env_args": SIDES}, KL),
    ],
)
def test_agents_that_play_against_each_other_are_held_to_their_start(settings, options, tmp_path):
    given = {"learner": "magrpo", "env": "kuhn_poker_v0", "model": "tiny", **settings}
    learner, env, args = given.pop("learner"), given.pop("env"), given.get("learner_args", {})
    with ExitStack() as opened:
        setup = prepare_run(learner, env, tmp_path / "run", False, None, given, opened)
    expected = {**args, **options}
    config = getattr(setup.learner, "others", setup.learner).config
    assert {name: getattr(config, name) for name in expected} == expected
    stored = json.loads((tmp_path / "run" / "config.json").read_text())["learner_args"]
    assert stored == expected  # a resumed run has it too


def test_a_learner_given_as_an_object_keeps_its_options(tmp_path):
    with ExitStack() as opened:
        setup = prepare_run(
            MAGRPO(), "kuhn_poker_v0", tmp_path / "run", False, None, {"model": "tiny"}, opened
        )
    assert setup.learner.config.kl == 0
    assert "nothing keeps them" in setup.notes[0]


@pytest.mark.slow
def test_runs_in_self_play_go_on_with_the_options_that_they_began_with(tmp_path):
    given = {"env": "kuhn_poker_v0", "model": "tiny", "episodes_per_step": 2, "eval_tasks": 1}
    given |= {"control_tasks": 0, "out": tmp_path / "run", "quiet": True}
    llmzoo.fit("magrpo", steps=1, **given)
    llmzoo.fit("magrpo", steps=2, resume=True, **given)  # of the same settings as they were given
    path = tmp_path / "old" / "config.json"  # as before there were such defaults
    llmzoo.fit("magrpo", steps=1, **given | {"out": path.parent, "learner_args": {"kl": 0.0}})
    path.write_text(json.dumps(json.loads(path.read_text()) | {"learner_args": {}}))
    llmzoo.fit("magrpo", steps=2, resume=True, **given | {"out": path.parent})
    assert json.loads(path.read_text())["learner_args"] == {}


@pytest.mark.slow
def test_a_bench_in_self_play_is_repeated(tmp_path):
    options = (
        "--learners magrpo --seeds 0 --model tiny --steps 1 --episodes_per_step 2 --eval_tasks 2"
    )
    command = f"bench --envs kuhn_poker_v0 {options} --control_tasks 0 --out {tmp_path / 'bench'}"
    main(command.split())
    main(command.split())
