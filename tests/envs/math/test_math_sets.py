"""The public sets of mathematics: shipped problems are right, records are read as they are meant."""

from __future__ import annotations

import importlib
import json

import pytest

import llmzoo
from llmzoo.envs.coding import judging
from llmzoo.envs.math import aime24, answers, gsm8k, math500, olympiadbench
from llmzoo.envs.math.tasks import canonical
from llmzoo.envs.sources import BadField
from llmzoo.errors import ConfigError
from llmzoo.sandbox.limits import Limits

SIZES = {"gsm8k": 40, "math500": 40, "aime24": 20, "aime25": 20, "olympiadbench": 20}


def shipped(name):
    module = importlib.import_module(f"llmzoo.envs.math.{name}")
    public_set = module.raw_env.public_set
    return [(record, public_set.read(record)) for record in public_set.sample_records()]


def printed(program):
    run = judging.run_program(program, limits=Limits(time_limit=20.0))
    assert run.status == "passed", run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize("name", SIZES)
def test_enough_shipped_problems_and_all_different(name):
    tasks = [task for _, task in shipped(name)]
    assert len({canonical(task) for task in tasks}) == len(tasks) >= SIZES[name]


@pytest.mark.parametrize("name", SIZES)
def test_every_shipped_answer_is_what_its_programs_compute(name):
    for record, task in shipped(name):
        for program in (task.program, record.get("check", task.program)):
            output = printed(program)
            assert answers.answers_match(task.answer, output), (task.question, output)
            assert not answers.answers_match("12345", output)


def test_examinations_share_no_problem():
    first, second = ({canonical(t) for _, t in shipped(name)} for name in ("aime24", "aime25"))
    assert not first & second


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("agents", [1, 2])
def test_experts_solve_every_shipped_problem(name, agents):
    env = llmzoo.make(f"{name}_v0", source="sample", split="all", num_agents=agents).unwrapped
    assert env.tasks.count == len(shipped(name))
    for number in range(0, env.tasks.count, 4):
        env.reset(seed=0, options={"task": number})
        paid = dict.fromkeys(env.agents, 0.0)
        for agent in env.possible_agents:
            env.step(env.expert(agent))
            for one_agent, reward in env.rewards.items():
                paid[one_agent] += reward
        assert env.success
        assert all(total == pytest.approx(2.0) for total in paid.values())


@pytest.mark.parametrize("name", SIZES)
def test_observations_hold_no_answer_field(name):
    env = llmzoo.make(f"{name}_v0", source="sample", split="all").unwrapped
    env.reset(seed=1)
    for agent in env.agents:
        text = env.observe(agent)
        assert env.episode.task.question in text
        assert "####" not in text
        assert env.episode.task.program not in text


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("steps\n#### 12", "12"),
        ("#### 1,250", "1250"),
        ("a #### b\n#### -7", "-7"),
        ("#### $3.50", "3.50"),
        ("####0", "0"),
    ],
)
def test_gsm8k_answers(answer, read):
    assert gsm8k.task_from_record({"question": "q", "answer": answer}).answer == read


@pytest.mark.parametrize("answer", ["12", "#### twelve", "#### ", "#### 1,2", "#### 1 or 2", None])
def test_malformed_gsm8k_answers(answer):
    with pytest.raises(BadField, match="answer"):
        gsm8k.task_from_record({"question": "q", "answer": answer})


@pytest.mark.parametrize(
    ("answer", "read"), [("073", "73"), ("000", "0"), (5, "5"), ("999", "999")]
)
def test_aime_answers(answer, read):
    assert aime24.task_from_record({"problem": "p", "answer": answer}).answer == read


@pytest.mark.parametrize("answer", ["1000", "-1", "1.5", "x", "", None, 1000, -3])
def test_malformed_aime_answers(answer):
    with pytest.raises(BadField, match="answer"):
        aime24.task_from_record({"problem": "p", "answer": answer})


def test_math500_records():
    record = {"problem": "p", "answer": r"\frac{1}{2}", "level": 3, "subject": "Algebra"}
    task = math500.task_from_record(record)
    assert (task.answer, task.level, task.family) == (r"\frac{1}{2}", "3", "Algebra")
    with pytest.raises(BadField, match="answer"):
        math500.task_from_record({**record, "answer": " "})
    with pytest.raises(BadField, match="level"):
        math500.task_from_record({**record, "level": [3]})


def test_olympiadbench_records():
    record = {"question": "q", "final_answer": ["$2$", "$3$"], "is_multiple_answer": True}
    task = olympiadbench.task_from_record(record)
    assert task.answer == "2, 3"
    assert task.question == "q\nGive all answers, separated by commas."
    assert olympiadbench.task_from_record({**record, "unit": "cm"}).question.endswith(
        "Give the answer in cm."
    )
    assert olympiadbench.task_from_record({**record, "final_answer": []}) is None
    assert olympiadbench.task_from_record({**record, "final_answer": None}) is None
    assert olympiadbench.task_from_record({**record, "error": "1e-2"}) is None
    assert olympiadbench.task_from_record({**record, "final_answer": ["$,$"]}) is None
    with pytest.raises(BadField, match="final_answer"):
        olympiadbench.task_from_record({**record, "final_answer": [2]})


