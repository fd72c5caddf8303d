"""TLS: whom a client trusts, whom a server lets in, and connections that never become any."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, timezone

import grpc
import pytest
from env_servers import TOKEN, listed
from grpc_health.v1 import health_pb2, health_pb2_grpc
from waiting import until

import llmzoo
from llmzoo.errors import ConfigError
from llmzoo.serve import hosting
from llmzoo.serve.channel import RemoteError, connect, parse_address
from llmzoo.serve.environments import EnvironmentsConfig, EnvironmentsService
from llmzoo.serve.hosting import ServeConfig, start_server

pytestmark = pytest.mark.usefixtures("no_token_of_mine")
SUDOKU = EnvironmentsConfig(envs=["sudoku_v0"])


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority, a certificate of a server on this machine and one of a client; and strangers'."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates")
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    for authority in ("ca", "other-ca"):
        openssl(
            *(
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-keyout", f"{authority}.key", "-out", f"{authority}.pem", "-days", "2"),
            *("-subj", f"/CN={authority}"),
        )
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1")
    for name, authority in (("server", "ca"), ("client", "ca"), ("stranger", "other-ca")):
        openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"),
        )
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-days", "2"),
            *("-CAkey", f"{authority}.key", "-CAcreateserial", "-extfile", "san"),
            *("-out", f"{name}.pem"),
        )
    return folder


@pytest.fixture
def tls(certificates, monkeypatch):
    """Settings of a server with TLS; this process trusts its authority."""
    monkeypatch.setenv("LLMZOO_TOKEN", TOKEN)
    monkeypatch.setenv("LLMZOO_TLS_CA", str(certificates / "ca.pem"))
    return {
        "port": 0,
        "token": TOKEN,
        "tls_cert": str(certificates / "server.pem"),
        "tls_key": str(certificates / "server.key"),
    }


def test_tls_with_a_certificate_of_the_server(tls, certificates, monkeypatch):
    with start_server(ServeConfig(**tls), [EnvironmentsService(SUDOKU)]) as running:
        assert running.address.startswith("grpcs://")
        env = llmzoo.make(f"{running.address}/sudoku_v0")
        env.reset(seed=1)
        assert env.agent_selection == "proposer_0"
        # nobody speaks to it in the clear, or trusts it for another authority's sake
        with pytest.raises(RemoteError, match="no server can be reached"):
            listed(running.address.replace("grpcs", "grpc"))
        monkeypatch.setenv("LLMZOO_TLS_CA", str(certificates / "other-ca.pem"))
        with pytest.raises(RemoteError, match="no server can be reached"):
            listed(running.address)
        monkeypatch.setenv("LLMZOO_TLS_CA", str(certificates / "ca.pem"))
        monkeypatch.setenv("LLMZOO_TOKEN", "not that of this server")
        with pytest.raises(RemoteError, match="refused the token"):
            listed(running.address)


def test_tls_with_certificates_of_clients(tls, certificates, monkeypatch):
    config = ServeConfig(**tls, tls_client_ca=str(certificates / "ca.pem"))
    with start_server(config, [EnvironmentsService(SUDOKU)]) as running:
        with pytest.raises(RemoteError, match="no server can be reached"):
            listed(running.address)
        for name in ("stranger", "client"):
            monkeypatch.setenv("LLMZOO_TLS_CERT", str(certificates / f"{name}.pem"))
            monkeypatch.setenv("LLMZOO_TLS_KEY", str(certificates / f"{name}.key"))
            if name == "stranger":
                with pytest.raises(RemoteError, match="no server can be reached"):
                    listed(running.address)
        assert listed(running.address) == ["sudoku_v0"]
        monkeypatch.delenv("LLMZOO_TLS_KEY")
        with pytest.raises(ConfigError, match="LLMZOO_TLS_CERT and LLMZOO_TLS_KEY go together"):
            listed(running.address)


def test_files_of_tls_that_are_not_there(tls, certificates, monkeypatch):
    with pytest.raises(ConfigError, match=r"gone\.pem: No such file"):
        start_server(ServeConfig(**{**tls, "tls_cert": "gone.pem"}), [])
    with pytest.raises(ConfigError, match="do not fit"):
        start_server(ServeConfig(**{**tls, "tls_key": str(certificates / "client.key")}), [])
    monkeypatch.setenv("LLMZOO_TLS_CA", os.devnull + "/gone.pem")
    with pytest.raises(ConfigError, match=r"LLMZOO_TLS_CA=.*gone\.pem: Not a directory"):
        connect(parse_address("grpcs://127.0.0.1:1"))


# Certificates that are none


def signed(certificates, name, *, alternative="127.0.0.1", since_days=-1, until_days=2):
    """Files of a certificate for an address, by the authority that clients trust."""
    x509 = pytest.importorskip("cryptography.x509")
    from ipaddress import ip_address

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    authority = x509.load_pem_x509_certificate((certificates / "ca.pem").read_bytes())
    signer = serialization.load_pem_private_key((certificates / "ca.key").read_bytes(), None)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=since_days))
        .not_valid_after(now + timedelta(days=until_days))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(alternative))]), critical=True
        )
        .sign(signer, hashes.SHA256())
    )
    files = certificates / f"{name}.pem", certificates / f"{name}.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return {"tls_cert": str(files[0]), "tls_key": str(files[1])}


@pytest.mark.parametrize(
    ("how", "trusted"),
    [
        ({}, True),
        ({"since_days": -9, "until_days": -1}, False),  # it has expired
        ({"since_days": 1}, False),  # it is not valid yet
        ({"alternative": "127.0.0.2"}, False),  # it is another's
    ],
)
def test_certificates_that_are_not_of_this_server_now(how, trusted, tls, certificates):
    config = ServeConfig(**{**tls, **signed(certificates, "made", **how)})
    with start_server(config, [EnvironmentsService(SUDOKU)]) as running:
        if trusted:
            assert listed(running.address) == ["sudoku_v0"]
            return
        with pytest.raises(RemoteError, match="no server can be reached"):
            listed(running.address)


def test_a_client_with_tls_and_a_server_without(tls):
    config = ServeConfig(port=0, token=TOKEN)
    with start_server(config, [EnvironmentsService(SUDOKU)]) as running:
        with pytest.raises(RemoteError, match="no server can be reached"):
            listed(running.address.replace("grpc://", "grpcs://"))
        assert listed(running.address) == ["sudoku_v0"]


# Connections that never become any

HELLO = bytes.fromhex("160301020001000001fc0303")  # the beginning of a ClientHello


@contextmanager
def half_open(port, count, begin):
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(count)
        ]
        for each in sockets:
            each.sendall(begin)
        yield sockets


def is_closed(connection):
    connection.settimeout(0.05)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@pytest.mark.parametrize(
    ("begin", "encrypted"),
    [
        *((b"", True), (HELLO, True), (b"GET / HTTP/1.1\r\nHost: x\r\n", True)),
        *((b"", False), (b"PRI * HTTP/2.0", False)),
    ],
)
@pytest.mark.parametrize("handshake_s", [0.3, 60.0])
def test_connections_that_stay_silent(
    begin, encrypted, handshake_s, tls, certificates, monkeypatch
):
    """300 of them keep nobody waiting, however long they have, and are closed after that time."""
    monkeypatch.setattr(hosting, "HANDSHAKE_S", handshake_s)
    config = ServeConfig(**tls) if encrypted else ServeConfig(port=0, token=TOKEN)
    with (
        start_server(config, [EnvironmentsService(SUDOKU)]) as running,
        half_open(running.port, 300, begin) as sockets,
    ):
        assert listed(running.address) == ["sudoku_v0"]  # within 30 s
        where = f"127.0.0.1:{running.port}"
        if encrypted:
            root = (certificates / "ca.pem").read_bytes()
            channel = grpc.secure_channel(where, grpc.ssl_channel_credentials(root))
        else:
            channel = grpc.insecure_channel(where)
        with channel:
            stub = health_pb2_grpc.HealthStub(channel)
            stub.Check(health_pb2.HealthCheckRequest(), timeout=30)
        if handshake_s < 1:
            assert until(lambda: all(map(is_closed, sockets)))
