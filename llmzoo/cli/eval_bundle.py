"""``llmzoo eval bundle``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llmzoo.cli.arguments import parse_prices
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json
from llmzoo.evaluation.bundles.layout import BUNDLE_FILE, read_json
from llmzoo.evaluation.bundles.write import write_bundle
from llmzoo.policies.run_models import shortest_unique_names


@dataclass(frozen=True, kw_only=True)
class EvalBundleOptions(CommandOptions):
    """Put evaluations with their episodes into a bundle, which llmzoo eval verify checks.

    Evaluations that differ in the training run only become one claim, with an interval over runs and tasks.

    Args:
        evaluations: folders of llmzoo eval --out; given first, without --evaluations.
        out: the folder to create.
        title: what the bundle shows, in one line; by default the name of its folder.
        price: of a million tokens read and written by an endpoint, as 0.15,0.6; the claims then have
            their cost.
        json: print one JSON object instead of a list.
    """

    POSITIONAL = ("evaluations",)
    USAGE = "llmzoo eval bundle A [B...] --out BUNDLE [options]"
    EXAMPLES = (
        "llmzoo eval bundle evals/tiny --out bundles/tiny",
        "llmzoo eval bundle evals/seed_0 evals/seed_1 --out bundles/magrpo --title 'MAGRPO on sudoku'",
    )

    evaluations: list[str] = field(default_factory=list)
    out: str
    title: str | None = None
    price: str | None = None
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = EvalBundleOptions(**parse_options("eval bundle", argv, EvalBundleOptions))
    folders = [Path(folder) for folder in options.evaluations]
    names = [name.replace("/", "-") for name in shortest_unique_names(folders)]
    out = write_bundle(
        options.out,
        dict(zip(names, folders, strict=True)),
        title=options.title or Path(options.out).name,
        price=parse_prices(options.price),
    )
    claims = read_json(out / BUNDLE_FILE)["claims"]
    if options.json:
        print_json({"folder": str(out), "claims": claims})
        return
    for claim in claims:
        low, high = claim["success_ci95"]
        print(
            f"{claim['name']}: {claim['success']:.1%} [{low:.1%}, {high:.1%}] over {claim['interval_over']}"
        )
    print(f"check it: llmzoo eval verify {out}")
