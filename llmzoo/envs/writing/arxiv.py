"""# Introductions from abstracts

Two authors expand an abstract to an introduction at the same time: one writes background and
motivation, the other method and implications.

| | |
|---|---|
| id | `arxiv_v0` |
| agents | `background_0` and `method_1`, together; with `num_agents=1` `author_0` writes both |
| observation, action | text |
| rounds | at most `max_turns` (1) |
| success | all stages of the reward passed, and a faithfulness factor of at least 0.75 |

**Actions.** The text itself. `author_0` writes the background, a line that contains only `=====`,
and the method. Without that line, or with two, the reward is at most the component `start`.

**Rewards.** They have the form of the rewards of [`tldr_v0`](tldr.md), with different thresholds.
`reward="structural"` is the reward of CoMLRL / MAGRPO (arXiv 2508.04652), at most 2.98. Its components are
stages. When one of them fails, the stages end: it and the following components are 0.

| component | maximum | condition |
|---|---|---|
| length | 0.5 | both the background and the method have 128 to 256 words |
| ratio | 1.0 | the method has 1.3 to 1.6 times the characters of the background; linear from 0.8 to 1.3 and from 1.6 to 2.0; below 0.8 and above 2.0 the stages end |
| vocabulary | 0.5 | the method has 0.7 to 1.3 times as many different words as the background; linear from 0.5 to 0.7 and from 1.3 to 1.7; below 0.5 and above 1.7 the stages end |
| style | 0.98 | 0.4 x (0.4 + 0.05 x (c - 1)) + 0.6 x min(J, 0.23) / 0.23. c is the number of kinds of transitions, of twelve, in background and method together; J is the Jaccard similarity of their sets of words without stop words |

`reward="grounded"`, the default, multiplies this reward by a factor from 0 to 1 that measures how faithful
background and method are to the abstract. Its component `start` and its measures are defined in
[`tldr_v0`](tldr.md). These measures have other values here:

| measure | worth 0 | worth 1 |
|---|---|---|
| support | 0.2 | 0.36 |
| stretch | 0.08 | 0.16 |
| coverage | 0.25 | 0.48 |
| order | 0.15 | 0.28 |
| thread | 2 | 3.5 |
| paired | 0.4 | 0.31 |
| taken | 0.9 | 0.82 |

An introduction says more than its abstract, which affects support, stretch and coverage. Order and thread
are higher in longer texts. Words that are common in papers ("method", "existing", "results") do not count as
content.

**Arguments.** Those of `tldr_v0`, plus `hub_id`: the data set that
`source="hub"` loads, by default that of MAGRPO, `OpenMLRL/arXiv_abstract`. Its records, and those of a
file, need the field `abstract` or `abstract_text` and may have a `title`.

**Tasks.** The data set, or the sample: abstracts of invented papers written for this project. The
split is by content: a hash of title and abstract.

**The scripted expert** plays the sample's reference introductions. The records of the hub have none.

**Version history.** v0: first version. Since then the component `start` was added, and `length` is worth 0.1
less to compensate. The measures paired, taken, broken and stretch were added. A copy of the instructions counts
as copied. Prompts for chat models were reworded in November 2026.

**Purpose of the reward.** It allows learners to be compared on prose without a judge model. It consists of
rules, which a model can satisfy without writing well: [what a search finds in
rewards](../reward_search.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

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
    structure_thresholds = scoring.ARXIV
    grounding_standard = grounding.ARXIV
    wording = Wording(
        source="The abstract",
        task="the introduction of a paper from its abstract",
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
        rules=(
            "both join their sentences with transitions of several kinds (however, because, for "
            "example, first, in contrast, as a result, ...) and use the abstract's terms, so that "
            "they share many of their words",
            "both say what the abstract says, with its names and numbers, and invent no findings",
            "both use their own words: copied sentences earn little",
        ),
    )

    def __init__(self, *, hub_id: str = HUB_ID, **options: Any):
        self.public_set = replace(self.public_set, hub_id=hub_id)
        super().__init__(**options)


raw_env = Arxiv
env, parallel_env = make_env_fns(Arxiv)
