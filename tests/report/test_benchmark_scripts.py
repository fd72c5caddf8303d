"""``make bench``: the file that it writes. What it measures is not judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import llmzoo

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "benchmark" / "run.py"


@pytest.mark.long("every benchmark of make bench, once")
def test_bench_json_is_the_contract(tmp_path):
    out = tmp_path / "bench.json"
    short = ["--seconds", "0.01", "--repeats", "1", "--without-peers", "--without-large"]
    result = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(out), *short],
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    rows = {row["name"]: row for row in json.loads(out.read_text())}
    games = ("sudoku", "sokoban", "plan_path")
    others = ["calendar", "travel", "signal", "relay", "telecom"]
    others += [i.removesuffix("_v0") for i in llmzoo.list_envs("building")]
    assert set(rows) == {
        "import_time",
        "program_call_ms",
        "gateway_call_ms",
        "conversation_tokens",
        *("sampling_vs_generate", "memory_sampling"),
        *("update_vs_padded", "update_vs_padded_k2", "memory_update"),
        *(f"levels_{game}" for game in games),
        *(f"steps_{game}_{form}" for game in (*games, *others) for form in ("raw", "make")),
        *("tool_steps_alone", "tool_steps_planner_executor"),
        *(f"remote_steps_{game}{how}" for game in games[1:] for how in ("", "_in_turn")),
        *("math_checks_generated", "math_checks_vs_math_verify", "math_checks_formulas"),
        *(name for name in rows if name.startswith("sandbox_")),
    }
    assert any(name.startswith("sandbox_calls_2w_L") for name in rows)
    assert {"sandbox_calls_2w_p99", "sandbox_calls_2w_vs_python_I_c"} <= set(rows)
    for name, row in rows.items():
        assert list(row) == ["name", "ours", "theirs", "ratio", "unit", "higher_is_better"]
        assert row["ours"] > 0
        assert row["higher_is_better"] is not (
            name == "import_time" or row["unit"] in ("ms", "MB", "tokens")
        )
        assert name in result.stdout
    for name in ("levels_sokoban", "sampling_vs_generate"):
        assert rows[name]["ratio"] == rows[name]["ours"] / rows[name]["theirs"]
