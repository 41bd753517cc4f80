// What an item takes over a link that carries nothing else: what no queue can improve.

/** Payload and IP bytes of a full packet, as the simulator has them on Ethernet with timestamps. */
const PAYLOAD = 1_448;
const PACKET = 1_500;
/** Packets of the first window (RFC 6928). */
const FIRST = 10;

/**
 * Time from the SYN to the last byte in ms: a server that speaks first, slow start from ten packets, `rate` in bit/s, `rtt` in ms.
 * Each round doubles the window until it fills the path.
 */
export function idleTime(size: number, rate: number, rtt: number): number {
    const packet = (PACKET * 8e3) / rate;
    let left = Math.max(1, Math.ceil(size / PAYLOAD));
    // SYN, SYN-ACK, ACK, and the way of the first packet.
    let time = 2 * rtt;
    for (let window = FIRST; left > window && window * packet < rtt + packet; window *= 2) {
        left -= window;
        time += rtt + packet;
    }
    const last = size - (Math.ceil(size / PAYLOAD) - 1) * PAYLOAD;
    return time + (left - 1) * packet + ((last + PACKET - PAYLOAD) * 8e3) / rate;
}
