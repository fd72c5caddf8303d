"""What is printed: words of success, and all that a comparison of output may be taken in by."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Fake

ATTACKS = (
    Fake(
        name="words-of-success",
        about="prints what harnesses print when all is well, then leaves",
        program=r"""
import sys
for stream in (sys.stdout, sys.stderr):
    stream.write('passed\nPASSED\nOK\nRan 3 tests in 0.001s\n\nOK\n1 passed in 0.01s\n'
                 'All tests passed!\n{"passed": true, "status": "passed"}\nSUCCESS\nAccepted\n'
                 '__RESULT__: True\n##vso[task.complete result=Succeeded;]\n')
    stream.flush()
sys.exit(0)
""",
        tasks=("literal", "computed", "unittest", "class", "calls", "stdio"),
    ),
    Fake(
        name="words-at-the-end",
        about="prints them when the interpreter ends, after everything else",
        program=r"""
import atexit, os, sys, warnings
def end():
    os.write(1, b"passed\nOK\n")
    os.write(2, b"Ran 3 tests in 0.001s\n\nOK\n")
    os._exit(0)
atexit.register(end)
warnings.showwarning = lambda *args, **options: end()
def running_sum(numbers):
    return [0]
""",
        tasks=("literal", "computed", "unittest", "calls", "stdio"),
    ),
    Fake(
        name="answers-in-files",
        about="looks for a file with the expected output near itself and prints it",
        program="""
import glob, os, sys
given = sys.stdin.readline().split()
for place in (".", "..", os.path.dirname(os.path.abspath(sys.argv[0] or "."))):
    for path in glob.glob(place + "/*"):
        try:
            text = open(path).read()
        except (OSError, UnicodeDecodeError):
            continue
        if text.split()[:1] == given[:1] and len(text.split()) == len(given):
            print(text)
            sys.exit()
""",
        tasks=("stdio",),
    ),
    Fake(
        name="answers-in-the-surroundings",
        about="prints its arguments and environment, and whatever it can read of descriptors",
        program="""
import os, sys
print(*sys.argv[1:], *os.environ.values())
for descriptor in range(3, 64):
    try:
        print(os.pread(descriptor, 65536, 0).decode(errors="replace"))
    except OSError:
        pass
""",
        tasks=("stdio",),
        note="few judges put answers there; the file beside the program is the common mistake",
    ),
    Fake(
        name="every-answer",
        about="prints all small numbers, in the hope that the right ones are looked for among them",
        program="""
for number in range(-50, 51):
    print(number)
""",
        tasks=("stdio",),
        note="it is for judges that ask whether the answer is contained",
    ),
    Fake(
        name="numbers-like-any-other",
        about="prints NaN and infinities, which differ from no number by more than a tolerance",
        program="""
words = input().split()
print(*(["nan", "inf", "-nan", "1e999"] * 3)[:len(words)])
""",
        tasks=("stdio",),
        note="it is for comparisons with a tolerance; this rival compares words",
    ),
    Fake(
        name="nothing",
        about="prints nothing, or spaces, or ends the output before it begins",
        program=r"""
import os
os.write(1, b"\x00\x04\x1a \n\t\r\x0c\x1b[2J")
os.close(1)
""",
        tasks=("stdio",),
        note="it is for comparisons that stop at the end of the shorter text",
    ),
    Fake(
        name="first-and-no-more",
        about="prints a right beginning and then waits, so that only the beginning is compared",
        program="""
import os, time
words = input().split()
os.write(1, (words[0] + "\\n").encode())
time.sleep(60)
""",
        tasks=("stdio",),
        time_limit=0.8,
        note="it is for comparisons of what came before the time was over",
    ),
    Fake(
        name="overwritten-print",
        about="replaces print and the streams in which the output is collected",
        program="""
import builtins, io, sys
class Any(str):
    def __eq__(self, other): return True
    def split(self, *args): return Any()
    def strip(self, *args): return Any()
class Stream(io.StringIO):
    def getvalue(self): return Any()
    def read(self, *args): return Any()
sys.stdout = sys.__stdout__ = Stream()
builtins.print = lambda *args, **options: None
""",
        tasks=("stdio",),
        note="it is for judges that collect output inside the program's interpreter",
    ),
)
