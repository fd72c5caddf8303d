import hashlib
import threading
import time

import pytest
from tiny_models import FakePolicy
from toy_envs import Adder

from llmzoo.policies.base import PolicyRequest, policies_by_agent
from llmzoo.rollout.scheduler import SampleRequest, rollout_keys, run_rollouts
from llmzoo.rollout.stepping import StepRequest


def a_request(agent="a_0", text="x"):
    return PolicyRequest(agent=agent, observation=text, env=None)


def test_everything_that_waits_for_one_policy_is_asked_in_one_call():
    policy = FakePolicy(lambda request, i: f"{request.observation}{i}")

    def rollout(name):
        first = yield SampleRequest(a_request(text=name), 2)
        second = yield [
            SampleRequest(a_request(text=first[1].text)),
            SampleRequest(a_request(text="z")),
        ]
        return [c.text for completions in second for c in completions]

    results = run_rollouts([rollout("p"), rollout("q"), rollout("r")], {"a_0": policy})
    assert results == [["p10", "z0"], ["q10", "z0"], ["r10", "z0"]]
    assert policy.calls == [(3, 2, False), (6, 1, False)]


def test_policies_are_batched_apart_and_greedy_apart_from_sampled():
    one, other = FakePolicy(lambda r, i: "one"), FakePolicy(lambda r, i: "other")

    def rollout():
        answers = yield [
            SampleRequest(a_request("a_0")),
            SampleRequest(a_request("b_1")),
            SampleRequest(a_request("a_0"), 1, True),
        ]
        return [c.text for (c,) in answers]

    assert (
        run_rollouts([rollout(), rollout()], {"a_0": one, "b_1": other})
        == [["one", "other", "one"]] * 2
    )
    assert one.calls == [(2, 1, False), (2, 1, True)]
    assert other.calls == [(2, 1, False)]


def test_branches_return_their_values_in_order():
    policy = FakePolicy(lambda r, i: r.observation)

    def leaf(name, depth):
        for _ in range(depth):
            yield SampleRequest(a_request(text=name))
        return name

    def root():
        first = yield [leaf("p", 3), leaf("q", 0), leaf("r", 1)]
        second = yield []
        return first, second

    assert run_rollouts([root()], {"a_0": policy}) == [(["p", "q", "r"], [])]


def test_an_error_in_a_rollout_is_not_swallowed():
    def rollout():
        yield []
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run_rollouts([rollout()], {})


def test_slow_environments_are_stepped_side_by_side():
    together = threading.Barrier(4, timeout=60)  # breaks unless four steps meet

    class Slow(Adder):
        metadata = {**Adder.metadata, "slow_step": True}

        def apply(self, state, actions):
            together.wait()
            time.sleep(0.01)
            return super().apply(state, actions)

    def rollout():
        env = Slow()
        env.reset(seed=0)
        paid = yield [StepRequest(env.fork(), (str(i),)) for i in range(4)]
        return [p["a_0"] for p in paid]

    assert run_rollouts([rollout()], {}) == [[0.0, 1.0, 2.0, 3.0]]


def test_agents_left_empty_are_named():
    with pytest.raises(ValueError, match="no policy for b_1"):
        policies_by_agent({"a_0": FakePolicy(lambda r, i: "")}, ["a_0", "b_1"])


def noise_of(keys=None, rollouts=2):
    """What every ask of a few rollouts with branches is called, by rollout, branch and turn."""
    results = {}

    def note(request, i):
        results.setdefault(request.observation, []).append(request.noise)
        return ""

    def branch(name, turns):
        for turn in range(turns):
            yield SampleRequest(a_request(text=f"{name}.{turn}"), 2)

    def rollout(name):
        yield [
            SampleRequest(a_request("a_0", f"{name}:a")),
            SampleRequest(a_request("b_1", f"{name}:b")),
        ]
        yield [branch(f"{name}/0", 2), branch(f"{name}/1", 1)]
        yield [branch(f"{name}/2", 1)]
        yield SampleRequest(a_request(text=f"{name}:end"), 1, True)

    policy = FakePolicy(note)
    labels = range(rollouts) if keys is None else keys
    run_rollouts([rollout(name) for name in labels], {"a_0": policy, "b_1": policy}, keys=keys)
    return results


def test_every_ask_of_a_run_has_a_noise_of_its_own():
    results = noise_of(rollouts=3)
    assert len(results) == 3 * 7  # a rollout asks 2 + (2 + 1) + 1 + 1 times
    assert all(len(set(noises)) == 1 for noises in results.values())  # one for the k of an ask
    noises = [noises[0] for noises in results.values()]
    assert len(set(noises)) == len(noises)
    assert all(0 <= noise < 2**62 for noise in noises)


def test_the_noise_of_a_rollout_hangs_on_its_name_alone():
    both = noise_of(keys=["p", "q"])
    assert noise_of(keys=["q"]) == {at: n for at, n in both.items() if at.startswith("q")}
    assert noise_of(keys=["q", "r", "p"])["p/0.1"] == both["p/0.1"]
    assert noise_of() == noise_of(keys=[0, 1])  # by default the index


def test_noise_is_the_same_on_every_machine():
    # the first 8 bytes of blake2b of "('p', (0, 1))", without the last two bits
    digest = hashlib.blake2b(b"('p', (0, 1))", digest_size=8).digest()
    assert noise_of(keys=["p"])["p:b"] == [int.from_bytes(digest, "big") // 4]


def test_a_name_is_used_once():
    with pytest.raises(ValueError, match="two rollouts have the key 'p'"):
        run_rollouts([iter(()), iter(())], {}, keys=["p", "p"])


def test_rollouts_are_named_by_their_seed_and_its_count():
    assert rollout_keys([7, 3, 7, 7, 3]) == [(7, 0), (3, 0), (7, 1), (7, 2), (3, 1)]
