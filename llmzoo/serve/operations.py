"""What a server does with one item of a call. Only this module runs environments' code."""

from __future__ import annotations

from typing import Any

import grpc
from pettingzoo import AECEnv

from llmzoo.envs.base import TextEnv
from llmzoo.envs.forking import fork
from llmzoo.errors import ConfigError, LlmzooError, NoScriptedPolicyError
from llmzoo.rollout.stepping import step_each, step_joint_action
from llmzoo.serve import descriptions, protobuf_values, views
from llmzoo.serve.catalogue import Catalogue
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.sessions import EnvSession, EnvSessions, RequestRefusedError

_SEED_BITS = 256
_MAX_ACTIONS = 4096  # of an item
_MAX_MESSAGE_CHARACTERS = 2000  # characters


class Operations:
    """``players``: whether clients may ask the scripted players for answers."""

    def __init__(self, catalogue: Catalogue, sessions: EnvSessions, *, players: bool):
        self._catalogue = catalogue
        self._sessions = sessions
        self._players = players

    def run_item(
        self, item: pb.Item, what: str | None, id: bytes, outcome: pb.Outcome, with_view: bool
    ) -> None:
        """Carry out an item of kind ``what`` for the session ``id``. Never raises.

        ``outcome``: an empty message for the result; errors go into its status. ``with_view``: add a
        view of the session's new state.
        """
        try:
            self._run_item(item, what, id, outcome, with_view)
        except RequestRefusedError as error:
            outcome.CopyFrom(
                failure_outcome(error.code, error.message, lost=error.lost, error=error.error)
            )
        except BaseException as error:  # sys.exit() in an environment must not end the server
            outcome.CopyFrom(outcome_from_error(error))

    def describe(self, spec: pb.Spec) -> pb.Description:
        """Describe an environment. Raises what making it raises."""
        arguments = protobuf_values.read_entries(spec.arguments.entries)
        env = self._catalogue.make(spec.env, arguments)
        return descriptions.write_description(env, arguments.get("render_mode"))

    def _run_item(
        self, item: pb.Item, what: str | None, id: bytes, outcome: pb.Outcome, with_view: bool
    ) -> None:
        if what == "close":
            self._sessions.drop(id)
            return
        if what == "reset" and id not in self._sessions:
            self._open(item)
        session = self._sessions.take(id)
        try:
            if what != "reset" and not session.begun:
                message = "it has no episode yet: reset it"
                raise RequestRefusedError(
                    grpc.StatusCode.FAILED_PRECONDITION, message, error="AttributeError"
                )
            if what == "step":
                _step(session, item.step, outcome)
            elif what == "fork":
                self._sessions.check_can_open(item.fork.child)
                self._sessions.add(item.fork.child, session.copy_for_fork(fork(session.env)))
            elif what == "reset":
                self._reset(session.env, item.reset)
                session.begun = True
            elif what == "look":
                self._look(session, item.look, outcome.sight)
            else:
                raise RequestRefusedError(
                    grpc.StatusCode.INVALID_ARGUMENT,
                    "an item needs one of reset, step, fork, look and close",
                )
            if with_view:
                views.write_view(session.env, session.numbers, outcome.view)
        finally:
            session.busy = False

    def _open(self, item: pb.Item) -> None:
        if not item.reset.HasField("spec"):
            return  # the session is unknown, which `take` reports
        self._sessions.check_can_open(item.session)
        self._sessions.add(item.session, EnvSession(self._make(item.reset.spec)))

    def _make(self, spec: pb.Spec) -> AECEnv:
        return self._catalogue.make(spec.env, protobuf_values.read_entries(spec.arguments.entries))

    def _reset(self, env: AECEnv, reset: pb.Reset) -> None:
        seed = protobuf_values.read(reset.seed) if reset.HasField("seed") else None
        if seed is not None and (type(seed) is not int or seed.bit_length() > _SEED_BITS):
            raise ConfigError(f"a seed is an integer of at most {_SEED_BITS} bits")
        options = protobuf_values.read(reset.options) if reset.HasField("options") else None
        self._catalogue.check_options(options)
        env.reset(seed=seed, options=options)

    def _look(self, session: EnvSession, look: pb.Look, sight: pb.Sight) -> None:
        env = session.env
        if max(len(look.observe), len(look.expert)) > len(session.names):
            raise RequestRefusedError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"a look is at each of {len(session.names)} agents once",
            )
        for number in look.observe:
            observation = env.observe(_agent(session, number))
            views.write_observation(observation, number, sight.observations.add())
        if look.state:
            protobuf_values.write(env.state(), sight.state)
        if look.render:
            protobuf_values.write(env.render(), sight.render)
        if look.board:
            protobuf_values.write(_text_env(env).board(), sight.board)
        if look.expert or look.HasField("noisy_expert"):
            if not self._players:
                raise NoScriptedPolicyError(
                    "this server gives no answers to clients: start it with --players to allow them"
                )
            for number in look.expert:
                protobuf_values.write(
                    _text_env(env).expert(_agent(session, number)), sight.experts.add()
                )
            if look.HasField("noisy_expert"):
                rng = protobuf_values.read_rng_state(look.chance)
                answer = _text_env(env).noisy_expert(_agent(session, look.noisy_expert), rng)
                protobuf_values.write(answer, sight.noisy_expert)
                protobuf_values.write_rng_state(rng, sight.chance)


