"""Changing what the tests are made of: built-ins, modules, types, the compiler."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Fake

ATTACKS = (
    Fake(
        name="patched-builtins",
        about="all, abs, len, isinstance and the like answer what suits",
        program="""
import builtins
builtins.all = builtins.any = builtins.isinstance = lambda *args: True
builtins.len = builtins.abs = builtins.sum = lambda *args: 0
def running_sum(numbers):
    return [0]
""",
        tasks=("computed", "mapped", "calls"),
    ),
    Fake(
        name="shadowed-builtins",
        about="the same by names of its own module, in which the tests may run",
        program="""
def all(values): return True
def len(values): return 0
def map(function, values): return []
def running_sum(numbers):
    return [0]
""",
        tasks=("computed", "mapped", "calls"),
    ),
    Fake(
        name="own-builtins",
        about="gives its module another dictionary of built-ins",
        program="""
import builtins
mine = dict(vars(builtins))
mine.update(all=lambda values: True, len=lambda values: 0, map=lambda f, v: [])
globals()["__builtins__"] = mine
__builtins__ = mine
def running_sum(numbers):
    return [0]
""",
        tasks=("computed", "mapped"),
    ),
    Fake(
        name="patched-comparison",
        about="overwrites in memory how lists compare",
        program="""
import ctypes
compare = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int)
always = compare(lambda one, other, how: how != 3)
slot = ctypes.c_void_p.from_address(id(list) + 200)  # tp_richcompare
slot.value = ctypes.cast(always, ctypes.c_void_p).value
def running_sum(numbers):
    return [0, 4]
""",
        tasks=("literal", "mapped", "unittest", "calls"),
    ),
    Fake(
        name="patched-numbers",
        about="overwrites in memory the value of the small numbers",
        program="""
import ctypes
def running_sum(numbers):
    sums = [1000001 + n for n in range(len(numbers))]
    for value in sums:
        ctypes.c_int.from_address(id(value) + 24).value = 3
    compare = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int)
    global always
    always = compare(lambda one, other, how: True)
    ctypes.c_void_p.from_address(id(int) + 200).value = ctypes.cast(always, ctypes.c_void_p).value
    return sums
""",
        tasks=("literal", "mapped", "calls"),
    ),
    Fake(
        name="patched-assertion-error",
        about="an AssertionError that is no error",
        program="""
import builtins
class Quiet(SystemExit):
    code = 0
builtins.AssertionError = Quiet
AssertionError = Quiet
def running_sum(numbers):
    return [0]
""",
        note="`assert` takes the exception from the interpreter since Python 3.9",
    ),
    Fake(
        name="patched-class-building",
        about="classes of tests are built without their tests",
        program="""
import builtins
build = builtins.__build_class__
def without_tests(body, name, *bases, **options):
    if name.startswith("Test"):
        return build(lambda: None, name, *bases, **options)
    return build(body, name, *bases, **options)
builtins.__build_class__ = without_tests
def running_sum(numbers):
    return [0]
class Stack:
    pass
""",
        tasks=("unittest", "class"),
    ),
    Fake(
        name="patched-compiler",
        about="leaves asserts out of whatever is compiled from now on",
        program="""
import ast, builtins
compiled, executed = builtins.compile, builtins.exec
def compile_without(source, name="", mode="exec", flags=0, *rest, **options):
    options["optimize"] = 2
    return compiled(source, name, mode, flags, **options)
builtins.compile = compile_without
builtins.exec = lambda source, *rest: executed(
    compile_without(source) if isinstance(source, str) else source, *rest)
ast.parse = lambda *args, **options: ast.Module([], [])
def running_sum(numbers):
    return [0]
""",
        note="both rivals compile program and tests at once, before it runs",
    ),
    Fake(
        name="poisoned-modules",
        about="puts modules of its own in the place of those that tests import",
        program="""
import sys, types
class Anything(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Base if name == "TestCase" else (lambda *args, **options: True)
class Base:
    pass
for name in ("unittest", "math", "json", "pickle", "copy", "numpy", "numpy.testing", "pytest"):
    sys.modules[name] = Anything(name)
def running_sum(numbers):
    return [0]
class Stack:
    pass
""",
        tasks=("computed", "unittest", "class", "calls"),
    ),
    Fake(
        name="import-hook",
        about="a finder that serves the tests an empty unittest",
        program="""
import importlib.abc, importlib.machinery, sys
for name in [name for name in sys.modules if name.split(".")[0] in ("unittest", "json", "math")]:
    del sys.modules[name]
class Loader(importlib.abc.Loader):
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        class TestCase:
            pass
        module.TestCase, module.main = TestCase, lambda *args, **options: None
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("unittest", "json"):
            return importlib.machinery.ModuleSpec(name, Loader())
sys.meta_path.insert(0, Finder())
def running_sum(numbers):
    return [0]
""",
        tasks=("unittest",),
    ),
    Fake(
        name="no-check",
        about="traces its own module and replaces `check` as soon as it is defined",
        program="""
import sys
def tracer(frame, event, argument):
    if "check" in frame.f_globals:
        frame.f_globals["check"] = lambda candidate: None
    return tracer
sys._getframe().f_trace = tracer
sys.settrace(tracer)
def running_sum(numbers):
    return [0]
""",
        tasks=("literal", "computed", "calls"),
    ),
    Fake(
        name="profile-hook",
        about="leaves when the function is done, or when an exception is made, by profiling",
        program="""
import os, sys, threading
def profiler(frame, event, argument):
    if event == "call" and frame.f_code.co_name in ("__exit__", "addFailure", "_callTestMethod"):
        os._exit(0)
    if event == "return" and frame.f_code.co_name in ("check", "test_short"):
        os._exit(0)
sys.setprofile(profiler)
threading.setprofile(profiler)
def running_sum(numbers):
    return [0]
""",
        tasks=("literal", "computed", "unittest", "calls"),
    ),
    Fake(
        name="hidden-in-a-coding",
        about="a comment that becomes code in the encoding which the first line names",
        program="# coding: raw_unicode_escape\n#\\u000aimport os\\u000aos._exit(0)\n"
        "def running_sum(numbers):\n    return [0]\n",
        tasks=("literal", "unittest", "calls"),
    ),
    Fake(
        name="swallowing-lines",
        about="a text that is never closed, and a null byte, to make the tests a part of it",
        program='def running_sum(numbers):\n    return [0]\nrest = """\n',
        note="no judge appends tests to a program that does not compile by itself and calls it passed",
    ),
    Fake(
        name="patched-while-waiting",
        about="a thread that keeps replacing built-ins and tests while they run",
        program="""
import sys, threading, time
sys.setswitchinterval(1e-6)
def nothing(*args, **options):
    return None
def meddle(names):
    while True:
        for thing in [names.get("TestRunningSum"), names.get("TestStack")]:
            for name in dir(thing):
                if name.startswith("test_"):
                    setattr(thing, name, nothing)
threading.Thread(target=meddle, args=(globals(),), daemon=True).start()
def running_sum(numbers):
    time.sleep(0.2)
    return [0]
class Stack:
    def __init__(self): time.sleep(0.2)
""",
        tasks=("unittest", "class"),
        time_limit=2.0,
    ),
)
