"""What one run leaves for the next: it would carry answers, or break honest programs."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm
from llmzoo.sandbox.attacks.oracles import detect_carryover

ATTACKS = (
    Harm(
        name="time-of-a-device",
        about="writes into the time stamp of a device, which the next run reads",
        program="""
import os
for name in ("null", "zero", "full", "random", "urandom"):
    try:
        os.utime("/dev/" + name)
    except OSError as error:
        print(error)
""",
        after="""
import os, time
for name in ("null", "zero", "full", "random", "urandom"):
    try:
        if abs(os.stat("/dev/" + name).st_mtime - time.time()) < 5:
            print(f"found {MARK}")
    except OSError as error:
        print(error)
""",
        harm=(detect_carryover,),
        rivals=False,
    ),
    Harm(
        name="file-for-the-next",
        about="leaves a file in the working folder or in the places for such files",
        program="""
for place in (".", "/tmp", "/var/tmp", "/dev/shm", HOME):
    try:
        open(f"{place}/left-over.txt", "w").write(MARK)
    except OSError as error:
        print(error)
""",
        after="""
import os
for place in (".", "/tmp", "/var/tmp", "/dev/shm", HOME):
    try:
        leak("found " + open(f"{place}/left-over.txt").read())
        os.remove and os.remove(f"{place}/left-over.txt")
    except OSError as error:
        print(error)
""",
        harm=(detect_carryover,),
    ),
    Harm(
        name="module-for-the-next",
        about="leaves a module with the name of a common one where the next will import it",
        program="""
import os, site
place = site.getusersitepackages()
for place in (".", place, HOME + "/.local/lib/python3.11/site-packages"):
    try:
        os.makedirs(place, exist_ok=True)
        open(f"{place}/usercustomize.py", "w").write(f"import os; os.write(1, b'found {MARK}')")
        open(f"{place}/numbers.py", "w").write(f"import os; os.write(1, b'found {MARK}')")
    except OSError as error:
        print(error)
""",
        after="""
import numbers, os, shutil
shutil.rmtree(HOME + "/.local", ignore_errors=True) if shutil.rmtree else None
""",
        harm=(detect_carryover,),
        note="a virtual environment has no folder of the user's own modules",
    ),
    Harm(
        name="changed-modules",
        about="changes functions, built-ins and settings of the interpreter",
        program="""
import builtins, json, math, os, random, sys
math.sqrt = json.dumps = random.random = builtins.sorted = lambda *a, **k: MARK
os.environ["LEFT"] = MARK
sys.modules["left"] = MARK
sys.path.append(MARK)
""",
        after="""
import builtins, json, math, os, random, sys
for word in (math.sqrt(4), json.dumps(1), random.random(), sorted([1]), os.environ.get("LEFT"),
             sys.modules.get("left"), sys.path[-1]):
    leak(f"found {word}")
""",
        harm=(detect_carryover,),
        note="it is for judges that keep an interpreter; neither rival does",
    ),
    Harm(
        name="thread-for-the-next",
        about="leaves a thread, a timer and handlers that speak up later",
        program="""
import atexit, os, signal, threading, time
def speak(*_):
    os.write(1, f"found {MARK}".encode())
def later():
    while True:
        time.sleep(0.05)
        try:
            os.write(4, b"x")
        except OSError:
            pass
threading.Thread(target=later, daemon=True).start()
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.2)
""",
        after="""
import threading, time
time.sleep(0.4)
if threading.active_count() > 1:
    leak("found " + MARK)
""",
        harm=(detect_carryover,),
        note="it is for judges that keep an interpreter; neither rival does",
    ),
    Harm(
        name="open-file-for-the-next",
        about="leaves words in whatever was open already, such as a shared pipe or file",
        program="""
import os
for descriptor in range(3, 64):
    try:
        os.pwrite(descriptor, MARK.encode(), 0)
    except OSError:
        pass
""",
        after="""
import os
for descriptor in range(3, 64):
    try:
        leak("found " + os.pread(descriptor, 14, 0).decode())
    except (OSError, ValueError):
        pass
""",
        harm=(detect_carryover,),
        note="what the rivals leave open is open for reading only",
    ),
)
