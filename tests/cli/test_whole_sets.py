"""``llmzoo eval --source FILE --split all --tasks all`` plays each task of a file once, in its order."""

import gzip
import json
import random
import warnings

import pytest

import llmzoo as llmzoo_package
from llmzoo.envs.coding.class_eval import tasks as class_eval
from llmzoo.envs.coding.contests import apps, code_contests, livecodebench
from llmzoo.envs.coding.contests import tasks as contests
from llmzoo.envs.coding.functions import coop_humaneval, humaneval, mbpp
from llmzoo.envs.debate.tasks import load_topics
from llmzoo.envs.games.sudoku import tasks as sudoku
from llmzoo.envs.math import aime24, aime25, gsm8k, math500, olympiadbench
from llmzoo.envs.planning.calendar import natural_plan
from llmzoo.envs.planning.travel import travel_planner
from llmzoo.envs.sources import ID_FIELDS, record_id
from llmzoo.envs.tools.bfcl import tasks as bfcl
from llmzoo.envs.tools.bfcl_multi_turn import tasks as dialogues
from llmzoo.envs.writing import arxiv, story, tldr
from llmzoo.errors import ConfigError, SkippedRecordsWarning, UnknownNameError


def sample(module):
    return module.raw_env.public_set.sample_records()


def puzzles():
    rng = random.Random(0)
    return [{"puzzle": sudoku.sample_task(rng, 4, (6, 10)).puzzle} for _ in range(9)]


def levels():
    made = llmzoo_package.make("sokoban_v0", split="all").unwrapped.tasks
    return [{"level": made[n].level} for n in range(6)]


def grids():
    made = llmzoo_package.make("plan_path_v0", split="all").unwrapped.tasks
    return [{"grid": made[n].grid} for n in range(6)]


def numbered(records):
    return [{**record, "task_id": number} for number, record in enumerate(records, start=500)]


SETS = {
    "gsm8k_v0": lambda: sample(gsm8k),
    "math500_v0": lambda: sample(math500),
    "aime24_v0": lambda: sample(aime24),
    "aime25_v0": lambda: sample(aime25),
    "olympiadbench_v0": lambda: sample(olympiadbench),
    "humaneval_v0": lambda: sample(humaneval)[:6],
    "coop_humaneval_v0": lambda: sample(coop_humaneval)[:6],
    "mbpp_v0": lambda: numbered(sample(mbpp)[:6]),
    "classeval_v0": lambda: class_eval.PUBLIC_SET.sample_records()[:4],
    "contests_v0": lambda: list(contests.load_shipped_records())[:4],
    "apps_v0": lambda: numbered(sample(apps)[:4]),
    "code_contests_v0": lambda: numbered(sample(code_contests)[:4]),
    "livecodebench_v0": lambda: numbered(sample(livecodebench)[:4]),
    "tldr_v0": lambda: sample(tldr)[:6],
    "arxiv_v0": lambda: sample(arxiv)[:6],
    "story_v0": lambda: sample(story)[:6],
    "bfcl_v0": lambda: bfcl.PUBLIC_SET.sample_records()[:40],
    "bfcl_multi_turn_v0": lambda: [  # the others need a padding beside the file
        r for r in dialogues.PUBLIC_SET.sample_records() if "long_context" not in r["id"]
    ],
    "calendar_v0": lambda: natural_plan.PUBLIC_SET.sample_records()[:40],  # of two people
    "travel_v0": lambda: travel_planner.PUBLIC_SET.sample_records(),
    "sudoku_v0": puzzles,
    "sokoban_v0": levels,
    "plan_path_v0": grids,
}


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def measured(llmzoo, env, source, *more):
    argv = ["eval", "--env", env, "--source", source, "--policy", "expert", "--json"]
    said = llmzoo(*argv, "--split", "all", "--tasks", "all", *more)
    assert said.code == 0, said.err
    return json.loads(said.out)


