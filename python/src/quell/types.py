"""The keys of `summary.json`, with their units: generated from `quell schema summary` by tools/summary_types.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Union

if TYPE_CHECKING:
    # Only checkers of types need it, and they bring it along.
    from typing_extensions import NotRequired


class Fairness(TypedDict):
    """`fairness`."""

    direction: Literal['forward', 'reverse']
    """direction of the data."""
    flows: int
    """`bulk` flows whose data crosses it."""
    hop: str
    """name of the link; `link` if there is only one."""
    jain: Union[float, None]
    """Jain's fairness index over them; null where there is nothing to share."""


class Bulk(TypedDict):
    """`app.bulk`."""

    bytes: int
    """payload bytes that arrived in order."""
    kind: Literal['bulk']
    """kind of the application."""


class OneWayDelayMs(TypedDict):
    """`app.cbr_or_on-off.one_way_delay_ms`."""

    max: float
    """maximum."""
    mean: float
    """mean."""
    min: float
    """minimum."""
    p1: float
    """1st percentile."""
    p25: float
    """25th percentile."""
    p50: float
    """median."""
    p75: float
    """75th percentile."""
    p90: float
    """90th percentile."""
    p99: Union[float, None]
    """99th percentile."""
    p999: Union[float, None]
    """99.9th percentile."""


class CbrOrOnOff(TypedDict):
    """`app.cbr_or_on-off`."""

    jitter_ms: float
    """ms; interarrival jitter at the end (RFC 3550)."""
    kind: Literal['cbr', 'on-off']
    """kind of the application."""
    loss_ratio: float
    """lost / sent."""
    lost: int
    """datagrams that did not arrive."""
    one_way_delay_ms: Union[OneWayDelayMs, None]
    """ms; from the sending to the receiving application; null if nothing arrived."""
    received: int
    """datagrams that arrived."""
    reordered: int
    """datagrams that arrived after one sent later."""
    sent: int
    """datagrams sent."""


class Transfer(TypedDict):
    """`app.transfer`."""

    bytes: int
    """payload bytes that arrived in order."""
    completed: int
    """transfers that completed."""
    completion_ms: Union[OneWayDelayMs, None]
    """ms; of the completed ones: from the request for the connection to the last byte; null if none did."""
    flow_startup_ms: Union[OneWayDelayMs, None]
    """ms; flow startup time: from the request for the connection to the first byte; null if no byte arrived."""
    goodput_bps: Union[float, None]
    """bit/s; payload of the completed ones over the time that they took; null if none did."""
    kind: Literal['transfer']
    """kind of the application."""
    unfinished: int
    """transfers in flight at the end, or cut short."""


class OnOff(TypedDict):
    """`app.on-off`."""

    bursts: int
    """on-times that began."""
    bytes: int
    """payload bytes that arrived in order."""
    kind: Literal['on-off']
    """kind of the application."""


