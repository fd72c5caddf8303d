"""The records of the keepers as a table of text."""

from __future__ import annotations

from typing import Any

from llmzoo.sandbox.attacks.attack import Attack, Harm

from .rivals import RIVALS

SIGNS = {"stopped": ".", "succeeded": "YES", "broken": "ERROR", "not run": "-"}
LEGEND = ". stopped   YES it succeeded   - not run there   ERROR the judge raised"


def render(records: list[dict[str, Any]], attacks: list[Attack]) -> str:
    cells = {(r["as"], r["column"], r["attack"]): r for r in records if "attack" in r}
    columns = list(dict.fromkeys(key[:2] for key in cells))
    heads = [f"{column} {who}" if column[0] == "L" else RIVALS[column] for who, column in columns]
    width = max((len(attack.name) for attack in attacks), default=0) + 1
    lines = [LEGEND, ""]
    for kind, title in ((True, "harms"), (False, "fakes")):
        chosen = [attack for attack in attacks if isinstance(attack, Harm) == kind]
        if not chosen:
            continue
        lines.append(f"{title:{width}} " + "  ".join(heads))
        for attack in chosen:
            row = [cells.get((*column, attack.name), {"outcome": "not run"}) for column in columns]
            signs = [f"{SIGNS[r['outcome']]:^{len(h)}}" for r, h in zip(row, heads, strict=True)]
            lines.append(f"{attack.name:{width}} {'  '.join(signs)}  {attack.about}")
        lines.append("")
    for title, outcomes in (
        ("attacks", SIGNS),
        ("succeeded", {"succeeded"}),
        ("error", {"broken"}),
    ):
        counts = [
            sum(
                1
                for k, r in cells.items()
                if k[:2] == column and r["outcome"] in outcomes and r["outcome"] != "not run"
            )
            for column in columns
        ]
        numbers = [f"{count:^{len(head)}}" for count, head in zip(counts, heads, strict=True)]
        lines.append(f"{title:{width}} {'  '.join(numbers)}")
    lines += ["", *remarks(records)]
    return "\n".join(lines)


def remarks(records: list[dict[str, Any]]) -> list[str]:
    """Columns that are missing, controls that were judged wrong, how the sandbox was got at."""
    lines = []
    for r in records:
        where = f"{r.get('column', '')} as {r['as']}".strip()
        if "unavailable" in r:
            lines.append(f"not here: {where}: {r['unavailable']}")
        lines += [f"WRONG CONTROL: {where}: {wrong}" for wrong in r.get("wrong", [])]
        if r.get("outcome") in ("succeeded", "broken") and r["column"][0] == "L":
            lines.append(f"{r['outcome'].upper()}: {r['attack']}, {where}: {r['why']}")
    return lines
