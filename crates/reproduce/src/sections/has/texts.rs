//! The texts of the section.

pub(super) const RESULT: &str = "\
**Result.** The source has no figures of streaming that can be read, so the bounds are expectations of ours. Held: behind drop-tail
players get the smallest share, and stall where the buffer is short; FQ-CoDel isolates them from any other control and makes levels
steadiest; behind the DualQ of 2015 L4S players get higher levels than Classic ones. **Not held: FQ-CoDel does not give the highest level.**
With the rule `dynamic` it gives no more than drop-tail; and behind DualPI2 with its default step L4S players get lower levels than Classic
ones. Both have their reasons below.

Four players over Compound beside ten Reno downloads, by queue and rule:
";

pub(super) const BETWEEN: &str = "\
*Share* is the payload while a request is in flight over the fair share of the flows that are active then, of players of one level, 991
kbit/s. Behind drop-tail each request costs a round trip of 0.19 s and its slow start as much again, of the 1.4 s that a segment needs.
Behind PIE and DualPI2 a player comes with ten packets, beside windows of four: with an initial window of two (*IW 2*) it gets less. Behind FQ-CoDel
that makes no difference; why it gives 0.93 and not 1 was not explained.

Fair is 1.38 Mbit/s of payload, between the levels of 0.991 and 1.427. A rule that keeps a margin of a tenth never leaves 0.991 where each
segment arrives as quickly as the one before, as behind FQ-CoDel; behind PIE or DualPI2 some segments arrive quickly by chance, and
`dynamic` keeps the level that it then takes while its buffer is full. So a level says as much of ladder and rule as of the queue.
`bola-basic`, which looks at the buffer alone, takes the whole share behind each AQM.

Levels in Mbit/s, by the control of players and downloads, with `dynamic`:
";

pub(super) const TEXT: &str = "
Compound is Reno here, because windows stay below the 38 packets from which it differs. DCTCP that a single queue marks takes more than its
share, as PIE with `ecn` shows; FQ-CoDel isolates it. Beside ten DCTCP or Prague downloads the DualQ of 2015 starves Classic players with its
default parameters: it serves the L4S queue first, and Classic packets wait 144 and 65 ms. Behind DualPI2 the step of 1 ms is less than
two packets at 20 Mbit/s, and marks L4S flows more than the coupling does. With 5 ms the L4S players are above the Classic ones again.

**Source.** \"Ultra Low Queuing Delay for ALL Applications\" (November 2015), slides \"HTTP Adaptive Streaming (HAS) Experiments\": Smooth
Streaming from Windows servers with DCTCP or Compound, 4 DCTCP and 2 Reno downloads, 20 Mbit/s, a base RTT of 20 ms, PIE, FQ-CoDel or a
DualQ; and a plot called \"PIE: Ctcp + 10 Reno\", of which only the title is left. Ladder, rules, lengths and the number of players are not
given; one copy of the slides reads as \"4 Smooth Streaming\".

**Runs.** `scenarios/has/ten-downloads.toml` and `demonstration.toml`: four players with Smooth Streaming's ladder of eight levels from 0.23 to 2.96
Mbit/s, segments of 2 s and a buffer of 25 s; 240 s after 60 s, mean of four seeds with its standard error.
[published-streaming.csv](data/published-streaming.csv) has shares, switches, delays and downloads of every case.

**Bounds.** Share: below 0.85 behind drop-tail, from 0.88 to 1.05 behind the others; an initial window of two costs more than 0.015 of it
behind PIE and DualPI2, and less than 0.01 behind FQ-CoDel. Level: behind drop-tail below every other queue with `throughput`, `bola-basic`
and a buffer of 4 s, beyond two standard errors; behind the others within 3 % with `bola-basic`; with `dynamic` a tenth lower behind FQ-CoDel
than behind the other AQMs. FQ-CoDel has the fewest switches with each rule. Stalls: none with a rule and 25 s; with 4 s above 0.3 per minute
behind drop-tail and below 0.1 behind the others. Levels behind FQ-CoDel beside DCTCP or Prague within 3 % of those beside Reno; behind PIE with
marks a tenth lower than without. DCTCP a fifth above Compound behind the DualQ of 2015 and behind DualPI2 with a late step, and 15 % below it
with the default step, at less than 2 ms.
";