# files of other forms: questions, programs that are run, boards, calls, dialogues, texts
FAST = (
    "gsm8k_v0",
    "coop_humaneval_v0",
    "sudoku_v0",
    "bfcl_multi_turn_v0",
    "calendar_v0",
    "tldr_v0",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "env", [pytest.param(env, marks=[pytest.mark.slow] * (env not in FAST)) for env in SETS]
)
def test_every_task_of_a_file_is_played_once_in_its_order(env, llmzoo, tmp_path):
    records = SETS[env]()
    random.Random(1).shuffle(records)
    again = {k: v for k, v in records[0].items() if k not in (*ID_FIELDS, "name")}
    total = len(records) + 1  # a record that stands in the file twice is played twice
    result = measured(llmzoo, env, write(tmp_path / "set.jsonl", [*records, again]))
    assert (result["tasks"], result["split_tasks"]) == (total, total)
    assert (result["success"], result["no_solution"], result["skipped"]) == (1.0, [], 0)
    assert len(set(result["ids"])) == len(result["ids"]) == total
    own = [record_id(record, (*ID_FIELDS, "name")) for record in records]
    assert result["ids"][: len(own)] == own or not all(own)
    assert result["distinct_tasks"] == len(records)


def test_a_file_is_cut_into_splits_without_a_task_in_both(llmzoo, tmp_path):
    source = write(
        tmp_path / "set.jsonl", [{**r, "id": n} for n, r in enumerate(sample(gsm8k)[:40])]
    )
    ids = {}
    for split in ("train", "test", "all"):
        argv = ["eval", "--env", "gsm8k_v0", "--source", source, "--policy", "expert", "--json"]
        result = json.loads(llmzoo(*argv, "--split", split, "--tasks", "all", "--seed", 5).out)
        assert result["tasks"] == result["split_tasks"] == len(result["ids"])
        ids[split] = result["ids"]
    assert ids["all"] == [str(n) for n in range(40)]
    assert sorted([*ids["train"], *ids["test"]], key=int) == ids["all"]
    assert ids["train"] == sorted(ids["train"], key=int)


def test_a_part_says_of_how_many_it_is(llmzoo, tmp_path):
    source = write(tmp_path / "set.jsonl", sample(gsm8k)[:40])
    argv = ["eval", "--env", "gsm8k_v0", "--source", source, "--policy", "expert", "--split", "all"]
    result = json.loads(llmzoo(*argv, "--tasks", 3, "--json").out)
    assert (result["tasks"], result["split_tasks"]) == (3, 40)
    assert "3 of 40 (all)" in llmzoo(*argv, "--tasks", 3).out


def test_one_task_that_is_in_another_split(llmzoo, tmp_path):
    """The environment was made without the split that was asked for."""
    # one in five is a test task: of these four some are in the other split
    for n, record in enumerate(sample(gsm8k)[:4]):
        source = write(tmp_path / f"{n}.jsonl", [record])
        assert measured(llmzoo, "gsm8k_v0", source)["tasks"] == 1
        assert llmzoo_evaluates_one(source)


def llmzoo_evaluates_one(source):
    result = llmzoo_package.evaluate(
        "gsm8k_v0", "expert", tasks="all", split="all", env_args={"source": source}
    )
    return result.tasks == result.split_tasks == 1


def test_a_generator_has_no_whole_set(llmzoo):
    said = llmzoo("eval", "--env", "sudoku_v0", "--policy", "expert", "--tasks", "all")
    assert said.code == 2
    assert "sudoku_v0 has an unlimited number: set tasks to a number" in said.err
    assert llmzoo("eval", "--env", "sudoku_v0", "--tasks", "most").code == 2


def test_shipped_sets_have_no_file(llmzoo):
    argv = ["eval", "--env", "debate_v0", "--split", "all", "--tasks", "all", "--policy", "random"]
    result = json.loads(llmzoo(*argv, "--json").out)
    assert result["ids"] == [topic.id for topic in load_topics()]
    assert result["tasks"] == result["split_tasks"] == len(load_topics())


def test_own_tasks_of_tool_use(llmzoo, tmp_path):
    asked = [{"id": n, "question": f"What is {n}?", "answer": n} for n in (3, 1, 2)]
    source = write(tmp_path / "tasks.jsonl", asked)
    argv = ["eval", "--env", "tool_use_v0", "--env.tasks", source, "--policy", "expert", "--json"]
    result = json.loads(llmzoo(*argv, "--split", "all", "--tasks", "all").out)
    assert (result["ids"], result["split_tasks"]) == (["3", "1", "2"], 3)


