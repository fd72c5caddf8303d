"""The command line: ``llmzoo COMMAND --help``. One module per command, loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout

from llmzoo.distributed import ranks
from llmzoo.errors import FirstRankError, LlmzooError, UnknownNameError
from llmzoo.files import REFUSED
from llmzoo.registry import load_object
from llmzoo.version import __version__

COMMANDS = {
    "list": "Which environments there are.",
    "info": "What this installation and this machine offer.",
    "play": "Take a seat in an environment, or watch policies play.",
    "eval": "Measure a policy on held-out tasks.",
    "collect": "Play tasks and keep the episodes in a file.",
    "train": "Train a model and measure it before and after.",
    "bench": "Compare learners on environments.",
    "report": "Write a page of training runs: curves, settings, episodes.",
    "export": "Write trained seats as transformers or peft folders, and push them.",
    "check": "Check that an environment keeps its promises, one of yours too.",
    "serve": "Host environments or a policy for other processes and machines.",
    "completion": "Print a script that completes this command line in a shell.",
    "new": "Write a template of an environment or a learner.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for a mistake in what was asked, 130 if stopped,
    1 if nobody reads its output any more, or if ``check`` found a broken promise.

    What was asked for goes to standard output, everything else to standard error.
    """
    # no ``list(...)`` here: once loaded, the command's module hides the builtin of its name
    code: int | None = None
    arguments = [*(sys.argv[1:] if argv is None else argv)]
    try:
        if not arguments or arguments[0] in ("-h", "--help"):
            print(_usage())
        elif arguments[0] == "--version":
            print(f"llmzoo {__version__}")
        elif arguments[0] in COMMANDS:
            with nullcontext() if ranks.is_first() else _silent():
                code = load_object(f"llmzoo.cli.{arguments[0]}:run")(arguments[1:])
        else:
            raise UnknownNameError("command", arguments[0], COMMANDS)
        sys.stdout.flush()
    except FirstRankError:
        return 2  # the first process says why
    except LlmzooError as error:
        who = "llmzoo" if ranks.is_first() else f"llmzoo (process {os.environ['RANK']})"
        print(f"{who}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # what is still buffered goes nowhere, without a complaint at the interpreter's end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        where = f": {error.filename}" if error.filename else ""
        print(f"llmzoo: the file system refuses: {error.strerror}{where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if ranks.is_first():
            print("llmzoo: stopped", file=sys.stderr)
        return 130
    return code or 0


@contextmanager
def _silent() -> Iterator[None]:
    """Of the processes of one run the first prints."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield


def _usage() -> str:
    lines = [f"  {name:<12}{what}" for name, what in COMMANDS.items()]
    return "\n".join(
        ["usage: llmzoo COMMAND [options]", "", *lines, "", "llmzoo COMMAND --help says more."]
    )
