"""Configuration files that would keep the command line busy for ever."""

import pytest
import yaml

from llmzoo.cli import main
from llmzoo.cli.yaml_bounds import MAX_DEPTH, MAX_VALUES, BoundsError, check_bounds

LAUGHS = "a0: &a0 [ha, ha]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
DEEP = "env_args: {a: " + "[" * 3000 + "]" * 3000 + "}"
HOSTILE = {
    "billion laughs": (
        f"env: sudoku_v0\nenv_args: {{x: {{\n{LAUGHS.replace(chr(10), ',' + chr(10))}}}}}",
        "10,000 values",
    ),
    "nested lists": (DEEP, "24 deep"),
    "nested by aliases": (
        "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 40)),
        "24 deep",
    ),
    "an alias of itself": ("env_args: &a {x: *a}", "inside what it names"),
    "many values": (f"env_args: {{x: [{'1, ' * 20_000}]}}", "10,000 values"),
    "many bytes": ("# " + "x" * 2**18, "262,144 bytes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(tmp_path, capsys, name):
    text, reason = HOSTILE[name]
    (tmp_path / "run.yaml").write_text(text)
    assert main(["check", "--config", str(tmp_path / "run.yaml")]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert "and is not read" in error


def test_an_endless_file_is_refused(capsys):
    assert main(["check", "--config", "/dev/zero"]) == 2
    assert "262,144 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (f"[{', '.join(['1'] * (MAX_VALUES - 1))}]", True),  # and the list itself
        (f"[{', '.join(['1'] * MAX_VALUES)}]", False),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, True),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), False),
        ("a: &a {b: 1}\nc: *a\nd: {<<: *a, e: 2}", True),
        # the anchor has 1 + 99 values, each of its aliases as many: 1 + 1 + 100 * 100 > 10,000
        (f"- &a [{', '.join(['1'] * 99)}]\n" + "- *a\n" * 98, True),  # 1 + 99 * 100
        (f"- &a [{', '.join(['1'] * 99)}]\n" + "- *a\n" * 100, False),
    ],
)
def test_the_bounds(text, held):
    if held:
        check_bounds(text.encode())
        yaml.safe_load(text)
    else:
        with pytest.raises(BoundsError):
            check_bounds(text.encode())


def test_text_that_is_no_yaml_is_told_as_before(tmp_path, capsys):
    for content in (b"a: [", b"\xff\xfe\xff", b"a: *missing"):
        (tmp_path / "run.yaml").write_bytes(content)
        assert main(["check", "--config", str(tmp_path / "run.yaml")]) == 2
        assert "is not YAML" in capsys.readouterr().err
