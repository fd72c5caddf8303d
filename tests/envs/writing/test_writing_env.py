"""The writing environments: what is read, paid, told and refused."""

from __future__ import annotations

import json
import random
import time

import pytest

import llmzoo
from llmzoo.envs.sources import LoadedTasks
from llmzoo.envs.writing import tasks, tldr
from llmzoo.envs.writing.scoring import MAX_START, MAXIMUM, PARTS
from llmzoo.errors import ConfigError, NoScriptedPolicyError
from tests.attacks.rewards import nonsense_pairs, writing_climbers
from tests.attacks.rewards.writing import IDS, NONSENSE, climbed, climbers, fixed_attacks

AGENTS = {
    "tldr_v0": ["concise_0", "detailed_1"],
    "arxiv_v0": ["background_0", "method_1"],
    "story_v0": ["first_0", "second_1"],
}
every_id = pytest.mark.parametrize("id", IDS)


def made(id, task=0, **kwargs):
    env = llmzoo.make(id, **{"split": "all", "source": "sample", **kwargs}).unwrapped
    env.reset(seed=0, options={"task": task})
    return env


def play(env, *texts):
    """Everybody's answers of a round; returns the reward of the first agent."""
    for text in texts:
        env.step(text)
    return env.rewards[env.possible_agents[0]]


def experts(env):
    return [env.expert(agent) for agent in env.possible_agents]


@every_id
def test_agents(id):
    assert made(id).possible_agents == AGENTS[id]
    assert made(id, num_agents=1).possible_agents == ["author_0"]


@every_id
def test_one_author_earns_what_two_do(id):
    two, one = made(id), made(id, num_agents=1)
    paid = play(two, *experts(two))
    assert paid > 0.8 * MAXIMUM
    assert play(one, "\n=====\n".join(experts(two))) == pytest.approx(paid)
    assert two.success
    assert one.success


@every_id
def test_every_agent_is_paid_alike_and_the_stages_are_named(id):
    env = made(id, team_weight=0.5)
    play(env, *experts(env))
    first, second = AGENTS[id]
    assert env.rewards[first] == env.rewards[second]
    assert tuple(env.infos[first]["reward_components"]) == PARTS
    assert env.infos[first]["best_return"] == pytest.approx(MAXIMUM / 2)
    assert MAXIMUM * 0.4 < env.rewards[first] < MAXIMUM / 2


def test_grounded_is_structural_times_the_factor_and_the_start():
    grounded, structural = (made("tldr_v0", reward=name) for name in ("grounded", "structural"))
    half = experts(grounded)[1].split(". ")
    pair = experts(grounded)[0], f"{half[0]}. {grounded.episode.task.text[:60]}"
    paid, published = play(grounded, *pair), play(structural, *pair)
    judged = grounded.episode.judgement
    assert 0.02 < judged.faithful < 0.9
    assert 0.5 < judged.start < 1
    # the start takes its share from the length
    expected = MAX_START * judged.start + judged.faithful * (published - MAX_START)
    assert paid == pytest.approx(expected)


@pytest.mark.parametrize("pair", nonsense_pairs.TLDR)
def test_nonsense_takes_the_published_reward_and_not_ours(pair):
    for reward, low, high in (("structural", 0.999, 1.001), ("grounded", 0.0, 0.1)):
        env = made("tldr_v0", reward=reward)
        paid = play(env, *pair)
        assert low <= paid / MAXIMUM <= high
        assert not env.success


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        (["", "word " * 20], "malformed: a part is empty"),
        ([" \n ", "word " * 20], "malformed: a part is empty"),
        (["x" * 20_001, "word " * 20], "malformed: 20001 characters; at most 20000 are read"),
        (["word " * 7, "word " * 20], "failed at the stage 'length'"),
        (["word " * 20, "word " * 20], "failed at the stage 'ratio'"),
    ],
)
def test_errors_are_named_and_not_raised(texts, error):
    env = made("tldr_v0", max_turns=2)
    assert play(env, *texts) <= 0.5
    assert env.infos["concise_0"]["error"] == error
    assert "Feedback on it" in env.observe("concise_0")
    assert len(env.observe("concise_0")) < len(env.episode.task.text) + 4_000


def test_another_agents_malformed_answer_is_not_ones_own():
    env = made("tldr_v0", max_turns=2)
    play(env, "", env.expert("detailed_1"))
    assert env.infos["detailed_1"]["error"] is None
    assert "no stage was paid (concise_0: malformed: a part is empty)" in env.observe("detailed_1")


@pytest.mark.parametrize("delimiter", ["\r\n=====\r\n", "\n\n  =====\t\n\n"])
def test_a_delimiter_with_spaces_or_other_line_ends(delimiter):
    env = made("tldr_v0", num_agents=1)
    assert play(env, delimiter.join(experts(made("tldr_v0")))) > 0.8 * MAXIMUM


