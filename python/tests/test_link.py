"""A link that programs are put behind, changed while it runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest
import quell

pytest_plugins = ["quell.pytest_plugin"]

# Connects to a service of the host's loopback, and prints what it says.
_FETCH = "import os, socket, sys; s = socket.create_connection((os.environ['QUELL_HOST'], int(sys.argv[1]))); print(len(s.makefile('rb').read()))"


@pytest.fixture
def server() -> int:
    """A port of the loopback at which everyone gets 60 kB."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            stream = listener.accept()[0]
            with stream:
                stream.sendall(bytes(60_000))

    threading.Thread(target=serve, daemon=True).start()
    port: int = listener.getsockname()[1]
    return port


def test_a_program_is_slower_behind_a_slower_link(quell_link: Callable[..., quell.Link], server: int) -> None:
    link = quell_link(profile="dsl", queue="dualpi2", host_loopback=str(server))
    fetch = ["python3", "-c", _FETCH, str(server)]
    before = link.run(fetch, check=True, timeout=60)
    assert before.out == "60000\n"
    # 60 kB take 0.96 s at 500 kbit/s.
    link.set({"down.queue.target": "30ms"}, down="500kbit")
    after = link.run(fetch, check=True, timeout=60)
    assert after.seconds > 0.9
    assert link.summary()["partial"]
    assert link.cut(to=f":{server}") == 0
    with pytest.raises(quell.InputError, match="only the link can change"):
        link.set({"no-such": "1"})
    with pytest.raises(quell.RunError, match="ended with 3"):
        link.run(["sh", "-c", "exit 3"], check=True)
    report = link.result()
    assert [list(change["set"]) for change in report["exec"]["changes"]] == [["down", "down.queue.target"], ["cut"]]
    assert report["exec"]["relay"]["connections"] == 2


def test_a_link_that_cannot_be_says_why(quell_link: Callable[..., quell.Link]) -> None:
    quell_link().close()
    wrong: list[tuple[Callable[[], quell.Link], str]] = [
        (lambda: quell.Link(profile="dls"), "dsl"),
        (lambda: quell.Link(rate="fast"), "fast"),
        (lambda: quell.Link(no_such_option=True), "--no-such-option"),
    ]
    for start, why in wrong:
        with pytest.raises(quell.InputError, match=why):
            start()
