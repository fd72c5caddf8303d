"""Connections that are forwarded from one listening socket to another."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from llmzoo.sandbox.forwarding import PortForwarder


@pytest.fixture
def forwarded():
    """``forwarded(answer)``: an address whose connections ``answer`` gets, through a forwarding."""
    opened = []

    def make(answer):
        far = socket.create_server(("127.0.0.1", 0), backlog=128)
        near = socket.create_server(("127.0.0.1", 0), backlog=128)
        address = near.getsockname()

        def serve():
            while True:
                try:
                    one, _ = far.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=[one], daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        opened.append((PortForwarder(near, far.getsockname()[1]), far))
        return address

    make.opened = opened
    yield make
    for forwarding, far in opened:
        forwarding.close()
        far.shutdown(socket.SHUT_RDWR)
        far.close()


def all_of(connection):
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def reversed_after_the_end(one):
    """Answers only when the other side has closed its half."""
    with one:
        one.sendall(all_of(one)[::-1])


def test_a_half_closed_connection_still_answers(forwarded):
    with socket.create_connection(forwarded(reversed_after_the_end)) as near:
        near.sendall(b"abc")
        near.shutdown(socket.SHUT_WR)
        assert all_of(near) == b"cba"


def test_a_hundred_connections_at_once_keep_their_bytes(forwarded):
    """More than are forwarded at once: the others wait."""
    address = forwarded(reversed_after_the_end)
    start = threading.Barrier(100)

    def ask(number):
        data = bytes([number]) * 300_000 + b"end"
        with socket.create_connection(address) as near:
            start.wait()
            near.sendall(data)
            near.shutdown(socket.SHUT_WR)
            return all_of(near) == data[::-1]

    with ThreadPoolExecutor(100) as pool:
        assert all(pool.map(ask, range(100)))


def test_parts_arrive_as_they_are_sent(forwarded):
    def slowly(one):
        with one:
            for part in (b"a", b"b", b"c"):
                one.sendall(part)
                assert one.recv(1) == part

    with socket.create_connection(forwarded(slowly)) as near:
        for part in (b"a", b"b", b"c"):
            near.settimeout(5)
            assert near.recv(10) == part
            near.sendall(part)


def test_a_reader_that_stops_holds_up_the_writer(forwarded):
    sent, stopped, read = [], threading.Event(), threading.Event()

    def pour(one):
        with one:
            one.settimeout(0.3)
            try:
                while len(sent) < 1000:
                    sent.append(one.send(bytes(1 << 20)))
            except TimeoutError:
                pass
            stopped.set()
            read.wait(30)

    with socket.create_connection(forwarded(pour)) as near:
        assert stopped.wait(30)
        assert 0 < sum(sent) < 64 << 20  # what sockets hold, and nothing piles up in between
        near.settimeout(5)
        received = len(near.recv(1 << 20))
        while received < sum(sent):
            received += len(near.recv(1 << 20))
        assert received == sum(sent)
        read.set()


def test_connections_that_are_reset_harm_no_other(forwarded):
    address = forwarded(reversed_after_the_end)
    for _ in range(200):
        near = socket.create_connection(address)
        near.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
        )  # reset at the end
        near.sendall(b"x")
        near.close()
    with socket.create_connection(address) as near:
        near.settimeout(20)
        near.sendall(b"abc")
        near.shutdown(socket.SHUT_WR)
        assert all_of(near) == b"cba"


def test_nobody_at_the_other_end():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    near = socket.create_server(("127.0.0.1", 0))
    address = near.getsockname()
    forwarding = PortForwarder(near, port)
    with socket.create_connection(address) as one:
        one.settimeout(5)
        assert one.recv(1) == b""
    forwarding.close()


def test_closing_ends_the_connections(forwarded):
    address = forwarded(reversed_after_the_end)
    near = socket.create_connection(address)
    near.sendall(b"x")
    time.sleep(0.1)
    forwarded.opened[0][0].close()
    near.settimeout(5)
    with near, suppress(ConnectionResetError):
        assert near.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
