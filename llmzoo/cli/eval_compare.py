"""``llmzoo eval compare``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import format_by_agent, format_rate, print_json, print_table
from llmzoo.errors import ConfigError, require_extra
from llmzoo.report import compare


@dataclass(frozen=True, kw_only=True)
class EvalCompareOptions(CommandOptions):
    """Compare evaluations of the same tasks: paired tests of success, intervals of returns.

    Args:
        evaluations: folders of llmzoo eval --out, files of llmzoo eval --json, or run folders of
            llmzoo train, whose last evaluation counts; given first, without --evaluations.
        plot: a picture of the success rates, .png or .svg.
        json: print one JSON object instead of tables.
    """

    POSITIONAL = ("evaluations",)
    USAGE = "llmzoo eval compare A B [C...] [options]"
    EXAMPLES = (
        "llmzoo eval compare evals/tiny runs/first",
        "llmzoo eval compare evals/tiny evals/smollm2 evals/expert --plot compared.png --json",
    )

    evaluations: list[str] = field(default_factory=list)
    plot: str | None = None
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = EvalCompareOptions(**parse_options("eval compare", argv, EvalCompareOptions))
    if options.plot is not None and Path(options.plot).suffix not in (".png", ".svg"):
        raise ConfigError(f"--plot must end in .png or .svg, got {options.plot}")
    repeated = [name for name in options.evaluations if options.evaluations.count(name) > 1]
    if repeated:
        raise ConfigError(f"{repeated[0]} is given twice")
    result = compare.compare({name: compare.load_evaluation(name) for name in options.evaluations})
    if options.plot is not None:
        with require_extra("llmzoo eval compare --plot", "train"):
            compare.plot_rates(result, Path(options.plot))
    if options.json:
        print_json(result.to_dict())
        return
    print_table(
        ("", "success [95%]", "mean return"),
        [
            [name, format_rate(*result.rates[name]), format_by_agent(result.returns[name])]
            for name in result.rates
        ],
    )
    print_table(compare.COLUMNS, [*compare.comparison_rows(result.pairs)])
    for name, values in result.differ.items():
        differences = ", ".join(
            f"{'default' if value is None else value} in {evaluation}"
            for evaluation, value in values.items()
        )
        print(f"note: the environments differ in {name}: {differences}")
