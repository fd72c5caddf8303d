"""Slow steps beside sampling: the same play whatever is ready first, and no thread left behind."""

import os
import random
import signal
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest
from tiny_models import FakePolicy, policy
from toy_envs import Adder, Matcher

from llmzoo.policies.base import PolicyRequest
from llmzoo.rollout import agent_turn_tree, joint_tree, play_episodes, scheduler, stepping
from llmzoo.rollout.episodes import episode_rollout
from llmzoo.rollout.scheduler import (
    RolloutsStopped,
    SampleRequest,
    has_slow_steps,
    rollout_keys,
    run_rollouts,
)
from llmzoo.rollout.stepping import RolloutClock, StepRequest

SEEDS = [7, 3, 7, 11, 5]


class Delayed(Matcher):
    """A slow :class:`Matcher` whose every step takes another time each time it is played."""

    metadata = {**Matcher.metadata, "slow_step": True}
    delays = random.Random()  # not of the episode's seed
    scale = 0.002

    def apply(self, state, actions):
        time.sleep(self.delays.random() * self.scale)
        return super().apply(state, actions)


class DelayedTurns(Adder):
    metadata = {**Adder.metadata, "slow_step": True}

    def apply(self, state, actions):
        time.sleep(Delayed.delays.random() * Delayed.scale)
        return super().apply(state, actions)


