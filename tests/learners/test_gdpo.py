"""``normalize="components"`` and ``whiten``: GDPO (arXiv 2601.05242), with numbers worked out by hand."""

from dataclasses import replace

import pytest
from tiny_models import model, tokenizer
from toy_envs import Parity

from llmzoo.errors import ConfigError
from llmzoo.learners import learner_class
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Completion, ComponentReturns, Group
from llmzoo.training import fit

ANSWER = Completion(text="x", prompt_ids=(1,), ids=(2,), logprobs=(-1.0,))
LEARNERS = ("at_grpo", "ccpo", "grpo", "magrpo", "mareinforce", "maremax", "marloo")


def a_group(key=0, **parts):
    """A group whose returns are the sums of the given parts."""
    returns = tuple(map(sum, zip(*parts.values(), strict=True)))
    return Group(
        agent="a_0",
        turn=0,
        key=(key, "a_0"),
        prompt_ids=(1,),
        completions=(ANSWER,) * len(returns),
        returns=returns,
        components={
            name: ComponentReturns(returns=tuple(values)) for name, values in parts.items()
        },
    )


def advantages(name, *groups, **options):
    cls = learner_class(name)
    judged = cls(cls.Config(**options)).compute_advantages(groups)
    return [c.advantages.tolist() for c in judged]


def test_two_parts_won_count_more_than_one():
    """The paper's example: of two answers, one wins both parts, or one of them. GRPO gives both 1 and -1."""
    both = a_group(right=[1.0, 0.0], form=[1.0, 0.0])
    one = a_group(key=1, right=[1.0, 0.0], form=[0.0, 0.0])
    assert advantages("grpo", both, one) == [pytest.approx([1, -1], abs=1e-5)] * 2
    decoupled = advantages("grpo", both, one, normalize="components")
    assert decoupled == [pytest.approx([2, -2], abs=1e-5), pytest.approx([1, -1], abs=1e-5)]


def test_a_part_that_few_answers_win_counts_more():
    """right: mean 3/8, distances (5, -3, -3, 1)/8, deviation sqrt(11)/8; form: mean 1/8, distances
    (-1, -1, 3, -1)/8, deviation sqrt(3)/8."""
    group = a_group(right=[1.0, 0.0, 0.0, 0.5], form=[0.0, 0.0, 0.5, 0.0])
    a, b = 11**0.5, 3**0.5
    expected = [5 / a - 1 / b, -3 / a - 1 / b, -3 / a + 3 / b, 1 / a - 1 / b]
    for name in ("magrpo", "at_grpo", "grpo"):
        (found,) = advantages(name, group, normalize="components")
        assert found == pytest.approx(expected, abs=1e-4)
    # marloo: 4/3 of that in each part
    (found,) = advantages("marloo", group, normalize="components")
    assert found == pytest.approx([4 / 3 * x for x in expected], abs=1e-4)


def test_the_batch_is_brought_to_deviation_1():
    """Two groups with -2, 2 and -1, 1: mean 0, mean square (4 + 4 + 1 + 1)/4 = 5/2."""
    both = a_group(right=[0.0, 1.0], form=[0.0, 1.0])
    one = a_group(key=1, right=[0.0, 1.0], form=[0.0, 0.0])
    same = a_group(key=2, right=[1.0, 1.0], form=[0.0, 0.0])
    found = advantages("magrpo", both, one, normalize="components", whiten=True)
    s = 2.5**0.5
    assert found == [
        pytest.approx([-2 / s, 2 / s], abs=1e-5),
        pytest.approx([-1 / s, 1 / s], abs=1e-5),
    ]
    # a group without differences has no advantages; the mean square is 10/6 with it
    *found, nothing = advantages("magrpo", both, one, same, normalize="components", whiten=True)
    assert nothing == [0.0, 0.0]
    assert found[0][1] == pytest.approx(2 / (10 / 6) ** 0.5, abs=1e-5)


def test_whitened_returns_have_the_batch_as_baseline():
    """mareinforce: 0, 1, 0, 3 less 1, over sqrt((1 + 0 + 1 + 4)/4); a return of 0 is worse than the mean."""
    groups = a_group(r=[0.0, 1.0]), a_group(key=1, r=[0.0, 3.0])
    s = 1.5**0.5
    expected = [pytest.approx([-1 / s, 0.0], abs=1e-5), pytest.approx([-1 / s, 2 / s], abs=1e-5)]
    assert advantages("mareinforce", *groups, whiten=True) == expected


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_single_part_is_the_whole(name, whiten):
    """Bit for bit, with the group's own deviation; and a group without named parts is its only part."""
    returns, counterfactual_returns = (0.1, 0.7, 0.2, 0.4), (0.3, 0.3, 0.1, 0.6)
    part = ComponentReturns(
        returns=returns, greedy=0.35, counterfactual_returns=counterfactual_returns
    )
    plain = replace(
        a_group(r=returns),
        greedy=0.35,
        counterfactual_returns=counterfactual_returns,
        components={},
    )
    named = replace(plain, components={"r": part})
    whole = advantages(name, plain, normalize=True, whiten=whiten)
    assert advantages(name, named, normalize="components", whiten=whiten) == whole
    assert advantages(name, plain, normalize="components", whiten=whiten) == whole


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("magrpo", {"normalize": "part"}),
        ("magrpo", {"normalize": "components", "rewards": ("scale 2",)}),
        ("magrpo", {"normalize": "components", "role_baseline": 0.9}),
        ("magrpo", {"whiten": True, "role_baseline": 0.9}),
        ("at_grpo", {"normalize": "components", "team_reward_weight": 2.0}),
        ("maxrl", {"normalize": "components"}),
    ],
)
def test_settings_without_a_meaning_are_refused(name, wrong):
    with pytest.raises(ConfigError, match="normalize"):
        learner_class(name).Config(**wrong)


class TwoParts(Parity):
    """Also pays 1 for a text whose first character's code, halved, is even, beside 0.02 for its parity."""

    def apply(self, state, actions):
        state, outcome = super().apply(state, actions)
        ((agent, text),) = actions.items()
        early = text != "" and ord(text[0]) // 2 % 2 == 0
        return state, outcome._replace(
            team=0.02 * outcome.team,
            local={agent: {"early": float(early)}},
            success=outcome.success and early,
        )


@pytest.mark.slow
def test_a_small_part_is_learned_beside_a_large_one(tmp_path):
    player = TransformersPolicy(
        model(initializer_range=0.1), tokenizer(), sampling=Sampling(max_new_tokens=1)
    )
    result = fit(
        "magrpo",
        TwoParts,
        out=tmp_path / "run",
        policies={"writer_0": player},
        steps=40,
        episodes_per_step=16,
        learner_args={
            **{"learning_rate": 5e-3, "group_size": 8, "normalize": "components", "whiten": True}
        },
        eval_tasks=200,
        quiet=True,
    )
    assert result.before["success"] < 0.5
    assert result.after["success"] >= 0.9
