//! What a user felt, as data.

use serde::Serialize;

/// What of the link there was to feel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// No packet crossed it.
    Unused,
    /// It has no rate, so nothing waited.
    Unlimited,
    /// Too little flowed, or too briefly, to fill an interval.
    Idle,
    /// Data flowed.
    Busy,
}

/// What a user felt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserImpact {
    /// What there was to feel.
    pub state: State,
    /// The same run so far, while it goes on.
    pub partial: bool,
    /// Of L4S and Classic packets apart, where both crossed the link.
    pub traffic: Vec<Traffic>,
    /// The share of the packets that was lost, by the queues and outside of them, towards the program.
    pub lost_down: f64,
    /// The same of the program's packets.
    pub lost_up: f64,
    /// The part of `lost_down` that no queue dropped: what the link was asked to lose behind them, and what it failed to pass on.
    pub lost_outside_down: f64,
    /// The same part of `lost_up`.
    pub lost_outside_up: f64,
    /// Packets that were lost outside of the queues, in both directions.
    pub lost_outside: u64,
    /// All of it, for people.
    pub sentence: String,
}

/// What packets of one kind waited, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traffic {
    /// `l4s` or `classic`, where both crossed the link.
    pub name: Option<String>,
    /// How much longer a round trip took than on an idle link: half of them no more than this.
    pub longer_ms_median: f64,
    /// All but one in a hundred no more than this; of few packets, all.
    pub longer_ms_p99: f64,
    /// The most that the queues together made a round trip wait.
    pub longer_ms_max: f64,
    /// What the link took one way towards the program, its part of the RTT included: all but one in a hundred packets no more.
    pub one_way_ms_down: f64,
    /// The same of the program's packets.
    pub one_way_ms_up: f64,
}