class Web(TypedDict):
    """`app.web`."""

    bytes: int
    """payload of the items that completed."""
    completed: int
    """items that completed in the phase."""
    completed_from_1MB: int
    """items of 1 MB and more that completed."""
    completed_from_1kB: int
    """items of 1 kB to below 3 kB that completed."""
    completed_from_243kB: int
    """items of 243 kB to below 729 kB that completed."""
    completed_from_27kB: int
    """items of 27 kB to below 81 kB that completed."""
    completed_from_3kB: int
    """items of 3 kB to below 9 kB that completed."""
    completed_from_729kB: int
    """items of 729 kB to below 1 MB that completed."""
    completed_from_81kB: int
    """items of 81 kB to below 243 kB that completed."""
    completed_from_9kB: int
    """items of 9 kB to below 27 kB that completed."""
    completion_from_1MB_ms: Union[OneWayDelayMs, None]
    """`completion_ms` of items of 1 MB and more."""
    completion_from_1kB_ms: Union[OneWayDelayMs, None]
    """`completion_ms` of items of 1 kB to below 3 kB."""
    completion_from_243kB_ms: Union[OneWayDelayMs, None]
    """`completion_ms` of items of 243 kB to below 729 kB."""
    completion_from_27kB_ms: Union[OneWayDelayMs, None]
    """`completion_ms` of items of 27 kB to below 81 kB."""
    completion_from_3kB_ms: Union[OneWayDelayMs, None]
    """`completion_ms` of items of 3 kB to below 9 kB."""
    completion_from_729kB_ms: Union[OneWayDelayMs, None]
    """`completion_ms` of items of 729 kB to below 1 MB."""
    completion_from_81kB_ms: Union[OneWayDelayMs, None]
    """`completion_ms` of items of 81 kB to below 243 kB."""
    completion_from_9kB_ms: Union[OneWayDelayMs, None]
    """`completion_ms` of items of 9 kB to below 27 kB."""
    completion_last_byte_ms: Union[OneWayDelayMs, None]
    """the same to the last byte: a lost FIN does not count."""
    completion_ms: Union[OneWayDelayMs, None]
    """from the request for the connection (of a kept one: from the item's arrival) to the end of the file at the user."""
    completion_wo_handshake_ms: Union[OneWayDelayMs, None]
    """from the moment at which the connection is up at the user to the end of the file."""
    failed: int
    """items whose connection was reset, or could not be opened."""
    flow_startup_ms: Union[OneWayDelayMs, None]
    """flow startup time: from the request for the connection (of a kept one that is up: from the item's request) to the first byte of the
    item, also of items that did not complete.
    """
    kind: Literal['web']
    """kind of the application."""
    normalised_from_1MB: Union[OneWayDelayMs, None]
    """(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of 1 MB and more: 1 is the best there is."""
    normalised_from_1kB: Union[OneWayDelayMs, None]
    """(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of 1 kB to below 3 kB: 1 is the best there is."""
    normalised_from_243kB: Union[OneWayDelayMs, None]
    """(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of 243 kB to below 729 kB: 1 is the best there is."""
    normalised_from_27kB: Union[OneWayDelayMs, None]
    """(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of 27 kB to below 81 kB: 1 is the best there is."""
    normalised_from_3kB: Union[OneWayDelayMs, None]
    """(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of 3 kB to below 9 kB: 1 is the best there is."""
    normalised_from_729kB: Union[OneWayDelayMs, None]
    """(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of 729 kB to below 1 MB: 1 is the best there is."""
    normalised_from_81kB: Union[OneWayDelayMs, None]
    """(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of 81 kB to below 243 kB: 1 is the best there is."""
    normalised_from_9kB: Union[OneWayDelayMs, None]
    """(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of 9 kB to below 27 kB: 1 is the best there is."""
    oldest_unfinished_ms: Union[float, None]
    """age of the oldest item that has not ended; null without one."""
    refused: int
    """items that arrived beyond `max-concurrent`."""
    slow_1s_handshake: int
    """complete items that took 1 s or longer, with a SYN or SYN-ACK that was sent again."""
    slow_1s_probe: int
    """complete items that took 1 s or longer, else with a tail loss probe."""
    slow_1s_recovery: int
    """complete items that took 1 s or longer, else with segments that were sent again."""
    slow_1s_timeout: int
    """complete items that took 1 s or longer, else with a retransmission time-out."""
    slow_1s_unrepaired: int
    """complete items that took 1 s or longer, without a repair that the host knows of."""
    slow_200ms_handshake: int
    """complete items that took 0.2 s or longer, with a SYN or SYN-ACK that was sent again."""
    slow_200ms_probe: int
    """complete items that took 0.2 s or longer, else with a tail loss probe."""
    slow_200ms_recovery: int
    """complete items that took 0.2 s or longer, else with segments that were sent again."""
    slow_200ms_timeout: int
    """complete items that took 0.2 s or longer, else with a retransmission time-out."""
    slow_200ms_unrepaired: int
    """complete items that took 0.2 s or longer, without a repair that the host knows of."""
    slower_than_1s: Union[float, None]
    """share of the complete items that took 1 s or longer; null if none completed."""
    slower_than_200ms: Union[float, None]
    """share of the complete items that took 0.2 s or longer; null if none completed."""
    started: int
    """items that were asked for."""
    unfinished: int
    """items that had begun and not ended, or were cut short."""


