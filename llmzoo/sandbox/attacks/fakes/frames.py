"""Finding the expected answers, or the end of the tests, in the interpreter that runs them."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Fake

ATTACKS = (
    Fake(
        name="callers-locals",
        about="answers what the caller's variable for it holds",
        program="""
import sys
def running_sum(numbers):
    frame = sys._getframe(1)
    while frame:
        for name in ("expected", "want", "answer", "output", "result"):
            if isinstance(frame.f_locals.get(name), list):
                return frame.f_locals[name]
        frame = frame.f_back
    return []
""",
        tasks=("computed", "calls"),
    ),
    Fake(
        name="callers-cases",
        about="looks for its argument in every local variable and answers what stands beside it",
        program="""
import sys
def beside(value, numbers, depth=3):
    if isinstance(value, (list, tuple)) and depth:
        for n, part in enumerate(value[:-1]):
            if part == numbers or part == [numbers]:
                return value[n + 1]
        for part in value:
            found = beside(part, numbers, depth - 1)
            if found is not None:
                return found
def running_sum(numbers):
    frame = sys._getframe(1)
    while frame:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            found = beside(value, numbers)
            if found is not None:
                return found
        frame = frame.f_back
    return []
""",
        tasks=("computed", "mapped", "calls"),
    ),
    Fake(
        name="callers-code",
        about="reads the constant with which its answer will be compared in the caller's code",
        program="""
import dis, sys
def running_sum(numbers):
    frame = sys._getframe(1)
    later = [i for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti]
    for step in later:
        if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            value = step.argval
            return list(value) if isinstance(value, tuple) else [value, build(later)]
    return []
def build(later):
    return next(i.argval for i in later[2:] if i.opname == "LOAD_CONST")
""",
        tasks=("literal", "unittest", "calls"),
    ),
    Fake(
        name="referrers",
        about="asks the garbage collector who holds its argument, and takes the tuple's other half",
        program="""
import gc
def running_sum(numbers):
    for holder in gc.get_referrers(numbers):
        if isinstance(holder, (tuple, list)) and len(holder) == 2:
            return holder[1]
        for outer in gc.get_referrers(holder) if isinstance(holder, (tuple, list)) else ():
            if isinstance(outer, (tuple, list)) and len(outer) == 3:
                return outer[2]
    return []
""",
        tasks=("computed", "mapped", "calls"),
    ),
    Fake(
        name="all-objects",
        about="searches every object for code and text of the tests, and reads the answers there",
        program=r"""
import ast, gc, re, types
def texts():
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            yield from (v for v in list(thing.values()) if isinstance(v, str) and "assert" in v)
    for thing in gc.get_objects():
        if isinstance(thing, (list, tuple)):
            yield from (v for v in thing if isinstance(v, str) and "assert" in v)
def constants(code):
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from constants(value)
        else:
            yield value
def running_sum(numbers):
    for text in texts():
        found = re.search(re.escape(str(numbers)) + r"[^\[]*(\[[-0-9., ]*\])", text)
        if found:
            return ast.literal_eval(found.group(1))
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__name__ in ("check", "test_short", "test_negative", "test_type"):
            values = [v for v in constants(thing.__code__) if isinstance(v, tuple)]
            for question, answer in zip(values, values[1:]):
                if list(question) == numbers:
                    return list(answer)
    return []
""",
        tasks=("literal", "computed", "mapped", "unittest", "calls"),
    ),
    Fake(
        name="own-source",
        about="reads the tests in the file that it is in, or in the command line or environment",
        program=r"""
import ast, glob, os, re, sys
def running_sum(numbers):
    places = [*sys.argv, globals().get("__file__") or "", *glob.glob("*"), *glob.glob("../*")]
    texts = [*sys.argv, *os.environ.values(), open("/proc/self/cmdline").read()]
    for place in places:
        try:
            texts.append(open(place).read())
        except OSError:
            pass
    for text in texts:
        found = re.search(re.escape(str(numbers)) + r"[^\[]*(\[[-0-9., ]*\])", text)
        if found:
            return ast.literal_eval(found.group(1))
    return []
""",
        tasks=("literal", "computed", "unittest", "calls"),
    ),
    Fake(
        name="inspected-source",
        about="has the standard library show the source of the caller",
        program=r"""
