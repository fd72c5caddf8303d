"""Prompts that are too long for a model: they are counted, and a run that has no others ends."""

import json

import pytest
from tiny_models import FakePolicy, policy
from toy_envs import Parities, Parity

import llmzoo
from llmzoo.cli import main
from llmzoo.errors import ConfigError
from llmzoo.learners.sft import SFT
from llmzoo.models.sampling import Sampling
from llmzoo.records import Batch, Completion, Decision, Episode, Group
from llmzoo.training import fit, metrics

pytestmark = pytest.mark.filterwarnings("ignore:.*exceeds the available context")

LONG = "up down left right " * 200
TOKENS = len(policy().encode(LONG))  # of a context of 256


class Long(Parities):
    """Its prompts fit no context."""

    def __init__(self):
        super().__init__(num_agents=1)

    def observation(self, state, agent):
        return LONG


class HalfLong(Parity):
    """The prompts of the tasks with an odd seed fit no context."""

    def reset(self, seed=None, options=None):
        self.seed = seed
        super().reset(seed, options)

    def observation(self, state, agent):
        return LONG if self.seed % 2 == 1 else super().observation(state, agent)


class OneLong(Parities):
    """The prompts of the second agent fit no context."""

    def observation(self, state, agent):
        return LONG if agent == "writer_1" else super().observation(state, agent)


def trained(learner, env, out, *, agents=("writer_0",), shared=True, **settings):
    one = policy(sampling=Sampling(max_new_tokens=2))
    players = {s: one if shared else policy(sampling=Sampling(max_new_tokens=2)) for s in agents}
    given = {"steps": 3, "episodes_per_step": 2, "eval_tasks": 2, "trackers": (), "quiet": True}
    return fit(learner, env, out=out, policies=players, **{**given, **settings})


@pytest.mark.parametrize(
    "learner", ["at_grpo", "magrpo", "marloo", "ippo", "mappo", "dpo", "madpo", "sft"]
)
def test_a_batch_of_prompts_that_are_all_too_long_ends_the_run(learner, tmp_path):
    options = {"learner_args": {"source": "self", "top": 1.0}} if learner == "sft" else {}
    # the room for a prompt is the context of 256 tokens minus 2 of an answer
    said = (
        rf"iteration 1: every prompt of 'writer_0' was too long.* the longest has {TOKENS} tokens"
        r".*at most 254 tokens: .*context of 256 .*max_new_tokens=2.*Lower max_new_tokens"
    )
    with pytest.raises(ConfigError, match=f"(?s){said}"):
        trained(learner, Long, tmp_path / "run", **options)
    assert not (tmp_path / "run" / "after.json").exists()
    assert not list((tmp_path / "run").glob("checkpoints/*"))


def test_a_policy_whose_prompts_are_all_too_long_is_named(tmp_path):
    both = ("writer_0", "writer_1")
    with pytest.raises(ConfigError, match="every prompt of 'writer_1' was too long"):
        trained("magrpo", OneLong, tmp_path / "apart", agents=both, shared=False)
    # the weights that the agents share learn from the other agent
    trained("magrpo", OneLong, tmp_path / "shared", agents=both, steps=1)
    row = json.loads((tmp_path / "shared" / "metrics.jsonl").read_text().splitlines()[1])
    assert (row["completions"], row["refused"]) == (16, 8)  # 2 lines x 4 answers x 2 agents
    assert [row["agents"][agent]["refused"] for agent in both] == [0, 8]


def test_demonstrations_that_are_all_too_long_end_the_run(tmp_path):
    # the expert's answer is a letter and the end of the sequence
    with pytest.raises(ConfigError, match=rf"the shortest has {TOKENS + 2} tokens.*at most 256"):
        trained(SFT(), Long, tmp_path / "run")


def test_refused_answers_are_counted_by_hand():
    no = Completion(text="", prompt_ids=(1,) * 9, refused=True)
    yes = Completion(text="x", prompt_ids=(1,), ids=(2,), logprobs=(-1.0,))

    def group(agent, turn, *completions):
        returns = (0.0,) * len(completions)
        key = (0, turn, agent)
        return Group(
            agent=agent,
            turn=turn,
            key=key,
            prompt_ids=completions[0].prompt_ids,
            completions=completions,
            returns=returns,
        )

    groups = (group("a", 0, yes, yes), group("a", 1, no, no), group("b", 0, no, no))
    result = metrics.batch_metrics(Batch(groups=groups), ["a", "b"])
    assert result["refused"] == 4
    assert result["agents"]["a"]["refused"] == 2
    assert [result["agents"]["a"]["turns"][turn]["refused"] for turn in "01"] == [0, 2]

    decisions = tuple(
        Decision(agent="a", turn=t, observation="", completion=c, reward=0.0)
        for t, c in enumerate((yes, no, yes))
    )
    episode = Episode(
        env_id="",
        seed=0,
        decisions=decisions,
        terminated=True,
        truncated=False,
        success=False,
        totals={"a": 0.0},
    )
    assert metrics.batch_metrics(Batch(episodes=(episode,)), ["a"])["refused"] == 1


def test_an_evaluation_counts_refused_prompts():
    player = policy(sampling=Sampling(max_new_tokens=2))
    result = llmzoo.evaluate(HalfLong, player, tasks=7)  # of the seeds 0 to 6 three are odd
    assert (result.answers, result.refused) == (7, 3)
    assert result.to_dict()["refused"] == 3
    assert any("3 of 7 prompts" in note for note in result.notes)
    scripted = llmzoo.evaluate(HalfLong, FakePolicy(lambda request, i: "p"), tasks=7)
    assert (scripted.refused, scripted.notes) == (0, ())


def test_the_command_line_says_how_many_were_refused(capsys):
    argv = "eval --env tldr_v0 --source sample --policy tiny --max_new_tokens 2000 --tasks 2"
    assert main(argv.split()) == 0
    assert "4 of 4 prompts" in " ".join(capsys.readouterr().err.split())
