"""An endpoint that does not answer ends what needs its answers, instead of counting as a bad player."""

import json
from types import SimpleNamespace

import pytest
from tiny_models import policy
from toy_envs import Parities, Parity

import llmzoo
from llmzoo.cli import main
from llmzoo.errors import EndpointError
from llmzoo.models.sampling import Sampling
from llmzoo.policies import endpoint
from llmzoo.policies.endpoint import EndpointPolicy
from llmzoo.training import fit

pytest.importorskip("openai", reason="the extra 'openai' is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:.*a call failed")

DEAD = "openai:m@http://127.0.0.1:1/v1"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(endpoint, "_MAX_PAUSE_S", 0.0)
    monkeypatch.setattr(endpoint, "_MAX_AWAY_S", 0.0)


class Unsteady:
    """The replies of a server that answers the calls whose numbers are in ``good``."""

    def __init__(self, good):
        self.good, self.calls = good, 0

    async def reply(self, **asked):
        import openai

        self.calls += 1
        if self.calls - 1 not in self.good:
            raise openai.APIConnectionError(request=None)
        message = SimpleNamespace(content="p", model_extra={})
        choice = SimpleNamespace(message=message, finish_reason="stop")
        return SimpleNamespace(choices=[choice])


@pytest.fixture
def unsteady(monkeypatch):
    """``unsteady(good)``: a policy without retries, whose calls come one after the other."""

    def made(good):
        server = Unsteady(good)

        class Client:
            chat = SimpleNamespace(completions=SimpleNamespace(create=server.reply))

            async def __aenter__(self):
                return self

            async def __aexit__(self, *error):
                pass

        monkeypatch.setattr(endpoint, "make_async_client", lambda _: Client())
        return EndpointPolicy.load(DEAD, retries=0, workers=1)

    return made


@pytest.mark.parametrize("tasks", [1, 20])
def test_an_evaluation_ends_with_an_error_and_exit_code_1(tasks, capsys):
    argv = f"eval --env sudoku_v0 --policy {DEAD} --tasks {tasks} --json"
    assert main(argv.split()) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{DEAD} does not answer" in said.err
    assert "APIConnectionError" in said.err


def test_in_python_it_is_an_exception_of_its_own():
    with pytest.raises(EndpointError, match="does not answer"):
        llmzoo.evaluate("sudoku_v0", DEAD, tasks=20)
    with pytest.raises(EndpointError, match="every call for writer_0 failed"):
        llmzoo.evaluate(Parity, DEAD, tasks=1)
    with pytest.raises(EndpointError, match="does not answer"):
        llmzoo.collect("sudoku_v0", DEAD, tasks=20)


def test_the_eighth_failed_call_is_the_last_one_where_none_was_answered(unsteady):
    player = unsteady(good=())
    with pytest.raises(EndpointError, match="8 calls in a row failed"):
        llmzoo.evaluate(Parity, player, tasks=20)
    assert player.answers_failed == 7


def test_one_that_has_answered_may_be_away_for_longer(unsteady):
    result = llmzoo.evaluate(Parity, unsteady(good=(0, 32)), tasks=33)
    assert (result.answers, result.answers_failed) == (33, 31)
    with pytest.raises(EndpointError, match="32 calls in a row failed"):
        llmzoo.evaluate(Parity, unsteady(good=(0,)), tasks=33)


def test_one_that_restarts_within_a_minute_is_not_dead(unsteady, monkeypatch):
    monkeypatch.setattr(endpoint, "_MAX_AWAY_S", 60.0)
    result = llmzoo.evaluate(Parity, unsteady(good=(0, 50)), tasks=51)
    assert (result.answers, result.answers_failed) == (51, 49)


def test_failed_answers_are_counted_and_noted(unsteady):
    result = llmzoo.evaluate(Parity, unsteady(good=(0, 1, 3)), tasks=4)
    assert (result.answers, result.answers_failed, result.refused) == (4, 1, 0)
    assert [note for note in result.notes if "failed" in note] == [
        "1 of 4 completions are empty because the call of an endpoint failed: the success rate counts them as wrong"
    ]
    steady = llmzoo.evaluate("sudoku_v0", "expert", tasks=2)
    assert steady.to_dict()["answers_failed"] == 0
    assert not any("failed" in note for note in steady.notes)


def test_an_evaluation_that_goes_on_asks_again_where_a_call_failed(unsteady, tmp_path):
    cut_off = llmzoo.evaluate(Parity, unsteady(good=(0, 1, 3)), tasks=4, out=tmp_path / "a")
    assert cut_off.answers_failed == 1
    player = unsteady(good=(0,))
    whole = llmzoo.evaluate(Parity, player, tasks=4, out=tmp_path / "a", resume=True)
    assert (whole.answers, whole.answers_failed) == (4, 0)
    lines = (tmp_path / "a" / "episodes.jsonl").read_text().splitlines()
    assert [json.loads(line)["task"] for line in lines] == [0, 1, 2, 3]


def test_a_run_with_a_dead_partner_ends(tmp_path):
    settings = {"steps": 1, "episodes_per_step": 2, "eval_tasks": 2, "trackers": (), "quiet": True}
    agents = {"policies": "writer_0", "others": DEAD, "max_new_tokens": 2}
    with pytest.raises(EndpointError, match="writer_1"):
        fit("magrpo", Parities, out=tmp_path / "run", **settings, **agents)
    assert not (tmp_path / "run" / "after.json").exists()


@pytest.mark.filterwarnings("ignore::llmzoo.errors.ZeroVarianceWarning")
def test_a_partner_that_dies_during_a_run_ends_it(unsteady, tmp_path):
    settings = {"steps": 50, "episodes_per_step": 2, "eval_tasks": 2, "control_tasks": 0}
    learner = policy(sampling=Sampling(max_new_tokens=2))
    # the evaluation before the run asks for 2 sampled and 2 greedy answers
    partner = unsteady(good=range(4))
    with pytest.raises(EndpointError, match="32 calls in a row failed"):
        fit(
            "at_grpo",
            Parities,
            out=tmp_path / "run",
            policies={"writer_0": learner, "writer_1": partner},
            **settings,
            trackers=(),
            quiet=True,
        )


def test_what_was_collected_before_an_endpoint_died_is_kept(
    unsteady, tmp_path, capsys, monkeypatch
):
    from llmzoo.cli import collect

    player = unsteady(good=(0, 1, 3))
    monkeypatch.setattr(
        collect.CollectOptions,
        "load_policies",
        lambda self, split: ("signal_v0", dict.fromkeys(("speaker_0", "listener_1"), player), {}),
    )
    out = tmp_path / "rows.jsonl"
    argv = f"collect --env signal_v0 --policy {DEAD} --tasks 40 --concurrency 1 --out {out} --quiet"
    assert main(argv.split()) == 1
    said = capsys.readouterr()
    assert "32 calls in a row failed" in said.err
    assert "episodes are left out because the call of an endpoint failed" in said.err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 2  # of the first episode; the second has one answer of two
    assert json.loads(out.with_suffix(".provenance.json").read_text())["stopped"]