class WebPages(TypedDict):
    """`app.web_pages`."""

    bytes: int
    """payload of the pages that completed."""
    connections: Union[float, None]
    """connections that a complete page opened on average."""
    document_ms: Union[OneWayDelayMs, None]
    """from the same moment to the last byte of the document."""
    first_byte_ms: Union[OneWayDelayMs, None]
    """from the same moment to the first byte of the document."""
    flow_startup_ms: Union[OneWayDelayMs, None]
    """flow startup time: from the request for an object, of the first one on a connection from the request for that connection, to its
    first byte, also of pages that did not complete.
    """
    half_bytes_ms: Union[OneWayDelayMs, None]
    """from the same moment until half of the page's bytes had arrived."""
    kind: Literal['web']
    """kind of the application."""
    network_ms: Union[OneWayDelayMs, None]
    """`page_load_ms` without what parsing and the server took on the way to the last object."""
    object_ms: Union[OneWayDelayMs, None]
    """from the request for an object to its last byte."""
    objects: Union[float, None]
    """objects of a complete page on average, with its document."""
    objects_completed: int
    """objects that completed, also of pages that did not."""
    oldest_unfinished_ms: Union[float, None]
    """age of the oldest page that is still loading; null without one."""
    page_load_cold_ms: Union[OneWayDelayMs, None]
    """`page_load_ms` of pages whose document opened a connection."""
    page_load_ms: Union[OneWayDelayMs, None]
    """from the request for the document, with the connection that it needs, to the last byte of the last object."""
    page_load_warm_ms: Union[OneWayDelayMs, None]
    """`page_load_ms` of pages that found a connection of an earlier page."""
    pages_completed: int
    """pages that completed in the phase."""
    pages_failed: int
    """pages of which a connection was reset, or could not be opened."""
    pages_started: int
    """pages that have begun."""
    pages_unfinished: int
    """pages that were loading at the end, or whose server stopped."""


class PanoramaOrRtc(TypedDict):
    """`app.panorama_or_rtc`."""

    bitrate_bps: Union[float, None]
    """bit/s; payload of the frames that arrived whole, over the time for which frames were due; mean of all flows; null if none was."""
    complete: int
    """frames that arrived whole, late ones too."""
    frame_delay_ms: Union[OneWayDelayMs, None]
    """ms; from the end of rendering to the last byte at the user; null if no frame arrived whole."""
    frame_interval_ms: Union[OneWayDelayMs, None]
    """ms; between frames that arrived whole; null if fewer than two did."""
    frames: int
    """frames that were due: ready to leave the server, whether they did or not."""
    freeze_s: float
    """s; length of all freezes."""
    freezes: int
    """intervals between frames above three of the frame clock's, and above one and 150 ms."""
    interaction_latency_ms: Union[OneWayDelayMs, None]
    """ms; from every input to the picture that shows it: with the wait for the frame clock, rendering, decoding, and the wait for the
    display; null if no frame showed one.
    """
    kind: Literal['panorama', 'rtc']
    """kind of the application."""
    late: int
    """frames that arrived whole, more than the deadline after they were ready."""
    late_ratio: float
    """(late + skipped + lost) / frames."""
    lost: int
    """frames of which a part never arrived."""
    network_latency_ms: Union[OneWayDelayMs, None]
    """ms; from an input to the first byte of the first frame that shows it, without the time that the server had the input; null if no
    frame showed one.
    """
    skipped: int
    """frames that the server left out, because a newer one was ready before they could leave."""
    unfinished: int
    """frames that were in flight, or in the server, at the end."""
    view_latency_ms: Union[OneWayDelayMs, None]
    """ms; the same to the last byte: the view can be shown; null if no frame showed an input."""


