"""Stands for the process that trains: it holds secrets and calls the judge.

One JSON object a line comes in and one goes out, through descriptors that programs leave alone.
"""

from __future__ import annotations

import json
import os
import resource
import traceback

from llmzoo.sandbox.attacks import columns
from llmzoo.sandbox.attacks.tasks import TASKS

_MOST_OUTPUT = 2**22  # what is looked at of it
_in_memory = ""  # keeps the secret for attacks to find
_FIRST_SAFE = 200  # the attacks that write to every descriptor try the first hundred


def main() -> None:
    incoming = os.fdopen(os.dup2(0, _FIRST_SAFE, inheritable=False), "r")
    outgoing = os.fdopen(os.dup2(1, _FIRST_SAFE + 1, inheritable=False), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**30, 2**30))
    _start_bystanders()

    def answer(reply: dict[str, object]) -> None:
        outgoing.write(json.dumps(reply) + "\n")
        outgoing.flush()

    judge: columns.Judge
    for line in incoming:
        order = json.loads(line)
        try:
            if order["do"] == "open":
                judge = columns.make_judge(order["column"])
                wrong, isolations = columns.check_controls(judge) if order["controls"] else ([], {})
                answer({"wrong": wrong, "isolations": isolations, "pid": os.getpid()})
            elif order["do"] == "harm":
                output = [
                    judge.harm(program, order["mode"], order["time_limit"])
                    for program in order["programs"]
                ]
                answer({"output": "\n".join(output)[:_MOST_OUTPUT]})
            else:
                status, isolation = judge.fake(
                    order["program"], TASKS[order["task"]], order["time_limit"]
                )
                answer({"status": status, "isolation": isolation})
        except columns.Unavailable as reason:
            answer({"unavailable": str(reason)})
        except Exception:
            answer({"broken": traceback.format_exc()})


def _start_bystanders() -> None:
    """A secret in memory, one behind a descriptor that children inherit, and a process beside."""
    global _in_memory
    _in_memory = "secret-" + os.environ["ATTACK_MEMORY"]
    with open(os.environ["ATTACK_FILE"], "rb") as file:
        os.dup2(file.fileno(), 57, inheritable=True)
    os.environ.pop("ATTACK_MEMORY")
    os.unlink(os.environ.pop("ATTACK_FILE"))
    if os.fork() == 0:
        os.execv("/bin/sleep", ["sleep", "3600"])


if __name__ == "__main__":
    main()
