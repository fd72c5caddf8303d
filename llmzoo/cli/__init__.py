"""The command line: ``llmzoo COMMAND --help``. One module per command, loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout

from llmzoo.distributed import ranks
from llmzoo.errors import EndpointError, LlmzooError, RankZeroError, UnknownNameError
from llmzoo.files import WRITE_ERRORS
from llmzoo.registry import load_object
from llmzoo.terminal_text import escape_unprintable
from llmzoo.version import __version__

COMMANDS = {
    "list": "List the environments or the learners.",
    "info": "Show the installation, or the page of an environment or a learner.",
    "play": "Play an episode yourself, or watch policies play.",
    "eval": "Evaluate a policy on held-out tasks.",
    "compare": "Compare evaluations of the same tasks.",
    "rescore": "Judge the answers of an evaluation again.",
    "exploit": "Measure a policy exactly in a small game.",
    "league": "Let policies play each other in all pairs, and rate them.",
    "collect": "Play tasks and save the episodes to a file.",
    "train": "Train a model, with evaluations before and after.",
    "bench": "Compare learners on environments.",
    "report": "Write an HTML page about training runs: curves, settings, episodes.",
    "export": "Export trained models as transformers or peft folders.",
    "check": "Check that an environment follows the PettingZoo and llmzoo APIs.",
    "validate": "Look for what is wrong with a set of tasks.",
    "serve": "Host environments or a policy over gRPC.",
    "gateway": "Answer programs that run elsewhere, and record what is sampled.",
    "completion": "Print a shell completion script.",
    "fetch": "Download a published model, such as smollm2, and convert it.",
    "new": "Create a new environment or learner from a template.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: success. 1: the output pipe was closed, ``check`` reports a violation, or an endpoint does not
    answer. 2: a usage error. 130: interrupted. Results go to standard output, everything else to
    standard error.
    """
    # no ``list(...)`` here: once loaded, the command's module hides the builtin of its name
    code: int | None = None
    arguments = [*(sys.argv[1:] if argv is None else argv)]
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        if not arguments or arguments[0] in ("-h", "--help"):
            print(_usage())
        elif arguments[0] == "--version":
            print(f"llmzoo {__version__}")
        elif arguments[0] in COMMANDS:
            with nullcontext() if ranks.is_first_process() else _silence_stdout():
                code = load_object(f"llmzoo.cli.{arguments[0]}:run")(arguments[1:])
        else:
            raise UnknownNameError("command", arguments[0], COMMANDS)
        sys.stdout.flush()
    except RankZeroError:
        return 2  # the first process says why
    except LlmzooError as error:
        who = "llmzoo" if ranks.is_first_process() else f"llmzoo (process {os.environ['RANK']})"
        print(escape_unprintable(f"{who}: {error}"), file=sys.stderr)
        return 1 if isinstance(error, EndpointError) else 2
    except BrokenPipeError:
        # discard buffered output, or the interpreter reports the closed pipe at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno not in WRITE_ERRORS:
            raise
        where = f": {error.filename}" if error.filename else ""
        print(f"llmzoo: cannot write: {error.strerror}{where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if ranks.is_first_process():
            print("llmzoo: stopped", file=sys.stderr)
        return 130
    return code or 0


@contextmanager
def _silence_stdout() -> Iterator[None]:
    """Only the first process of a run prints."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield


def _usage() -> str:
    lines = [f"  {name:<12}{what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "usage: llmzoo COMMAND [options]",
            "",
            *lines,
            "",
            "llmzoo COMMAND --help shows the options of a command.",
        ]
    )