class Voice(TypedDict):
    """`app.voice`."""

    back_burst_ratio: Union[float, None]
    """mean length of the runs of missing packets over that of random loss: 1 for random loss and without loss; mean of all calls; null
    without a packet.
    """
    back_jitter_ms: float
    """ms; interarrival jitter at the end (RFC 3550)."""
    back_late: int
    """packets that arrived too late to be played."""
    back_late_ratio: float
    """late / sent."""
    back_loss_ratio: float
    """(lost + late) / sent: what the ear misses."""
    back_lost: int
    """packets that did not arrive; those in flight at the end are among them."""
    back_mos: Union[float, None]
    """mean opinion score, 1 to 4.5, of the whole call; mean of all calls; null without a packet."""
    back_mos_window_min: Union[float, None]
    """lowest mean opinion score of a window of 10 s; windows begin at multiples of 10 s of the run and within the measured time, and have
    50 packets at least; null without one.
    """
    back_mos_window_p5: Union[float, None]
    """5th percentile of the same."""
    back_mos_window_p50: Union[float, None]
    """median of the same."""
    back_mouth_to_ear_ms: Union[OneWayDelayMs, None]
    """ms; coding, network and playout together, of the packets that were played; null if none was."""
    back_network_loss_ratio: float
    """lost / sent."""
    back_one_way_delay_ms: Union[OneWayDelayMs, None]
    """ms; from the sending to the receiving application; null if nothing arrived."""
    back_playout_delay_ms: Union[OneWayDelayMs, None]
    """ms; from the arrival of a packet until it is played; null if none was."""
    back_r_factor: Union[float, None]
    """R of the E-model (G.107) of the whole call, up to 93.4, from its mean delay and its loss; what is in flight at the end is left out;
    mean of all calls; null without a packet.
    """
    back_r_simplified: Union[float, None]
    """R as simplified by Cole and Rosenbluth, for comparison; mean of all calls; null without a packet."""
    back_received: int
    """packets that arrived."""
    back_sent: int
    """packets sent to the sender."""
    burst_ratio: Union[float, None]
    """mean length of the runs of missing packets over that of random loss: 1 for random loss and without loss; mean of all calls; null
    without a packet.
    """
    jitter_ms: float
    """ms; interarrival jitter at the end (RFC 3550)."""
    kind: Literal['voice']
    """kind of the application."""
    late: int
    """packets that arrived too late to be played."""
    late_ratio: float
    """late / sent."""
    loss_ratio: float
    """(lost + late) / sent: what the ear misses."""
    lost: int
    """packets that did not arrive; those in flight at the end are among them."""
    mos: Union[float, None]
    """mean opinion score, 1 to 4.5, of the whole call; mean of all calls; null without a packet."""
    mos_window_min: Union[float, None]
    """lowest mean opinion score of a window of 10 s; windows begin at multiples of 10 s of the run and within the measured time, and have
    50 packets at least; null without one.
    """
    mos_window_p5: Union[float, None]
    """5th percentile of the same."""
    mos_window_p50: Union[float, None]
    """median of the same."""
    mouth_to_ear_ms: Union[OneWayDelayMs, None]
    """ms; coding, network and playout together, of the packets that were played; null if none was."""
    network_loss_ratio: float
    """lost / sent."""
    one_way_delay_ms: Union[OneWayDelayMs, None]
    """ms; from the sending to the receiving application; null if nothing arrived."""
    playout_delay_ms: Union[OneWayDelayMs, None]
    """ms; from the arrival of a packet until it is played; null if none was."""
    r_factor: Union[float, None]
    """R of the E-model (G.107) of the whole call, up to 93.4, from its mean delay and its loss; what is in flight at the end is left out;
    mean of all calls; null without a packet.
    """
    r_simplified: Union[float, None]
    """R as simplified by Cole and Rosenbluth, for comparison; mean of all calls; null without a packet."""
    received: int
    """packets that arrived."""
    sent: int
    """packets sent to the receiver."""


