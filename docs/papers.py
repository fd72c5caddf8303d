"""The index of papers: docs/papers.md, from docs/papers.yaml, the registry and the tables of results.

Numbers of results pages are copied from their tables, so they are those that stand there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import llmzoo
from llmzoo.learners import learner_class
from llmzoo.learners.preference_losses import LOSSES
from llmzoo.registry import load_object

DOCS = Path(__file__).parent
LISTED: dict[str, Any] = yaml.safe_load((DOCS / "papers.yaml").read_text(encoding="utf-8"))
ARXIV = re.compile(r"\d{4}\.\d{5}")


def page() -> str:
    """The text of docs/papers.md, without the note at its head."""
    return _PAGE.format(
        learners=_table(
            ["learner", "paper", "file", "configuration", "published", "measured here"],
            map(_learner, LISTED["learners"]),
        ),
        options=_table(["option", "of", "paper", "file"], map(_option, LISTED["options"])),
        losses=_table(["`loss_type`", "loss", "paper"], map(_loss, LOSSES)),
        environments=_table(
            ["environment", "paper", "file", "published form", "published", "measured here"],
            map(_environment, LISTED["environments"]),
        ),
        others=_table(
            ["paper", "file"],
            ((_paper(key), _file(file)) for key, file in LISTED["others"].items()),
        ),
    )


def cell(told: Mapping[str, str]) -> str:
    """A number of a results page: ``page``, ``heading``, ``row`` (its first cell) and ``column``.

    Raises ``ValueError`` unless the section has one such table with one such row.
    """
    text = (DOCS / told["page"]).read_text(encoding="utf-8")
    parts = re.split(rf"^#+ {re.escape(told['heading'])}$", text, flags=re.MULTILINE)
    if len(parts) != 2:
        raise ValueError(f"{told['page']} has {len(parts) - 1} headings {told['heading']!r}")
    section = re.split(r"^#+ ", parts[1], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    rows = [[text.strip() for text in line.strip("|").split("|")] for line in lines]
    heads = [row for row in rows if told["column"] in row]
    found = [row for row in rows if row[0] in (told["row"], f"`{told['row']}`")]
    if len(heads) != 1 or len(found) != 1 or heads[0].count(told["column"]) != 1:
        raise ValueError(f"{told['page']}, {told['heading']}: no single cell of {told}")
    number = found[0][heads[0].index(told["column"])]
    return number.partition(" (")[0]  # the number before training and the seconds may follow


def _learner(name: str) -> list[str]:
    told = {"measured": _by_sudoku(name), **LISTED["learners"][name]}
    config = f"[`{name}.yaml`](../configs/learners/{name}.yaml)"
    return [
        f"[`{name}`](learners/{name}.md)",
        _papers(told),
        _source(learner_class(name)),
        "; ".join([config, *_settings(told)]),
        *_numbers(told),
    ]


def _by_sudoku(name: str) -> dict[str, str]:
    """Where docs/results has a number of every learner."""
    return {
        "page": "results/archive/learners_by_environments.md",
        "heading": "Learners by environments",
        "row": name,
        "column": "`sudoku_v0`",
        "of": "`sudoku_v0`, one round",
    }


def _environment(id: str) -> list[str]:
    told = LISTED["environments"][id]
    return [
        f"[`{id}`](environments/{id.rpartition('_v')[0]}.md)",
        _papers(told),
        _source(load_object(str(llmzoo.spec(id).entry_point).replace(":env", ":raw_env"))),
        "; ".join(_settings(told)),
        *_numbers(told),
    ]


def _option(row: Sequence[Any]) -> list[str]:
    learner, options, what, paper, file = row
    said = ", ".join(_settings({"options": options}))
    return [said, f"[`{learner}`](learners/{learner}.md): {what}", _paper(paper), _file(file)]


def _loss(name: str) -> list[str]:
    said = " ".join((inspect.getdoc(LOSSES[name]) or "").split())
    papers = [_paper(key) for key in ARXIV.findall(said)]
    said = re.sub(r" \(arXiv [\d.]+\)", "", said)
    return [f"`{name}`", said.replace("|", "\\|"), "; ".join(papers) or "none"]


def _papers(told: Mapping[str, Any]) -> str:
    return "; ".join(map(_paper, told["papers"]))


def _paper(key: str) -> str:
    title, authors, year = LISTED["papers"][key]
    if ARXIV.fullmatch(key):
        return f"{authors}, {title}, {year}, [arXiv {key}](https://arxiv.org/abs/{key})"
    return f"{authors}, {title}, {year}"


def _source(thing: Any) -> str:
    """A link to the file that defines a class or a function."""
    return _file(Path(inspect.getfile(thing)).relative_to(Path(llmzoo.__file__).parent).as_posix())


def _file(path: str) -> str:
    return f"[`{path}`](../llmzoo/{path})"


def _settings(told: Mapping[str, Any]) -> list[str]:
    form = [told["form"]] if "form" in told else []
    options = told.get("options", {}).items()
    return [*form, *(f"`{name}={value!r}`".replace("'", '"') for name, value in options)]


def _numbers(told: Mapping[str, Any]) -> list[str]:
    return [
        _number(told.get("published"), "not quoted here"),
        _number(told.get("measured"), "not measured"),
    ]


def _number(told: Any, absent: str) -> str:
    if not isinstance(told, dict):
        return told or absent
    anchor = re.sub(r"[^\w\- ]", "", told["heading"].lower()).strip().replace(" ", "-")
    return f"{told['of']}: [{cell(told)}]({told['page']}#{anchor})"


def _table(head: Sequence[str], rows: Any) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


_PAGE = """# Papers

These tables list the published algorithms and benchmarks of this library: the paper, the file here, the
settings of the published form, the number that was published and the number that was measured here.

- **Published** numbers are those of a paper's abstract, or those that a results page quotes with their
  source. Other numbers are not quoted here.
- **Measured here** is success on held-out tasks by small models after short training. Brackets are 95%
  intervals over the tasks of these runs, unless the linked page says over runs and tasks. The
  models and the tasks are not those of the papers, so the two columns do not compare. Each number
  links to its table, and the page says what was run.

## Algorithms

Options after a configuration are those of the published form, where it differs from the file.

{learners}

## Options of learners

{options}

## Losses on pairs

`dpo` takes these names as `loss_type`, and `madpo` those of a single margin.

{losses}

## Environments

`source="hub"` loads the public set, and `split="all"` plays every problem. With `num_agents=1` a single agent
answers, as in the paper. The prompts are those of this library.

{environments}

## Other parts

{others}
"""
