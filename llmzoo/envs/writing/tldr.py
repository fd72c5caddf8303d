"""# TL;DR

Two authors summarize a post at the same time: one in a sentence or two, the other in detail.

| | |
|---|---|
| id | `tldr_v0` |
| agents | `concise_0` and `detailed_1`, together; with `num_agents=1` `author_0` writes both |
| observation, action | text |
| rounds | at most `max_turns` (1) |
| success | all stages passed, and a faithfulness of at least 0.75 |

**Actions.** The text itself. `author_0` writes the concise summary, a line that is `=====` and
nothing else, and the detailed one. Without that line, or with two, at most the start is paid.

**Rewards.** Both agents get the same team reward, in stages that stop at the first failure.
`reward="structural"` is that of CoMLRL / MAGRPO (arXiv 2508.04652), at most 2.98:

| part | most | paid for |
|---|---|---|
| length | 0.5 | both summaries have 8 to 256 words |
| ratio | 1.0 | the detailed one has 1.6 to 3.2 times the characters; linear from 1.1 and down to 5.0, outside of which the stages end |
| vocabulary | 0.5 | it has at least 2 times as many different words; linear from 1.3, below which the stages end |
| style | 0.98 | 0.4 x (0.4 + 0.05 x (c - 1)) + 0.6 x min(J, 0.03) / 0.03. c is the number of kinds of transitions, of twelve, in the detailed summary; J is the Jaccard overlap of both without stop words |

It does not depend on what the post says. `reward="grounded"`, the default, multiplies it by a
factor from 0 to 1 for how faithful both summaries are, except for 0.1 of the length, which is the
part `start`. So it is at most 2.98 too. An honest pair with three to five kinds of transitions earns
about 2.8, a pair of copied sentences 0.15. Fluent nonsense, shuffled words and a summary of another
post earn little more than their start. A summary's score is the product of the worth of its measures,
each linear between two values. The factor is the geometric mean of both scores times the worth of the
pair's measures, from order on:

| measure | worth 0 | worth 1 | |
|---|---|---|---|
| support | 0.28 | 0.46 | share of the content words (no stop words, none that are frequent everywhere) that the post has too, by stem or by a common synonym; names and numbers count double |
| stretch | 0.2 | 0.33 | the least share, among twelve content words in a row, that the post has too: a summary of another post with pieces of this one has such a stretch |
| coverage | 0.14 | 0.26 | weight of the post's content words that it takes up, divided by that of the heaviest words that a summary of this length has room for (a fifth of its words); names, repeated words and words of the title weigh more |
| copied | 0.8 | 0.5 | share of words in runs of three or more that the post has too, or in longer spans with single words changed, or in runs of five that the instructions have; worth at least 0.05 |
| repeated | 0.2 | 0.06 | share of runs of three words that occurred in the summary before |
| glue | 0.1 | 0.18 | different stop words among the first 60 words, divided by the number of words: a list of keywords has few |
| listed | 13 | 10 | longest sequence of words without a stop word |
| order | 0.1 | 0.2 | how well the classes of neighbouring words fit, by a table learned from the project's own texts: about 0.4 in running text, below 0 for shuffled words |
| thread | 1.0 | 1.8 | how much closer neighbouring content words are in the post than any two of the summary, in standard deviations; a post under 100 words asks for less. About 0 for the post's words in other sentences |
| framed | 0.18 | 0.11 | share of different runs of five words of both that are alike when all but the stop words are blanks: sentences used again with other words put in |
| fit | 0.37 | 0.46 | share of the post's content words that follow the same kind of word as in the post: an article, "to", a person, a form of "be", a preposition, a break or a content word |
| paired | 0.47 | 0.39 | share of neighbouring words, not both stop words, that are neighbours in the post: pieces of the post in another order keep most of them |
| pieces | 0.45 | 0.36 | the same share for content words without the stop words between them: pieces of the post with other stop words keep most of them |
| taken | 0.97 | 0.91 | share of content words that the post has in the same form: a retelling has words of its own |
| broken | 0.06 | 0.036 | share of neighbours whose classes hardly ever follow one another in running text ("the of", "to is") |

The start has no gate, so every better text earns more, from the first word on. It is 0.1 times the
mean worth of both summaries, halved if they do not go together. A summary is worth how near it comes
to the words asked for (half as many or twice as many: one half). A quarter of that is paid whatever it
says, the rest by its progress: the mean of support and coverage, times the mean of copied, repeated,
glue and listed, all counted from the worst text on. The summaries go together by how near the ratio and
the vocabulary come, and by the mean progress of the pair's measures.

These measures know no meaning. A summary that reverses a fact ("she left him") scores like one that
does not, and one that shares no content word with its post scores nothing, even if it is good. Keywords
of the post in empty sentences mostly earn nothing, but if they happen to be nouns that fit after "the"
they can earn as much as a summary. So can different sentences with words chosen by what precedes them
in the post, and pieces of other texts in an order found by asking the reward hundreds of times. Clauses
of the post in another order, with other stop words and a transition before each, earn about 0.7.

Every round pays the difference to the round before, so an episode's return is the worth of its last
texts. For a malformed answer at most the start is paid, for what can be read of both, and nothing for
an empty or far too long one. `team_weight` multiplies the reward. `infos[agent]["best_return"]` is
the highest return.

**Feedback** between rounds: the stage that failed, the measures, the author's content words that the
post lacks, and its own last text, all cut to a fixed length.

**Arguments.** `num_agents` (1 or 2), `max_turns`, `reward`, `source` (`"auto"`, `"hub"`,
`"sample"` or a [file](../data.md#files-of-records) of the hub's schema), `on_bad_record` ("error"
or "skip": of a file), `prompt` ("full"), `team_weight`,
`split` ("train", "test", "all"), `render_mode`.

**Tasks.** `trl-lib/tldr` (Reddit posts, CC BY 4.0) or the sample: posts written for this project.
The split is by content: a hash of title and post.

**The scripted expert** plays the sample's reference pairs. For the hub's records it knows at most the
post's own concise summary.

**Version history.** v0: first version. The start was added, and the length pays 0.1 less for it.
Paired, taken and broken were added: pieces of the post in another order earn next to nothing.
Stretch was added. A copy of the instructions counts as copied. Prompts for chat models were reworded in November 2026.

**Purpose of the reward.** It allows learners to be compared on prose without a judge model. It consists of
rules, which a model can satisfy without writing well: [what a search earned](../reward_search.md).
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.sources import BadField, PublicSet, Record, get_field
from llmzoo.envs.writing import grounding, scoring
from llmzoo.envs.writing.tasks import SAMPLES, WritingTask, reference_text
from llmzoo.envs.writing.two_authors import TwoAuthors
from llmzoo.envs.writing.wording import Wording

_TITLE = re.compile(r"^TITLE:", re.MULTILINE)
_POST = re.compile(r"^POST:", re.MULTILINE)  # a title may say "REPOST:"


def task_from_record(record: Record) -> WritingTask | None:
    """The task of a record: ``prompt`` (``TITLE:``, ``POST:`` and an open ``TL;DR:``), ``completion``,
    and in the sample ``detailed``. None for an empty post."""
    prompt = get_field(record, "prompt", str)
    post = _POST.search(prompt)
    if post is None:
        raise BadField("prompt", "has no line that begins with 'POST:'")
    head, text = prompt[: post.start()], prompt[post.end() :]
    titled = _TITLE.search(head)
    title = head[titled.end() :].strip() if titled else ""
    text = text.strip().removesuffix("TL;DR:").strip()
    parts = (reference_text(record, "completion"), reference_text(record, "detailed"))
    return WritingTask(title, text, parts) if text else None


class Tldr(TwoAuthors):
    """A concise and a detailed summary of a post."""

    metadata: dict[str, Any] = {**TwoAuthors.metadata, "name": "tldr_v0"}
    public_set = PublicSet(
        hub_id="trl-lib/tldr", read=task_from_record, sample=SAMPLES / "tldr.jsonl"
    )
    authors: ClassVar[tuple[str, str]] = ("concise_0", "detailed_1")
    structure_thresholds = scoring.TLDR
    grounding_standard = grounding.TLDR
    wording = Wording(
        source="The post",
        task="two summaries of a post",
        parts=(
            (
                "the concise summary",
                "one or two sentences, about 25 words, that say what it is about",
            ),
            ("the detailed summary", "four to six sentences, about 60 words, with what matters"),
        ),
        rules=(
            "the detailed summary joins its sentences with transitions of several kinds (however, "
            "because, after, for example, as a result, ...)",
            "both say what the post says, with its names and numbers, and nothing else",
            "both use their own words: copied sentences earn little",
        ),
    )


raw_env = Tldr
env, parallel_env = make_env_fns(Tldr)