class Game(TypedDict):
    """`app.game`."""

    back_jitter_ms: float
    """ms; the same of commands."""
    back_loss_ratio: float
    """back_lost / back_sent."""
    back_lost: int
    """commands that did not arrive."""
    back_one_way_delay_ms: Union[OneWayDelayMs, None]
    """ms; the same of commands."""
    back_received: int
    """commands that arrived."""
    back_sent: int
    """commands sent to the sender."""
    command_to_state_ms: Union[OneWayDelayMs, None]
    """ms; from a command to the first state that shows it, of each command that one shows; null if none does."""
    jitter_ms: float
    """ms; interarrival jitter of states at the end (RFC 3550)."""
    kind: Literal['game']
    """kind of the application."""
    lag_spikes: int
    """runs of three states or more that took 100 ms longer than the quickest of the flow."""
    lag_spikes_per_minute: Union[float, None]
    """the same per minute of play; null without time."""
    late_ratio: float
    """commands shown later than the quickest of the flow and the deadline, and those not shown, over all that were shown or not."""
    longest_gap_ms: float
    """ms; longest time between the arrivals of two states."""
    loss_ratio: float
    """lost / sent."""
    lost: int
    """states that did not arrive."""
    network_rtt_ms: Union[OneWayDelayMs, None]
    """ms; the same without the time that the server had the command, of the newest command of each state; null if there is none."""
    one_way_delay_ms: Union[OneWayDelayMs, None]
    """ms; of states, from the sending to the receiving application; null if nothing arrived."""
    received: int
    """states that arrived."""
    sent: int
    """states sent to the receiver."""
    unshown: int
    """commands that no state showed: lost, or 32 commands older than the newest."""


class Has(TypedDict):
    """`app.has`."""

    abandoned: int
    """downloads that were given up for a smaller one."""
    bitrate_bps: Union[float, None]
    """bit/s; mean rate of these segments; null if none played."""
    buffer_ms: Union[OneWayDelayMs, None]
    """ms; what the buffer holds, over the time from the first picture on; null before it."""
    bytes: int
    """payload bytes of segments that arrived, also of downloads that were given up."""
    downloaded_bps: Union[float, None]
    """bit/s; mean rate of the segments that arrived; null if none did."""
    failed: int
    """downloads whose connection was reset, or could not be opened."""
    flow_startup_ms: Union[OneWayDelayMs, None]
    """ms; flow startup time: from a request, of the first one on a connection from the request for that connection, to the first byte of
    the answer; null without one.
    """
    kind: Literal['has']
    """kind of the application."""
    off_ms: Union[OneWayDelayMs, None]
    """ms; from the end of a request to the next one, where they differ; null without one."""
    on_bps: Union[float, None]
    """bit/s; payload of segments over the time with a request in flight; null without such time."""
    on_ms: Union[OneWayDelayMs, None]
    """ms; from a request to the last byte of its answer, or to its end; null without one."""
    on_ratio: float
    """share of time with a request in flight."""
    qoe_linear: Union[float, None]
    """mean over the segments that played of rate − 4.3 × stall in s − change of rate, rates in Mbit/s (Pensieve, SIGCOMM 2017); null if
    none played.
    """
    score_bola: Union[float, None]
    """(sum of ln(rate / lowest rate) × segment − 5 × stall) / time, startup included (Sabre, MMSys 2018); null if none played."""
    segments: int
    """segments that began to play."""
    stall_ratio: float
    """share of the time from the first picture on in which playback stood still."""
    stall_s: float
    """s; how long it stood still in all."""
    stalls: int
    """how often playback stood still after it had begun."""
    startup_ms: Union[OneWayDelayMs, None]
    """ms; from the beginning of a session (the request for its connection) to the first picture; null if none began to play."""
    switch_magnitude_bps: Union[float, None]
    """bit/s; mean change of rate from one segment played to the next, 0 where it stays; null if none played."""
    switches: int
    """segments of another level than the one played before."""
    utility: Union[float, None]
    """mean of ln(rate / lowest rate) over the segments that played; null if none did."""


