"""Answers that are not values but objects with their own idea of equality."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Fake

ASSERTS = ("literal", "mapped", "unittest", "calls")

ATTACKS = (
    Fake(
        name="equal-to-all",
        about="an object that equals everything",
        program="""
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
def running_sum(numbers):
    return Equal()
""",
        tasks=ASSERTS,
    ),
    Fake(
        name="list-equal-to-all",
        about="a list, as `isinstance` sees it, that equals everything",
        program="""
class Equal(list):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __len__(self): return 3
    def __getitem__(self, index): return Number()
class Number(int):
    def __eq__(self, other): return True
def running_sum(numbers):
    return Equal()
""",
        tasks=("literal", "mapped", "unittest", "calls"),
    ),
    Fake(
        name="numbers-equal-to-all",
        about="a true list of numbers that equal every number",
        program="""
class Equal(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __eq__
    def __sub__(self, other): return 0
    __rsub__ = __sub__
    __hash__ = int.__hash__
def running_sum(numbers):
    return [Equal() for _ in numbers]
""",
        tasks=("literal", "computed", "mapped", "unittest", "calls"),
    ),
    Fake(
        name="floats-equal-to-all",
        about="the same for floats",
        program="""
class Equal(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __sub__(self, other): return Equal(0)
    def __abs__(self): return Equal(0)
    __rsub__ = __sub__
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __eq__
    __hash__ = float.__hash__
def running_sum(numbers):
    return [Equal() for _ in numbers]
""",
        tasks=("literal", "computed", "mapped", "unittest", "calls"),
    ),
    Fake(
        name="words-equal-to-all",
        about="text, bytes, tuples and dicts that equal everything",
        program="""
def equal(kind):
    return type("Equal", (kind,), {"__eq__": lambda a, b: True, "__ne__": lambda a, b: False,
                                   "__hash__": lambda a: 0})
kinds = [equal(kind) for kind in (str, bytes, tuple, dict, set, complex)]
def running_sum(numbers):
    return kinds[len(numbers)]()
""",
        tasks=ASSERTS,
    ),
    Fake(
        name="lying-class",
        about="says that its class is list, and compares as it likes",
        program="""
class Equal:
    __class__ = property(lambda self: list)
    def __eq__(self, other): return True
    def __len__(self): return 3
    def __iter__(self): return iter(())
    def __getitem__(self, index): return Equal()
def running_sum(numbers):
    return Equal()
""",
        tasks=("literal", "mapped", "unittest", "calls"),
    ),
    Fake(
        name="lying-truth",
        about="comparisons whose outcome is not a bool but an object that is true",
        program="""
class Outcome:
    def __bool__(self): return True
    def all(self): return True
    any = all
class Answer:
    __array_priority__ = 1000
    def __eq__(self, other): return Outcome()
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __sub__ = __eq__
    def __len__(self): return 3
    def __getitem__(self, index): return Answer()
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
def running_sum(numbers):
    return Answer()
""",
        tasks=ASSERTS,
    ),
    Fake(
        name="lying-length",
        about="has the right length and no elements, so that no element is wrong",
        program="""
class Empty(list):
    def __init__(self, size):
        self.size = size
    def __len__(self): return self.size
def running_sum(numbers):
    return Empty(len(numbers))
""",
        tasks=("computed", "calls"),
    ),
    Fake(
        name="lying-length-of-an-object",
        about="the same for an object that is no list",
        program="""
class Empty:
    def __init__(self, size):
        self.size = size
    def __len__(self): return self.size
    def __iter__(self): return iter(())
def running_sum(numbers):
    return Empty(len(numbers))
""",
        tasks=("computed", "calls"),
    ),
    Fake(
        name="lying-arithmetic",
        about="elements that are no numbers, and differ from every number by 0",
        program="""
class Near:
    def __sub__(self, other): return 0
    __rsub__ = __abs__ = lambda self, *other: 0
    def __lt__(self, other): return True
def running_sum(numbers):
    return [Near() for _ in numbers]
""",
        tasks=("computed", "calls"),
    ),
    Fake(
        name="lying-iteration",
        about="a list whose iterator finds what it is compared with, by who asks for it",
        program="""
import sys
class Mirror(list):
    def __iter__(self):
        expected = sys._getframe(1).f_locals.get("expected")
        return iter(expected if isinstance(expected, list) else ())
    def __len__(self):
        return len(sys._getframe(1).f_locals.get("expected") or ())
def running_sum(numbers):
    return Mirror()
""",
        tasks=("computed", "calls"),
    ),
    Fake(
        name="not-a-number",
        about="NaN, which is neither above nor below any bound",
        program="""
def running_sum(numbers):
    return [float("nan")] * len(numbers)
""",
        tasks=("literal", "computed", "mapped", "calls"),
        note="it is for judges that ask `abs(a - b) > tolerance`; the rivals run the tests as they are",
    ),
    Fake(
        name="infinity",
        about="infinities and numbers so large that a difference is lost",
        program="""
def running_sum(numbers):
    return [(-1) ** n * 10.0 ** (308 + n) for n in range(len(numbers))]
""",
        tasks=("literal", "computed", "calls"),
        note="it is for relative tolerances; the rivals run the tests as they are",
    ),
    Fake(
        name="endless-answer",
        about="a generator that never comes to an end, so that no test does",
        program="""
def running_sum(numbers):
    while True:
        yield True
""",
        time_limit=1.0,
        note="no test passes for it, unless the judge takes no result for a good one",
    ),
    Fake(
        name="exploding-pickle",
        about="an answer that runs code where it is unpickled, copied or written as JSON",
        program="""
import os
class Answer(list):
    def __reduce_ex__(self, protocol):
        return exec, ("import os; os._exit(0)",)
    def leave(self, *args):
        os._exit(0)
    __copy__ = __deepcopy__ = __iter__ = __repr__ = __len__ = __getstate__ = leave
def running_sum(numbers):
    return Answer()
""",
        tasks=("computed", "calls"),
    ),
    Fake(
        name="right-only-by-name",
        about="a callable object, a class and a descriptor instead of a function",
        program="""
class Meta(type):
    def __call__(cls, *args): return cls
    def __eq__(cls, other): return True
    def __len__(cls): return 3
    def __getitem__(cls, index): return cls
    __hash__ = type.__hash__
class running_sum(metaclass=Meta):
    pass
""",
        tasks=ASSERTS,
    ),
    Fake(
        name="stack-equal-to-all",
        about="a class whose every attribute is a method that answers an object equal to all",
        program="""
class Equal:
    def __eq__(self, other): return True
class Stack:
    full = False
    def __getattr__(self, name):
        return lambda *args: self.answer(name)
    def answer(self, name):
        if name == "is_empty":
            return not self.full
        if name == "pop" and not self.full:
            raise IndexError
        self.full = True
        return Equal()
""",
        tasks=("class",),
    ),
    Fake(
        name="stack-of-properties",
        about="methods that are properties and descriptors, which answer by who asks",
        program="""
import sys
class Any(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
class Answer:
    def __get__(self, stack, owner):
        name = sys._getframe(1).f_code.co_name
        def pop():
            if name == "test_pop_of_empty" or len(stack.__dict__) == 0:
                raise IndexError
            return Any()
        return pop
class Stack:
    pop = Answer()
    def push(self, item): self.full = True
    @property
    def is_empty(self): return lambda: not vars(self)
""",
        tasks=("class",),
    ),
    Fake(
        name="stack-with-a-lying-exception",
        about="an exception that is an instance of whatever is expected",
        program="""
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
class Lie(IndexError, AssertionError, metaclass=Meta):
    __class__ = property(lambda self: IndexError)
class Any:
    def __eq__(self, other): return True
class Stack:
    seen = 0
    def push(self, item): self.seen = 1
    def pop(self):
        if not self.seen:
            raise Lie
        return Any()
    def is_empty(self): return not self.seen
""",
        tasks=("class",),
    ),
)
