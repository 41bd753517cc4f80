"""The web site of site.js by HTTP/3, for tests: site3.py PORT SITE KEY CERTIFICATE.

What it answers with it asks the site at SITE for, an address of HTTP/1.1, so that the page is the same by every protocol.
"""

import asyncio
import sys
import time
import urllib.error
import urllib.request

from aioquic.asyncio import serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated

PORT, SITE, KEY, CERTIFICATE = sys.argv[1:]
KNOWN = {}


def ask(path):
    """The kind and the bytes of a path, asked for once; the site may just be starting."""
    while path not in KNOWN:
        try:
            with urllib.request.urlopen(SITE + path) as answer:
                KNOWN[path] = answer.headers["content-type"].encode(), answer.read()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    return KNOWN[path]


class Site(QuicConnectionProtocol):
    http = None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        for heard in self.http.handle_event(event) if self.http else []:
            if isinstance(heard, HeadersReceived):
                self.answer(heard)

    def answer(self, request):
        kind, body = ask(dict(request.headers)[b":path"].decode())
        head = [(b":status", b"200"), (b"content-type", kind), (b"content-length", str(len(body)).encode())]
        self.http.send_headers(request.stream_id, head)
        self.http.send_data(request.stream_id, body, end_stream=True)
        self.transmit()


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(CERTIFICATE, KEY)
    ask("/")
    await serve("0.0.0.0", int(PORT), configuration=configuration, create_protocol=Site)
    await asyncio.Future()


asyncio.run(main())
