"""The loss and its gradients: those of TRL, a hand-written one, brute force for joint answers."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from datasets import Dataset
from float64 import LIMIT, assert_equal
from quick_cases import slow_but
from tiny_models import group, policy
from trl import DPOConfig as TRLArguments
from trl import DPOTrainer
from trl.trainer.dpo_trainer import DataCollatorForPreference

from llmzoo.engine.local import LocalEngine
from llmzoo.learners.configs.preferences import JOINT_LOSS_NAMES, LOSS_NAMES
from llmzoo.learners.dpo import DPO, MADPO
from llmzoo.learners.preference_losses import LOSSES
from llmzoo.learners.updates.dpo import pair_logps
from llmzoo.learners.updates.pairs import Pair
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.records import Batch

END = 0


A = group([(20, 21, END), (22, END), (23, 24, 25, 26)], (1.0, 0.0, 0.5), agent="a_0")
B = group([(30, END), (31, 32, 33, END), (34, 35)], (1.0, 0.0, 0.5), agent="b_1", prompt=(7, 8, 9))
A2 = group([(40, END), (41, 42), (43, 44, END)], (0.0, 2.0, 0.5), prompt=(10,), agent="a_0", node=1)
B2 = group([(21, 22), (45, END), (46, END)], (0.0, 2.0, 0.25), prompt=(11, 12), agent="b_1", node=1)


def an_engine(learner, policies, agents=None, **options):
    """An engine whose policies have moved on from their references."""
    options.setdefault("max_grad_norm", 1e9)
    engine = LocalEngine(
        learner(learner.Config(**{"learning_rate": 1e-3, "pairs": "gap", "rounds": 1, **options})),
        policies,
        agents or dict.fromkeys(["a_0", "b_1"], next(iter(policies.values()))),
        total_steps=5,
    )
    torch.manual_seed(7)
    with torch.no_grad():
        for moved in policies.values():
            for parameter in moved.parameters():
                parameter += 0.03 * torch.randn_like(parameter)
    return engine


def gradients(engine, *groups):
    """The metrics of an update, and the gradients that each optimiser was given; nothing moves."""
    result = {}
    for name, optimizer in engine.updater.optimizers.items():

        def step(name=name, optimizer=optimizer):
            grads = [p.grad for p in optimizer.parameters]
            result[name] = [grad.clone() for grad in grads if grad is not None]
            return 0.0

        optimizer.step = step
    metrics = engine.update(Batch(groups=groups), seed=0)
    for optimizer in engine.updater.optimizers.values():
        optimizer.zero_grad()
    return metrics, result


def close(result, wanted):
    assert len(result) == len(wanted) > 0
    assert max(float(w.abs().max()) for w in wanted) > 1e-4  # there is something to compare
    for a, b in zip(result, wanted, strict=True):
        assert_equal(a, b)


def one_loss(loss_type):
    """Options with which a loss is what its paper says."""
    needed = {"exo_pair": {"label_smoothing": 0.01}, "robust": {"label_smoothing": 0.1}}
    return {"loss_type": loss_type, **needed.get(loss_type, {})}


class TokenRows(DPOTrainer):
    """TRL's trainer, which takes text only, on rows of tokens; the rest is as it is."""

    def _prepare_dataset(self, dataset, *args):
        return dataset


def trl_itself(player, reference, pairs, tmp_path, **options):
    """Loss and gradients of TRL's trainer with its own reference model."""
    ids = [
        {
            "prompt_ids": list(p.prompt_ids),
            "chosen_ids": list(p.chosen_ids),
            "rejected_ids": list(p.rejected_ids),
        }
        for p in pairs
    ]
    model = copy.deepcopy(player.model)
    trainer = TokenRows(
        model,
        ref_model=copy.deepcopy(reference.model),
        args=TRLArguments(
            output_dir=str(tmp_path), bf16=False, use_cpu=True, report_to=[], max_length=None,
            gradient_checkpointing=False, **options
        ),
        train_dataset=Dataset.from_list(ids),
        processing_class=player.tokenizer,
    )  # fmt: skip
    loss = trainer.compute_loss(
        trainer.model, DataCollatorForPreference(pad_token_id=player.pad_id)(ids)
    )
    loss.backward()
    return loss.item(), [p.grad for p in model.parameters() if p.requires_grad]


