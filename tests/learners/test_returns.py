import math

import pytest
import torch

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners.advantages import leave_one_out, mean_baseline, normalize_by_std, raw_return
from llmzoo.learners.returns import (
    clamp,
    compose,
    parse_reward_functions,
    scale,
    shift,
    standardise,
    unit_variance,
)

BATCH = [torch.tensor([1.0, 0.0]), torch.tensor([2.0, 5.0, 2.0])]  # mean 2
# squared distances 1, 4, 0, 9, 0: variance 14 / 5
SPREAD = (14 / 5) ** 0.5


def lists(returns):
    return [group.tolist() for group in returns]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (scale(2), [[2.0, 0.0], [4.0, 10.0, 4.0]]),
        (scale(-1), [[-1.0, 0.0], [-2.0, -5.0, -2.0]]),
        (shift(-0.5), [[0.5, -0.5], [1.5, 4.5, 1.5]]),
        (clamp(0.5, 3), [[1.0, 0.5], [2.0, 3.0, 2.0]]),
        (clamp(-math.inf, 1), [[1.0, 0.0], [1.0, 1.0, 1.0]]),
        (unit_variance(), [[1 / SPREAD, 0.0], [2 / SPREAD, 5 / SPREAD, 2 / SPREAD]]),
        (standardise(), [[-1 / SPREAD, -2 / SPREAD], [0.0, 3 / SPREAD, 0.0]]),
        (compose(), [[1.0, 0.0], [2.0, 5.0, 2.0]]),
    ],
    ids=["scale", "flip", "shift", "clamp", "above", "unit_variance", "standardised", "nothing"],
)
def test_worked_numbers(function, expected):
    before = lists(BATCH)
    result = function(BATCH)
    assert isinstance(result, list)
    for group, numbers in zip(result, expected, strict=True):
        assert group.dtype == torch.float32
        assert group.tolist() == pytest.approx(numbers)
    assert lists(BATCH) == before  # what was given stays


def test_composition_runs_from_first_to_last():
    assert lists(compose(shift(1), scale(2))([torch.tensor([1.0])])) == [[4.0]]
    assert lists(compose(scale(2), shift(1))([torch.tensor([1.0])])) == [[3.0]]
    nested = compose(compose(shift(1)), compose(scale(2), clamp(0, 3)))
    assert lists(nested([torch.tensor([1.0])])) == [[3.0]]


@pytest.mark.parametrize("value", [0.0, 0.1, 100.1, -12345.678])
def test_a_batch_without_spread(value):
    same = [torch.full((300,), value), torch.full((1,), value)]
    assert lists(unit_variance()(same)) == lists(same)
    assert lists(standardise()(same)) == [[0.0] * 300, [0.0]]


def test_rounding_is_no_spread():
    value = torch.tensor(100.1)
    above = torch.nextafter(value, torch.tensor(math.inf))
    nearly = [torch.stack([value, above])]  # 8e-6 apart
    assert above > value
    assert lists(unit_variance()(nearly)) == lists(nearly)
    assert lists(standardise()(nearly)) == [[0.0, 0.0]]
    apart = [value - 100.1, above - 100.1 + 0.01]  # but a hundredth is one
    assert standardise()([torch.stack(apart)])[0].tolist() == pytest.approx([-1.0, 1.0])


def test_a_batch_without_groups():
    everything = compose(scale(2), shift(1), clamp(-1, 1), unit_variance(), standardise())
    assert everything([]) == []


def gradients(returns, credit):
    """The gradient on each answer's log-probability, -A over the batch."""
    return torch.cat([-credit(group) for group in returns])


@pytest.mark.parametrize("credit", [mean_baseline, leave_one_out])
def test_a_shift_changes_nothing_under_a_group_baseline(credit):
    result = gradients(shift(-3.0)(BATCH), credit)
    assert torch.allclose(result, gradients(BATCH, credit), atol=1e-6)


def test_a_shift_changes_every_gradient_without_a_baseline():
    result = gradients(shift(-3.0)(BATCH), raw_return) - gradients(BATCH, raw_return)
    assert result.tolist() == [3.0] * 5


