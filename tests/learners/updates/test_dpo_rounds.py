"""Rounds: whom answers come from, what they are compared with, and that a run goes on exactly."""

import pytest
import torch
from float64 import assert_equal
from tiny_models import model, policy, tokenizer
from toy_envs import Parities, Parity

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import ConfigError
from llmzoo.learners.dpo import DPO, MADPO
from llmzoo.learners.updates.dpo import starts_round
from llmzoo.learners.updates.dpo_reference import RoundReference
from llmzoo.models.lora import adapter_parameters
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.policies.transformers import TransformersPolicy

pytestmark = pytest.mark.slow

AGENTS = ("writer_0", "writer_1")


def a_player(seed=0, length=2):
    made = model(seed=seed, initializer_range=0.1)
    return TransformersPolicy(made, tokenizer(), sampling=Sampling(max_new_tokens=length))


def shared():
    one = a_player()
    return {"policy": one}, dict.fromkeys(AGENTS, one)


def separate():
    own = {agent: a_player(seed) for seed, agent in enumerate(AGENTS)}
    return own, own


def adapters():
    own = a_player().with_adapters(AGENTS, r=4)
    return own, own


def an_engine(learner, arranged, total_steps=6, **options):
    options = {"learning_rate": 1e-2, "rounds": 2, **options}
    return LocalEngine(learner(learner.Config(**options)), *arranged, total_steps=total_steps)


def play(engine, step):
    for player in engine.policies.values():
        player.reseed(step)
    torch.manual_seed(step)
    return engine.collect(Parities, [10 * step + n for n in range(4)])


def iterate(engine, step):
    return engine.update(play(engine, step), seed=step)


def trained(engine):
    return {n: [p.detach().clone() for p in x.parameters()] for n, x in engine.policies.items()}


def compared_with(engine):
    """The weights of each reference: of its adapter, or the model; none for the bare base."""
    result = {}
    for name, reference in engine.updater.references.items():
        player = reference.player
        if engine.policies[name].adapter is None:
            result[name] = [p.detach().clone() for p in player.model.parameters()]
        elif player.adapter is None:
            result[name] = []
        else:
            own = adapter_parameters(player.model, player.adapter)
            result[name] = [p.detach().clone() for p in own.values()]
    return result


def same(one, other):
    return one.keys() == other.keys() and all(
        len(one[n]) == len(other[n])
        and all(torch.equal(a, b) for a, b in zip(one[n], other[n], strict=True))
        for n in one
    )


def test_rounds_divide_the_run():
    def starts(rounds, total):
        return [i for i in range(total) if starts_round(i, rounds=rounds, total=total)]

    assert starts(1, 5) == [0]
    assert starts(2, 6) == [0, 3]
    assert starts(3, 10) == [0, 4, 7]  # of 4, 3 and 3
    assert starts(5, 5) == [0, 1, 2, 3, 4]
    assert starts(0, 3) == [0, 1, 2]


def test_more_rounds_than_steps_are_refused():
    with pytest.raises(
        ConfigError, match="rounds must be at most 6, the number of steps, got 7; rounds=0"
    ):
        an_engine(DPO, shared(), rounds=7)


# both learners, and every way to hold the weights
PAIRS = [(DPO, shared), (MADPO, separate), (MADPO, adapters)]


