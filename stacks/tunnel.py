"""An end of a tunnel for `quell judge`: packets of every ECN code go in, and beside the tunnel stands with which code each came out.

    tunnel.py server|client SERVER COMMAND...

COMMAND is the tunnel's program at this end, in the network of the link. The descriptor of its TUN device is in TUN_FD: packets of IPv4 with
nothing in front. Behind the device is a network of its own, where the server has 10.99.0.1 and the client 10.99.0.2.

Once a packet of the client's has come out, the server sends ten times 1 packet with Not-ECT, 2 with ECT(1), 4 with ECT(0) and 8 with CE, so
that no sum of these is another's. For each that comes out the client sends one with the same code to port 4434 of the server, not through
the tunnel. So the packets of the link say what both ends do: clauses/tunnel.toml.
"""

import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import time

INSIDE = {"server": ("10.99.0.1", 4433), "client": ("10.99.0.2", 4433)}
PACKET, HELLO, REPORT = bytes(1000), bytes(8), bytes(400)  # What has less than 300 bytes is not counted.
REPORTS, ECT0, ROUNDS, PATIENCE = 4434, 2, 10, 3  # A port, a code, and seconds.
NEWUSER, NEWNET = 0x10000000, 0x40000000  # linux/sched.h, as below if_tun.h and sockios.h
TUNSETIFF, TUN_WITHOUT_INFORMATION, SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFFLAGS, UP = 0x400454CA, 0x1001, 0x8916, 0x891C, 0x8914, 1


def make_inside(address):
    """A TUN device and a socket in a new network, which lives as long as they."""
    ours, theirs = socket.socketpair()
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            sys.exit("a tunnel is judged where a user may have namespaces and /dev/net/tun: quell judge --world virtual")
        device, inside = socket.recv_fds(ours, 1, 2)[1]
        return device, socket.socket(fileno=inside)
    ctypes.CDLL(None).unshare(NEWUSER | NEWNET)
    device, inside, name = os.open("/dev/net/tun", os.O_RDWR), socket.socket(type=socket.SOCK_DGRAM), b"tun0"
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name, TUN_WITHOUT_INFORMATION))
    for request, value in ((SIOCSIFADDR, address[0]), (SIOCSIFNETMASK, "255.255.255.0")):
        fcntl.ioctl(inside, request, struct.pack("16sH2x4s16x", name, socket.AF_INET, socket.inet_aton(value)))
    fcntl.ioctl(inside, SIOCSIFFLAGS, struct.pack("16sH22x", name, UP))
    inside.bind(address)
    socket.send_fds(theirs, [b"."], [device, inside.fileno()])
    sys.exit()


def serve():
    time.sleep(0.2)  # The client begins once a port is bound: that of the tunnel's program, if it has one.
    outside.bind((server, REPORTS))
    client = inside.recvfrom(len(PACKET))[1]
    for _ in range(ROUNDS):
        for code in range(4):
            inside.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, code)
            for _ in range(1 << code):
                inside.sendto(PACKET, client)
        time.sleep(0.02)


def receive():
    inside.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ECT0)  # Dropped by no tunnel, whatever is outside.
    inside.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    until = time.monotonic() + PATIENCE
    while not select.select([inside], [], [], 0.1)[0]:
        if tunnel.poll() is not None or time.monotonic() > until:
            sys.exit(f"nothing came through the tunnel; try its two programs by hand, and see what they print: {' '.join(command)}")
        inside.sendto(HELLO, INSIDE["server"])
    while True:
        _, ((_, _, (field, *_)),), _, _ = inside.recvmsg(len(PACKET), 32)
        outside.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, field & 3)
        outside.sendto(REPORT, (server, REPORTS))


role, server, *command = sys.argv[1:]
device, inside = make_inside(INSIDE[role])
outside = socket.socket(type=socket.SOCK_DGRAM)
tunnel = subprocess.Popen(command, pass_fds=[device], env={**os.environ, "TUN_FD": str(device)})
serve() if role == "server" else receive()
tunnel.wait()
