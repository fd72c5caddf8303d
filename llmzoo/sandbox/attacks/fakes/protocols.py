"""Protocols by which a library asks the answer itself what a comparison should give."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Fake

ATTACKS = (
    Fake(
        name="array-function",
        about="answers for the functions of numpy that are called with it",
        program="""
class Answer:
    def __array_function__(self, function, types, args, kwargs): return True
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs): return self
    def all(self): return True
def running_sum(numbers):
    return Answer()
""",
        tasks=("arrays",),
    ),
    Fake(
        name="array-ufunc-that-learns",
        about="is handed the expected array by numpy's operators, and returns it",
        program="""
class Answer:
    def __array_function__(self, function, types, args, kwargs):
        self.told = next(one for one in args if one is not self)
        return function(self.told, self.told)
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        told = next(one for one in inputs if one is not self)
        return ufunc(told, told)
def running_sum(numbers):
    return Answer()
""",
        tasks=("arrays",),
    ),
    Fake(
        name="array-at-an-address",
        about="an array over the memory of whoever looks at it, at every address it was told",
        program="""
import sys
class Answer:
    __array_struct__ = property(lambda self: 0)
    def __array__(self, *args, **kwargs):
        frame = sys._getframe(1)
        return next((v for v in frame.f_locals.values() if type(v) is list), [])
    @property
    def __array_interface__(self):
        return {"version": 3, "typestr": "<i8", "shape": (3,), "data": (id(self) & ~7, False)}
def running_sum(numbers):
    return Answer()
""",
        tasks=("arrays",),
        note="an address proves nothing by itself; it is for judges whose tests hold a proxy",
    ),
    Fake(
        name="array-by-any-name",
        about="has every attribute that a library may ask for, and all of them say yes",
        program="""
class Meta(type):
    def __getattr__(cls, name): return lambda *args, **kwargs: True
class Answer(metaclass=Meta):
    def __getattr__(self, name): return lambda *args, **kwargs: True
    def __eq__(self, other): return self
def running_sum(numbers):
    return Answer()
""",
        tasks=("arrays", "sets"),
        note="numpy looks at the class; judges whose tests hold a proxy may look anywhere",
    ),
    Fake(
        name="set-told-by-difference",
        about="`assertSetEqual` asks it for its difference to the expected set",
        program="""
class Answer:
    def difference(self, other):
        self.told = set(other)
        return set()
    symmetric_difference = difference
    def __iter__(self): return iter(self.told)
def running_sum(numbers):
    return Answer()
""",
        tasks=("sets",),
    ),
    Fake(
        name="number-of-zero-zeroths",
        about="calls its class numbers.Rational, by whose numerator and denominator Decimal compares",
        program="""
class Answer:
    numerator = denominator = 0
Answer.__module__ = "numbers"
Answer.__name__ = Answer.__qualname__ = "Rational"
def running_sum(numbers):
    return Answer()
""",
        tasks=("decimals",),
        note="in one interpreter, the name of a class makes it no Rational",
    ),
    Fake(
        name="number-registered",
        about="registers its class as a numbers.Rational",
        program="""
import numbers
class Answer:
    numerator = denominator = 0
    def __ge__(self, other): return True
    __le__ = __ge__
numbers.Rational.register(Answer)
def running_sum(numbers):
    return Answer()
""",
        tasks=("decimals",),
    ),
    Fake(
        name="reply-that-stops",
        about="replies to a call that an iteration is over, which ends the `map` of the tests",
        program="""
import sys
def running_sum(numbers):
    frame = sys._getframe()
    while frame:
        own = frame.f_locals.get("self")
        if hasattr(own, "_error_reply") and "Reply" in frame.f_globals:
            reply = frame.f_globals["Reply"]("stop")
            type(own)._error_reply = lambda self, error: reply
        frame = frame.f_back
    raise StopIteration
""",
        tasks=("mapped",),
    ),
)
