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
nothing else, and the detailed one; without that line (or with two) at most the start is paid.

**Rewards.** One team reward, paid to both seats alike, in stages that stop at the first failure.
`reward="structural"` is that of CoMLRL / MAGRPO (arXiv 2508.04652), at most 2.98:

| part | most | paid for |
|---|---|---|
| length | 0.5 | both summaries have 8 to 256 words |
| ratio | 1.0 | the detailed one has 1.6 to 3.2 times the characters; linear from 1.1 and down to 5.0, outside of which the stages end |
| vocabulary | 0.5 | it has at least 2 times as many different words; linear from 1.3, below which the stages end |
| style | 0.98 | 0.4 x (0.4 + 0.05 x (c - 1)) + 0.6 x min(J, 0.03) / 0.03, with c of twelve kinds of transitions in the detailed summary, and J the Jaccard overlap of both without stop words |

Nothing in it asks what the post says. `reward="grounded"`, the default, is the same times a factor
from 0 to 1 for how faithful both summaries are, but for 0.1 of the length, which is paid as a part
of their own, `start`, so it is at most 2.98 too. An honest pair with three
to five kinds of transitions earns about 2.8, a pair of copied sentences 0.15, and fluent nonsense,
shuffled words or a summary of another post next to nothing more than its start. The factor is the geometric mean of both
summaries' scores, times the worth of the pair's measures, from order on; a score is the product
of what the other measures are worth, linear between two values:

| measure | worth 0 | worth 1 | |
|---|---|---|---|
| support | 0.28 | 0.46 | share of the telling words (no stop words, none that are frequent everywhere) that the post has too, by stem or by a common synonym; names and numbers count double |
| coverage | 0.14 | 0.26 | weight of the post's telling words that are taken up, by that of the heaviest words that a summary of this length has room for (a fifth of its words); names, and words that are repeated or stand in the title, weigh more |
| copied | 0.8 | 0.5 | share of words in runs of three or more that stand so in the post, or in longer spans with single words changed; worth 0.05 at least |
| repeated | 0.2 | 0.06 | share of runs of three words that stood in the summary before |
| glue | 0.1 | 0.18 | different stop words among the first 60 words, by words |
| listed | 13 | 10 | words that follow upon one another without a stop word |
| order | 0.1 | 0.2 | how well the classes of neighbouring words fit, by a table learned from the project's own texts: about 0.4 in running text, below 0 where words are shuffled |
| thread | 1.0 | 1.8 | how much closer telling words that follow upon one another stand in the post than any two that the summary has, in standard deviations; less is asked for a post under 100 words. About 0 where the post's words are put into other sentences |
| framed | 0.18 | 0.11 | share of different runs of five words of both that are alike when all but the stop words are blanks: sentences used again with other words put in |
| fit | 0.37 | 0.46 | share of the post's telling words that stand after the same kind of word as in the post: an article, "to", a person, a form of "be", a preposition, a break or a telling word |
| paired | 0.47 | 0.39 | share of neighbouring words, not both stop words, that are neighbours in the post: pieces of the post in another order keep most of them |
| pieces | 0.45 | 0.36 | share of neighbouring telling words, the stop words between them left out, that are neighbours in the post: pieces of it with other stop words keep most of them |
| taken | 0.97 | 0.91 | share of telling words that stand in the post just so: a retelling has words of its own |
| broken | 0.06 | 0.036 | share of neighbours whose classes next to never stand so in running text ("the of", "to is") |

The start has no gate, so that every better text earns more, from the first word on. It is 0.1 times
the mean of what both summaries are worth, halved where they do not go together. A summary is worth
how near it comes to the words asked for (half as many or twice as many: one half), a quarter of it
whatever it says and the rest by its progress: the mean of support and coverage, times the mean of
copied, repeated, glue and listed, all counted from the worst text on. They go together by how near
the ratio and the vocabulary come, and by the mean progress of the pair's measures.

