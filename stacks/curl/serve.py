"""Answers every HTTP/1.1 request with bytes without end: the server beside curl.

    python3 serve.py ADDRESS
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BLOCK = bytes(65536)


class Endless(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        # No length: the body ends with the connection.
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(BLOCK)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


ThreadingHTTPServer((sys.argv[1], 8080), Endless).serve_forever()
