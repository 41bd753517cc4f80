//! The texts of the section.

pub(super) const RESULT: &str = "\
**Result.** Both tails of the slides are there, and they are gone where the slides show the improvement. Behind either DualQ no item
of up to ten packets of the DCTCP user took 0.2 s: nothing of L4S is dropped, and with DCTCP every packet is ECN-capable, SYN, SYN-ACK and
FIN included, as in Linux. The items of the CUBIC user behind the same queues have both tails. A set-up packet and the last packet of a
file are each alone in flight, so only a timer repairs their loss, and each tail is about as large as the drop probability: 1.1 to 1.3
times the drop ratio of the downloads at 100 items per second, because items come at any time, and downloads send less when many packets
are dropped.

* **PIE** drops packets of both users, who both have both tails; its P99 is the second of a lost set-up packet, and so longer than that of
  drop-tail, although its queue is far shorter.
* **FQ-CoDel** gives an item its own queue, in which nothing is dropped. The 0.1 % of the CUBIC user are items that share one of the 1 024
  queues with one of the four DCTCP downloads: CoDel drops their packets where it marks those of DCTCP, and 4 / 1 024 of 25 % is 0.1 %. A
  flight of ten packets (9 to 27 kB) takes longer than behind a DualQ, because it takes turns with the downloads.
* **Drop-tail** is limited in bytes, and set-up packets are small, so most of them fit. Its items beyond 0.2 s wait in the queue: each
  of their two round trips takes up to 107 ms, and one repair by a duplicate ACK as long again.
* **Prague** has an ECN-capable SYN too, and like DCTCP neither tail, but for two SYNs in a moment of overload, when DualPI2 drops from
  both queues.";
pub(super) const TAILS: &str = "\
Items of up to 14 480 bytes, which leave in one flight, so that what they wait for is a queue or a timer:";
pub(super) const WHY: &str = "\
Why these items took so long, by the costliest repair of TCP at either end (`events.parquet`): a SYN or SYN-ACK that was sent again, a
retransmission time-out, a tail loss probe (after 2 SRTT, and 200 ms more for a packet that is alone in flight), fast recovery; without a
repair, the queue:";
pub(super) const BY_SIZE: &str = "By size, at 100 items per second; times in ms:";
pub(super) const LINK: &str = "The link and the downloads:";
pub(super) const TEXT: &str = "\
**Source.** Slides of the demonstration of the DualQ Coupled AQM (2015): per user 0, 10 or 100 items per second beside four DCTCP and two
CUBIC downloads, on 40 Mbit/s with a base RTT of 7 ms; the screen showed 20 % marks, 4 % drops and a full link. The slide
\"Improved Web browsing experience\" has two annotations, \"1 second timeout on lost connection setup packets\" and \"200ms timeout on lost
last packets\"; its plots can no longer be read.
Sizes and arrivals: the demonstration's program (github.com/L4STeam/l4sdemo), Pareto with a shape of 0.9 from 1 kB to 1 MB, Poisson.

**Runs.** `scenarios/web/browsing.toml` with five seeds, 100 s each after the warm-up, taken together. *set-up ≥ 1 s*: from the request for
the connection until it was up. *of them after set-up*: of those of 0.2 to 1 s, the ones that took 0.2 s or longer once the connection was
up. Normalised is the mean of (size / link + 2 RTT) / completion. An item ends with its FIN. `unfinished` counts items of all sizes.
[published-browsing.csv](data/published-browsing.csv) has every range of sizes, with normalised times and shares.

**Bounds.** No item of DCTCP of 0.2 s or longer behind either DualQ. Behind them for CUBIC, and behind PIE for both, each tail from 0.8 to
1.5 times the drop ratio of the downloads with the same control (0.5 to 2 at 10 items per second, where some tens of items are in a
tail); of the items of 0.2 to 1 s at least 90 % with a timer as their cause, of those of 1 s or longer at least 90 % with a set-up packet.
At most 0.2 % in either tail behind FQ-CoDel. Medians of 3 to 9 kB: drop-tail above PIE above FQ-CoDel, and Classic above L4S
behind DualPI2; of 9 to 27 kB: FQ-CoDel above 1.5 times L4S. More than 99 % of the link.";
