"""# Stories

Two authors continue a story at the same time. The first writes the next passage. The second writes
the passage after that, without seeing the first one.

| | |
|---|---|
| id | `story_v0` |
| agents | `first_0` and `second_1`, together; with `num_agents=1` `author_0` writes both |
| observation, action | text |
| rounds | at most `max_turns` (1) |
| success | all stages passed, and a faithfulness of at least 0.75 |

**Actions.** The text itself. `author_0` writes the first passage, a line that contains only `=====`,
and the second passage. Without that line, or with two, the reward is at most the start.

**Rewards.** They have the form of the rewards of [`tldr_v0`](tldr.md). The thresholds are this
project's own, because there is no published reward for stories. `reward="structural"`, at most 2.98:

| component | maximum | condition |
|---|---|---|
| length | 0.5 | both passages have 64 to 192 words |
| ratio | 1.0 | the second has 0.75 to 1.35 times the characters of the first; linear from 0.5 to 0.75 and from 1.35 to 2.0; below 0.5 and above 2.0 the stages end |
| vocabulary | 0.5 | the same for the number of different words |
| style | 0.98 | 0.4 x (0.4 + 0.05 x (c - 1)) + 0.6 x min(J, 0.05) / 0.05. c is the number of kinds of transitions, of twelve, in both passages together; J is the Jaccard similarity of the two passages without stop words |

`reward="grounded"`, the default, multiplies this reward by a factor from 0 to 1 that measures how well
both passages stay with the opening. It has a start and measures as in `tldr_v0`, with these values:

| measure | worth 0 | worth 1 |
|---|---|---|
| support | 0.14 | 0.2 |
| stretch, of twenty words | 0.03 | 0.08 |
| coverage | 0.15 | 0.21 |
| order | 0.37 | 0.47 |
| fit | 0.3 | 0.4 |
| paired | 0.25 | 0.15 |
| pieces | 0.35 | 0.2 |
| taken | 0.65 | 0.5 |
| things: coverage of the words that are not names | 0.21 | 0.27 |

A story introduces new things and people, so the thresholds of support and coverage are low: it is
enough that names and things return. The measure thread is replaced by things: both passages together
must mention things of the opening, not only its names. So another story with the opening's names inserted
earns next to nothing. With some of its things inserted too, where they fit, it scores like a good one. A
new name counts like any other word. Words that are common in stories (doors, hands, mornings) do not
count as content.

**Arguments.** `num_agents` (1 or 2), `max_turns`, `reward`, `source` (`"auto"` and `"sample"` are
the shipped openings; or a [file](../data.md#files-of-records) with the field `opening` and an optional
`title`), `on_bad_record` ("error" or "skip", for a file),
`prompt` ("full"), `team_weight`, `split` ("train", "test", "all"), `render_mode`.

**Tasks.** Openings of short stories written for this project. The split is by content.

**The scripted expert** plays the reference passages.

**Version history.** v0: first version. The start was added, and the length is worth 0.1 less
to compensate. Paired, taken, broken and stretch were added, and the thresholds of support, coverage and
things were raised. A copy of the instructions counts as copied. Prompts for chat models were reworded in November 2026.

**Purpose of the reward.** It allows learners to be compared on prose without a judge model. It consists of
rules, which a model can satisfy without writing well: [what a search earned](../reward_search.md).
"""

from __future__ import annotations

from typing import Any, ClassVar

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.sources import PublicSet, Record
from llmzoo.envs.writing import grounding, scoring
from llmzoo.envs.writing.tasks import SAMPLES, WritingTask, make_task
from llmzoo.envs.writing.two_authors import TwoAuthors
from llmzoo.envs.writing.wording import Wording


def task_from_record(record: Record) -> WritingTask | None:
    """The task of a record: ``opening``, ``title``, and in the sample ``first`` and ``second``."""
    return make_task(record, "opening", "first", "second")


class Story(TwoAuthors):
    """The next two passages of a story."""

    metadata: dict[str, Any] = {**TwoAuthors.metadata, "name": "story_v0"}
    public_set = PublicSet(hub_id="", read=task_from_record, sample=SAMPLES / "story.jsonl")
    authors: ClassVar[tuple[str, str]] = ("first_0", "second_1")
    structure_thresholds = scoring.STORY
    grounding_standard = grounding.STORY
    wording = Wording(
        source="The opening",
        task="the next two passages of a story",
        parts=(
            ("the first passage", "about 110 words that continue the opening"),
            ("the second passage", "about 110 words that continue the first passage"),
        ),
        rules=(
            "both join their sentences with transitions of several kinds (but, because, when, "
            "then, although, as if, ...)",
            "both keep the names, the objects and the plot of the opening",
            "both use their own words: text copied from the opening earns little",
        ),
    )


raw_env = Story
env, parallel_env = make_env_fns(Story)
