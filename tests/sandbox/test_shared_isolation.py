"""One interpreter for program and tests: what is made hard there, and what is not."""

from __future__ import annotations

import textwrap

import pytest
from sandboxes import AMPLE, at
from two_processes import judge_in_one

FUNCTION = "assert f(3) == 9\nassert f(4) == 16\n"

# finds the channel to the host and speaks on it
WIRE = """
import gc, json, os, socket, stat
def wire():
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): return fd
        except OSError: pass
def frame(*parts):
    body = json.dumps(["l", *parts]).encode()
    os.write(wire(), len(body).to_bytes(4, "big") + body)
def forge(nonce):
    case = ["l", "a", True, ""]
    frame("result", ["d", "cases", ["l", case], "calls", 1, "error", None, "shared_needed", None,
                     "nonce", nonce])
    os._exit(0)
"""
PEEK = (
    WIRE
    + """
import re
def waiting():
    for one in gc.get_objects():
        if type(one).__name__ == "Channel":
            yield bytes(one._read)
    try:
        yield socket.socket(fileno=os.dup(wire())).recv(65536, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError:
        pass
def f(x):
    for text in waiting():
        if found := re.search(rb'"nonce",(\\d+)', text):
            forge(int(found[1]))
    return 0
"""
)
REFILL = """
import gc
def refill():
    for one in gc.get_objects():
        if type(one).__name__ == "Cases":
            for case in one.cases:
                case.error, case._tried = None, True
                case.ends = lambda error: None
class Last(int):
    def __del__(self): refill()
def f(x):
    refill()
    return 0
"""
REFILL_AFTER = REFILL.replace("    refill()\n    return 0", "    return Last(0)")
REPLACE = """
import gc
class Passed:
    error, passed = None, True
    def __init__(self, name): self.name = name
    def ends(self, error): pass
    def reach(self): pass
    def __enter__(self): pass
    def __exit__(self, *error): return True
def f(x):
    for one in gc.get_objects():
        if type(one).__name__ == "Cases":
            one.cases[:] = [Passed(case.name) for case in one.cases]
    return 0
"""


def forged(module: str, kind: str = "") -> str:
    return (
        f"class A({kind}):\n    def __eq__(self, other): return True\n"
        "    def __ne__(self, other): return False\n    def __hash__(self): return 0\n"
        "    def __sub__(self, other): return 0\n    __rsub__ = __sub__\n"
        f"A.__module__ = {module!r}\nA.__qualname__ = A.__name__ = 'int'\ndef f(x): return A()\n"
    )