import ast, inspect, linecache, re, sys, traceback
def running_sum(numbers):
    frame = sys._getframe(1)
    texts = ["\n".join(lines) for _, _, lines, _ in list(linecache.cache.values())]
    while frame:
        try:
            texts.append(inspect.getsource(frame))
        except (OSError, TypeError):
            pass
        frame = frame.f_back
    for text in texts:
        found = re.search(re.escape(str(numbers)) + r"[^\[]*(\[[-0-9., ]*\])", text)
        if found:
            return ast.literal_eval(found.group(1))
    return []
""",
        tasks=("literal", "computed", "unittest", "calls"),
    ),
    Fake(
        name="jump-over-the-tests",
        about="moves the caller to its last line, as a debugger may",
        program="""
import sys
def tracer(frame, event, argument):
    if event == "line" and frame.f_code.co_name in ("check", "test_short", "test_negative", "test_type"):
        last = max(line for _, _, line in frame.f_code.co_lines() if line)
        if frame.f_lineno != last:
            frame.f_lineno = last
        raise SystemExit(0)
    return tracer
def running_sum(numbers):
    frame = sys._getframe(1)
    frame.f_trace = tracer
    sys.settrace(tracer)
    return [[]]
""",
        tasks=("literal", "computed", "unittest"),
    ),
    Fake(
        name="callbacks-globals",
        about="goes from a function that it is given to the variables of the tests",
        program="""
def running_sum(function, numbers):
    for question, answer in function.__globals__["CASES"]:
        if question == numbers:
            return answer
    return []
""",
        tasks=("callback",),
    ),
    Fake(
        name="callbacks-code",
        about="replaces the tests through the function that it is given",
        program="""
import inspect
def nothing(*args):
    return None
def running_sum(function, numbers):
    for way in (lambda: function.__globals__, lambda: inspect.unwrap(function).__globals__,
                lambda: function.__call__.__self__.__globals__,
                lambda: function.__reduce_ex__(2)[1][0].__globals__):
        try:
            names = way()
            for question, answer in names["CASES"]:
                answer[:] = [0]
            names["check"].__code__ = nothing.__code__
        except Exception as error:
            print(error)
    try:
        function.__code__ = nothing.__code__
        type(function).__eq__ = lambda one, other: True
    except Exception as error:
        print(error)
    return [0]
""",
        tasks=("callback",),
    ),
    Fake(
        name="replace-the-code",
        about="replaces the code of the tests by that of an empty function",
        program="""
import gc, types
def nothing(*args, **kwargs):
    return None
def running_sum(numbers):
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__name__.startswith(("check", "test_")):
            thing.__code__ = nothing.__code__
    import sys
    frame, values = sys._getframe(1), []
    for value in frame.f_code.co_consts:
        if isinstance(value, tuple):
            values.append(list(value))
    return values[1] if len(values) > 1 else []
""",
        tasks=("literal", "unittest"),
    ),
    Fake(
        name="results-in-frames",
        about="puts a success into every list of results up the stack, then leaves",
        program="""
import os, sys
def running_sum(numbers):
    frame = sys._getframe(1)
    while frame:
        for name, value in list(frame.f_locals.items()):
            if "result" in name or "status" in name or "outcome" in name:
                try:
                    value.append("passed")
                except Exception:
                    try:
                        value.value = 1
                    except Exception:
                        pass
        frame = frame.f_back
    os._exit(0)
""",
    ),
    Fake(
        name="results-anywhere",
        about="the same for every object that the garbage collector knows",
        program="""
import gc, os
def running_sum(numbers):
    for thing in gc.get_objects():
        kind = type(thing).__name__
        if kind in ("ListProxy", "SynchronizedArray", "Queue", "SimpleQueue", "Connection", "TestResult"):
            for method in ("append", "put", "send"):
                try:
                    getattr(thing, method)("passed")
                except Exception:
                    pass
    os._exit(0)
""",
    ),
    Fake(
        name="changed-expectation",
        about="changes the expected values of the tests, where they are objects, to its answer",
        program="""
import gc
def running_sum(numbers):
    for holder in gc.get_referrers(numbers):
        if isinstance(holder, tuple) and len(holder) == 2 and isinstance(holder[1], list):
            holder[1][:] = [0]
    numbers[:] = [0]
    return [0]
""",
        tasks=("computed", "mapped", "calls"),
    ),
)
