"""An end of a tunnel over UDP, whose ECN field is that of RFC 6040, and defects to switch on: the known truth for the clauses of tunnels.

A datagram is a packet of IPv4, neither encrypted nor confirmed. TUN_FD is the descriptor of its TUN device (stacks/tunnel.py). Defects:

no-copy: sends Not-ECT, whatever is inside          forward-not-ect: forwards packets with Not-ECT inside and CE outside
lose-ce: takes CE outside as Not-ECT                inner-ect: leaves ECT(0) inside as it is where ECT(1) is outside
"""

import argparse
import os
import select
import socket

NOT_ECT, ECT1, ECT0, CE = range(4)
PORT, ECN = 4433, 3
SEVERITY = [NOT_ECT, ECT0, ECT1, CE].index


def decapsulated(inner, outer):
    """The code with which a packet comes out; none if it is dropped (section 4.2)."""
    if outer == CE and defect == "lose-ce" or outer == ECT1 and defect == "inner-ect":
        outer = NOT_ECT
    if inner != NOT_ECT:
        return max(inner, outer, key=SEVERITY)
    return None if outer == CE and defect != "forward-not-ect" else NOT_ECT


def with_code(packet, code):
    """The same with this code in its header of 20 bytes."""
    header = bytearray(packet[:20])
    header[1], header[10:12] = header[1] & ~ECN | code, bytes(2)
    total = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, 20, 2))
    header[10:12] = ((total % 0xFFFF) ^ 0xFFFF).to_bytes(2, "big")
    return bytes(header) + packet[20:]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("server", nargs="?", help="the address of the server, for its client")
parser.add_argument("--defect", choices=["no-copy", "lose-ce", "forward-not-ect", "inner-ect"])
arguments = parser.parse_args()
defect, peer = arguments.defect, arguments.server and (arguments.server, PORT)
device = int(os.environ["TUN_FD"])
outside = socket.socket(type=socket.SOCK_DGRAM)
outside.bind(("", PORT))
outside.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
while True:
    ready = select.select([device, outside], [], [])[0]
    if device in ready:
        packet = os.read(device, 2000)
        # Also packets of IPv6 come, which a kernel sends of itself.
        if peer and packet[0] == 0x45:
            outside.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, NOT_ECT if defect == "no-copy" else packet[1] & ECN)
            outside.sendto(packet, peer)
    if outside in ready:
        packet, ((_, _, (field, *_)),), _, peer = outside.recvmsg(2000, 32)
        code = decapsulated(packet[1] & ECN, field & ECN)
        if code is not None:
            os.write(device, with_code(packet, code))
