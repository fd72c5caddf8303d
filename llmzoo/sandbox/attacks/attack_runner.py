"""Runs the attacks as one kind of user, isolated from the machine, and reports the outcome of each.

`suite` starts it as `python -m llmzoo.sandbox.attacks.attack_runner ORDER`. It prints one JSON
object per line: the outcome of an attack in a column, the reason why a column is unavailable, or
the result of its controls.
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
from llmzoo.sandbox.attacks.groups import ATTACKS
from llmzoo.sandbox.attacks.oracles import DEFAULT_ORACLES, AttackScene
from llmzoo.sandbox.attacks.trainers import Identity, Trainer, TrainerLost
from llmzoo.sandbox.attacks.watch import Watch, condition, wait_for_exits, wait_until_steady

_REPLY_MARGIN_S = 30.0  # beyond a run's time limit; then a silent trainer is lost
_EXIT_TIMEOUT_S = 5.0  # for processes to exit after a run
_CLEANUP_TIMEOUT_S = 10.0  # for files to disappear, which may be later than the verdict
NO_TIME = "no time left"
_write_lock = threading.Lock()


def write_record(**fields: Any) -> None:
    with _write_lock:
        print(json.dumps(fields), flush=True)


class AttackRunner:
    def __init__(self, identity: Identity, deadline: float) -> None:
        self.identity = identity
        self._deadline = deadline  # no attack starts later
        self._home_key = create_home(identity.uid, identity.gid)
        with open("/etc/passwd") as file:
            self._passwd_line = max(file.read().splitlines(), key=len)
        self._resolver = machine.Resolver()
        self._resolver.start()

    def run_column(self, name: str, attacks: list[Attack], num_trainers: int) -> None:
        """Run ``attacks`` in a column, in several trainers at the same time."""
        if name.endswith(INSIDE):
            attacks = [a for a in attacks if isinstance(a, Harm) and a.mode == "run"]
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
        concurrent: queue.SimpleQueue[Attack] = queue.SimpleQueue()
        for attack in attacks:
            if not runs_alone(attack):
                concurrent.put(attack)
        trainers: list[Trainer | None] = [first, *[None] * (num_trainers - 1)]
        threads = [
            threading.Thread(target=self._run_queue, args=(name, concurrent, trainer))
            for trainer in trainers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        exclusive: queue.SimpleQueue[Attack] = queue.SimpleQueue()
        for attack in filter(runs_alone, attacks):
            exclusive.put(attack)
        self._run_queue(name, exclusive, None)

    def _run_queue(
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
                    column=column,
                    attack=attack.name,
                    outcome="not run",
                    why="not run against other tools",
                )
                continue
            try:
                trainer = trainer or Trainer(self.identity, column, controls=False)
                outcome, why, reusable = self._run_attack(trainer, attack, column)
                if why.endswith("beyond the limit") and reusable:  # retry: the machine may be busy
                    outcome, why, reusable = self._run_attack(trainer, attack, column)
            except Exception:  # whatever the cause, nothing shows that the attack was stopped
                outcome, why, reusable = "broken", traceback.format_exc(), False
            write_record(column=column, attack=attack.name, outcome=outcome, why=why)
            if trainer and (is_rival(column) or not reusable):
                trainer.end()
                trainer = None
        if trainer:
            trainer.end()

    def _run_attack(self, trainer: Trainer, attack: Attack, column: str) -> tuple[str, str, bool]:
        """The outcome, the reason, and whether the trainer is reusable."""
        if isinstance(attack, Harm):
            return self._run_harm(trainer, attack, column)
        statuses = []
        for task in attack.tasks:
            try:
                reply = trainer.ask(
                    attack.time_limit * 2 + _REPLY_MARGIN_S,
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
            statuses.append(f"{task}: {reply['status']}")
        return ("stopped" if statuses else "not run"), ", ".join(statuses), True

    def _run_harm(self, trainer: Trainer, attack: Harm, column: str) -> tuple[str, str, bool]:
        bait = Bait(self.identity.uid, self.identity.gid)
        header = bait.header(trainer.pid_inside)
        programs = [header + text for text in (attack.program, attack.after) if text]
        clock = machine.ClockMonitor()
        machine_before = machine.read_machine_state()
        before = wait_until_steady(trainer.root)
        conditions = {process: condition(process) for process in before}
        namespaces = {os.readlink(f"/proc/{process.pid}/ns/user") for process in before}
        watch = Watch(trainer.root, trainer.process.pid)
        watch.start()
        started, time_limit = time.monotonic(), attack.time_limit * len(programs)
        reply, trainer_error = {}, ""
        try:
            reply = trainer.ask(
                time_limit + _REPLY_MARGIN_S,
                do="harm",
                programs=programs,
                mode=attack.mode,
                time_limit=attack.time_limit,
            )
        except TrainerLost as reason:
            trainer_error = str(reason)
        seconds = time.monotonic() - started
        survivors = wait_for_exits(trainer.root, len(before), _EXIT_TIMEOUT_S)
        peak_usage = watch.stop()
        after = trainer.processes()
        killed = {(p.pid, p.started) for p in before} - {(p.pid, p.started) for p in after}
        vital_killed = [p for p in trainer.vital if (p.pid, p.started) in killed]
        if vital_killed and not trainer_error:
            trainer_error = f"killed a bystander: {vital_killed[0].name}"
        scene = AttackScene(
            mark=bait.mark,
            secrets={
                "a file": bait.secret,
                "the home folder": self._home_key,
                "the list of users": self._passwd_line,
                **trainer.secrets,
            },
            output=reply.get("output", ""),
            seconds=seconds,
            time_limit=time_limit,
            peak_usage=peak_usage,
            trainer_error=trainer_error,
            killed=[
                f"{p.name} ({p.pid}, parent {p.parent})"
                for p in before
                if (p.pid, p.started) in killed
            ],
            contacted=bait.contacted_listeners()
            or ("the name server" if self._resolver.was_queried(bait.mark) else ""),
            changed_files=bait.changed_files(),
            leftover_files=bait.leftover_files(within_s=_CLEANUP_TIMEOUT_S),
            survivors=survivors or [p for p in after if bait.mark in p.name],
            processes_before=len(before),
            may_start_processes=column.endswith("+processes"),
            conditions=[
                (new.name, conditions[old], condition(new))
                for new in after
                for old in before
                if (new.pid, new.started) == (old.pid, old.started)
            ],
            namespaces_before=namespaces,
            ipc=machine.find_ipc_objects(bait.key),
            machine=(machine_before, machine.read_machine_state()),
            clock_was_set=clock.was_set(),
            terminal=trainer.terminal.read_output(),
        )
        clock.close()
        bait.close()
        reusable = not trainer_error and not survivors and not killed
        why = next(filter(None, (oracle(scene) for oracle in (*attack.harm, *DEFAULT_ORACLES))), "")
        if why:
            return "succeeded", why, reusable
        if "broken" in reply:
            return "broken", reply["broken"], False
        if "unavailable" in reply:
            return "not run", reply["unavailable"], reusable
        return "stopped", scene.output[:200], reusable


def runs_alone(attack: Attack) -> bool:
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
        write_record(unavailable=f"cannot isolate the attacks from the machine: {error}")
        return
    user_id = world.NOBODY if was_root and order["as"] != "root" else 0
    identity = Identity(
        uid=user_id,
        gid=user_id,
        user_namespaces=order["as"] != "no-userns",
        rootless=not was_root,
    )
    by_name = {attack.name: attack for attack in ATTACKS}
    chosen = [by_name[name] for name in order["attacks"]]
    runner = AttackRunner(identity, time.monotonic() + order["seconds"])
    for column in order["columns"]:
        runner.run_column(column, chosen, order["num_trainers"])


if __name__ == "__main__":
    main()
