"""What a program finds in the interpreter that it shares with tests which patch it.

A program that speaks to the host in place of the tests still passes there: SECURITY.md makes no
promise about these verdicts, and the sandbox gives none unless it is asked to.
"""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Fake

ONLY = "it is for a judge that keeps a list of cases, or a number against forged results"

ATTACKS = (
    Fake(
        name="number-in-a-buffer",
        about="finds the number that a result must carry in what has been received, and sends one",
        program=r"""
import gc, json, os, re, socket
def waiting(descriptor):
    for one in gc.get_objects():
        if type(one).__name__ == "Channel":
            yield bytes(one._read)
    with socket.socket(fileno=os.dup(descriptor)) as sock:
        yield sock.recv(65536, socket.MSG_PEEK | socket.MSG_DONTWAIT)
def running_sum(numbers):
    for descriptor in range(3, 9):
        try:
            for text in waiting(descriptor):
                found = re.search(rb'"nonce",(\d+)', text)
                if found:
                    case = ["l", "a", True, ""]
                    body = json.dumps(["l", "result", ["d", "cases", ["l", case], "calls", 1, "error",
                        None, "shared_needed", None, "nonce", int(found[1])]]).encode()
                    os.write(descriptor, len(body).to_bytes(4, "big") + body)
                    os._exit(0)
        except OSError:
            pass
    return numbers
""",
        tasks=("patched",),
        note=ONLY,
    ),
    Fake(
        name="refilled-cases",
        about="finds the list of cases and marks all of them as passed, now and when it is collected",
        program="""
import gc
def refill():
    for one in gc.get_objects():
        if type(one).__name__ == "Cases":
            for case in one.cases:
                case.error, case._tried = None, True
class Last(list):
    def __del__(self): refill()
def running_sum(numbers):
    refill()
    return Last(numbers)
""",
        tasks=("patched",),
        note=ONLY,
    ),
    Fake(
        name="replaced-cases",
        about="puts cases that cannot fail in place of those in the list",
        program="""
import gc
class Passed:
    error, passed = None, True
    def __init__(self, name): self.name = name
    def ends(self, error): pass
    def __enter__(self): pass
    def __exit__(self, *error): return True
def running_sum(numbers):
    for one in gc.get_objects():
        if type(one).__name__ == "Cases":
            one.cases[:] = [Passed(case.name) for case in one.cases]
    for one in gc.get_objects():
        if type(one).__name__ == "_Results":
            for test in one._cases:
                one._cases[test] = Passed(str(test))
    return numbers
""",
        tasks=("patched",),
        note=ONLY,
    ),
    Fake(
        name="class-of-builtins",
        about="a class that says it is one of Python's own, and equals everything",
        program="""
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
Equal.__module__ = "builtins"
Equal.__name__ = Equal.__qualname__ = "list"
def running_sum(numbers):
    return Equal()
""",
        tasks=("patched", "literal", "unittest"),
    ),
    Fake(
        name="container-of-a-library",
        about="elements that equal everything, in a list of the library",
        program="""
import collections
class Equal(int):
    def __eq__(self, other): return True
    def __hash__(self): return 0
def running_sum(numbers):
    return collections.UserList([Equal() for _ in numbers])
""",
        tasks=("patched", "unittest"),
    ),
)