@pytest.mark.parametrize("answer", ["=====", "=====\n{}\n{}", "{}\n{}\n=====", "=====\n" * 3000])
def test_one_author_needs_both_parts(answer):
    env = made("tldr_v0", num_agents=1, max_turns=2)
    assert play(env, answer.format(*experts(made("tldr_v0")))) <= MAX_START / 2
    assert env.infos["author_0"]["error"].startswith("malformed: ")
    assert not env.success


def test_half_characters_are_shown_so_that_they_can_be_encoded():
    env = made("tldr_v0", max_turns=2)
    play(env, "\ud800 " * 20, "a dog \udfff " * 20)
    assert all(env.observe(agent).encode() for agent in env.agents)


@pytest.mark.parametrize("delimiter", ["", "\n====\n", " ===== ", "\n=====\nand\n=====\n"])
def test_one_author_needs_one_delimiter(delimiter):
    env = made("tldr_v0", num_agents=1)
    two = experts(made("tldr_v0"))
    assert play(env, delimiter.join(two)) <= MAX_START
    assert "=====" in env.infos["author_0"]["error"]


def test_revisions_pay_differences():
    env = made("tldr_v0", max_turns=3)
    good = experts(env)
    total = play(env, *nonsense_pairs.TLDR[0])
    second = play(env, good[0], " ".join(good[1].split()[:30]))  # honest, too short
    assert not env.success
    third = play(env, *good)
    assert second > 0
    once = made("tldr_v0")
    assert total + second + third == pytest.approx(play(once, *good))
    assert env.success
    assert env.terminations["concise_0"]


def test_a_worse_revision_takes_back():
    env = made("tldr_v0", max_turns=3)
    good = experts(env)
    paid = play(env, good[0], " ".join(good[1].split()[:30]))
    left = play(env, "", good[1]) + paid
    assert 0 < left <= MAX_START / 2  # the start of the second part alone
    assert play(env, "", "") == pytest.approx(-left)


def test_feedback_names_ones_own_words_only():
    env = made("tldr_v0", max_turns=2)
    play(
        env,
        "The purple walrus juggles a samovar in Antarctica today, because it can.",
        "A dog. " * 9,
    )
    first, second = env.observe("concise_0"), env.observe("detailed_1")
    assert "not: purple, walrus, juggles, samovar, antarctica" in first
    assert "walrus" not in second


@every_id
def test_no_reference_is_read(id):
    env = made(id, max_turns=2)
    references = experts(env)
    play(env, *nonsense_pairs.ARXIV[0])
    for agent in env.agents:
        seen = env.observe(agent)
        for text in references:
            assert not any(sentence in seen for sentence in text.split(". "))


def test_hub_records_are_read(tmp_path):
    path = tmp_path / "posts.jsonl"
    prompt = "SUBREDDIT: r/x\n\nTITLE: A title\n\nPOST: I have a dog.\nHe barks.\n\nTL;DR:"
    records = [
        {"prompt": prompt, "completion": " dog barks"},
        {"prompt": prompt.replace("A title", "A  TITLE"), "completion": " the same post"},
        {"prompt": "TITLE: B\nPOST: Two cats.\nTL;DR: ", "completion": ""},
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    read = tldr.raw_env.public_set.load(str(path)).tasks
    assert [(t.title, t.text) for t in read] == [
        ("A title", "I have a dog.\nHe barks."),
        ("A  TITLE", "I have a dog.\nHe barks."),
        ("B", "Two cats."),
    ]
    env = made("tldr_v0", source=str(path))
    assert env.expert("concise_0") == "dog barks"
    with pytest.raises(NoScriptedPolicyError, match="without the detailed summary"):
        env.expert("detailed_1")
    assert env.noisy_expert("detailed_1", random.Random(0))


@pytest.mark.parametrize(
    ("prompt", "title", "text"),
    [
        ("POST: Only this.\n\nTL;DR:", "", "Only this."),
        ("SUBREDDIT: r/x\n\nPOST: No title.\nTL;DR: ", "", "No title."),
        (
            "TITLE: REPOST: a dog\n\nPOST: My POST: again.\n\nTL;DR:",
            "REPOST: a dog",
            "My POST: again.",
        ),
    ],
)
def test_prompts_of_other_forms(prompt, title, text):
    task = tldr.task_from_record({"prompt": prompt, "completion": ""})
    assert (task.title, task.text, task.parts) == (title, text, (None, None))


def test_a_record_with_an_empty_post_is_no_task(tmp_path):
    path = tmp_path / "posts.jsonl"
    prompts = ("TITLE: a\n\nPOST: \n\nTL;DR:", "TITLE: b\n\nPOST: A dog.\n\nTL;DR:")
    path.write_text("\n".join(json.dumps({"prompt": p, "completion": ""}) for p in prompts))
    assert [task.title for task in tldr.raw_env.public_set.load(str(path)).tasks] == ["b"]


def test_long_answers_on_a_long_post_take_little_time(tmp_path, no_collector):
    path = tmp_path / "posts.jsonl"
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(1500)]
    post = " ".join(rng.choices(words, k=2500))
    path.write_text(json.dumps({"prompt": f"POST: {post}\n\nTL;DR:", "completion": ""}))
    glued = " ".join(".".join(rng.choices(words, k=3)) for _ in range(199))  # 597 words in all
    for text in (glued, " ".join(post.split()[:256]), " ".join(["9" * 70] * 256)):
        env = made("tldr_v0", source=str(path))
        env.step(text)
        start = time.process_time()
        env.step(text)
        assert time.process_time() - start < 0.5  # 0.1 s as a rule