def test_a_scale_is_undone_by_normalisation():
    def normalised(group):
        return normalize_by_std(mean_baseline(group), group)

    plain, scaled = gradients(BATCH, mean_baseline), gradients(scale(4)(BATCH), mean_baseline)
    assert torch.allclose(scaled, 4 * plain)
    result = gradients(scale(4)(BATCH), normalised)
    assert torch.allclose(result, gradients(BATCH, normalised), atol=1e-4)


def test_unit_variance_keeps_the_weights_of_groups_among_each_other():
    plain, result = (
        gradients(BATCH, mean_baseline),
        gradients(unit_variance()(BATCH), mean_baseline),
    )
    assert torch.allclose(result * SPREAD, plain)
    thousandfold = unit_variance()(scale(1000)(BATCH))
    assert torch.allclose(gradients(thousandfold, mean_baseline), result)
    # under a group baseline, the batch's mean cancels
    assert torch.allclose(gradients(standardise()(BATCH), mean_baseline), result, atol=1e-6)


def test_standardised_is_a_baseline_for_raw_returns():
    result = gradients(standardise()(BATCH), raw_return)
    assert result.sum().item() == pytest.approx(0, abs=1e-5)
    assert (result > 0).any()
    assert (result < 0).any()
    assert (gradients(BATCH, raw_return) <= 0).all()  # each answer would be made likelier


def test_a_greedy_return_goes_through_as_a_group_of_its_own():
    returns, greedy = shift(-3.0)([torch.tensor([1.0, 0.0]), torch.tensor([0.5])])
    assert (returns - greedy).tolist() == [0.5, -0.5]


def test_parse_spells_the_functions_in_order():
    spec = ["shift -0.5", "scale 2", "clamp -1 1.5", "unit_variance", "standardised"]
    by_hand = compose(shift(-0.5), scale(2), clamp(-1, 1.5), unit_variance(), standardise())
    assert lists(parse_reward_functions(spec)(BATCH)) == lists(by_hand(BATCH))
    # 1, 0, 2, 5, 2 -> 0.5, -0.5, 1.5, 4.5, 1.5 -> 1, -1, 3, 9, 3 -> 1, -1, 1.5, 1.5, 1.5
    assert lists(parse_reward_functions(spec[:3])(BATCH)) == [[1.0, -1.0], [1.5, 1.5, 1.5]]
    assert lists(parse_reward_functions(())(BATCH)) == lists(BATCH)
    assert lists(parse_reward_functions(["  clamp   -inf 1 "])(BATCH)) == [
        [1.0, 0.0],
        [1.0, 1.0, 1.0],
    ]


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"'scael'\. Did you mean 'scale'\? Known: clamp, "):
        parse_reward_functions(["shift 1", "scael 2"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (["scale"], r"'scale' has 0 numbers; the form is 'scale FACTOR'"),
        (["clamp 1"], r"'clamp 1' has 1 numbers; the form is 'clamp LOW HIGH'"),
        (["unit_variance 2"], r"has 1 numbers; the form is 'unit_variance'"),
        (["shift much"], r"in 'shift much', only numbers may follow 'shift'"),
        (["scale __import__('os')"], r"only numbers may follow 'scale'"),
        (["clamp 1 -1"], r"low below high, got 1.0 and -1.0"),
        (["clamp 1 1"], r"low below high"),
        (["clamp nan 1"], r"low below high"),
        (["scale 0"], r"finite factor other than 0, got 0.0"),
        (["scale nan"], r"finite factor"),
        (["shift inf"], r"finite offset"),
        ([""], r"a text such as 'scale 2', got ''"),
        ([{"scale": 2}], r"a text such as 'scale 2', got \{'scale': 2\}"),
        ("scale 2", r"are a list, write \['scale 2'\]"),
    ],
)
def test_what_cannot_be_used_is_refused_when_it_is_parsed(spec, message):
    with pytest.raises(ConfigError, match=message):
        parse_reward_functions(spec)
