"""# Introductions from abstracts

Two authors expand an abstract to an introduction at the same time: one writes background and
motivation, the other method and implications.

| | |
|---|---|
| id | `arxiv_v0` |
| agents | `background_0` and `method_1`, together; with `num_agents=1` `author_0` writes both |
| observation, action | text |
| rounds | at most `max_turns` (1) |
| success | all stages passed, and a faithfulness of at least 0.75 |

**Actions.** The text itself. `author_0` writes the background, a line that is `=====` and nothing
else, and the method. Without that line, or with two, at most the start is paid.

**Rewards.** Those of [`tldr_v0`](tldr.md), with other thresholds. `reward="structural"` is that of
CoMLRL / MAGRPO (arXiv 2508.04652), at most 2.98:

| part | most | paid for |
|---|---|---|
| length | 0.5 | both parts have 128 to 256 words |
| ratio | 1.0 | the method has 1.3 to 1.6 times the background's characters; linear from 0.8 and down to 2.0, outside of which the stages end |
| vocabulary | 0.5 | it has 0.7 to 1.3 times as many different words; linear from 0.5 and down to 1.7 |
| style | 0.98 | 0.4 x (0.4 + 0.05 x (c - 1)) + 0.6 x min(J, 0.23) / 0.23. c is the number of kinds of transitions, of twelve, in both parts together; J is the Jaccard overlap of both without stop words |

`reward="grounded"`, the default, multiplies it by a factor from 0 to 1 for how faithful both parts are
to the abstract, with a start and measures as in `tldr_v0`. The general language of papers ("method",
"existing", "results") does not count as content. An introduction says more than its abstract, so
support is worth 0 at 0.2 and 1 at 0.36, stretch 0 at 0.08 and 1 at 0.16, coverage 0 at 0.25 and 1 at
0.48. A longer text shows more order (0 at 0.15, 1 at 0.28) and thread (0 at 2, 1 at 3.5). Paired is
worth 0 at 0.4 and 1 at 0.31, taken 0 at 0.9 and 1 at 0.82. The other thresholds are the same.

**Arguments.** Those of `tldr_v0` except `on_bad_record`, and `hub_id`: the data set that
`source="hub"` loads, by default the paper's, `OpenMLRL/arXiv_abstract`. Its records, and those of a
file, need the field `abstract` or `abstract_text` and may have a `title`.

**Tasks.** The data set, or the sample: abstracts of invented papers written for this project. The
split is by content: a hash of title and abstract.

**The scripted expert** plays the sample's reference introductions; a record of the hub has none.

**Version history.** v0: first version. The start was added, and the length pays 0.1 less for it.
Paired, taken, broken and stretch were added. A copy of the instructions counts as copied. Prompts for chat
models were reworded in November 2026.

**Purpose of the reward.** It allows learners to be compared on prose without a judge model. It consists of
rules, which a model can satisfy without writing well: [what a search earned](../reward_search.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.sources import PublicSet, Record
from llmzoo.envs.writing import grounding, scoring
from llmzoo.envs.writing.tasks import SAMPLES, WritingTask, make_task
from llmzoo.envs.writing.two_authors import TwoAuthors
from llmzoo.envs.writing.wording import Wording

HUB_ID = "OpenMLRL/arXiv_abstract"


def task_from_record(record: Record) -> WritingTask | None:
    """The task of a record: ``abstract`` or ``abstract_text``, ``title``, ``background``, ``method``."""
    text = "abstract_text" if "abstract_text" in record else "abstract"
    return make_task(record, text, "background", "method")


class Arxiv(TwoAuthors):
    """Background and method of an introduction, from an abstract."""

    metadata: dict[str, Any] = {**TwoAuthors.metadata, "name": "arxiv_v0"}
    public_set = PublicSet(hub_id=HUB_ID, read=task_from_record, sample=SAMPLES / "arxiv.jsonl")
    authors: ClassVar[tuple[str, str]] = ("background_0", "method_1")
    form = scoring.ARXIV
    standard = grounding.ARXIV
    wording = Wording(
        source="The abstract",
        both="the introduction of a paper from its abstract",
        parts=(
            (
                "the background",
                "about 145 words on the problem, why it matters and what is unsolved",
            ),
            (
                "the method",
                "about 200 words on what the paper does, what it finds and what follows",
            ),
        ),
        wanted=(
            "both join their sentences with transitions of several kinds (however, because, for "
            "example, first, in contrast, as a result, ...) and use the abstract's terms, so that "
            "they share many of their words",
            "both say what the abstract says, with its names and numbers, and invent no findings",
            "both use their own words: copied sentences earn little",
        ),
    )

    def __init__(
        self,
        *,
        num_agents: int = 2,
        max_turns: int = 1,
        reward: Literal["grounded", "structural"] = "grounded",
        prompt: Literal["full"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        source: str = "auto",
        hub_id: str = HUB_ID,
        render_mode: str | None = None,
    ):
        self.public_set = replace(self.public_set, hub_id=hub_id)
        super().__init__(
            num_agents=num_agents,
            max_turns=max_turns,
            reward=reward,
            prompt=prompt,
            team_weight=team_weight,
            split=split,
            source=source,
            render_mode=render_mode,
        )


raw_env = Arxiv
env, parallel_env = make_env_fns(Arxiv)