def test_olympiadbench_answers_of_several_formulas():
    def answer(text):
        return olympiadbench.task_from_record({"question": "q", "final_answer": [text]}).answer

    assert answer("$69$,$84$") == "69, 84"
    assert answer("$100$,$200$") == "100, 200"  # and not one number
    assert answer(r"$(3,5)$, $\frac{1}{2}$ or $7$") == r"(3,5), \frac{1}{2} or 7"
    assert answer(r"$\$5$") == r"\$5"
    for gold in ("69, 84", "100, 200"):
        assert answers.answers_match(answer("$" + gold.replace(", ", "$,$") + "$"), gold)
        assert not answers.answers_match(gold, ",")


FILES = {
    "gsm8k": [{"question": f"How much is {n} + 1?", "answer": f"#### {n + 1}"} for n in range(40)],
    "math500": [
        {"problem": f"Halve {n}.", "answer": rf"\frac{{{n}}}{{2}}", "level": 1, "subject": "A"}
        for n in range(40)
    ],
    "aime24": [{"id": n, "problem": f"What is {n}?", "answer": f"{n:03}"} for n in range(40)],
    "aime25": [{"problem_idx": n, "problem": f"What is {n}?", "answer": n} for n in range(40)],
    "olympiadbench": [
        {"question": f"Find {n}.", "final_answer": [f"${n}$"], "is_multiple_answer": False}
        for n in range(40)
    ],
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_a_file_of_the_hubs_schema_is_played(name, ending, tmp_path):
    path = tmp_path / f"records.{ending}"
    lines = [json.dumps(record) for record in FILES[name]]
    path.write_text("\n".join(lines) if ending == "jsonl" else f"[{','.join(lines)}]")
    made = {
        split: llmzoo.make(f"{name}_v0", source=str(path), split=split).unwrapped
        for split in ("train", "test", "all")
    }
    assert made["train"].tasks.count + made["test"].tasks.count == made["all"].tasks.count == 40
    env = made["all"]
    env.reset(seed=3)
    # without a program the tool's expert prints the answer
    for agent in env.possible_agents:
        env.step(env.expert(agent))
    assert env.success
    assert not env.fallback


def test_a_malformed_record_is_named_by_its_line(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"question": "q", "answer": "#### 1"}\n{"question": "q", "answer": "one"}\n')
    with pytest.raises(ConfigError, match=r"bad\.jsonl:2: field 'answer'"):
        llmzoo.make("gsm8k_v0", source=str(path))


@pytest.mark.parametrize("name", FILES)
def test_a_record_without_its_field_is_named(name, tmp_path):
    path = tmp_path / "bad.jsonl"
    good = FILES[name][0]
    asked = "problem" if "problem" in good else "question"
    bad = {key: value for key, value in FILES[name][1].items() if key != asked}
    path.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
    with pytest.raises(ConfigError, match=rf"bad\.jsonl:2: field '{asked}'"):
        llmzoo.make(f"{name}_v0", source=str(path))


@pytest.mark.parametrize("name", SIZES)
def test_infos_hold_neither_answer_nor_program(name):
    env = llmzoo.make(f"{name}_v0", source="sample", split="all").unwrapped
    env.reset(seed=1)
    for info in env.infos.values():
        assert not {"answer", "program", "solution", "check"} & set(info)
        assert env.episode.task.program not in str(info)


def test_real_gsm8k_records(shared_data):
    path = str(shared_data / "gsm8k_dev.jsonl")
    tasks = llmzoo.make("gsm8k_v0", source=path, split="all").unwrapped.tasks
    assert tasks.count == 200
    lines = (shared_data / "gsm8k_dev.jsonl").read_text(encoding="utf-8").splitlines()
    wanted = {r["question"].strip(): r["answer"] for r in map(json.loads, lines)}
    for number in range(200):
        task = tasks[number]
        last = wanted[task.question].rpartition("####")[2].strip()
        assert task.answer == last.replace(",", "")
        assert answers.answers_match(task.answer, last)  # with its commas, as a model may write it
        assert not answers.answers_match(task.answer, f"{task.answer}1")


def test_real_aime_records(shared_data):
    path = str(shared_data / "aime24_dev.jsonl")
    tasks = llmzoo.make("aime24_v0", source=path, split="all").unwrapped.tasks
    assert tasks.count == 10
    for number in range(10):
        assert str(int(tasks[number].answer)) == tasks[number].answer
        assert answers.answers_match(tasks[number].answer, tasks[number].answer.zfill(3))