class Program(TypedDict):
    """`app.program`."""

    client_exit_code: Union[float, None]
    """exit code of the client, or 128 and the signal that ended it; `null` if it did not end by itself."""
    client_ran_s: Union[float, None]
    """time from the start of the client to its end, in seconds; `null` if it did not end by itself."""
    failed: int
    """programs that did not start, or ended by themselves with another exit code than 0."""
    kind: Literal['program']
    """kind of the application."""
    server_exit_code: Union[float, None]
    """the same of the server."""


class AnyApp(TypedDict):
    """`app.any_app`."""

    kind: Literal['bulk', 'cbr', 'transfer', 'on-off', 'web', 'panorama', 'rtc', 'voice', 'game', 'has', 'program']
    """kind of the application."""


App = Union[Bulk, CbrOrOnOff, Transfer, OnOff, Web, WebPages, PanoramaOrRtc, Voice, Game, Has, Program, AnyApp, None]


class Dist(TypedDict):
    """`dist`."""

    max: float
    """maximum."""
    mean: float
    """mean."""
    p1: float
    """1st percentile."""
    p25: float
    """25th percentile."""
    p50: float
    """median."""
    p75: float
    """75th percentile."""
    p90: float
    """90th percentile."""
    p99: float
    """99th percentile."""
    p999: float
    """99.9th percentile."""


class Links(TypedDict):
    """`group.links`."""

    bottleneck_share: float
    """share of time in which packets, of whatever group, waited for this link in the direction of the data."""
    delay_ms: Union[Dist, None]
    """ms; sojourn time of delivered packets."""
    dropped: int
    """packets dropped."""
    marked: int
    """packets newly marked CE."""
    name: str
    """name of the link."""
    packets: int
    """packets delivered."""


class Group(TypedDict):
    """`group`."""

    alive_s: NotRequired[list[float]]
    """s; time for which each flow was alive in the measured time."""
    app: App
    """report of the application, by its kind."""
    congestion_control: Union[str, None]
    """name; null without one."""
    count: int
    """flows that were alive in the measured time."""
    delay_ms: Union[Dist, None]
    """ms; sojourn time of delivered packets; over several links the sum of those at each."""
    dropped: int
    """packets dropped."""
    goodput_bps: list[float]
    """bit/s; payload to the application while the flow was alive, for each flow in the order of their start."""
    jain: Union[float, None]
    """Jain's fairness index over the group's flows; null where there is nothing to share."""
    links: NotRequired[list[Links]]
    """the same at each link on its way, in that order; only where there are several links."""
    marked: int
    """packets newly marked CE."""
    name: str
    """name in the scenario."""
    packets: int
    """packets delivered."""
    retransmitted: Union[int, None]
    """retransmitted segments; null for programs, of whose TCP nothing is known."""
    rtt_ms: Union[Dist, None]
    """ms; smoothed RTT, sampled each interval."""


class HeaderValues(TypedDict):
    """`link.header_values`."""

    not_carried: int
    """packets whose header could not carry their value."""
    read: int
    """packets that came to a link with a value in their header."""
    written: int
    """packets whose value was written."""


class KernelQueue(TypedDict):
    """`link.kernel_queue`."""

    burst: int
    """bytes; burst of its shaper."""
    discipline: str
    """name, as tc prints it."""
    dropped: int
    """packets that it dropped."""
    marked: Union[int, None]
    """packets that it marked; null if it does not count them."""
    packets: int
    """packets that it sent."""
    rate_bps: int
    """bit/s; rate of its shaper."""


