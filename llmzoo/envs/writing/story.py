"""# Stories

Two authors continue a story at the same time. One writes the next passage, the other the passage
after it, without having read the first.

| | |
|---|---|
| id | `story_v0` |
| agents | `first_0` and `second_1`, together; with `num_agents=1` `author_0` writes both |
| observation, action | text |
| rounds | at most `max_turns` (1) |
| success | all stages passed, and a faithfulness of at least 0.75 |

**Actions.** The text itself. `author_0` writes the first passage, a line that is `=====` and nothing
else, and the second. Without that line, or with two, at most the start is paid.

**Rewards.** In the form of [`tldr_v0`](tldr.md), with thresholds of this project, since there is no
published reward for stories. `reward="structural"`, at most 2.98:

| part | most | paid for |
|---|---|---|
| length | 0.5 | both passages have 64 to 192 words |
| ratio | 1.0 | the second has 0.75 to 1.35 times the characters of the first; linear from 0.5 and down to 2.0, outside of which the stages end |
| vocabulary | 0.5 | the same of its different words |
| style | 0.98 | 0.4 x (0.4 + 0.05 x (c - 1)) + 0.6 x min(J, 0.05) / 0.05. c is the number of kinds of transitions, of twelve, in both passages together; J is the Jaccard overlap of both without stop words |

`reward="grounded"`, the default, multiplies it by a factor from 0 to 1 for how well both passages keep
to the opening, with a start and measures as in `tldr_v0`. A story moves on to new things and people, so
little support (worth 0 at 0.14, 1 at 0.2; stretch, of twenty words, 0 at 0.03, 1 at 0.08) and coverage
(0 at 0.15, 1 at 0.21) are asked for: names and things come back. Order is worth 0 at 0.37 and 1 at
0.47, fit 0 at 0.3 and 1 at 0.4, paired 0 at 0.25 and 1 at 0.15, pieces 0 at 0.35 and 1 at 0.2, taken 0
at 0.65 and 1 at 0.5. There is no thread. Instead, both passages together have to take up things of the
opening and not only its names: the coverage of what is no name is worth 0 at 0.21 and 1 at 0.27. So
another story with the opening's names put in earns next to nothing; with some of its things put in too,
where they fit, it scores like a good one. A new name counts like any other word, and the furniture of
stories (doors, hands, mornings) does not count as content.

**Arguments.** `num_agents` (1 or 2), `max_turns`, `reward`, `source` (`"auto"` and `"sample"` are
the shipped openings; or a [file](../data.md#files-of-records) with the field `opening` and perhaps a
`title`), `on_bad_record` ("error" or "skip": of a file),
`prompt` ("full"), `team_weight`, `split` ("train", "test", "all"), `render_mode`.

**Tasks.** Openings of short stories written for this project. The split is by content.

**The scripted expert** plays the reference passages.

**Version history.** v0: first version. The start was added, and the length pays 0.1 less for it.
Paired, taken, broken and stretch were added, and support, coverage and things ask for more. A copy of the
instructions counts as copied. Prompts for chat models were reworded in November 2026.

**What the measure is for.** It lets learners be compared on prose without a judge. It follows rules, which
a model can satisfy without writing well: [what a search earned](../reward_search.md).
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
    form = scoring.STORY
    standard = grounding.STORY
    wording = Wording(
        source="The opening",
        both="the next two passages of a story",
        parts=(
            ("the first passage", "about 110 words that continue the opening"),
            ("the second passage", "about 110 words that continue the first passage"),
        ),
        wanted=(
            "both join their sentences with transitions of several kinds (but, because, when, "
            "then, although, as if, ...)",
            "both keep the names, the objects and the plot of the opening",
            "both use their own words: text copied from the opening earns little",
        ),
    )


raw_env = Story
env, parallel_env = make_env_fns(Story)
