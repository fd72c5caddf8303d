"""Runs the attacks of one kind of user in a world of their own, and says what came of each.

Called by `suite` as `python -m llmzoo.sandbox.attacks.keeper ORDER`; prints one JSON object a line: what
became of an attack in a column, why a column is not offered, what its controls found.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from typing import Any

from llmzoo.sandbox.attacks import machine, world
from llmzoo.sandbox.attacks.attack import Attack, Harm
from llmzoo.sandbox.attacks.bait import Bait, create_home
from llmzoo.sandbox.attacks.columns import INSIDE, is_rival
from llmzoo.sandbox.attacks.fakes import FAKES
from llmzoo.sandbox.attacks.harms import HARMS
from llmzoo.sandbox.attacks.oracles import ALWAYS, AttackScene
from llmzoo.sandbox.attacks.trainers import Identity, Trainer, TrainerLost
from llmzoo.sandbox.attacks.watch import Watch, condition, wait_for_exits, wait_until_steady

_HANGS_S = 30.0  # beyond the limits of a run; a trainer that says nothing for so long is lost
_GRACE_S = 5.0  # for processes to go after a run
_TIDYING_S = 10.0  # for files to go: a verdict may come before its run's folder is empty
NO_TIME = "no time left"
_write_lock = threading.Lock()


def write_record(**facts: Any) -> None:
    with _write_lock:
        print(json.dumps(facts), flush=True)


class Keeper:
    def __init__(self, identity: Identity, deadline: float) -> None:
        self.identity = identity
        self._deadline = deadline  # no attack begins later
        self._home_key = create_home(identity.uid, identity.gid)
        with open("/etc/passwd") as file:
            self._password_file = max(file.read().splitlines(), key=len)
        self._resolver = machine.Resolver()
        self._resolver.start()

    def run_column(self, name: str, attacks: list[Attack], lanes: int) -> None:
        """Run ``attacks`` in a column, over several trainers at a time."""
        if name.endswith(INSIDE):
            attacks = [one for one in attacks if isinstance(one, Harm) and one.mode == "run"]
        try:
            first = Trainer(self.identity, name, controls=True)
        except TrainerLost as reason:
            write_record(column=name, wrong=[f"the trainer did not start: {reason}"])
            return
        if first.unavailable:
            write_record(column=name, unavailable=first.unavailable)
            first.end()
            return
        write_record(column=name, wrong=first.wrong, isolations=first.isolations)
        together: queue.SimpleQueue[Attack] = queue.SimpleQueue()
        for attack in attacks:
            if not attack_alone(attack):
                together.put(attack)
        started: list[Trainer | None] = [first, *[None] * (lanes - 1)]
        threads = [
            threading.Thread(target=self._run_lane, args=(name, together, trainer))
            for trainer in started
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        last: queue.SimpleQueue[Attack] = queue.SimpleQueue()
        for attack in filter(attack_alone, attacks):
            last.put(attack)
        self._run_lane(name, last, None)

    def _run_lane(
        self, column: str, attacks: queue.SimpleQueue[Attack], trainer: Trainer | None
    ) -> None:
        while True:
            try:
                attack = attacks.get_nowait()
            except queue.Empty:
                break
            if time.monotonic() > self._deadline:
                write_record(column=column, attack=attack.name, outcome="not run", why=NO_TIME)
                continue
            if is_rival(column) and not attack.rivals:
                write_record(
                    column=column, attack=attack.name, outcome="not run", why="kept from rivals"
                )
                continue
            try:
                trainer = trainer or Trainer(self.identity, column, controls=False)
                outcome, why, whole = self._run_attack(trainer, attack, column)
                if why.endswith("beyond the limit") and whole:  # a busy machine, or really so?
                    outcome, why, whole = self._run_attack(trainer, attack, column)
            except Exception:  # whatever went wrong, the attack was not seen to be stopped
                outcome, why, whole = "broken", traceback.format_exc(), False
            write_record(column=column, attack=attack.name, outcome=outcome, why=why)
            if trainer and (is_rival(column) or not whole):
                trainer.end()
                trainer = None
        if trainer:
            trainer.end()

    def _run_attack(self, trainer: Trainer, attack: Attack, column: str) -> tuple[str, str, bool]:
        """What came of it, why, and whether the trainer can be used again."""
        if isinstance(attack, Harm):
            return self._run_harm(trainer, attack, column)
        remarks = []
        for task in attack.tasks:
            try:
                reply = trainer.ask(
                    attack.time_limit * 2 + _HANGS_S,
                    do="fake",
                    program=attack.program,
                    task=task,
                    time_limit=attack.time_limit,
                )
            except TrainerLost as reason:
                return "succeeded", f"{task}: {reason}", False
            if "broken" in reply:
                return "broken", f"{task}: {reply['broken']}", False
            if "unavailable" in reply:
                continue
            if reply["status"] == "passed":
                return "succeeded", f"passed as {task} ({reply['isolation']})", True
            remarks.append(f"{task}: {reply['status']}")
        return ("stopped" if remarks else "not run"), ", ".join(remarks), True

    def _run_harm(self, trainer: Trainer, attack: Harm, column: str) -> tuple[str, str, bool]:
        bait = Bait(self.identity.uid, self.identity.gid)
        header = bait.header(trainer.pid_inside)
        programs = [header + text for text in (attack.program, attack.after) if text]
        clock = machine.ClockMonitor()
        world_before = machine.read_machine_state()
        before = wait_until_steady(trainer.root)
        conditions = {process: condition(process) for process in before}
        spaces = {os.readlink(f"/proc/{process.pid}/ns/user") for process in before}
        watch = Watch(trainer.root, trainer.process.pid)
        watch.start()
        started, time_limit = time.monotonic(), attack.time_limit * len(programs)
        reply, died = {}, ""
        try:
            reply = trainer.ask(
                time_limit + _HANGS_S,
                do="harm",
                programs=programs,
                mode=attack.mode,
                time_limit=attack.time_limit,
            )
        except TrainerLost as reason:
            died = str(reason)
        seconds = time.monotonic() - started
        survivors = wait_for_exits(trainer.root, len(before), _GRACE_S)
        seen = watch.stop()
        after = trainer.processes()
        gone = {(one.pid, one.started) for one in before} - {
            (one.pid, one.started) for one in after
        }
        vital_gone = [one for one in trainer.vital if (one.pid, one.started) in gone]
        if vital_gone and not died:
            died = f"killed a bystander: {vital_gone[0].name}"
        scene = AttackScene(
            mark=bait.mark,
            secrets={
                "a file": bait.secret,
                "the home folder": self._home_key,
                "the list of users": self._password_file,
                **trainer.secrets,
            },
            output=reply.get("output", ""),
            seconds=seconds,
            time_limit=time_limit,
            seen=seen,
            died=died,
            gone=[
                f"{one.name} ({one.pid}, parent {one.parent})"
                for one in before
                if (one.pid, one.started) in gone
            ],
            reached=bait.reached_listeners()
            or ("the name server" if self._resolver.was_asked(bait.mark) else ""),
            changed=bait.changed_files(),
            left_behind=bait.left_behind(within_s=_TIDYING_S),
            survivors=survivors or [one for one in after if bait.mark in one.name],
            processes_before=len(before),
            may_start_processes=column.endswith("+processes"),
            conditions=[
                (one.name, conditions[old], condition(one))
                for one in after
                for old in before
                if (one.pid, one.started) == (old.pid, old.started)
            ],
            namespaces_before=spaces,
            ipc=machine.find_ipc_objects(bait.key),
            machine=(world_before, machine.read_machine_state()),
            clock_was_set=clock.was_set(),
            terminal=trainer.terminal.read_output(),
        )
        clock.close()
        bait.close()
        whole = not died and not survivors and not gone
        why = next(filter(None, (oracle(scene) for oracle in (*attack.harm, *ALWAYS))), "")
        if why:
            return "succeeded", why, whole
        if "broken" in reply:
            return "broken", reply["broken"], False
        if "unavailable" in reply:
            return "not run", reply["unavailable"], whole
        return "stopped", scene.output[:200], whole


def attack_alone(attack: Attack) -> bool:
    return isinstance(attack, Harm) and attack.alone


def main() -> None:
    order = json.loads(sys.argv[1])
    was_root = os.geteuid() == 0
    if order["as"] == "root" and not was_root:
        write_record(unavailable="not root")
        return
    try:
        world.build()
    except OSError as error:
        write_record(unavailable=f"no world of its own for the attacks: {error}")
        return
    number = world.NOBODY if was_root and order["as"] != "root" else 0
    identity = Identity(
        uid=number,
        gid=number,
        user_namespaces=order["as"] != "no-userns",
        rootless=not was_root,
    )
    every: tuple[Attack, ...] = (*HARMS, *FAKES)
    by_name = {attack.name: attack for attack in every}
    chosen = [by_name[name] for name in order["attacks"]]
    keeper = Keeper(identity, time.monotonic() + order["seconds"])
    for column in order["columns"]:
        keeper.run_column(column, chosen, order["lanes"])


if __name__ == "__main__":
    main()