class LatenessMs(TypedDict):
    """`link.lateness_ms`."""

    max: float
    """ms."""
    p50: float
    """ms."""
    p99: float
    """ms."""


class OversleepMs(TypedDict):
    """`link.oversleep_ms`."""

    count: int
    """number of sleeps."""
    max: float
    """ms."""
    p50: float
    """ms."""
    p90: float
    """ms."""
    p99: float
    """ms."""
    p999: float
    """ms."""
    p9999: float
    """ms."""


class Groups(TypedDict):
    """`link.path.groups`."""

    delay_ms: Union[Dist, None]
    """ms; from one end of the link to the other."""
    dropped: int
    """packets that did not come out."""
    marked: int
    """packets that came out with a new CE mark."""
    name: str
    """name of the group."""
    packets: int
    """packets that came out."""


class Path(TypedDict):
    """`link.path`."""

    groups: list[Groups]
    """every group."""
    missed: int
    """packets that passed unobserved."""
    unknown: int
    """packets that belong to no group."""


class Reverse(TypedDict):
    """`link.reverse`."""

    rate_bps: Union[int, None]
    """bit/s; mean rate over time; null if it was unlimited for a while."""
    utilisation: float
    """share of time in which it transmitted."""


class Link(TypedDict):
    """`link`."""

    bypassed: NotRequired[int]
    """live, virtual: frames that bypassed the queue because they are not IP packets of flows."""
    corrupted: NotRequired[int]
    """packets that the path damaged, both directions; absent without."""
    cpu_share: NotRequired[float]
    """live, virtual: share of a processor that the link's thread used."""
    duplicated: NotRequired[int]
    """copies that the path made, both directions; absent without."""
    header_values: NotRequired[HeaderValues]
    """live, virtual, where links write packet values into headers: packets by what became of these, at all links and in both directions,
    with the warm-up.
    """
    kernel_queue: NotRequired[KernelQueue]
    """only with a queue of the kernel: its own counters after the warm-up."""
    lateness_ms: NotRequired[LatenessMs]
    """live, virtual: delay of packets beyond their computed release time."""
    looks_ahead: NotRequired[bool]
    """live, virtual: whether the kernel releases packets by its own timer, so that the link's thread can hand them over early."""
    lost_outside: int
    """packets lost outside the discipline, both directions."""
    oversleep_ms: NotRequired[OversleepMs]
    """live, virtual: time that the link's thread slept beyond the requested time."""
    path: NotRequired[Path]
    """only with a queue of the kernel: fate of the packets, observed from outside."""
    rate_bps: Union[int, None]
    """bit/s; mean rate over time; null if it was unlimited."""
    reverse: NotRequired[Reverse]
    """the reverse direction, if its rate is limited."""
    reverse_lateness_ms: NotRequired[LatenessMs]
    """the same for the reverse direction."""
    unclassified: NotRequired[int]
    """live, virtual: packets that belong to no group."""
    utilisation: float
    """share of time in which the link transmitted."""
    wakeups: NotRequired[int]
    """live, virtual: number of wake-ups of the link's thread."""


class NamedLinkReverse(TypedDict):
    """`named_link.reverse`."""

    bottleneck_share: float
    """share of time in which packets waited for it."""
    rate_bps: Union[int, None]
    """bit/s; mean rate over time; null if it was unlimited for a while."""
    utilisation: float
    """share of time in which it transmitted."""


class NamedLink(TypedDict):
    """`named_link`."""

    bottleneck_share: float
    """share of time in which packets waited for it."""
    corrupted: NotRequired[int]
    """packets that the path damaged, both directions; absent without."""
    duplicated: NotRequired[int]
    """copies that the path made, both directions; absent without."""
    lost_outside: int
    """packets lost outside its disciplines, both directions."""
    name: str
    """name of the link."""
    rate_bps: Union[int, None]
    """bit/s; mean rate over time; null if it was unlimited for a while."""
    reverse: NotRequired[NamedLinkReverse]
    """the reverse direction, if its rate is limited or data crosses it."""
    utilisation: float
    """share of time in which it transmitted."""


