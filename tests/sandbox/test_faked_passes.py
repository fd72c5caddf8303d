"""Programs that would pass tests without solving them: in a process of their own, none does."""

from __future__ import annotations

import textwrap

import pytest
from two_processes import judge, judge_in_one

# what a program needs to answer in place of its process: it finds the socket by trying
FRAMES = """
import json, os, socket, stat
def wire():
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): return fd
        except OSError: pass
def frame(*parts):
    body = json.dumps(["l", *parts]).encode()
    os.write(wire(), len(body).to_bytes(4, "big") + body)
def answer(serial, value, word="value"):
    frame("!", serial, word, "", ["l", value], ["l"], ["l"], ["l"], ["l", ["l"], ["l"]])
"""

LIARS = """
class Liar:
    def __init__(self, *a): pass
    def yes(self, *a): return True
    def no(self, *a): return False
    def same(self, *a): return self
    def zero(self, *a): return 0
    __eq__ = __le__ = __ge__ = __lt__ = __gt__ = __contains__ = __bool__ = yes
    __instancecheck__ = __subclasscheck__ = yes
    __ne__ = no
    __len__ = __hash__ = __abs__ = __round__ = __index__ = zero
    __float__ = lambda self: 0.0
    __sub__ = __rsub__ = __add__ = __radd__ = __getitem__ = __call__ = __iter__ = same
    __getattr__ = same
    __enter__ = same
    __exit__ = yes
    __class__ = property(lambda self: int)
"""

FUNCTION = "assert f(3) == 9\nassert f(4) == 16\n"
CLOSE = "assert abs(f(3) - 9.0) < 1e-6"
SELF = textwrap.dedent("""
    import unittest
    class T(unittest.TestCase):
        def setUp(self): self.square = Square(3)
        def test_area(self): self.assertEqual(self.square.area(), 9)
        def test_close(self): self.assertAlmostEqual(self.square.area(), 9.0, places=3)
        def test_item(self): self.assertIn(9, self.square.items())
        def test_first(self): self.assertTrue(self.square.items().startswith("9"))
        def test_size(self): self.assertGreater(self.square.area(), 8)
    """)
METHOD = textwrap.dedent("""
    import unittest
    class T(unittest.TestCase):
        def test_area(self):
            self.assertEqual(Square(3).area(), 9)
        def test_close(self):
            self.assertAlmostEqual(Square(3).area(), 9.0, places=3)
        def test_items(self):
            self.assertIn(9, Square(3).items())
    """)