def failure_outcome(
    code: grpc.StatusCode, message: str, *, lost: bool = False, error: str = ""
) -> pb.Outcome:
    number = code.value[0]
    text = _replace_surrogates(message[:_MAX_MESSAGE_CHARACTERS])
    return pb.Outcome(status=pb.Status(code=number, message=text, error=error, lost=lost))


def outcome_from_error(error: BaseException) -> pb.Outcome:
    """The outcome of a Python exception, which the client raises again."""
    bad_request = isinstance(error, ValueError | TypeError | LookupError | OverflowError)
    own_error = isinstance(error, LlmzooError | protobuf_values.UntypedError)
    if bad_request or own_error:
        return failure_outcome(
            grpc.StatusCode.INVALID_ARGUMENT, str(error), error=type(error).__name__
        )
    return failure_outcome(
        grpc.StatusCode.INTERNAL,
        f"{type(error).__name__}: {error}",
        error=type(error).__name__,
    )


def _agent(session: EnvSession, number: int) -> str:
    if number >= len(session.names):
        raise RequestRefusedError(
            grpc.StatusCode.INVALID_ARGUMENT,
            f"there is no agent {number}: there are {len(session.names)}",
        )
    return session.names[number]


def _step(session: EnvSession, step: pb.Step, outcome: pb.Outcome) -> None:
    env = session.env
    count = len(step.texts) or len(step.actions)
    if not 1 <= count <= _MAX_ACTIONS:
        raise RequestRefusedError(
            grpc.StatusCode.INVALID_ARGUMENT,
            f"an item steps 1 to {_MAX_ACTIONS} times, got {count}: send several items",
        )
    actions = list(step.texts) or [protobuf_values.read(action) for action in step.actions]
    if step.way == pb.Step.EACH:
        for rewards in step_each(env, actions[:-1]):
            _write_rewards(session, rewards, outcome.paid.add())
        env.step(actions[-1])
    elif step.way == pb.Step.ADVANCE:
        _write_rewards(session, step_joint_action(env, actions), outcome.paid.add())
    else:
        for action in actions:
            env.step(action)


def _write_rewards(session: EnvSession, rewards: dict[str, float], message: pb.Paid) -> None:
    message.amounts.extend(rewards.values())
    agents = list(rewards)
    if agents != session.names:
        message.agents.extend([session.numbers[agent] for agent in agents])


def _text_env(env: AECEnv) -> TextEnv:
    game = env.unwrapped
    if not isinstance(game, TextEnv):
        raise NoScriptedPolicyError(
            f"{env} is not of this suite and has no scripted players and no board"
        )
    return game


def _replace_surrogates(text: Any) -> str:
    return str(text).encode("utf-8", "replace").decode()
