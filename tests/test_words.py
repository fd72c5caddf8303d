"""One word for one thing: names and phrases that were replaced do not come back."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = sorted(
    p for p in (ROOT / "llmzoo").rglob("*.py") if "generated" not in p.relative_to(ROOT).parts
)
PAGES = sorted(
    p
    for p in [ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")]
    if "logs" not in p.parts
)

# old names of the package, and what they are called now
NAMES = {
    "seat_args": "agent_args",
    "single_seat": "single_agent",
    "take_seats": "load_policies",
    "SeatConfig": "AgentConfig",
    "per_seat": "per_agent",
    "uninformative": "zero_variance_groups",
    "momentum": "adam_beta1",
    "seat_others": "fill_other_agents",
    "deciders": "agents_to_act",
    "paid_now": "step_rewards",
    "Credited": "ScoredGroup",
    "Valued": "ScoredTurn",
    "lived": "agent_trajectories",
    "Ending": "EpisodeOutcome",
    "compares": "uses_group_baseline",
    "made_learner": "build_learner",
    "opened_engine": "open_engine",
    "FlatSeats": "NoSignalMonitor",
    "patient": "graceful_shutdown",
    "EarlyPolicy": "Policy.respond(on_complete=)",
    "respond_early": "respond(on_complete=)",
    "StreamingPolicy": "Policy.respond(on_complete=)",
    "respond_streaming": "respond(on_complete=)",
    "paid_by_others": "delayed_reward_agents",
    "judged_at_once": "immediate_credit_agents",
    "by_first": "on_rank_zero",
    "divided_like": "shard_tensor_like",
    "is_divided": "is_dtensor",
    "own_part": "local_shard",
    "made_anew": "rebuild",
    "warned_of_others": "warn_if_cpu_contended",
    "deciding": "agents_to_act",
    "read_calls": "parse_tool_calls",
    "clipped_ratio": "clipped_surrogate_loss",
    "paired_over_seeds": "paired_test_over_seeds",
    "sampled_only": "keep_sampled",
    "told_to_end": "install_shutdown_handler",
    "NoPlayerError": "NoScriptedPolicyError",
    "FlatGroupsWarning": "ZeroVarianceWarning",
    "SkippedWarning": "SkippedRecordsWarning",
    "Door": "AdmissionInterceptor",
    "Lanes": "TimeoutPool",
    "InOrder": "FastOrderEnforcingWrapper",
    "recomputed_layers": "checkpoint_layers",
    "plain_chat": "with_plain_chat",
}
# an expression that a native speaker would not write, and what says the same
PHRASES = {
    r"\banew\b": "again",
    r"\btold apart\b": "distinguished",
    r"\bseeds of (two|three|four|five)\b": "2 of 3 seeds",
    r"\bwould mean nothing\b": "would have no effect",
    r"\bmeans nothing without\b": "requires",
    r"\bmend(s|ed|ing)?\b": "fix, repair",
    r"\bseats?\b": "agent",
}
# where a word means what it says: places in aeroplanes and cars, what people say in a task, a stream
# of random numbers that is named after it, and where a person sits down to play
ALLOWED = {
    r"\bseats?\b": (
        *("envs/tools/airline/", "envs/tools/telecom/", "envs/planning/travel/", "cli/play.py"),
        "envs/tools/tool_use/families/",
        *("environments/airline", "environments/telecom", "environments/travel", "docs/cli.md"),
        *("envs/signals/relay.py", "llmzoo/errors.py"),
    ),
    r"\bmend(s|ed|ing)?\b": (
        *(
            "envs/tools/telecom/",
            "environments/telecom",
            "environments/debate",
            "llmzoo/envs/debate/",
        ),
    ),
}


def test_no_old_name_is_left():
    found = []
    for path in CODE:
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.NAME and token.string in NAMES:
                    place = f"{path.relative_to(ROOT)}:{token.start[0]}"
                    found.append(f"{place}: {token.string} is {NAMES[token.string]}")
    assert not found


@pytest.mark.parametrize("pattern", PHRASES)
def test_no_old_phrase_is_left(pattern):
    found = []
    for path in [*CODE, *PAGES]:
        name = path.relative_to(ROOT).as_posix()
        if any(place in name for place in ALLOWED.get(pattern, ())):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(pattern, line, re.IGNORECASE):
                found.append(f"{name}:{number}: write {PHRASES[pattern]!r}: {line.strip()[:80]}")
    assert not found


def test_the_search_sees_what_it_looks_for():
    tokens = tokenize.generate_tokens(io.StringIO("x = made_learner(seat_args)\n").readline)
    assert {t.string for t in tokens} & NAMES.keys() == {"made_learner", "seat_args"}
    assert re.search(r"\bseats?\b", "two seats")