def pair_of(group, chosen, rejected):
    ids = [completion.ids for completion in group.completions]
    return Pair(
        agent=group.agent,
        prompt_ids=group.prompt_ids,
        chosen_ids=ids[chosen],
        rejected_ids=ids[rejected],
    )


BEST = [pair_of(A, 0, 1), pair_of(B, 0, 1), pair_of(A2, 1, 0), pair_of(B2, 1, 0)]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("loss_type", slow_but(["sigmoid", "ipo", "hinge"], LOSSES))
def test_dpo_is_what_trl_computes_for_the_same_pairs(loss_type, tmp_path):
    engine = an_engine(DPO, {"policy": policy()}, beta=0.3, **one_loss(loss_type))
    reference = engine.updater.references["policy"].player
    metrics, result = gradients(engine, A, B, A2, B2)
    options = one_loss(loss_type)
    loss, wanted = trl_itself(
        engine.policies["policy"], reference, BEST, tmp_path,
        beta=0.3, **options | {"loss_type": [loss_type]},
    )  # fmt: skip
    assert metrics["loss"] == pytest.approx(loss, rel=LIMIT)
    close(result["policy"], wanted)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    "given",
    [
        {"ld_alpha": 0.4},
        {"f_divergence_type": "js_divergence"},
        {"f_divergence_type": "forward_kl"},
        {"label_smoothing": 0.2},
        {"label_smoothing": 0.2, "loss_type": "aot"},
        {"discopop_tau": 0.5, "loss_type": "discopop"},
        {"ld_alpha": 0.4, "loss_type": "sft"},
    ],
    ids=str,
)
def test_options_do_what_they_do_in_trl(given, tmp_path):
    given = dict(given)
    default = "robust" if "label_smoothing" in given else "sigmoid"
    loss_type = given.pop("loss_type", default)
    engine = an_engine(DPO, {"policy": policy()}, **given, loss_type=loss_type)
    reference = engine.updater.references["policy"].player
    metrics, result = gradients(engine, A, B, A2, B2)
    player = engine.policies["policy"]
    options = {"beta": 0.1, "loss_type": [loss_type]}
    loss, wanted = trl_itself(player, reference, BEST, tmp_path, **options, **given)
    assert metrics["loss"] == pytest.approx(loss, rel=LIMIT)
    close(result["policy"], wanted)
    plain, _ = trl_itself(player, reference, BEST, tmp_path, beta=0.1)
    assert abs(plain - loss) > 1e-4  # the option does something here


@pytest.mark.usefixtures("float64")
def test_several_losses_are_weighed(tmp_path):
    both = {"loss_type": ("sigmoid", "sft"), "loss_weights": (1.0, 0.5)}
    engine = an_engine(DPO, {"policy": policy()}, **both)
    reference = engine.updater.references["policy"].player
    metrics, result = gradients(engine, A, B, A2, B2)
    loss, wanted = trl_itself(
        engine.policies["policy"], reference, BEST, tmp_path,
        beta=0.1, loss_type=["sigmoid", "sft"], loss_weights=[1.0, 0.5],
    )  # fmt: skip
    assert metrics["loss"] == pytest.approx(loss, rel=LIMIT)
    close(result["policy"], wanted)


def answer_logp(player, prompt, ids):
    """The sum of an answer's log-probabilities, from the plain logits of one unpadded row."""
    with player.ready():
        logits = player.model(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1]
    return logits.log_softmax(-1).gather(1, torch.tensor(ids).unsqueeze(1)).sum()


def log_ratio(player, reference, prompt, ids):
    with torch.no_grad():
        then = answer_logp(reference, prompt, ids)
    return answer_logp(player, prompt, ids) - then


def ratios(player, reference, pair):
    """The log-ratios of the chosen and of the rejected answer."""
    return torch.stack(
        [
            log_ratio(player, reference, pair.prompt_ids, ids)
            for ids in (pair.chosen_ids, pair.rejected_ids)
        ]
    )


