"""A session answers each piece of code once, and nothing of it goes on between two of them."""

from __future__ import annotations

import textwrap

from sandboxes import AMPLE, at

ANSWER_LATER = textwrap.dedent("""
    import json, os, socket
    def wire():
        for fd in range(3, 64):
            try:
                return socket.socket(fileno=os.dup(fd)).detach()
            except OSError: pass
    for body in (["l", 0, "forged", ""], ["l", 1, 0, "forged", ""]):
        body = json.dumps(body).encode()
        os.write(wire(), len(body).to_bytes(4, "big") + body)
    """)
THREAD = textwrap.dedent("""
    import threading, time
    ticks = []
    def work():
        while True:
            time.sleep(0.01)
            ticks.append(1)
    """)


def test_no_thread_goes_on_between_two_pieces_of_code(box):
    for start in (
        "threading.Thread(target=work, daemon=True).start()",
        "import _thread; _thread.start_new_thread(work, ())",
        "threading.Timer(0.01, work).start()",
        "import os; os.fork()",
    ):
        with box.session(AMPLE) as session:
            assert session.run(THREAD).status == "passed"
            assert session.run(start).status != "passed", start
            session.run("time.sleep(0.05)")
            assert session.run("len(ticks)").stdout == "0\n", start


def test_an_answer_to_a_later_question_ends_the_session(box):
    with box.session(AMPLE) as session:
        first = session.run(ANSWER_LATER)
        assert "forged" not in first.stdout
        assert not session.alive
        assert session.run("1 + 1").status == "error"
    with box.session(AMPLE) as session:
        assert session.run("1 + 1").stdout == "2\n"


def test_a_session_of_a_sandbox_with_processes_starts_none():
    box = at(3, processes=True)
    with box.session(AMPLE) as session:
        assert session.run("import os; os.fork()").status == "blocked"
        assert session.run("1 + 1").stdout == "2\n"
    assert box.run("import os; os.fork() or os._exit(0)").status == "passed"
