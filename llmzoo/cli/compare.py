"""``llmzoo compare``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llmzoo.cli.options import CommandOptions, read
from llmzoo.cli.output import as_json, as_table, by_agent, rate
from llmzoo.errors import ConfigError, MissingExtraError
from llmzoo.report import compare


@dataclass(frozen=True, kw_only=True)
class CompareOptions(CommandOptions):
    """Compare evaluations of the same tasks: paired tests of success, intervals of returns.

    Args:
        evaluations: folders of llmzoo eval --out, files of llmzoo eval --json, or run folders of
            llmzoo train, whose last evaluation counts; given first, without --evaluations.
        plot: a picture of the success rates, .png or .svg.
        json: print one JSON object instead of tables.
    """

    FIRST = ("evaluations",)
    USAGE = "llmzoo compare A B [C...] [options]"
    EXAMPLES = (
        "llmzoo compare evals/tiny runs/first",
        "llmzoo compare evals/tiny evals/smollm2 evals/oracle --plot compared.png --json",
    )

    evaluations: list[str] = field(default_factory=list)
    plot: str | None = None
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = CompareOptions(**read("compare", argv, CompareOptions))
    if options.plot is not None and Path(options.plot).suffix not in (".png", ".svg"):
        raise ConfigError(f"--plot must end in .png or .svg, got {options.plot}")
    twice = [name for name in options.evaluations if options.evaluations.count(name) > 1]
    if twice:
        raise ConfigError(f"{twice[0]} is given twice")
    result = compare.compare({name: compare.read(name) for name in options.evaluations})
    if options.plot is not None:
        try:
            compare.draw(result, Path(options.plot))
        except ModuleNotFoundError as error:
            raise MissingExtraError("llmzoo compare --plot", "train", error.name) from error
    if options.json:
        as_json(result.to_dict())
        return
    as_table(
        ("", "success [95%]", "mean return"),
        [
            [name, rate(*result.rates[name]), by_agent(result.returns[name])]
            for name in result.rates
        ],
    )
    as_table(compare.COLUMNS, [*compare.rows_of(result.pairs)])
    for name, values in result.differ.items():
        said = ", ".join(
            f"{'default' if value is None else value} in {of}" for of, value in values.items()
        )
        print(f"note: the environments differ in {name}: {said}")