def test_real_posts_are_read(shared_data):
    env = made("tldr_v0", source=str(shared_data / "tldr_dev.jsonl"))
    assert env.tasks.count == 6
    for task in range(6):
        env.reset(options={"task": task})
        own = env.episode.task
        assert own.title
        assert "TL;DR" not in own.text
        assert "SUBREDDIT" not in own.text
        assert own.text in env.observe("concise_0")


def test_abstracts_of_another_schema(tmp_path):
    path = tmp_path / "abstracts.jsonl"
    path.write_text(json.dumps({"abstract_text": "We study frogs."}) + "\n")
    env = made("arxiv_v0", source=str(path))
    assert "We study frogs." in env.observe("method_1")


def test_abstracts_of_another_set_of_the_hub(monkeypatch):
    asked = []

    def load(public_set, source, on_bad_record):
        asked.append((source, public_set.hub_id))
        return LoadedTasks((tasks.WritingTask("", "We study frogs."),), "hub")

    monkeypatch.setattr("llmzoo.envs.sources.PublicSet.load", load)
    env = made("arxiv_v0", source="hub", hub_id="someone/abstracts")
    assert asked == [("hub", "someone/abstracts")]
    assert "We study frogs." in env.observe("method_1")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_agents": 3}, "num_agents must be one of 1, 2; got 3"),
        ({"reward": "best"}, "reward must be one of grounded, structural; got 'best'"),
        ({"prompt": "terse"}, "prompt must be one of full; got 'terse'"),
        ({"split": "dev"}, "split must be one of"),
        ({"source": "no/such.txt"}, "source must be"),
    ],
)
@every_id
def test_bad_arguments(id, kwargs, message):
    with pytest.raises(ConfigError, match=message):
        made(id, **kwargs)


def test_a_post_without_its_marks_is_a_named_error(tmp_path):
    path = tmp_path / "posts.jsonl"
    path.write_text('{"prompt": "no mark", "completion": "x"}\n')
    with pytest.raises(
        ConfigError, match=r"posts.jsonl:1: field 'prompt' has no line that begins with 'POST:'"
    ):
        made("tldr_v0", source=str(path))


def test_stories_have_no_hub():
    with pytest.raises(ConfigError, match="give source='sample' or a file"):
        made("story_v0", source="hub")


@every_id
def test_noisy_experts_earn_less_than_experts(id):
    sloppy, rng = [], random.Random(0)
    for task in range(10):
        env = made(id, task=task)
        sloppy.append(play(env, *(env.noisy_expert(agent, rng) for agent in env.possible_agents)))
    assert sum(sloppy) / len(sloppy) < 0.6 * MAXIMUM
    assert max(sloppy) > 0


@pytest.mark.slow
def test_no_attack_pays():
    """On the first two tasks of each environment; the table of the attacks takes sixteen."""
    rows = list(fixed_attacks(2))
    assert len(rows) > 100
    assert [row for row in rows if not row.failed] == []
    kinds = {row.limit for row in rows}
    assert kinds == {0.1 * MAXIMUM, 0.6 * MAXIMUM}
    assert all(row.honest > 0.8 * MAXIMUM for row in rows)


@pytest.mark.slow
def test_no_climber_pays(monkeypatch):
    """Pieces of two words once reached 2.84 of 2.98, most of it in the first evaluations."""
    monkeypatch.setattr(writing_climbers, "EVALUATIONS", 50)
    assert [row for row in climbers() if not row.failed] == []


@pytest.mark.long("a hill climber evaluates 850 texts for each of 15 pools")
def test_no_climber_pays_however_long_it_climbs():
    assert [row for row in climbers() if not row.failed] == []


@pytest.mark.long("a hill climber evaluates 850 texts from other sources")
@pytest.mark.xfail(
    reason="pieces of running text from elsewhere still pay where the climber is asked"
)
def test_pieces_of_other_sources_do_not_climb():
    pool = writing_climbers.climbed_pieces_of_other_sources
    assert climbed("tldr_v0", pool) < NONSENSE
