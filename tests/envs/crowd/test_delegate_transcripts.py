"""Golden transcripts: every word that delegate_v0 says in fixed episodes.

Rewritten like those of the games: ``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/crowd``.
"""

from __future__ import annotations

import golden

import llmzoo

EPISODES = {
    "the experts": ({}, []),
    "a plan of which a line is not read": (
        {"rows": 4},
        ["January: count everything\nJanuary: again\nIt is done.", "The sum is unknown.", "12.5"],
    ),
    "no plan": ({"rows": 4}, ["Please help me.", "7"]),
    "an answer at once": ({"rows": 4}, ["Answer: 3"]),
    "terse": ({"prompt": "terse", "rows": 5}, []),
    "one agent": ({"num_agents": 1, "rows": 4}, []),
    "one agent errs": (
        {"num_agents": 1, "max_workers": 1, "rows": 4},
        ["Well.", "nothing"],
    ),
    "one agent, terse": ({"num_agents": 1, "prompt": "terse", "rows": 4}, []),
    "one agent, the whole book": (
        {"num_agents": 1, "reading": "all", "rows": 4, "documents": 4},
        [],
    ),
    "one agent, the whole book, terse": (
        {"num_agents": 1, "reading": "all", "prompt": "terse", "rows": 4, "documents": 4},
        [],
    ),
}


def test_transcripts():
    said = []
    for episode, (settings, answers) in EPISODES.items():
        env = llmzoo.make("delegate_v0", split="test", **settings)
        env.reset(options={"task": 2}, seed=0)
        said += [f"##### delegate, {episode}\n{golden.played(env, answers)}\n"]
    golden.check("delegate", "\n".join(said))
