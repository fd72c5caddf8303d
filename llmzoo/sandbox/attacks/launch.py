"""Starts a trainer for the attack runner: in its own process and mount namespaces, as the right user.

Called as `python -m llmzoo.sandbox.attacks.launch ORDER`, ORDER a JSON object with the fields of
:class:`~.trainers.Identity` and ``terminal``. Pid 1 in here only waits, so that an orphan stays in
the tree.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import termios

from llmzoo.sandbox.attacks import namespaces as ns
from llmzoo.sandbox.attacks.world import NOBODY

# kept from root, whatever the attack: these reach the machine through any namespace
# CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT
_NOT_EVEN_ROOT = (16, 17, 22)


def main() -> None:
    order = json.loads(sys.argv[1])
    os.setsid()
    fcntl.ioctl(os.open(order["terminal"], os.O_RDWR), termios.TIOCSCTTY, 0)
    ns.unshare(ns.NEWPID | ns.NEWNS)
    init = os.fork()
    if init:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(init, 0)[1]) & 0xFF)
    ns.die_with_parent()
    ns.mount("proc", "/proc", "proc", ns.NOSUID | ns.NODEV)
    trainer = os.fork()
    if trainer == 0:
        _become(order)
        os.execv(sys.executable, [sys.executable, "-m", "llmzoo.sandbox.attacks.trainer"])
    for descriptor in (0, 1):
        os.close(descriptor)
    while os.wait()[0] != trainer:
        pass


def _become(order: dict) -> None:
    if order["rootless"]:  # root in here is whom the tests were started by, whatever the number
        ns.unshare_user(f"{NOBODY} 0 1", f"{NOBODY} 0 1")
    elif not order["user_namespaces"]:
        ns.unshare_user(*ns.identity_maps())
    if not order["user_namespaces"]:
        ns.forbid_user_namespaces()
    if not order["rootless"]:
        for capability in _NOT_EVEN_ROOT:
            ns.drop_capability(capability)
        os.setgroups([])
        os.setresgid(*[order["gid"]] * 3)
        os.setresuid(*[order["uid"]] * 3)


if __name__ == "__main__":
    main()