def test_bad_records_are_named_and_can_be_skipped(llmzoo, tmp_path):
    good = sample(gsm8k)[:3]
    lines = [
        json.dumps(good[0]),
        '{"question": "?"}',
        json.dumps(good[1]),
        "{",
        json.dumps(good[2]),
    ]
    path = tmp_path / "set.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    argv = ["eval", "--env", "gsm8k_v0", "--source", path, "--policy", "expert", "--split", "all"]
    said = llmzoo(*argv, "--tasks", "all")
    assert said.code == 2
    assert said.err.splitlines()[-1].endswith(f"{path}:2: field 'answer' is missing")
    with pytest.warns(
        SkippedRecordsWarning, match=r"2 of 5 records were skipped: .*:2: .*; .*:4: not JSON"
    ):
        result = measured(llmzoo, "gsm8k_v0", path, "--env.on_bad_record", "skip")
    assert (result["tasks"], result["split_tasks"], result["skipped"]) == (3, 3, 2)
    assert "unreadable records of the source that were skipped: 2" in result["notes"]


@pytest.mark.parametrize("env", ["coop_humaneval_v0", "livecodebench_v0", "tldr_v0"])
def test_tasks_without_a_known_solution_are_counted_and_named(env, llmzoo, tmp_path):
    records = [{**record, "task_id": n} for n, record in enumerate(SETS[env]()[:4])]
    lost = {"coop_humaneval_v0": "canonical_solution", "livecodebench_v0": "solutions"}
    del records[1][lost.get(env, "detailed")]
    result = measured(llmzoo, env, write(tmp_path / "set.jsonl", records))
    assert (result["tasks"], result["success"], result["solved"]) == (4, 0.75, "1011")
    assert (result["no_solution"], result["refused"]) == (["1"], 0)
    assert any(note.endswith("count as not solved: 1 of 4 (1)") for note in result["notes"])


def test_collect_leaves_tasks_without_a_known_solution_out(llmzoo, tmp_path):
    records = [{**record, "task_id": n} for n, record in enumerate(SETS["coop_humaneval_v0"]())]
    del records[2]["canonical_solution"]
    source = write(tmp_path / "set.jsonl", records)
    argv = ["collect", "--env", "coop_humaneval_v0", "--source", source, "--policy", "expert"]
    out = tmp_path / "rows.jsonl"
    said = llmzoo(*argv, "--split", "all", "--tasks", "all", "--out", out, "--json")
    result = json.loads(said.out)
    assert (result["tasks"], result["split_tasks"], result["no_solution"]) == (6, 6, ["2"])
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 5 * 2
    assert all(row["completion"] for row in rows)
    assert "1 of 6 episodes are left out" in said.err


def live_simple(accepted):
    """A record such as BFCL's live sets have: within an object no value is accepted."""
    described = {"type": "dict", "properties": {"filters": {"type": "dict"}}, "required": []}
    return {
        "id": "live_simple_1-1-0",
        "question": [[{"role": "user", "content": f"List the files, {len(accepted)}."}]],
        "function": [{"name": "list_files", "description": "", "parameters": described}],
        "ground_truth": [{"list_files": {"filters": accepted}}],
    }


@pytest.mark.parametrize("accepted", [[], [{"tag": []}]])
def test_calls_for_which_no_value_is_accepted(llmzoo, tmp_path, accepted):
    records = [live_simple(accepted), *bfcl.PUBLIC_SET.sample_records()[:2]]
    result = measured(llmzoo, "bfcl_v0", write(tmp_path / "set.json", records))
    assert (result["solved"], result["no_solution"]) == ("011", ["live_simple_1-1-0"])
    argv = [
        "eval",
        "--env",
        "bfcl_v0",
        "--source",
        tmp_path / "set.json",
        "--policy",
        "noisy_expert",
    ]
    assert llmzoo(*argv, "--split", "all", "--tasks", "all", "--json").code == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"ground_truth": None, "id": "irrelevance_0"},
            "kinds with .ir.relevance are not supported",
        ),
        ({"ground_truth": []}, "kinds with .ir.relevance are not supported"),
        ({"question": [[], []]}, "'question' is of BFCL's multi_turn kind, which is not supported"),
        ({"involved_classes": ["Mail"]}, "multi_turn kind, which is not supported"),
        ({"ground_truth": ["f(a=1)"]}, r"executable kinds \(exec, rest\) are not supported"),
        ({"ground_truth": None}, "'ground_truth' is missing. BFCL keeps it in a file of its own"),
    ],
)
def test_kinds_of_bfcl_that_are_not_supported(tmp_path, change, message):
    records = bfcl.PUBLIC_SET.sample_records()[:1]
    source = write(tmp_path / "set.json", [*records, {**live_simple([{}]), **change}])
    with pytest.raises(ConfigError, match=rf"set\.json:2: field .*{message}"):
        llmzoo_package.make("bfcl_v0", source=source)
    with pytest.warns(SkippedRecordsWarning, match="1 of 2 records were skipped"):
        env = llmzoo_package.make("bfcl_v0", source=source, on_bad_record="skip", split="all")
    env.reset(seed=0)
    assert (env.infos["caller_0"]["tasks"], env.infos["caller_0"]["skipped"]) == (1, 1)


