//! The texts of the section.

pub(super) const RESULT: &str = "\
**Result.** UDP, delays, marks and drops are within 20 % in every row, nearly all within 15 %, and below 100 % of load the rates of TCP
too. Both queues hold what RFC 9332 promises under overload, and the coupling 2\u{221a}p_C / p_L is 1 within 3 %.

Published / quell, for UDP of 50 to 200 % of the link into Classic (C) or, as ECT(1), into L4S (L); rates are those of a TCP flow:
";

pub(super) const TEXT: &str = "\
**Source.** The evaluation behind arXiv 2209.01078 (github.com/olgaalb/dualpi2eval, `pcdualpi2_res_overload`, May 2022): 100 Mbit/s, base
RTT 10 ms, Linux 5.10, 5 TCP Prague 0.6 and 5 CUBIC flows beside the UDP. The figures are totals of its files for 250 s.
They count the UDP apart from TCP. Where both are in L4S, the archive has the same marks for either (16.6 and 16.7 %, 26.1 and
26.1 %), so the UDP does not dilute them.

**Runs.** In every run of the archive some TCP flows carried no packet at all. *As measured*, shown above, has the flows that did, with the
source's Prague (`scenarios/prague/`); Prague 0.7 runs beside it. *Five and five* has five flows of DCTCP and CUBIC each, for the
coupling (`scenarios/overload/`). [published-overload.csv](data/published-overload.csv) has all of them, with the P99 of the delays.

**Bounds, all runs.** A full link. In L4S, no drop and no saturation until p_C reaches 25 %, and both from there on. The longer queue at
15 ms \u{b1} 5 %. The shorter queue: mean below 1 ms, P99 up to 2 ms (RFC 9332 section 1.4); 2 and 4 ms where it is Classic.

**Bounds of *as measured*, beside the source.**

| figure | bound | reason |
| --- | --- | --- |
| UDP | 3 % | |
| marks, drops; below 100 % of load the rates of TCP | 15 % | |
| drops in Classic beside UDP of 50 % in L4S | 20 % | 15 to 16 % more, see below |
| delay of the longer queue | mean 5 %, P99 15 % | |
| delay of the shorter queue | 20 %, or 0.033 ms | a packet or two; the source resolves 0.033 ms |

**What differs, and why.**

* In the full link Prague 0.6 is at its least, two packets per round trip, which its pace never undercuts. The source's flows have exactly
  that: 2.299 Mbit/s in each of 250 s, a round trip of 10.5 ms. In quell some ACKs wait for the second packet of a pair that
  has come apart, so that a round takes 12.7 ms, and its flows get a fifth less.
* Prague 0.7 has no such floor: a rate takes the place of small windows. With it UDP of 100 % gets 3 % more than in the source, marks of L4S
  fall from 70 to 61 % and drops in Classic from 12.5 to 9.3 %.
* Beside UDP of 50 % in L4S, Classic drops 0.810 \u{b1} 0.003 % over four seeds, 16 % more than in the source. Not explained; without AccECN's
  option in the data of Prague it was 0.805 \u{b1} 0.006 %.

**Rates of TCP from 100 % of load on** are compared within 15 % too, and eight of twelve agree; those that differ are not bounded further. They
are 0.015 to 2.3 Mbit/s of 100, so a packet more or less in a round trip is a large part of them.

**Not checked.** The figures of Prague 0.7 and of *five and five* beside the source.
";

pub(super) const COUPLING: &str = "\
### Coupling

p_L is the coupled marks per packet that the L4S queue delivered, without those of the step. p_C is the AQM's drops per packet that met
it in Classic. Both are pooled over all packets after the warm-up, so that a second with few packets does not weigh as much as one with
many. p_C, p_L (in %) and the first ratio are of *five and five* over 400 s (100 s in the full link), with a bound of 1 \u{b1} 3 %. With
few flows p' varies, and the root of the mean is larger than the mean of the root; *as measured* shows it. In saturation there is no
coupled mark to compare.
";

pub(super) const SCHEDULER: &str = "\
The scheduler alone, with both queues backlogged and no AQM, gives Classic 10.0 % and 1/16 of the bytes, and its credit does not move
while one queue is empty (`backlogged_queues_share_bytes_by_weight`, `the_credit_stands_still_while_one_queue_is_backlogged` and
`backlogged_queues_share_the_link_by_the_schedulers_weights` in `quell-aqm`).
";