ATTACKS = {
    # objects that compare as the test wants
    "equal to everything": (LIARS + "def f(x): return Liar()", FUNCTION),
    "equal inside a list": (LIARS + "def f(x): return [Liar()]", "assert f(3) == [9]"),
    "equal as a key": (LIARS + "def f(x): return {Liar(): 1}", "assert f(3) == {9: 1}"),
    "equal from the right": (LIARS + "def f(x): return Liar()", "assert 9 == f(3)"),
    "among those of a list": (LIARS + "def f(x): return Liar()", "assert f(3) in [9]"),
    "contains everything": (LIARS + "def f(x): return Liar()", "assert 9 in f(3)"),
    "a class in place of the function": (LIARS + "f = Liar", FUNCTION + CLOSE),
    "a class that contains": (LIARS + "f = Liar", "assert 9 in f(3)"),
    "close to everything": (LIARS + "def f(x): return Liar()", CLOSE),
    "close by its class": (LIARS + "f = Liar", CLOSE),
    "close to math": (LIARS + "def f(x): return Liar()", "assert math.isclose(f(3), 9.0)"),
    "not a number": ("def f(x): return float('nan')", CLOSE),
    "of a lying class": (LIARS + "def f(x): return Liar()", "assert isinstance(f(3), int)"),
    "less than everything": (LIARS + "def f(x): return Liar()", "assert f(3) < 10"),
    "a lying integer": (
        "class I(int):\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\n"
        "    __hash__ = int.__hash__\ndef f(x): return I(1)",
        FUNCTION,
    ),
    "a lying float": (
        "class F(float):\n    __sub__ = __rsub__ = lambda s, o: 0.0\n    __eq__ = lambda s, o: True\n"
        "def f(x): return F(1)",
        CLOSE,
    ),
    "a lying text": (
        "class S(str):\n    __eq__ = lambda s, o: True\n    __hash__ = str.__hash__\n"
        "    strip = lower = lambda s: s\ndef f(x): return S('x')",
        "assert f(3) == 'nine'\nassert f(3).strip().lower() == 'nine'",
    ),
    "a lying list": (
        "class L(list):\n    __eq__ = lambda s, o: True\n    __contains__ = lambda s, o: True\n"
        "def f(x): return L([1])",
        "assert f(3) == [9]\nassert 9 in f(3)",
    ),
    "a lying named tuple": (
        "from collections import namedtuple\nclass P(namedtuple('P', 'x')):\n"
        "    __eq__ = lambda s, o: True\ndef f(x): return P(1)",
        "assert f(3) == (9,)",
    ),
    "objects in a class under test": (
        LIARS + "class Square(Liar):\n    def area(self): return self\n    items = area",
        METHOD,
    ),
    "other objects in a class under test": (
        LIARS + "class Square:\n    def __init__(self, x): pass\n"
        "    def area(self): return Liar()\n    items = area",
        METHOD,
    ),
    "a class under test that gives itself": (
        LIARS + "class Square(Liar):\n    def area(self): return self\n    items = area",
        SELF,
    ),
    "a class under test that has itself": (
        LIARS + "class Square(Liar):\n    other = area = property(lambda self: self)",
        "s = Square(3)\nassert 9 in s.area\nassert 9 in s.area[0]\nassert 9 in s.area\n"
        "assert abs(s.area - 9.0) < 0.01\nassert s.area.startswith('9')",
    ),
    "a text that starts with everything": (
        LIARS + "def f(x): return Liar()",
        "assert f(3).startswith('9')\nassert f(3).issubset({9})",
    ),
    "silencing the assertion": (
        LIARS + "f = Liar\nF = Liar",
        "with F(3) as g:\n    assert g.x == 9\nassert 0 == F(3)",
    ),
    "silencing in a with": (
        "class F:\n    value = 1\n    def __enter__(self): return self\n"
        "    def __exit__(self, *a): return True",
        "with F() as g:\n    assert g.value == 9",
    ),
    # leaving
    "os._exit at once": ("import os\nos._exit(0)", FUNCTION),
    "os._exit in the function": ("import os\ndef f(x): os._exit(0)", FUNCTION),
    "os._exit after one answer": (
        "import os\nn = []\ndef f(x):\n    if n: os._exit(0)\n    n.append(x)\n    return x * x",
        FUNCTION,
    ),
    "os._exit where an exception is expected": (
        "import os\ndef f(x): os._exit(0)",
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_a(self):\n        with self.assertRaises(Exception): f(1)",
    ),
    "os._exit after the answers": (
        "import os, threading\ndef f(x):\n    threading.Timer(0.05, os._exit, [0]).start()\n"
        "    return x * x",
        FUNCTION + "import time\ntime.sleep(0.3)",
    ),
    "sys.exit in the function": ("import sys\ndef f(x): sys.exit(0)", FUNCTION),
    "sys.exit in a comparison": (
        "import sys\nclass A:\n    def __eq__(self, o): sys.exit(0)\ndef f(x): return A()",
        FUNCTION,
    ),
    "sys.exit in the text": (
        "import sys\nclass A:\n    def __repr__(self): sys.exit(0)\nclass Square(A):\n"
        "    def __init__(self, x): pass\n    area = items = lambda self: self",
        METHOD,
    ),
    "raising KeyboardInterrupt": ("def f(x): raise KeyboardInterrupt", FUNCTION),
    "raising StopIteration": (
        "def f(x): raise StopIteration",
        "for y in (f(x) for x in [3]):\n    assert y == 9",
    ),
    "raising SkipTest": (
        "import unittest\nclass Square:\n    def __init__(self, x): raise unittest.SkipTest('no')",
        METHOD,
    ),
    "raising _ShouldStop": (
        "import unittest.case\nclass Square:\n"
        "    def __init__(self, x): raise unittest.case._ShouldStop",
        METHOD,
    ),
    "raising an exception of a lying class": (
        "class SkipTest(Exception):\n    pass\nSkipTest.__module__ = 'unittest.case'\n"
        "class Square:\n    def __init__(self, x): raise SkipTest",
        METHOD,
    ),
    "raising its own AssertionError": (
        "class AssertionError(Exception):\n    def __str__(self): raise SystemExit\n"
        "def f(x): raise AssertionError",
        FUNCTION,
    ),
    "raising an exception that cannot be made": (
        "class E(Exception):\n    def __init__(self, a, b): self.args = (f,)\n"
        "    __str__ = lambda self: 5\ndef f(x): raise E(1, 2)",
        FUNCTION,
    ),
    # the interpreter and what judges
    "patched unittest": (
        "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"
        "unittest.TestCase.assertAlmostEqual = unittest.TestCase.assertEqual\n"
        "unittest.TestCase.assertIn = unittest.TestCase.assertEqual\n"
        "class Square:\n    def __init__(self, x): pass\n    area = items = lambda self: 1",
        METHOD,
    ),
    "patched builtins": (
        "import builtins\nbuiltins.abs = lambda x: 0\nbuiltins.AssertionError = Warning\n"
        "def f(x): return 1.0",
        CLOSE,
    ),
    "names of builtins": ("abs = lambda x: 0\ndef f(x): return 1.0", CLOSE),
    "settrace": (
        "import sys\ndef trace(frame, event, arg):\n"
        "    if 'candidate' in frame.f_locals: frame.f_locals['candidate'] = lambda x: 9\n"
        "    return trace\nsys.settrace(trace)\ndef f(x): return 1",
        "def check(candidate):\n    assert candidate(3) == 9",
    ),
    "success markers": (
        "print('OK\\nRan 3 tests\\n{\"passed\": true}')\ndef f(x):\n    print('passed')\n"
        "    return 1",
        FUNCTION,
    ),
    "looking for the tests": (
        "import gc, sys\ndef f(x):\n    for o in gc.get_objects():\n"
        "        if isinstance(o, dict) and o.get('expected') is not None: return o['expected']\n"
        "    frame = sys._getframe()\n    while frame:\n"
        "        if 'expected' in frame.f_globals: return frame.f_globals['expected']\n"
        "        frame = frame.f_back\n    return 1",
        "expected = 9\nassert f(3) == expected",
    ),
    "the tests through a callback": (
        "def f(call):\n    for name in ('__globals__', '__code__', 'gi_frame', '__self__'):\n"
        "        try: return getattr(call, name)['expected']\n        except Exception: pass\n"
        "    return 1",
        "expected = 9\nassert f(lambda: expected and 0) == expected",
    ),
    "the tests through a generator": (
        "def f(g):\n    try: return g.gi_frame.f_globals['expected']\n"
        "    except Exception: return 1",
        "expected = 9\nassert f(x for x in 'ab') == expected",
    ),
    "the tests through an object": (
        "def f(o):\n    for path in ('look.__globals__', '__class__.look.__globals__', '__dict__'):\n"
        "        try:\n            v = o\n            for p in path.split('.'): v = getattr(v, p)\n"
        "            return v['expected']\n        except Exception: pass\n    return 1",
        "expected = 9\nclass O:\n    def look(self): return 1\nassert f(O()) == expected",
    ),
    "mocks that assert nothing": (
        "def f(m):\n    m.configure_mock(assert_called_once_with=lambda *a: None)\n"
        "    m.reset_mock()\n    return 9",
        "from unittest.mock import MagicMock\nm = MagicMock()\nf(m)\n"
        "m.work.assert_called_once_with(3)\nassert f(m) == 9",
    ),
    # frames of its own making
    "a forged answer before the question": (
        FRAMES + "answer(2, 9)\ndef f(x): return 1",
        FUNCTION,
    ),
    "forged answers to all questions to come": (
        FRAMES + "def f(x):\n    for n in range(2, 9): answer(n, 9)\n    return 1",
        FUNCTION,
    ),
    "a class that describes itself wrongly": (
        "class Meta(type):\n    __name__ = 5\n    __mro__ = ()\n    __bases__ = (int,)\n"
        "    __hash__ = None\nclass A(metaclass=Meta):\n    __eq__ = lambda s, o: True\n"
        "def f(x): return A()",
        FUNCTION,
    ),
    "two answers to one question": (
        FRAMES + "def f(x):\n    for n in range(1, 99): answer(n, 9)\n    return 1",
        FUNCTION,
    ),
    "a result in place of an answer": (
        FRAMES + "def f(x):\n    frame('result', ['d', 'cases', ['l', ['l', 'a', True, '']]])",
        FUNCTION,
    ),
    "no frame at all": ("import os\n" + FRAMES + "def f(x): os.write(wire(), b'{' * 99)", FUNCTION),
    "a frame that is too long": (
        FRAMES + "def f(x):\n    os.write(wire(), b'\\xff' * 4)\n    return 9",
        FUNCTION,
    ),
    "a frame that is nested too deep": (
        FRAMES + "def f(x):\n    b = b'[' * 100000\n"
        "    os.write(wire(), len(b).to_bytes(4, 'big') + b)\n    return 9",
        FUNCTION,
    ),
    "questions of unknown kinds": (
        FRAMES
        + "def f(x):\n    frame('?', 1, 'exec', 'import os', *[['l']] * 4, ['l', ['l'], ['l']])"
        "\n    return 1",
        FUNCTION,
    ),
    "references to what nobody lent": (
        FRAMES + "def f(x):\n    frame('?', 1, 'invoke', '', ['l', ['yours', 0]], *[['l']] * 3,"
        " ['l', ['l'], ['l']])\n    return 1",
        FUNCTION,
    ),
    "references of a wrong form": (
        FRAMES + "def f(x):\n    answer(2, ['object', 'x', {}])\n    return 1",
        FUNCTION,
    ),
    "changes of containers that it does not know": (
        FRAMES + "def f(x):\n    frame('!', 2, 'value', '', ['l', 1], ['l'], ['l', ['l', 0, 0]],"
        " ['l', ['l', 0, ['t']]], ['l', ['l'], ['l']])\n    return 1",
        "x = [3]\nassert f(x) == 9",
    ),
    "a class that cannot be": (
        FRAMES + "def f(x):\n    answer(2, ['class', 77])\n"
        "    answer(3, ['t', 5, 6])\n    return 1",
        FUNCTION,
    ),
    "a thread that answers later": (
        FRAMES + "import threading, time\ndef late():\n    while True:\n"
        "        for n in range(1, 20): answer(n, 9)\n        time.sleep(0.001)\n"
        "def f(x):\n    threading.Thread(target=late, daemon=True).start()\n    return 1",
        FUNCTION,
    ),
    "the socket closed": (FRAMES + "def f(x): os.close(wire())", FUNCTION),
    # too much
    "endless recursion of calls": (
        "def f(g):\n    return g(g)",
        "def back(g): return f(back)\nassert f(back) == 9",
    ),
    "a value without end": ("def f(x):\n    r = []\n    r.append(r)\n    return r", FUNCTION),
    "a value too large": ("def f(x): return 'x' * 9_000_000", FUNCTION),
    "handles without end": ("def f(x): return [object() for _ in range(20000)]", FUNCTION),
    "deleted names": ("def f(x):\n    global f\n    del f\n    return 1", FUNCTION),
    "a number with two values": (
        "n = iter([1, 9])\nclass I(int):\n    __int__ = __index__ = lambda s: next(n)\n"
        "    __float__ = lambda s: 9.0\ndef f(x): return I(1)",
        "assert f(3) == 9\nassert float(f(3)) == 9.0\nassert int(f(3)) == 9",
    ),
    "an endless answer": (
        "def f(x):\n    while True: yield 9",
        "assert list(f(3)) == [9]",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_passes(attack):
    program, tests = ATTACKS[attack]
    entry = "f" if "def check" in tests else None
    endless = attack == "an endless answer"
    result = judge(program, tests, entry, time_limit=0.3 if endless else 60)
    assert not result.passed, result
    assert endless or result.error != "TimeoutError", result
    # the tester itself came to its end, and none but the true answers passed
    assert endless or result.cases or result.error, result


def test_the_attacks_fail_for_their_wrong_answers_only():
    right = (
        "class Square:\n"
        "    def __init__(self, x): self.x = x\n"
        "    def area(self): return self.x ** 2\n"
        "    def items(self): return [self.x ** 2]\n"
        "def f(x): return x ** 2"
    )
    for tests in (FUNCTION, CLOSE, METHOD):
        assert judge(right, tests).passed


IN_ONE = {
    "equal to everything",
    "equal inside a list",
    "equal from the right",
    "a lying integer",
    "a lying text",
    "objects in a class under test",
    "os._exit in the function",
    "sys.exit in the function",
    "raising SkipTest",
    "patched unittest",
    "patched builtins",
    "names of builtins",
    "settrace",
    "success markers",
    "a result in place of an answer",
}


@pytest.mark.parametrize("attack", sorted(IN_ONE))
def test_the_simpler_attacks_do_not_pass_in_one_interpreter(attack):
    program, tests = ATTACKS[attack]
    result = judge_in_one(program, tests, "f" if "def check" in tests else None)
    assert not result.passed, result


def test_a_result_sent_by_the_program_itself_lacks_the_number():
    program = FRAMES + textwrap.dedent("""
    def f(x):
        frame("result", ["d", "cases", ["l", ["l", "a", True, ""]], "calls", 1, "error", None,
                         "shared_needed", None])
        os._exit(0)
    """)
    assert judge_in_one(program, FUNCTION).error == "a result that the tests did not send"


def test_what_comparing_two_objects_of_the_program_shows_is_its_word():
    """A documented residual: only the program knows what its objects are."""
    program = "class P:\n    def __eq__(self, other): return True\ndef f(): return P()"
    assert judge(program, "assert f() == P()").passed
    assert not judge(program, "assert f() == 5").passed


def test_what_a_program_changes_in_a_list_it_was_given_is_its_word():
    """A documented residual, the same in one interpreter: a test that compares with the argument."""
    program = "def f(x):\n    x.clear()\n    return x"
    assert judge(program, "x = [3, 1]\nassert f(x) == sorted(x)").passed