class Keyed(FakePolicy):
    """Answers with a digit made of the request's noise; notes what it was asked, call by call."""

    def __init__(self):
        super().__init__(lambda request, i: str((request.noise // 7 ** (i + 2)) % 5))
        self.asked = []

    def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
        self.asked.append([(r.agent, r.observation, r.noise) for r in requests])
        return super().respond(requests, group_size, greedy=greedy)


class EarlyKeyed(Keyed):
    """Hands out its answers one after the other, in any order."""

    def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
        results = super().respond(requests, group_size, greedy=greedy)
        if on_complete is None:
            return results
        for index in Delayed.delays.sample(range(len(results)), len(results)):
            time.sleep(Delayed.delays.random() * Delayed.scale / 2)
            on_complete(index, results[index])
        return results


def started(make, seed):
    env = make()
    env.reset(seed=seed)
    return env


ROLLOUTS = {
    "episodes": episode_rollout,
    "agent_turn_tree": partial(
        agent_turn_tree, group_size=3, trained=["a_0", "b_1"], select="sample"
    ),
    "joint_tree": partial(
        joint_tree, group_size=2, trained=["a_0", "b_1"], expand=1, with_greedy=True
    ),
    "full_tree": partial(joint_tree, group_size=2, trained=["a_0"], expand=None),
}


def play(rollout, make, player=None, **options):
    """What came of rollouts, and the policy that played them."""
    player = player or Keyed()
    rollouts = [ROLLOUTS[rollout](started(make, seed), seed) for seed in SEEDS]
    agents = {"a_0": player, "b_1": player}
    return run_rollouts(rollouts, agents, keys=rollout_keys(SEEDS), **options), player


@pytest.mark.parametrize(
    ("rollout", "make"),
    [
        ("episodes", Delayed),
        ("agent_turn_tree", DelayedTurns),
        ("joint_tree", DelayedTurns),
        ("full_tree", Delayed),
    ],
)
def test_play_is_the_same_for_any_number_of_threads_and_any_delays(rollout, make):
    make = partial(make, 2)
    alone, by_turns = play(rollout, make, workers=1)
    assert len(set(map(repr, alone))) == len(SEEDS)  # the rollouts differ, those of one seed too
    # rollouts that go on early change no call: the same requests in the same order
    results, player = play(rollout, make, EarlyKeyed(), early=True, workers=8)
    assert results == alone
    assert player.asked == by_turns.asked
    assert player.calls == by_turns.calls
    # in cohorts there are more calls, the same ones always
    one, one_by_one = play(rollout, make, cohorts=2, workers=1)
    eight, together = play(rollout, make, EarlyKeyed(), cohorts=2, early=True, workers=8)
    assert one == eight == alone
    assert one_by_one.asked == together.asked
    assert one_by_one.calls == together.calls
    assert len(one_by_one.calls) > len(by_turns.calls)
    flat = [sorted(ask for call in p.asked for ask in call) for p in (one_by_one, by_turns)]
    assert flat[0] == flat[1]


def test_quick_environments_play_the_same_in_cohorts():
    one, two, nine = (play("agent_turn_tree", partial(Matcher, 2), cohorts=n)[0] for n in (1, 2, 9))
    assert one == two == nine


def test_a_batch_split_over_processes_draws_the_same_answers():
    make = partial(Delayed, 2)
    parts = [*play_episodes(make, Keyed(), SEEDS[:3]), *play_episodes(make, Keyed(), SEEDS[3:])]
    assert play_episodes(make, Keyed(), SEEDS) == parts


class Echo(Delayed):
    """Pays for any text; asks for it with what was written before, cut to what a tiny model reads."""

    def observation(self, state, agent):
        return f"the {agent} {self.turn} {state}"[-60:]

    def apply(self, state, actions):
        lengths = {agent: len(text) for agent, text in actions.items()}
        numbers = {agent: str(length) for agent, length in lengths.items()}
        return super().apply((*state, *lengths.values()), numbers)


@pytest.mark.slow
def test_a_model_samples_the_same_to_the_last_bit():
    def sampled(workers, **how):
        player = policy(seed=3)
        rollouts = [
            agent_turn_tree(started(partial(Echo, 2), s), s, group_size=3, trained=["a_0", "b_1"])
            for s in SEEDS
        ]
        agents = {"a_0": player, "b_1": player}
        return run_rollouts(rollouts, agents, keys=rollout_keys(SEEDS), workers=workers, **how)

    # log-probabilities included
    assert sampled(1) == sampled(8) == sampled(8, early=True)
    assert sampled(1, cohorts=2) == sampled(8, cohorts=2, early=True)


def asking(text, then=()):
    """A rollout: an answer, then steps, one after the other, then another answer."""
    request = PolicyRequest(agent="a_0", observation=text, env=None)
    yield SampleRequest(request)
    paid = None
    for step in then:
        paid = yield step
    yield SampleRequest(request)
    return paid


class Stepped(Adder):
    """Its steps are a given function."""

    metadata = {**Adder.metadata, "slow_step": True}

    def __init__(self, step, **kwargs):
        super().__init__(max_turns=99, **kwargs)
        self.step_with = step

    def apply(self, state, actions):
        self.step_with()
        return super().apply(state, actions)


def act(step):
    return StepRequest(started(partial(Stepped, step), 0), ("1",))


def met(event):
    """Wait for what must come about meanwhile."""
    assert event.wait(60), "nobody came"


def threads():
    return [t.name for t in threading.enumerate() if t.name.startswith("llmzoo-step")]


class Meeting:
    """A step that ends only when a policy has answered, which answers only while the step lasts."""

    def __init__(self):
        self.time_steps, self.answered = threading.Event(), threading.Event()

    def step(self):
        self.time_steps.set()
        met(self.answered)

    def answer(self):
        met(self.time_steps)
        self.answered.set()


def test_a_slow_step_does_not_keep_the_other_cohort_from_its_answers():
    meeting, asked = Meeting(), []

    def write(request, i):
        asked.append(request.observation)
        if asked == ["slow", "quick"]:  # while the step of the slow rollout goes on
            meeting.answer()
        return ""

    rollouts = [asking("slow", [act(meeting.step)]), asking("quick")]
    results = run_rollouts(rollouts, {"a_0": FakePolicy(write)}, cohorts=2)
    assert results == [{"a_0": 1.0, "b_1": 0.0}, None]
    assert asked == ["slow", "quick", "slow", "quick"]  # in turn, whatever is ready first


class OneByOne(FakePolicy):
    """Hands out each answer before it writes the next."""

    def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
        results = []
        for index, request in enumerate(requests):
            results += super().respond([request], group_size, greedy=greedy)
            on_complete(index, results[-1])
        return results


def test_a_rollout_goes_on_while_the_same_call_still_writes_others():
    meeting = Meeting()

    def write(request, i):
        if request.observation == "long":
            meeting.answer()
        return ""

    rollouts = [asking("short", [act(meeting.step)]), asking("long")]
    clock = RolloutClock()
    results = run_rollouts(rollouts, {"a_0": OneByOne(write)}, early=True, clock=clock)
    assert results == [{"a_0": 1.0, "b_1": 0.0}, None]
    assert clock.answers == 4


def test_a_rollout_goes_on_while_another_policy_writes():
    meeting = Meeting()

    def write(request, i):
        meeting.answer()
        return ""

    def other():
        yield SampleRequest(PolicyRequest(agent="b_1", observation="", env=None))

    agents = {"a_0": FakePolicy(lambda r, i: ""), "b_1": FakePolicy(write)}
    run_rollouts([asking("short", [act(meeting.step)]), other()], agents, early=True)
    assert meeting.answered.is_set()


def test_a_rollout_goes_on_from_step_to_step_while_the_model_samples():
    meeting, first_by = Meeting(), []

    def write(request, i):
        if request.observation == "quick":
            meeting.answer()
        return ""

    steps = [act(lambda: first_by.append(threading.current_thread().name)), act(meeting.step)]
    run_rollouts(
        [asking("slow", steps), asking("quick")], {"a_0": FakePolicy(write)}, cohorts=2, workers=1
    )
    assert first_by[0].startswith("llmzoo-step")


def test_no_more_steps_at_once_than_workers():
    lock, together = threading.Lock(), threading.Barrier(3, timeout=60)
    now, most, done = 0, 0, 0

    def step():
        nonlocal now, most, done
        with lock:
            now += 1
            most = max(most, now)
        together.wait()
        time.sleep(0.002)
        with lock:
            now -= 1
            done += 1

    def rollout():
        yield [act(step) for _ in range(6)]

    clock = RolloutClock()
    run_rollouts([rollout() for _ in range(4)], {}, cohorts=2, workers=3, clock=clock)
    assert (done, clock.steps) == (24, 24)
    assert most == 3
    assert threads() == []


def test_a_failing_step_ends_the_run_and_names_its_environment():
    begun = threading.Event()
    made = []

    def fail():
        met(begun)
        raise ZeroDivisionError("mine")

    def slow():
        begun.set()
        time.sleep(0.05)
        made.append("slow")

    def rollout():
        yield [act(slow), act(fail), *(act(lambda: made.append("after")) for _ in range(50))]
        made.append("went on")

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        run_rollouts([rollout()], {}, workers=2)
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["in a step of adder_v0"]
    assert made.count("slow") == 1  # it had begun, so it was waited for
    assert "after" not in made
    assert "went on" not in made
    assert threads() == []


def test_a_failing_step_is_told_before_any_policy_is_asked_again():
    answering, failing = threading.Event(), threading.Event()
    calls = []

    def fail():
        met(answering)
        failing.set()
        raise ZeroDivisionError

    def write(request, i):
        calls.append(request.observation)
        if request.observation == "q":
            answering.set()
            met(failing)
            time.sleep(0.05)
        return ""

    rollouts = [asking("p", [act(fail)]), asking("q"), asking("r")]
    with pytest.raises(ZeroDivisionError):
        run_rollouts(rollouts, {"a_0": FakePolicy(write)}, cohorts=3)
    assert calls == ["p", "q"]
    assert threads() == []


def test_a_rollout_that_fails_after_a_step_is_not_swallowed():
    def rollout():
        yield act(lambda: None)
        raise RuntimeError("in the rollout")

    with pytest.raises(RuntimeError, match="in the rollout"):
        run_rollouts([rollout()], {})
    assert threads() == []


def test_a_run_that_is_stopped_asks_no_more():
    stop, asked = threading.Event(), []

    def write(request, i):
        asked.append(request.observation)
        stop.set()
        return ""

    with pytest.raises(RolloutsStopped):
        run_rollouts([asking("p")], {"a_0": FakePolicy(write)}, stop=stop)
    assert asked == ["p"]


def test_a_failing_policy_leaves_no_thread():
    def write(request, i):
        raise RuntimeError("no answer")

    rollouts = [asking("p"), asking("q"), only(act(lambda: time.sleep(0.02)))]
    with pytest.raises(RuntimeError, match="no answer"):
        run_rollouts(rollouts, {"a_0": FakePolicy(write)}, cohorts=2)
    assert threads() == []


def only(*acts):
    yield list(acts)


@pytest.fixture
def interruptible():
    """A process that was started in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def main_waits_in(function):
    """Wait until the main thread waits, for a lock, in this function or what it calls."""
    place = function.__code__
    for _ in range(60_000):
        frame = sys._current_frames()[threading.main_thread().ident]
        waits = frame.f_code is threading.Condition.wait.__code__
        while frame is not None and frame.f_code is not place:
            frame = frame.f_back
        if waits and frame is not None:
            return
        time.sleep(0.001)
    raise AssertionError("the main thread is elsewhere")


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("cohorts", [1, 2])
def test_an_interrupt_ends_the_run(cohorts, early):
    """Ctrl-C while the main thread waits for a step, and while a policy answers."""
    finished = []

    def interrupt():
        main_waits_in(write if cohorts == 2 else scheduler._Scheduler.wait)
        time.sleep(0.05)  # a signal that comes just before the wait begins does not end it
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        finished.append("the step")

    def write(request, i):
        threading.Event().wait(60)
        raise AssertionError("no interrupt")

    rollouts = [asking("p"), only(act(interrupt))]
    with pytest.raises(KeyboardInterrupt):
        run_rollouts(rollouts, {"a_0": FakePolicy(write)}, cohorts=cohorts, early=early, workers=1)
    assert finished == ["the step"]
    assert threads() == []


def test_the_clock_tells_what_was_overlapped_from_what_was_waited_for(monkeypatch):
    """Of a step of 8 s a policy answers for 5 s, and waits for the other 3 s."""
    meeting, idle, now = Meeting(), threading.Event(), [0.0]

    class Watched(RolloutClock):
        @contextmanager
        def waiting(self):
            with super().waiting():
                if meeting.answered.is_set():
                    idle.set()
                yield

    def write(request, i):
        if request.observation == "q" and not meeting.answered.is_set():
            met(meeting.time_steps)
            now[0] += 5.0
            meeting.answer()
        return ""

    def step():
        meeting.step()
        met(idle)
        now[0] += 3.0

    monkeypatch.setattr(stepping.time, "monotonic", lambda: now[0])
    clock = Watched()
    run_rollouts(
        [asking("p", [act(step)]), asking("q")], {"a_0": FakePolicy(write)}, cohorts=2, clock=clock
    )
    assert (clock.sampling_seconds, clock.waiting_seconds) == (5.0, 3.0)
    assert (clock.step_seconds, clock.overlapped_seconds) == (8.0, 5.0)
    assert (clock.answers, clock.steps) == (4, 1)


def test_environments_say_that_they_are_slow():
    assert not has_slow_steps([Matcher(), Adder()])
    assert has_slow_steps([Matcher(), Delayed()])
    assert not has_slow_steps([])


@pytest.mark.parametrize("wrong", [{"cohorts": 0}, {"workers": 0}])
def test_somebody_has_to_work(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        run_rollouts([], {}, **wrong)
