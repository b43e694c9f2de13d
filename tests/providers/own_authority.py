"""An authority of our own that signs a server's certificate, and a proxy in between."""

from __future__ import annotations

import datetime as dt
import ipaddress
import select
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "provider.invalid"  # a name that only the proxy knows


@dataclass(frozen=True)
class Authority:
    """Who signs: the file that makes a client trust it, and what a server proves itself with."""

    file: Path
    server: ssl.SSLContext
    expired: ssl.SSLContext


def authority(folder: Path) -> Authority:
    """Make an authority, and certificates for :data:`HOST` and 127.0.0.1: one that is good, one of last year."""
    key, name = ec.generate_private_key(ec.SECP256R1()), _name("Some Company")
    today = dt.datetime.now(dt.UTC)
    signs = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    own = _certificate(name, name, key, today).add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
    own = own.add_extension(signs, True)
    own = own.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    file = folder / "ca.pem"
    file.write_bytes(own.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    contexts = []
    for label, since in (("good", today), ("old", today - dt.timedelta(days=400))):
        theirs = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(HOST), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        leaf = _certificate(_name(HOST), name, theirs, since)
        leaf = leaf.add_extension(x509.SubjectAlternativeName(names), False)
        leaf = leaf.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), False)
        contexts.append(_context(folder / f"{label}.pem", leaf.sign(key, hashes.SHA256()), theirs))
    return Authority(file, *contexts)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, since: dt.datetime
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    day = dt.timedelta(days=1)
    builder = builder.not_valid_before(since - day).not_valid_after(since + 30 * day)
    return builder.serial_number(x509.random_serial_number())


def _context(file: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


# ---------------------------------------------------------------- a proxy


@dataclass
class Proxy:
    """A forward proxy: what it was asked for, and by whom; :data:`HOST` is on this machine."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    signed: list[str] = field(default_factory=list)
    refuses: bool = False


@contextmanager
def proxying() -> Iterator[Proxy]:
    """Run a proxy that tunnels (CONNECT) and forwards (``POST http://…``)."""
    proxy = Proxy()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            first = self.rfile.readline()
            head = [first]
            while (line := self.rfile.readline()).strip():
                head.append(line)
            method, target, _ = first.decode().split()
            proxy.asked.append(f"{method} {target}")
            proxy.signed += [line.decode().split()[2] for line in head if line.lower().startswith(b"proxy-auth")]
            if proxy.refuses:
                self.connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                return
            place = target if method == "CONNECT" else target.split("/")[2]
            _, _, port = place.partition(":")
            with socket.create_connection(("127.0.0.1", int(port))) as onward:
                if method == "CONNECT":
                    self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    path = "/" + target.split("/", 3)[3]
                    onward.sendall(f"{method} {path} HTTP/1.1\r\n".encode() + b"".join(head[1:]) + b"\r\n")
                    onward.sendall(self.rfile.read1())
                _pump(self.connection, onward)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()


def _pump(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until one side has ended."""
    while True:
        for source in select.select([one, other], [], [], 20)[0] or [None]:
            if source is None:
                return
            try:
                data = source.recv(65536)
                (other if source is one else one).sendall(data)
            except OSError:
                return
            if not data:
                return
