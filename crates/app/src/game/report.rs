//! The report of a game: how long commands take, and how even the states are.

use quell_units::Time;

use crate::{
    Column, DatagramReport, Durations, Figure, FigureInfo, Form, FormInfo, KindReport, Notation,
    Part, Quantity, Times, Value, in_ms,
};

/// Commands, states, and the time between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GameReport {
    /// States: from the sender to the receiver.
    pub states: DatagramReport,
    /// Commands: from the receiver to the sender.
    pub commands: DatagramReport,
    /// Time from a command to the first state that shows it.
    pub command_to_state: Durations,
    /// That time without the time that the server had the command, of the newest command of each state.
    pub network_rtt: Durations,
    /// Commands that were shown later than the deadline allows.
    pub late: u64,
    /// Commands that no state showed.
    pub lost: u64,
    /// The longest time between two states.
    pub longest_gap: Time,
    /// Runs of three late states or more.
    pub spikes: u64,
    /// For how long the client played, all flows taken together.
    pub span: Time,
}

impl GameReport {
    /// Late and lost commands over all that were shown or lost; 0 if none was.
    pub fn late_ratio(&self) -> f64 {
        let settled = self.command_to_state.count() + self.lost;
        (self.late + self.lost) as f64 / settled.max(1) as f64
    }
    /// Lag spikes per minute of play; `None` without time.
    pub fn spikes_per_minute(&self) -> Option<f64> {
        let minutes = self.span.as_nanos() as f64 / 6e10;
        (minutes > 0.0).then(|| self.spikes as f64 / minutes)
    }
}

const MS: Notation = Notation::Plain(2);

fn delays(of: &DatagramReport) -> Value {
    Value::Times(Times::of(&of.delays, of.mean_delay.map(in_ms)))
}

const FORM: Form<GameReport> = Form {
    table: Some("games"),
    figures: &[
        Figure::<GameReport>::new("sent", Quantity::Count, "states sent to the receiver", |game| {
            Value::Count(game.states.sent)
        }),
        Figure::<GameReport>::new("received", Quantity::Count, "states that arrived", |game| {
            Value::Count(game.states.received)
        }),
        Figure::<GameReport>::new("lost", Quantity::Count, "states that did not arrive", |game| {
            Value::Count(game.states.lost)
        }),
        Figure::<GameReport>::new("loss_ratio", Quantity::Ratio, "lost / sent", |game| {
            Value::Number(Some(game.states.loss_ratio()))
        })
        .shown(&[Column::new("lost %", Notation::Percent(2)).rank(2)]),
        Figure::<GameReport>::new("back_sent", Quantity::Count, "commands sent to the sender", |game| {
            Value::Count(game.commands.sent)
        }),
        Figure::<GameReport>::new("back_received", Quantity::Count, "commands that arrived", |game| {
            Value::Count(game.commands.received)
        }),
        Figure::<GameReport>::new("back_lost", Quantity::Count, "commands that did not arrive", |game| {
            Value::Count(game.commands.lost)
        }),
        Figure::<GameReport>::new("back_loss_ratio", Quantity::Ratio, "back_lost / back_sent", |game| {
            Value::Number(Some(game.commands.loss_ratio()))
        })
        .shown(&[Column::new("back lost %", Notation::Percent(2)).rank(4)]),
        Figure::<GameReport>::new("command_to_state_ms", Quantity::Times, "ms; from a command to the first state that shows it, of each command that one shows; null if none does", |game| {
            Value::Times(Times::of(&game.command_to_state, None))
        })
        .shown(&[
            Column::of("command P50 ms", Part::P50, MS),
            Column::of("command P99 ms", Part::P99, MS),
            Column::of("command P99.9 ms", Part::P999, MS).rank(1),
        ]),
        Figure::<GameReport>::new("network_rtt_ms", Quantity::Times, "ms; the same without the time that the server had the command, of the newest command of each state; null if there is none", |game| {
            Value::Times(Times::of(&game.network_rtt, None))
        })
        .shown(&[
            Column::of("network P50 ms", Part::P50, MS).rank(0),
            Column::of("network P99 ms", Part::P99, MS),
        ]),
        Figure::<GameReport>::new("unshown", Quantity::Count, "commands that no state showed: lost, or 32 commands older than the newest", |game| {
            Value::Count(game.lost)
        }),
        Figure::<GameReport>::new("late_ratio", Quantity::Ratio, "commands shown later than the quickest of the flow and the deadline, and those not shown, over all that were shown or not", |game| {
            Value::Number(Some(game.late_ratio()))
        })
        .shown(&[Column::new("late %", Notation::Percent(2))]),
        Figure::<GameReport>::new("longest_gap_ms", Quantity::Number, "ms; longest time between the arrivals of two states", |game| {
            Value::Number(Some(in_ms(game.longest_gap)))
        })
        .shown(&[Column::new("gap ms", Notation::Plain(1)).rank(5)]),
        Figure::<GameReport>::new("lag_spikes", Quantity::Count, "runs of three states or more that took 100 ms longer than the quickest of the flow", |game| {
            Value::Count(game.spikes)
        }),
        Figure::<GameReport>::new("lag_spikes_per_minute", Quantity::MaybeNumber, "the same per minute of play; null without time", |game| {
            Value::Number(game.spikes_per_minute())
        })
        .shown(&[Column::new("spikes/min", Notation::Plain(1)).rank(3)]),
        Figure::<GameReport>::new("jitter_ms", Quantity::Number, "ms; interarrival jitter of states at the end (RFC 3550)", |game| {
            Value::Number(Some(in_ms(game.states.jitter)))
        }),
        Figure::<GameReport>::new("back_jitter_ms", Quantity::Number, "ms; the same of commands", |game| {
            Value::Number(Some(in_ms(game.commands.jitter)))
        }),
        Figure::<GameReport>::new("one_way_delay_ms", Quantity::Times, "ms; of states, from the sending to the receiving application; null if nothing arrived", |game| {
            delays(&game.states)
        }),
        Figure::<GameReport>::new("back_one_way_delay_ms", Quantity::Times, "ms; the same of commands", |game| {
            delays(&game.commands)
        }),
    ],
};

impl KindReport for GameReport {
    fn forms() -> Vec<FormInfo> {
        vec![FORM.info()]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        FORM.of(self)
    }
    fn merge(&mut self, other: &Self) {
        self.states.merge(&other.states);
        self.commands.merge(&other.commands);
        self.add(other);
    }
    fn append(&mut self, next: &Self) {
        self.states.append(&next.states);
        self.commands.append(&next.commands);
        self.add(next);
    }
}

impl GameReport {
    /// Everything but the datagrams.
    fn add(&mut self, other: &Self) {
        self.command_to_state.merge(&other.command_to_state);
        self.network_rtt.merge(&other.network_rtt);
        self.late += other.late;
        self.lost += other.lost;
        self.longest_gap = self.longest_gap.max(other.longest_gap);
        self.spikes += other.spikes;
        self.span += other.span;
    }
}