These measures know no meaning: a summary that turns a fact round ("she left him") scores as one
that does not, and one that shares no telling word with its post scores nothing, though it may be
good. Keywords of the post in empty sentences mostly earn nothing, but where they happen to be nouns
that fit after "the" they can earn as much as a summary. So can sentences that are all different, with
words picked for each by what stands before them in the post, and pieces of other texts, alone or
with pieces of the post, in an order that was found by asking the reward hundreds of times. Clauses of
the post in another order, with other stop words and a transition before each, earn about 0.7.

Every round pays the difference to the round before, so an episode's return is what its last
texts are worth. Where an answer cannot be read, at most the start is paid, for what can be read of
both, and nothing of an empty or far too long one. `team_weight` multiplies all of it.
`infos[agent]["best_return"]` is the most that there is.

**Feedback** between rounds: the stage that failed, what was measured, the author's telling words
that the post lacks, and its own last text, all cut to a fixed length.

**Arguments.** `num_agents` (1 or 2), `max_turns`, `reward`, `source` (`"auto"`, `"hub"`,
`"sample"` or a [file](../data.md#files-of-records) of the hub's schema), `on_bad_record` ("error"
or "skip": of a file), `prompt` ("full"), `team_weight`,
`split` ("train", "test", "all"), `render_mode`.

**Tasks.** `trl-lib/tldr` (Reddit posts, CC BY 4.0) or the sample: posts written for this project.
The split is by content: a hash of title and post.

**The scripted expert** plays the sample's reference pairs; on the hub's records it knows a concise
summary at most, the post's own.

**Version history.** v0: first version. The start was added, and the length pays 0.1 less for it.
Paired, taken and broken were added: pieces of the post in another order earn next to nothing.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from llmzoo.envs.base import public_forms
from llmzoo.envs.sources import BadField, PublicSet, Record, field
from llmzoo.envs.writing import grounding, scoring
from llmzoo.envs.writing.pair import TwoAuthors
from llmzoo.envs.writing.tasks import SAMPLES, WritingTask, known_part
from llmzoo.envs.writing.wording import Wording

_TITLE = re.compile(r"^TITLE:", re.MULTILINE)
_POST = re.compile(r"^POST:", re.MULTILINE)  # a title may say "REPOST:"


def read(record: Record) -> WritingTask | None:
    """The task of a record: ``prompt`` (``TITLE:``, ``POST:`` and an open ``TL;DR:``), ``completion``,
    and in the sample ``detailed``. None for an empty post."""
    prompt = field(record, "prompt", str)
    post = _POST.search(prompt)
    if post is None:
        raise BadField("prompt", "has no line that begins with 'POST:'")
    head, text = prompt[: post.start()], prompt[post.end() :]
    titled = _TITLE.search(head)
    title = head[titled.end() :].strip() if titled else ""
    text = text.strip().removesuffix("TL;DR:").strip()
    parts = (known_part(record, "completion"), known_part(record, "detailed"))
    return WritingTask(title, text, parts) if text else None


class Tldr(TwoAuthors):
    """A concise and a detailed summary of a post."""

    metadata: dict[str, Any] = {**TwoAuthors.metadata, "name": "tldr_v0"}
    public_set = PublicSet(hub_id="trl-lib/tldr", read=read, sample=SAMPLES / "tldr.jsonl")
    seats: ClassVar[tuple[str, str]] = ("concise_0", "detailed_1")
    form = scoring.TLDR
    standard = grounding.TLDR
    wording = Wording(
        source="The post",
        both="two summaries of a post",
        parts=(
            (
                "the concise summary",
                "one or two sentences, about 25 words, that say what it is about",
            ),
            ("the detailed summary", "four to six sentences, about 60 words, with what matters"),
        ),
        wanted=(
            "the detailed summary joins its sentences with transitions of several kinds (however, "
            "because, after, for example, as a result, ...)",
            "both say what the post says, with its names and numbers, and nothing else",
            "both use words of their own: copied sentences earn little",
        ),
    )


raw_env = Tldr
env, parallel_env = public_forms(Tldr)