CHEATS = {
    "the number in a buffer": (PEEK, FUNCTION),
    "cases marked as passed": (REFILL, FUNCTION),
    "cases marked as passed after they have failed": (REFILL_AFTER, FUNCTION),
    "cases replaced": (REPLACE, FUNCTION),
    "a class of builtins": (forged("builtins"), FUNCTION),
    "a class of a library": (forged("collections"), FUNCTION),
    "a class of the tests": (forged("judged_tests"), FUNCTION),
    "a float of builtins": (forged("builtins", "float"), FUNCTION),
    "inside a list": (forged("builtins") + "def f(x): return [A()]", "assert f(3) == [9]"),
    "inside a deque": (
        forged("builtins") + "from collections import deque\ndef f(x): return deque([A()])",
        "from collections import deque\nassert f(3) == deque([9])",
    ),
    "inside an ordered dict": (
        forged("builtins") + "import collections\ndef f(x): return collections.OrderedDict(a=A())",
        "assert f(3) == {'a': 9}",
    ),
    "inside a list of the library": (
        forged("x") + "import collections\ndef f(x): return collections.UserList([A()])",
        "assert f(3) == [9]",
    ),
    "inside a namespace": (
        forged("x") + "from types import SimpleNamespace\ndef f(x): return SimpleNamespace(a=A())",
        "from types import SimpleNamespace\nassert f(3) == SimpleNamespace(a=9)",
    ),
    "as a key": (forged("x") + "def f(x): return {A(): 1}", "assert f(3) == {0: 1}"),
    "inside a tuple of its own": (
        forged("x") + "class T(tuple): pass\ndef f(x): return T([A()])",
        "assert f(3) == (9,)",
    ),
    "inside an array": (
        forged("x") + "import numpy\ndef f(x): return numpy.array([A()], dtype=object)",
        "import numpy\nassert (f(3) == numpy.array([9])).all()",
    ),
    "a class with a metaclass": (
        "class M(type):\n    def __eq__(cls, other): return True\n    __hash__ = type.__hash__\n"
        "class A(metaclass=M): pass\ndef f(x): return A",
        FUNCTION,
    ),
    "numpy's protocols": (
        "class A:\n    def __array_function__(self, *args): return True\ndef f(x): return A()",
        "import numpy as np\nassert np.allclose(f(3), 9)",
    ),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_no_cheat_passes_in_one_interpreter(cheat):
    program, tests = CHEATS[cheat]
    result = judge_in_one(program, tests)
    assert not result.passed, result


HONEST = {
    "fractions": ("from fractions import Fraction\ndef f(x): return Fraction(x, 2)",
                  "from fractions import Fraction\nassert f(3) == Fraction(3, 2)\nassert f(4) == 2"),
    "enumerations": ("from enum import Enum\nclass C(Enum):\n    A = 1\ndef f(x): return C.A",
                     "assert f(3) == C.A\nassert f(3) is C.A\nassert f(3).value == 1"),
    "dataclasses": ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"
                    "def f(x): return [P(x)]",
                    "assert f(3) == [P(3)]\nassert f(3) != [P(4)]\nassert f(3)[0].x == 3"),
    "named tuples": ("from collections import namedtuple\nP = namedtuple('P', 'x')\n"
                     "def f(x): return P(x)", "assert f(3) == P(3)\nassert f(3) == (3,)"),
    "dicts of many kinds": (
        "from collections import *\ndef f(x): return [Counter('aab'), OrderedDict(a=1), deque([x])]",
        "from collections import *\n"
        "assert f(3) == [Counter('aab'), OrderedDict(a=1), deque([3])]\n"
        "assert f(3) == [{'a': 2, 'b': 1}, {'a': 1}, deque([3])]"),
    "arrays": ("import numpy as np\ndef f(x): return np.array([x, 4.0])",
               "import numpy as np\nassert (f(3) == np.array([3, 4])).all()\n"
               "assert np.allclose(f(3), [3, 4])"),
    "classes of the tests": (
        "def f(x): return x", "class A:\n    def __eq__(self, other): return True\n"
        "assert f(A()) == A()"),
    "modules that are imported late": (
        "import ipaddress\ndef f(x): return ipaddress.ip_address('10.0.0.1')",
        "import ipaddress\nassert f(3) == ipaddress.ip_address('10.0.0.1')"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs_pass_in_one_interpreter(name):
    result = judge_in_one(*HONEST[name])
    assert result.passed, result


def test_a_program_that_speaks_the_hosts_language_can_forge_a_pass():
    """Documented: no promise is made about this isolation. The host's number is asked for and read."""
    program = WIRE + textwrap.dedent("""
        def f(x):
            frame("case", 0, None)
            frame("ended")
            header = os.read(wire(), 4)
            answer = json.loads(os.read(wire(), int.from_bytes(header, "big")))
            forge(answer[2])
        """)
    assert judge_in_one(program, FUNCTION).passed


PATCHES = textwrap.dedent("""
    import unittest
    from unittest import mock
    class T(unittest.TestCase):
        def test_now(self):
            with mock.patch("time.time", return_value=5):
                self.assertEqual(age(2), 3)
        def test_never(self): self.assertEqual(age(2), "never")
    """)
AGE = "import time\ndef age(born): return int(time.time()) - born"


def test_one_interpreter_must_be_asked_for():
    """A pass there can be forged, so nobody is paid for one by default."""
    verdict = at().check(AGE, PATCHES, limits=AMPLE)
    assert (verdict.status, verdict.passed) == ("sandbox_error", 0)
    assert "the tests patch time.time" in verdict.error
    assert "allow_shared=True" in verdict.error
    verdict = at(allow_shared=True).check(AGE, PATCHES, limits=AMPLE)
    assert (verdict.isolation, verdict.passed, verdict.total) == ("shared", 1, 2)
    assert verdict.status == "failed"