@pytest.mark.usefixtures("float64")
def test_dpo_is_the_sigmoid_loss_written_by_hand():
    engine = an_engine(DPO, {"policy": policy()}, beta=0.5)
    player, reference = engine.policies["policy"], engine.updater.references["policy"].player
    metrics, result = gradients(engine, A, B, A2, B2)
    chosen, rejected = torch.stack([ratios(player, reference, pair) for pair in BEST]).T
    margins = chosen - rejected
    loss = -F.logsigmoid(0.5 * margins).mean()
    loss.backward()
    assert metrics["loss"] == pytest.approx(loss.item(), rel=LIMIT)
    assert metrics["rewards/margins"] == pytest.approx(0.5 * margins.mean().item(), rel=LIMIT)
    assert metrics["rewards/accuracies"] == (margins > 0).float().mean().item()
    close(result["policy"], [p.grad for p in player.model.parameters()])


@pytest.mark.usefixtures("float64")
def test_parts_of_a_step_give_the_gradient_of_the_whole():
    whole, parts = (
        gradients(an_engine(DPO, {"policy": policy()}, microbatch_rows=n), A, B, A2, B2)
        for n in (64, 2)
    )
    close(parts[1]["policy"], whole[1]["policy"])


JOINT = [(BEST[0], BEST[1]), (BEST[2], BEST[3])]


# of the log-ratios c of the chosen and r of the rejected answer, both times beta: as in the papers
FORMULAS = {
    "sigmoid": lambda c, r: -F.logsigmoid(c - r),
    "hinge": lambda c, r: (1 - (c - r)).clamp(min=0),
    "exo_pair": lambda c, r: (
        torch.sigmoid(c - r) * (F.logsigmoid(c - r) - math.log(1 - 0.01))
        + torch.sigmoid(r - c) * (F.logsigmoid(r - c) - math.log(0.01))
    ),
    "nca_pair": lambda c, r: -F.logsigmoid(c) - (F.logsigmoid(-c) + F.logsigmoid(-r)) / 2,
    "robust": lambda c, r: (-0.9 * F.logsigmoid(c - r) + 0.1 * F.logsigmoid(r - c)) / 0.8,
    "bco_pair": lambda c, r: -F.logsigmoid(c) - F.logsigmoid(-r),
    "sppo_hard": lambda c, r: ((c - 0.5) ** 2 + (r + 0.5) ** 2) / BETA**2,
    "apo_zero": lambda c, r: 1 - torch.sigmoid(c) + torch.sigmoid(r),
    "apo_down": lambda c, r: torch.sigmoid(c) + 1 - torch.sigmoid(c - r),
    "discopop": lambda c, r: (
        -F.logsigmoid(c - r) * torch.sigmoid((r - c) / 0.05)
        + torch.exp(r - c) * torch.sigmoid((c - r) / 0.05)
    ),
}
BETA = 0.3


def brute_force(players, references, joint, formula=FORMULAS["sigmoid"]):
    """The loss of the sums of the agents' log-ratios, in one graph of all policies."""
    losses = [
        formula(*(BETA * sum(ratios(players[p.agent], references[p.agent], p) for p in pairs)))
        for pairs in joint
    ]
    return torch.stack(losses).mean()


def arranged(how):
    if how == "shared":
        shared = policy()
        return {"policy": shared}, {"a_0": shared, "b_1": shared}
    own = {"a_0": policy(seed=0), "b_1": policy(seed=1)}
    return own, own


def adapters(checkpointing=False):
    own = policy(gradient_checkpointing=checkpointing).with_adapters(["a_0", "b_1"], r=4)
    return own, own


def check_joint(policies, agents, formula=FORMULAS["sigmoid"], **options):
    """The gradients that the policies are given, and those of brute force."""
    engine = an_engine(MADPO, policies, agents, beta=BETA, **options)
    references = dict(engine.updater.rollout_policies())
    metrics, result = gradients(engine, A, B, A2, B2)
    loss = brute_force(agents, references, JOINT, formula)
    loss.backward()
    for name, player in policies.items():
        close(result[name], [p.grad for p in player.parameters()])
        key = "loss" if len(policies) == 1 else f"{name}/loss"
        assert metrics[key] == pytest.approx(loss.item(), rel=LIMIT)
    return result


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("how", ["shared", "separate"])
def test_joint_gradients_are_those_of_brute_force(how):
    result = check_joint(*arranged(how))
    # not the same as each agent by itself
    _, apart = gradients(an_engine(DPO, *arranged(how), beta=BETA), A, B, A2, B2)
    for name, joint in result.items():
        far = max(float((a - b).abs().max()) for a, b in zip(joint, apart[name], strict=True))
        assert far > 1e-2 * max(float(a.abs().max()) for a in joint)


