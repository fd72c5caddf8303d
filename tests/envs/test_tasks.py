from __future__ import annotations

import random
import threading
import time

import pytest

from llmzoo.envs.tasks import GeneratedTasks, TaskList, assign_split, content_id
from llmzoo.errors import ConfigError


def letters(split="train", n=26):
    return GeneratedTasks(
        lambda rng: rng.choice("abcdefghijklmnopqrstuvwxyz"[:n]),
        str.lower,
        split=split,
        name="letters",
    )


def test_one_canonical_form_in_five_is_a_test_task():
    share = sum(assign_split(str(n)) == "test" for n in range(10_000)) / 10_000
    assert share == pytest.approx(0.2, abs=0.012)  # three standard errors


def test_the_split_of_a_text_never_changes():
    """Models trained on a train split must not meet its tasks in a later version's test split."""
    assert [n for n in range(40) if assign_split(f"task {n}") == "test"] == [
        1,
        5,
        7,
        10,
        15,
        20,
        23,
        26,
        28,
        29,
        35,
    ]
    assert assign_split("1234341221434321") == "train"


def test_splits_cover_everything_once():
    result = {}
    for split in ("train", "test", "all"):
        source = letters(split)
        count = {"train": 0, "test": 0, "all": 26}[split] or sum(
            assign_split(letter) == split for letter in "abcdefghijklmnopqrstuvwxyz"
        )
        result[split] = {source[index] for index in range(count)}
        with pytest.raises(IndexError, match=f"letters has about {count} distinct {split} tasks"):
            source[count]
    assert result["train"] | result["test"] == result["all"] == set("abcdefghijklmnopqrstuvwxyz")
    assert not result["train"] & result["test"]


def test_numbered_tasks_do_not_depend_on_the_order_of_asking_or_on_sampling():
    first, second = letters(), letters()
    forwards = [first[index] for index in range(15)]
    second.sample(random.Random(5))
    assert second[14] == forwards[14]
    assert [second[index] for index in range(15)] == forwards


def test_samples_follow_the_generator_given():
    source = letters()
    draws = [
        [source.sample(rng) for _ in range(30)] for rng in (random.Random(1), random.Random(1))
    ]
    assert draws[0] == draws[1]
    assert {assign_split(letter) for letter in draws[0]} == {"train"}


def test_a_split_without_tasks_says_so():
    only_train = next(letter for letter in "abcdefgh" if assign_split(letter) == "train")
    source = GeneratedTasks(lambda rng: only_train, str.lower, split="test", name="one letter")
    with pytest.raises(ConfigError, match="one letter: no test task in 5000 draws"):
        source.sample(random.Random(0))


def test_threads_that_share_tasks_get_the_same_numbers():
    def draw(rng):
        first = rng.random()
        time.sleep(0)  # lets another thread in
        return f"{first} {rng.random()}"

    alone = GeneratedTasks(draw, str, split="all", name="numbers")
    expected = [alone[index] for index in range(100)]
    for _ in range(5):
        shared = GeneratedTasks(draw, str, split="all", name="numbers")
        seen = [None] * 8

        def read(position, shared=shared, seen=seen):
            seen[position] = [shared[index] for index in range(100)]

        threads = [threading.Thread(target=read, args=(position,)) for position in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [expected] * 8


def test_numbered_tasks_are_one_of_each_kind():
    """Capital and small letters share their canonical form, so ten letters are five tasks."""
    source = GeneratedTasks(
        lambda rng: rng.choice("abcdeABCDE"), str.lower, split="all", name="letters"
    )
    assert sorted(source[index].lower() for index in range(5)) == [*"abcde"]
    with pytest.raises(IndexError, match="about 5 distinct all tasks"):
        source[5]


def test_listed_tasks():
    words = [f"word{n}" for n in range(100)]
    train = TaskList(words, str, split="train", source="words.txt")
    test = TaskList(words, str, split="test", source="words.txt")
    assert train.count + test.count == 100
    numbered = [train[index] for index in range(train.count)]
    assert numbered == [word for word in words if assign_split(word) == "train"]
    assert {train.sample(random.Random(n)) for n in range(50)} <= set(numbered)
    with pytest.raises(IndexError, match=f"words.txt has {train.count} tasks in split 'train'"):
        train[train.count]
    with pytest.raises(IndexError, match="task -1 does not exist"):
        train[-1]


def test_listed_tasks_that_are_alike_are_kept_in_order_and_on_one_side():
    words = [word for n in range(50) for word in (f"word{n}", f"WORD{n}")]
    result = {}
    for split in ("train", "test", "all"):
        tasks = TaskList(words, str.lower, split=split, source="words.txt")
        result[split] = [tasks[index] for index in range(tasks.count)]
    assert result["all"] == words
    assert result["train"] == [word for word in words if assign_split(word.lower()) == "train"]
    assert len(result["train"]) + len(result["test"]) == 100
    assert not {*map(str.lower, result["train"])} & {*map(str.lower, result["test"])}


def test_a_text_is_an_id_and_a_number_a_place():
    tasks = TaskList(["a", "b", "c"], str, split="all", source="f", names=["2", "1", "0"])
    assert [tasks["0"], tasks[0], tasks["2"]] == ["c", "a", "a"]
    with pytest.raises(ConfigError, match=r"f has no task with the id 'x'\. A str is always an id"):
        tasks["x"]
    near = TaskList(["a"], str, split="all", source="f", names=["HumanEval/0"])
    with pytest.raises(ConfigError, match="Did you mean 'HumanEval/0'"):
        near["HumanEval-0"]


def test_an_id_of_the_other_split_says_where_it_is():
    words = [f"word{n}" for n in range(20)]
    names = [f"n{n}" for n in range(20)]
    tasks = TaskList(words, str, split="test", source="f", names=names)
    elsewhere = next(n for n in range(20) if assign_split(words[n]) == "train")
    with pytest.raises(ConfigError, match=f"f: task 'n{elsewhere}' is in split 'train', not in"):
        tasks[f"n{elsewhere}"]


def test_tasks_without_ids_are_called_by_their_content():
    tasks = TaskList(["a", "A", "b"], str.lower, split="all", source="f", names=["", "", "own"])
    a = content_id("a")
    assert [tasks.task_name(tasks[n]) for n in range(3)] == [a, f"{a}-2", "own"]
    assert tasks[f"{a}-2"] == "A"
    twice = TaskList(["a", "b"], str, split="all", source="hub", names=["0", "0"])
    assert [twice.task_name(twice[n]) for n in range(2)] == ["0", "0-2"]


def test_names_do_not_depend_on_the_split():
    words = [f"word{n % 30}" for n in range(60)]  # each twice
    names = {}
    for split in ("train", "test", "all"):
        tasks = TaskList(words, str, split=split, source="f")
        names[split] = [tasks.task_name(tasks[n]) for n in range(tasks.count)]
    assert {*names["train"], *names["test"]} == {*names["all"]}
    assert len({*names["all"]}) == 60


def test_generated_tasks_have_no_ids():
    with pytest.raises(ConfigError, match="tasks of letters have numbers from 0 and no ids"):
        letters()["a"]
