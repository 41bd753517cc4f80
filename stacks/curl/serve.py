"""Answers every HTTP/1.1 request with bytes without end: the server beside curl.

    python3 serve.py ADDRESS [SECONDS]

For so many SECONDS after the request it offers 800 bytes each 10 ms.
"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BLOCK = bytes(65536)
SLOW = float(sys.argv[2]) if len(sys.argv) > 2 else 0


class Endless(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        # No length: the body ends with the connection.
        self.send_header("Connection", "close")
        self.end_headers()
        end = time.monotonic() + SLOW
        try:
            while time.monotonic() < end:
                self.wfile.write(BLOCK[:800])
                time.sleep(0.01)
            while True:
                self.wfile.write(BLOCK)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


ThreadingHTTPServer((sys.argv[1], 8080), Endless).serve_forever()