@pytest.mark.usefixtures("float64")
def test_joint_gradients_do_not_depend_on_parts():
    check_joint(*arranged("shared"), microbatch_rows=1)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("checkpointing", [False, True])
def test_agents_with_an_adapter_each_have_the_joint_gradient_too(checkpointing):
    check_joint(*adapters(checkpointing))


def test_options_accept_the_losses_that_there_are():
    assert set(LOSSES) == set(LOSS_NAMES)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    "loss_type",  # in `make test`: one that is bounded, one of two terms, one with an option
    [
        name
        if name in ("hinge", "bco_pair", "robust")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in JOINT_LOSS_NAMES
    ],
)
def test_every_joint_loss_is_of_the_sums(loss_type):
    check_joint(*arranged("separate"), FORMULAS[loss_type], **one_loss(loss_type))


@pytest.mark.usefixtures("float64")
def test_three_agents_of_which_two_share_weights():
    shared, own = policy(seed=0), policy(seed=1)
    policies = {"shared": shared, "own": own}
    agents = {"a_0": shared, "b_1": own, "c_2": shared, "d_3": ScriptedPolicy(lambda r: "")}
    third = group([(50, END), (51, END), (52, 53)], (1.0, 0.0, 0.5), agent="c_2", prompt=(3, 4))
    engine = an_engine(MADPO, policies, agents, beta=BETA)
    references = dict(engine.updater.rollout_policies())
    _, result = gradients(engine, A, B, third)
    joint = [(pair_of(A, 0, 1), pair_of(B, 0, 1), pair_of(third, 0, 1))]
    brute_force(agents, references, joint).backward()
    close(result["shared"], [p.grad for p in shared.model.parameters()])
    close(result["own"], [p.grad for p in own.model.parameters()])


@pytest.mark.usefixtures("float64")
def test_with_one_agent_the_joint_form_is_dpo():
    runs = []
    for learner in (DPO, MADPO):
        engine = an_engine(learner, {"policy": policy()}, pairs="all")
        metrics = [engine.update(Batch(groups=(A, A2)), seed=seed) for seed in range(3)]
        runs.append((metrics, [p.detach() for p in engine.policies["policy"].parameters()]))
    (one, weights), (joint, joint_weights) = runs
    for a, b in zip(one, joint, strict=True):
        assert a.keys() == b.keys()
        assert a["pairs"] == b["pairs"] == 6
        assert a["loss"] == pytest.approx(b["loss"], rel=LIMIT)
    for a, b in zip(weights, joint_weights, strict=True):
        assert_equal(a, b)


@pytest.mark.usefixtures("float64")
def test_log_probabilities_are_those_of_plain_rows():
    player = policy()
    result, _ = pair_logps(player, BEST)
    for pair, row in zip(BEST, result, strict=True):
        for ids, value in zip((pair.chosen_ids, pair.rejected_ids), row, strict=True):
            wanted = answer_logp(player, pair.prompt_ids, ids)
            assert value.item() == pytest.approx(wanted.item(), rel=LIMIT)


@pytest.mark.parametrize("precision", ["float32", "bf16_autocast", "bf16"])
def test_equal_weights_have_ratio_1_in_any_arithmetic(precision):
    """Rounded to 8 bits in two different ways these log-probabilities would be about 0.1 apart."""
    player = policy(precision=precision)
    engine = LocalEngine(
        DPO(DPO.Config(beta=1.0, pairs="gap")), {"policy": player}, {"a_0": player}, total_steps=1
    )
    metrics, _ = gradients(engine, A, A2)
    assert metrics["rewards/chosen"] == metrics["rewards/rejected"] == 0.0
    assert metrics["loss"] == pytest.approx(0.693147, rel=1e-5)  # log 2
