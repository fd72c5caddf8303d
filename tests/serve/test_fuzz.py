"""Random values in every field of every call: never INTERNAL or UNKNOWN, and the server goes on."""

from __future__ import annotations

import math
import random
import threading
import time

import grpc
import pytest
from env_servers import hosted
from google.protobuf.descriptor import FieldDescriptor
from grpc_health.v1 import health_pb2, health_pb2_grpc

from llmzoo.serve.calls import EnvironmentsStub
from llmzoo.serve.channel import connect, parse_address
from llmzoo.serve.generated import environments_pb2

ENVS = ("sudoku_v0", "plan_path_v0", "math_v0", "debate_v0", "story_v0", "tool_use_v0")
NAMES = (
    *("size", "max_turns", "num_agents", "split", "source", "render_mode", "team_weight", "tools"),
    *("task", "level", "family", "judge", "style", "width", "", "x" * 300, "__class__", "../x"),
)
TEXTS = (
    *(
        "",
        "1",
        "U",
        "train",
        "sample",
        "ansi",
        "all",
        "../../etc/passwd",
        "a\x00b",
        "\x1b[2J",
        "x" * 9000,
    ),
    *("{" * 500, "[" * 5000, "1" * 5000, "\u2028", "tool_use_v0", "math_v0", *ENVS),
)
INTEGERS = (0, 1, 2, 3, 7, 63, 64, 1000, 2**31 - 1, 2**32 - 1)
BIG = (2**63 - 1, 10**9, 10**12)
REALS = (0.0, 1.0, 0.5, -1.0, 1e-308, 5e-324, 1e308, math.inf, -math.inf, math.nan, 1e6)
BYTES = (b"", b"\x00" * 16, b"\x01" * 16, b"\x02" * 16, b"\xff" * 17, b"\xff" * 3000, b"abc")
INTERNAL = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}
NUMBERS = {code.value[0] for code in INTERNAL}


class Fuzz:
    """Messages with whatever values, some of them such as a client would send."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def fill(self, message, depth: int = 0) -> None:
        rng = self.rng
        for field in message.DESCRIPTOR.fields:
            if rng.random() < 0.35 or (depth > 5 and field.message_type):
                continue
            many = field.is_repeated
            count = rng.choice((0, 1, 1, 2, 5, 40)) if many else 1
            for _ in range(count if depth < 4 else min(count, 2)):
                if field.message_type:
                    inner = (
                        getattr(message, field.name).add() if many else getattr(message, field.name)
                    )
                    inner.SetInParent()
                    self.fill(inner, depth + 1)
                elif many:
                    getattr(message, field.name).append(self.value(field))
                else:
                    setattr(message, field.name, self.value(field))

    def value(self, field):
        rng, kind = self.rng, field.type
        if kind == FieldDescriptor.TYPE_STRING:
            if field.name == "env":
                return rng.choice((*ENVS, *ENVS, rng.choice(TEXTS)))
            return rng.choice(NAMES if field.name == "key" else TEXTS)
        if kind == FieldDescriptor.TYPE_BYTES:
            return rng.choice(BYTES)
        if kind == FieldDescriptor.TYPE_BOOL:
            return rng.random() < 0.5
        if kind == FieldDescriptor.TYPE_DOUBLE:
            return rng.choice(REALS)
        if kind == FieldDescriptor.TYPE_ENUM:
            return rng.choice((0, 1, 2, 3, 99))
        if kind in (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32):
            return rng.choice(INTEGERS)
        if kind in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64):
            return rng.choice((*INTEGERS, *BIG))
        return rng.choice((*INTEGERS, *BIG, -1, -(10**9), -(2**63)))


@pytest.fixture
def slowest():
    """Health checks that go on all the time; a list with how many seconds the slowest took."""
    over, longest, address = threading.Event(), [0.0], []

    def check():
        while not over.wait(0.05):
            if address:
                stub = health_pb2_grpc.HealthStub(connect(parse_address(address[0])))
                began = time.monotonic()
                try:
                    stub.Check(health_pb2.HealthCheckRequest(), timeout=20)
                except grpc.RpcError:
                    longest[0] = math.inf
                longest[0] = max(longest[0], time.monotonic() - began)

    thread = threading.Thread(target=check)
    thread.start()
    yield address, longest
    over.set()
    thread.join()


@pytest.mark.slow
def test_calls_of_environments(slowest):
    address, took = slowest
    codes, wrong = set(), []
    with hosted(envs=list(ENVS), step_s=20.0, max_sessions=50, players=True) as server:
        address.append(server.running.address)
        stub = EnvironmentsStub(connect(parse_address(server.running.address)))
        methods = [
            (stub.ListEnvironments, environments_pb2.ListRequest),
            (stub.Describe, environments_pb2.Spec),
            *((getattr(stub, name), environments_pb2.Item) for name in ["Reset", "Step", "Fork"]),
            (stub.Observe, environments_pb2.Item),
            (stub.Close, environments_pb2.Item),
            *[(stub.StepBatch, environments_pb2.Batch)] * 3,
        ]
        for seed in range(600):
            fuzz = Fuzz(seed)
            method, kind = fuzz.rng.choice(methods)
            message = kind()
            fuzz.fill(message)
            if seed % 5 == 0:  # a session that stands, for the others to meet
                item = environments_pb2.Item(session=b"\x00" * 16)
                item.reset.spec.env = ENVS[seed // 5 % len(ENVS)]
                item.reset.seed.integer = seed
                stub.StepBatch(environments_pb2.Batch(items=[item], close=[b"\x00" * 16]))
            try:
                reply = method(message, timeout=30)
            except grpc.RpcError as error:
                codes.add(error.code())
                wrong += [(seed, error.details())] * (error.code() in INTERNAL)
            else:
                said = [outcome.status for outcome in getattr(reply, "outcomes", [])]
                wrong += [(seed, status.message) for status in said if status.code in NUMBERS]
    assert not wrong
    assert {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND} <= codes
    assert took[0] < 10