def test_a_task_is_asked_for_by_its_id_or_its_place(tmp_path):
    records = sample(humaneval)[:6]
    for number, record in enumerate(records):
        record["task_id"] = f"HumanEval/{5 - number}"
    source = write(tmp_path / "set.jsonl", records)
    env = llmzoo_package.make("humaneval_v0", source=source, split="all")
    for asked, index in (("HumanEval/0", 5), (0, 0), ("HumanEval/5", 0)):
        env.reset(options={"task": asked})
        assert env.infos["main_1"]["task_name"] == f"HumanEval/{5 - index}"
        assert env.unwrapped.episode.task.entry_point == records[index]["entry_point"]
    with pytest.raises(ConfigError, match="no task with the id 'HumanEval/9'"):
        env.reset(options={"task": "HumanEval/9"})
    with pytest.raises(IndexError, match="task 6 does not exist"):
        env.reset(options={"task": 6})
    with pytest.raises(UnknownNameError, match="unknown option of reset 'taks'"):
        env.reset(options={"taks": 1})
    with pytest.raises(ConfigError, match=r"options\['task'\] is a number or an id, got True"):
        env.reset(options={"task": True})


def test_the_page_of_a_run_of_many_instances_reads_the_file_once(tmp_path, monkeypatch):
    calls = []
    key = sudoku.canonical_key
    monkeypatch.setattr(sudoku, "canonical_key", lambda puzzle: calls.append(puzzle) or key(puzzle))
    source = write(tmp_path / "set.jsonl", puzzles())
    for _ in range(5):
        llmzoo_package.make("sudoku_v0", source=source, split="all")
    assert len(calls) == 9


def test_numbers_of_a_split_of_an_unreachable_set_are_still_refused(llmzoo, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = llmzoo("eval", "--env", "gsm8k_v0", "--policy", "expert", "--tasks", "all")
    assert said.code == 2
    assert "--source sample" in said.err


def test_records_of_a_kind_that_is_not_played_are_counted(llmzoo, tmp_path):
    records = sample(olympiadbench)[:3]
    about = {**records[0], "id": 99, "question": "About how much?", "error": "1e-2"}
    source = write(tmp_path / "set.jsonl", [about, *records])
    result = measured(llmzoo, "olympiadbench_v0", source)
    assert (result["tasks"], result["split_tasks"], result["left_out"]) == (3, 3, 1)
    assert any(note.endswith("leaves out, as its page says: 1") for note in result["notes"])
    source = write(tmp_path / "other.jsonl", [about])
    with pytest.raises(ConfigError, match="all of its 1 records are of a kind that is not played"):
        llmzoo_package.make("olympiadbench_v0", source=source)


def test_an_episode_of_the_task_with_an_id(llmzoo, tmp_path):
    records = sample(humaneval)[:3]
    source = write(tmp_path / "set.jsonl", records)
    argv = ["play", "humaneval_v0", "--source", source, "--split", "all", "--policy", "expert"]
    said = llmzoo(*argv, "--task", records[2]["task_id"])
    assert said.code == 0, said.err
    assert f"def {records[2]['entry_point']}(" in said.out
    assert f"def {records[0]['entry_point']}(" not in said.out