@pytest.mark.parametrize(("learner", "arranged"), PAIRS)
def test_the_reference_changes_exactly_where_a_round_starts(learner, arranged):
    engine = an_engine(learner, arranged(), total_steps=4, rounds=2)
    starts = [compared_with(engine)]
    for step in range(4):
        assert same(compared_with(engine), starts[step // 2])
        iterate(engine, step)
        if step == 1:
            starts.append(trained(engine))  # what the second round starts from
            assert not same(*starts)
    assert same(compared_with(engine), starts[1])  # no round starts where the run ends


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("arranged", [shared, separate, adapters])
def test_answers_come_from_the_reference_and_are_compared_with_it(arranged):
    engine = an_engine(DPO, arranged(), rounds=1)
    iterate(engine, 0)
    batch = play(engine, 1)
    players = engine.updater.rollout_policies()
    for group in batch.groups:
        noted = [x for c in group.completions for x in c.logprobs]
        its = players[group.agent].likelihood([group])
        assert_equal(its.logprobs[its.mask == 1], torch.tensor(noted))
        ours = engine.agent_policies[group.agent].likelihood([group])
        assert ours.logprobs[ours.mask == 1].tolist() != pytest.approx(noted, abs=1e-3)
    # the policies have moved, so there is a margin from the first step of this update on
    metrics = engine.update(batch, seed=1)
    assert all(metrics[k] != 0.0 for k in metrics if k.endswith("rewards/margins"))


def test_every_iteration_can_be_a_round_of_its_own():
    engine = an_engine(DPO, shared(), rounds=0, total_steps=3)
    for step in range(2):
        iterate(engine, step)
        assert same(compared_with(engine), trained(engine))
    margin = iterate(engine, 2)["rewards/margins"]
    assert margin == pytest.approx(0.0, abs=1e-7)  # one step, taken where both were the same


def test_what_the_reference_samples_counts_as_the_policys():
    engine = an_engine(DPO, shared())
    batch = play(engine, 0)
    engine.update(batch, seed=0)
    sampled = sum(len(c.ids) for g in batch.groups for c in g.completions)
    assert sampled == 4 * 2 * 4 * 2  # envs, agents, answers, tokens
    assert engine.policies["policy"].tokens_sampled == sampled
    iterate(engine, 1)
    assert engine.policies["policy"].tokens_sampled == 2 * sampled


def test_other_agents_are_played_by_who_sits_there():
    player, other = a_player(), ScriptedPolicy(lambda r: "p")
    engine = an_engine(MADPO, ({"policy": player}, {"writer_0": player, "writer_1": other}))
    assert engine.updater.rollout_policies()["writer_1"] is other
    assert engine.updater.rollout_policies()["writer_0"] is not player
    metrics = iterate(engine, 0)
    assert metrics["pairs"] > 0


@pytest.mark.parametrize(
    ("learner", "arranged", "stop"),  # in the first round and in the second
    [(MADPO, shared, 1), (DPO, separate, 3), (DPO, adapters, 1), (MADPO, adapters, 3)],
)
def test_a_run_goes_on_exactly_in_the_middle_of_a_round(learner, arranged, stop, tmp_path):
    options = {"schedule": "linear", "batch_size": 4, "total_steps": 4}
    whole = an_engine(learner, arranged(), **options)
    for step in range(stop):
        iterate(whole, step)
    whole.save(tmp_path)
    assert not list(tmp_path.rglob("*.bin")) + list(tmp_path.rglob("*.pt"))
    resumed = an_engine(learner, arranged(), **options)
    resumed.load(tmp_path)
    assert same(trained(resumed), trained(whole))
    assert same(compared_with(resumed), compared_with(whole))
    for step in range(stop, 4):
        assert iterate(whole, step) == iterate(resumed, step)
    assert same(trained(resumed), trained(whole))
    assert same(compared_with(resumed), compared_with(whole))


def test_an_adapters_first_reference_is_the_bare_base_and_the_base_never_changes():
    engine = an_engine(MADPO, adapters(), total_steps=4, rounds=2)
    whole = engine.policies["writer_0"].model
    frozen = {n: p.detach().clone() for n, p in whole.named_parameters() if "agent_" not in n}
    assert all(r.player.adapter is None for r in engine.updater.references.values())
    iterate(engine, 0)
    iterate(engine, 1)
    names = [r.player.adapter for r in engine.updater.references.values()]
    assert None not in names
    assert len(set(names)) == 2
    for step in (2, 3):
        iterate(engine, step)
    assert len(whole.peft_config) == 4  # two agents, two references: none is left behind
    after = dict(whole.named_parameters())
    assert all(torch.equal(frozen[n], after[n]) for n in frozen)


@pytest.mark.parametrize(("learner", "arranged"), [(MADPO, separate), (DPO, adapters)])
def test_training_one_agent_leaves_the_others_bit_identical(learner, arranged):
    policies, _ = arranged()
    quiet = policies["writer_1"]
    # the second agent plays, but does not learn
    agents = {"writer_0": policies["writer_0"], "writer_1": quiet}
    engine = an_engine(learner, ({"writer_0": policies["writer_0"]}, agents), rounds=0)
    before = [p.detach().clone() for p in quiet.parameters()]
    start = trained(engine)
    for step in range(3):
        iterate(engine, step)
    assert all(torch.equal(a, b) for a, b in zip(before, quiet.parameters(), strict=True))
    assert not same(start, trained(engine))


def test_an_adapter_on_the_output_layer_learns():
    own = a_player().with_adapters(AGENTS, r=4, target_modules=["lm_head"])
    engine = an_engine(DPO, (own, own))
    before = trained(engine)
    iterate(engine, 0)
    assert not same(before, trained(engine))


def test_a_reference_of_a_saved_adapter_is_a_copy_of_it(tmp_path):
    own, _ = adapters()
    one = own["writer_0"]
    with torch.no_grad():
        for parameter in one.parameters():
            parameter += 0.1
    kept = RoundReference(one)
    assert kept.player.adapter is not None
    kept.save(tmp_path / "kept")
    before = [p.detach().clone() for p in one.parameters()]
    with torch.no_grad():
        for parameter in one.parameters():
            parameter += 0.1
    kept.refresh()
    own = adapter_parameters(one.model, kept.player.adapter)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), own.values(), strict=True))
    kept.load(tmp_path / "kept")
    assert all(torch.equal(a, b) for a, b in zip(before, own.values(), strict=True))


def test_one_agent_alone_plays_through_its_own_prompts():
    player = policy(sampling=Sampling(max_new_tokens=2))
    engine = LocalEngine(
        DPO(DPO.Config(pairs="gap")), {"policy": player}, {"writer_0": player}, total_steps=2
    )
    batch = engine.collect(Parity, range(4))
    assert {g.prompt_ids for g in batch.groups} <= {player.encode("U"), player.encode("D")}
    assert engine.update(batch, seed=0)["pairs"] <= 4