class Queue(TypedDict):
    """`queue`."""

    backlog_bytes: Union[Dist, None]
    """bytes; backlog, weighted by time, without the packet in service."""
    bytes: int
    """IP bytes delivered."""
    delay_ms: Union[Dist, None]
    """ms; sojourn time of delivered packets: arrival to start of transmission."""
    direction: Literal['forward', 'reverse']
    """direction of the link."""
    drop_ratio: float
    """dropped / (delivered + dropped)."""
    dropped: int
    """packets dropped."""
    drops: dict[str, int]
    """packets dropped, by reason."""
    hop: str
    """name of the link behind the queue; `link` if there is only one."""
    mark_ratio: float
    """newly marked / delivered."""
    marked: int
    """packets newly marked CE."""
    marks: dict[str, int]
    """packets newly marked, by reason."""
    name: str
    """name within the discipline."""
    packets: int
    """packets delivered."""


class Rule(TypedDict):
    """`rule`."""

    codes: list[list[int]]
    """all packets that came to it: a row for each ECN field before it (not-ect, ect1, ect0, ce), a column for each behind it, and one for
    dropped.
    """
    direction: Literal['forward', 'reverse']
    """its direction."""
    hop: str
    """name of the link."""
    matched: int
    """packets that it matched."""
    name: str
    """name of the rule."""


class Phase(TypedDict):
    """`phase`."""

    end_s: float
    """s; end: the next change, or the end of the run."""
    fairness: NotRequired[list[Fairness]]
    """the same for each direction of each link that `bulk` flows cross; absent where they all cross the only link forward."""
    groups: list[Group]
    """every group, in the order of the scenario."""
    jain: Union[float, None]
    """Jain's fairness index over all `bulk` flows; null where there is nothing to share, or where they do not all cross the same links in
    the same direction.
    """
    link: Link
    """the bottleneck; of several links the first one, with the losses of all."""
    links: NotRequired[list[NamedLink]]
    """every link, only where there are several, in the order of the scenario."""
    queues: list[Queue]
    """every queue, link by link: first the forward direction, then the reverse one."""
    rules: NotRequired[list[Rule]]
    """every rule for packets behind a queue; absent without."""
    start_s: float
    """s; start of the measurement, after the settling time."""


class Summary(TypedDict):
    """`summary`."""

    duration_s: float
    """s; length of the run, with its warm-up."""
    fairness: NotRequired[list[Fairness]]
    """the same for each direction of each link that `bulk` flows cross; absent where they all cross the only link forward."""
    groups: list[Group]
    """every group, in the order of the scenario."""
    jain: Union[float, None]
    """Jain's fairness index over all `bulk` flows; null where there is nothing to share, or where they do not all cross the same links in
    the same direction.
    """
    link: Link
    """the bottleneck; of several links the first one, with the losses of all."""
    links: NotRequired[list[NamedLink]]
    """every link, only where there are several, in the order of the scenario."""
    partial: bool
    """whether the run ended early."""
    phases: list[Phase]
    """the same figures for each phase between changes of the scenario; empty without changes."""
    queues: list[Queue]
    """every queue, link by link: first the forward direction, then the reverse one."""
    rules: NotRequired[list[Rule]]
    """every rule for packets behind a queue; absent without."""
    scenario: str
    """name of the scenario."""
    schema: Literal[1]
    """version of the format."""
    seed: int
    """seed of all random choices."""
    warmup_s: float
    """s; length of the warm-up."""
    warnings: list[str]
    """reasons to doubt the result."""
    world: Literal['sim', 'virtual', 'live']
    """`sim`, `virtual` or `live`."""
