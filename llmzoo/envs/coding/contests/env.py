"""# Contest problems

A coder and a tester work on one contest problem: the coder writes a program, the tester writes
tests, at the same time. After each round the program is run on the tester's inputs, and both are
told where they differ.

| | |
|---|---|
| id | `contests_v0` |
| agents | `coder_0` and `tester_1`; with `num_agents=1`: `coder_0` |
| observation, action | text |
| rounds | at most `max_turns` (4), simultaneous; fewer when the two agree |
| success | the coder's last program passes every test, public and hidden; infos also have `hidden_success`, for the hidden ones |

**Actions.** The coder's: a Python program, fenced or not, that reads standard input and writes to
standard output; or a function, where the problem asks for one (a method of a class `Solution` will
do). The tester's: a JSON list of `{"input": ..., "output": ...}`, or `Input:` and `Output:` blocks.
A test counts if it has the right form, an output, at most 2,000 characters on each side, and an input
that repeats neither another test nor an example of the problem; the first `max_tests` such tests are
used. Inputs are compared as they are parsed (`03`, `+3` and full-width digits are 3). An input that
starts with an example, or has more than one word and stands in the statement, repeats an example: such
a test is ignored.

**The end.** The two agree when at least one test counts and the program passes all that do. Agreement
on something wrong ends the episode too, without success. A coder alone is told about the examples, and
ends the episode by passing them.

**Rewards** (potential-based, gamma 1: an episode's return is the worth of a seat's last answer).

| part | who | worth over an episode |
|---|---|---|
| team | both | the share of the hidden tests that the program passes |
| parses | coder | 0.1 if a program can be read; 0.025 where one is begun |
| runs | coder | 0.1 if it runs on the examples without a crash or a limit reached |
| tests | coder | 0.8 x the share of the hidden tests that it passes |
| valid | tester | 0.05 if at least one test counts |
| sound | tester | 0.05 x the share of its tests that a known solution passes |
| caught | tester | 0.9 x the same share x what these tests catch of the wrong programs |

**Wrong programs** come with a record, or are small changes of a known solution, made on its syntax
tree. Up to six of them count, all of which pass every example of the problem, so no example catches
one. If no such change exists, those count that the fewest tests catch; if there is none at all, every
right test counts as if it caught all. A test catches a program that ends with another output or an
exception, not one that runs too long. The reward is what the tests catch beyond the average of one
hidden test, as a share of what `max_tests` hidden tests can catch beyond it.

Without a known solution, the programs of this episode that passed every hidden test replace it: a test
is right if all of them pass it, and wrong programs are changes of the first. While there are none,
sound and caught are 0. If several outputs are right, a test is sound only if it expects the output of
the known solution.

**Judging.** Outputs are compared word by word, numbers with a point within 1e-6; values of
functions likewise. Everything runs in the sandbox with `time_limit` seconds a run; when a program
has used up two runs, the rest of its tests count as failed, and one that used up its time on an
example is not tried any further. Infos name what kept a program from running on any example, and
what was left out of an answer. Feedback shows examples and the tester's tests, each cut to 300
characters, never a hidden test or the known solution.

**Arguments.** `num_agents`, `max_turns`, `max_tests` (5), `time_limit` (5 seconds), `prompt`
("full"), `team_weight`, `split` ("train", "test", "all"), `source` ("auto": the problems written
for this project; or a file of their form), `on_bad_record` ("error" or "skip": of a
[file](../data.md#files-of-records)), `render_mode`.

**Tasks.** 59 problems (arithmetic, words, greedy choices, dynamic programming, graphs, simulation,
geometry on whole numbers, reading formats), eight of them functions, each with two examples and
eight or more hidden tests. A file holds JSON lines with `statement`, `public` and `hidden` (lists
of `input` and `output`), and if known `solution` and `wrong` (a list of wrong programs); a `function` problem writes arguments as a JSON
list and values as JSON. The split is by the words of the statement.

**Version history.** v0: first version. Since then the tester is paid for wrong programs that its
tests catch, success asks for the public tests too, and a program that is begun earns a little.
Returns of testers before and after do not compare.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llmzoo.envs.base import public_forms
from llmzoo.envs.coding.contests import tasks
from llmzoo.envs.coding.contests.coder_tester import CoderTester
from llmzoo.envs.coding.contests.tasks import Problem
from llmzoo.envs.sources import ID_FIELDS, Loaded, load_file
from llmzoo.envs.tasks import Tasks

_ID_FIELDS = (*ID_FIELDS, "name")


class Contests(CoderTester):
    """The problems written for this project."""

    metadata: dict[str, Any] = {**CoderTester.metadata, "name": "contests_v0"}

    def find_tasks(self, source: str, split: str, on_bad_record: str) -> Tasks[Problem]:
        if source in ("auto", "sample"):
            loaded = _shipped()
        else:
            loaded = load_file(source, tasks.read, on_bad_record, id_fields=_ID_FIELDS)
        return loaded.listed(tasks.canonical, split)


@cache
def _shipped() -> Loaded[Problem]:
    problems = tasks.shipped()
    return Loaded(problems, "shipped", names=tuple(problem.name for problem in problems))


raw_env = Contests
env, parallel_env = public_forms(Contests)
