"""A server that sends as long as a client asks, and a client that reads, discards and asks for more: aioquic behind a test bed.

    python stack.py server ADDRESS [reno|cubic [SECONDS]] | client ADDRESS

For so many SECONDS after it was asked the server offers 800 bytes each 10 ms. Writing to a stream of aioquic does not wait until there
is room. So each byte from the client asks for one block, and the client keeps AHEAD blocks asked for, more than the connection ever has
in flight.
"""

import asyncio
import datetime
import os
import ssl
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PORT = 4433
BLOCK = bytes(1_000_000)
AHEAD = 8


def own_certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "quell")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1)
    # Of any day, because the clock of a test bed need not show ours.
    builder = builder.not_valid_before(datetime.datetime(2000, 1, 1)).not_valid_after(datetime.datetime(2100, 1, 1))
    return builder.sign(key, hashes.SHA256()), key


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, slow: float) -> None:
    end = time.monotonic() + slow
    while time.monotonic() < end:
        writer.write(BLOCK[:800])
        await asyncio.sleep(0.01)
    while asked := await reader.read(AHEAD):
        for _ in asked:
            writer.write(BLOCK)


async def run_server(address: str, control: str = "reno", slow: str = "0") -> None:
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["quell"], congestion_control_algorithm=control)
    configuration.certificate, configuration.private_key = own_certificate()
    tasks = set()
    handler = lambda *streams: tasks.add(asyncio.ensure_future(answer(*streams, float(slow))))
    await serve(address, PORT, configuration=configuration, stream_handler=handler)
    await asyncio.Event().wait()


async def run_client(address: str) -> None:
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["quell"], verify_mode=ssl.CERT_NONE, server_name="quell")
    configuration.secrets_log_file = open(os.environ.get("SSLKEYLOGFILE", os.devnull), "a")
    # Its own connect() wants IPv6.
    open_socket = asyncio.get_running_loop().create_datagram_endpoint
    _, protocol = await open_socket(lambda: QuicConnectionProtocol(QuicConnection(configuration=configuration)), local_addr=("0.0.0.0", 0))
    protocol.connect((address, PORT))
    await protocol.wait_connected()
    reader, writer = await protocol.create_stream()
    writer.write(bytes(AHEAD))
    received = 0
    while data := await reader.read(65536):
        before, received = received // len(BLOCK), received + len(data)
        if more := received // len(BLOCK) - before:
            writer.write(bytes(more))


match sys.argv[1:]:
    case ["server", address, *control]:
        asyncio.run(run_server(address, *control))
    case ["client", address]:
        asyncio.run(run_client(address))
    case _:
        sys.exit("usage: stack.py server ADDRESS [reno|cubic [SECONDS]] | client ADDRESS")
