//! Results that are played: what happened in a run, at a chosen speed, or once more from the beginning for each page that comes.
//!
//! All pages share one clock. Each reads the rows up to it on its own, as fast as it takes them: a slow page is behind, and loses
//! nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quell_lab::results::plot;
use quell_lab::results::read::{self, LONGEST};
use quell_scenario::Scenario;
use quell_units::Time;
use quell_watch::{Finished, Series, about};
use serde_json::Value;

use crate::ask::{Ask, Speed};
use crate::error::{ResultError, SessionError};
use crate::messages::{self, Message, News};
use crate::pace::Frame;
use crate::series::{Playing, Words};

/// The most results that are shown side by side.
const MOST: usize = 16;
/// The most rows of a series in one message.
const ROWS: usize = 8_192;

/// One result.
#[derive(Debug)]
struct Played {
    folder: PathBuf,
    scenario: Scenario,
    end: Time,
}

/// Results on one clock.
#[derive(Debug)]
pub(crate) struct Player {
    runs: Vec<Played>,
    /// Of the first.
    pub(crate) text: String,
    pub(crate) world: String,
    pub(crate) kernel: Value,
    pub(crate) opened: Message,
    pub(crate) finished: Message,
    clock: Mutex<Clock>,
}

#[derive(Debug)]
struct Clock {
    now: Time,
    /// When it was that time; `None` while it stands still.
    at: Option<Instant>,
    speed: Speed,
    end: Time,
}

impl Clock {
    /// Brings it up to `instant`.
    fn go_on(&mut self, instant: Instant) {
        if let Some(at) = self.at {
            self.now = match self.speed {
                Speed::Most => self.end,
                Speed::Times(times) => {
                    let passed = instant.saturating_duration_since(at).as_secs_f64() * times * 1e9;
                    (self.now + Time::from_nanos(passed as u64)).min(self.end)
                }
            };
            self.at = Some(instant);
        }
    }
}

impl Player {
    /// The results in a folder: of one run, of several seeds, or of several queues.
    pub(crate) fn open(folder: &Path, speed: Speed) -> Result<Self, ResultError> {
        let sources = plot::read(&[folder.to_owned()])?;
        let folders: Vec<PathBuf> = match &sources[..] {
            [one] => one.folders().map(Path::to_owned).collect(),
            // Side by side, the first seed stands for all.
            many => many
                .iter()
                .filter_map(|one| one.folders().next())
                .map(Path::to_owned)
                .collect(),
        };
        let mut runs = Vec::new();
        let mut abouts = Vec::new();
        let mut files = Vec::new();
        let mut first = None;
        for folder in folders.into_iter().take(MOST) {
            let text = text_of(&folder, "scenario.toml")?;
            let file = folder.join("scenario.toml").display().to_string();
            let scenario = Scenario::load(&file, &text, &[], None)?.scenario;
            let finished = Finished {
                summary: text_of(&folder, "summary.json")?,
                histograms: text_of(&folder, "histograms.json")?,
            };
            let summary: Value =
                serde_json::from_str(&finished.summary).map_err(|source| ResultError::Summary {
                    folder: folder.clone(),
                    source,
                })?;
            let warnings = summary["warnings"].as_array().into_iter().flatten();
            let warnings: Vec<String> = warnings
                .filter_map(|warning| Some(warning.as_str()?.to_owned()))
                .collect();
            let seed = summary["seed"].as_u64().unwrap_or(1);
            let end = summary["duration_s"]
                .as_f64()
                .map_or(scenario.run.duration, |seconds| {
                    Time::from_nanos((seconds * 1e9).round() as u64)
                });
            abouts.push(about(&scenario, seed, &warnings));
            files.push(finished);
            first.get_or_insert_with(|| {
                let facts = read::text(&folder.join("run.json"), LONGEST).unwrap_or_default();
                let facts: Value = serde_json::from_str(&facts).unwrap_or_default();
                let world = summary["world"].as_str().unwrap_or_default().to_owned();
                (text, world, facts["kernel"].clone())
            });
            runs.push(Played {
                folder,
                scenario,
                end,
            });
        }
        let (text, world, kernel) = first.ok_or_else(|| ResultError::None(folder.to_owned()))?;
        let end = runs.iter().map(|run| run.end).max().unwrap_or_default();
        Ok(Self {
            text,
            world,
            kernel,
            opened: messages::opened(&abouts),
            finished: messages::finished(&files),
            clock: Mutex::new(Clock {
                now: Time::ZERO,
                at: None,
                speed,
                end,
            }),
            runs,
        })
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of what is played.
    pub(crate) fn name(&self) -> &str {
        self.runs.first().map_or("", |run| &run.scenario.name)
    }

    /// Somebody watches: the clock goes, from its first page on.
    pub(crate) fn start(&self) {
        self.clock().at.get_or_insert_with(Instant::now);
    }

    /// How far the play is.
    pub(crate) fn frame(&self) -> Frame {
        let mut clock = self.clock();
        clock.go_on(Instant::now());
        let speed = match clock.speed {
            Speed::Times(times) => times,
            Speed::Most => 0.0,
        };
        Frame {
            now: clock.now,
            wished: speed,
            reached: speed,
            is_over: clock.now >= clock.end,
        }
    }

    /// Does what a page asks, or says why not.
    pub(crate) fn hear(&self, ask: &Ask) -> Result<(), SessionError> {
        let mut clock = self.clock();
        clock.go_on(Instant::now());
        match ask {
            Ask::Speed(speed) => clock.speed = *speed,
            Ask::Step(step) => clock.now = (clock.now + *step).min(clock.end),
            Ask::Finish => clock.now = clock.end,
            Ask::Open(_) | Ask::Change { .. } => return Err(SessionError::IsResult),
        }
        Ok(())
    }
}

fn text_of(folder: &Path, name: &str) -> Result<String, ResultError> {
    let path = folder.join(name);
    read::text(&path, LONGEST).map_err(|source| ResultError::Text { path, source })
}

/// A page that watches a play.
#[derive(Debug)]
pub(crate) struct Play {
    player: Arc<Player>,
    runs: Vec<([Playing; Series::ALL.len()], Words)>,
    is_greeted: bool,
    /// The time of the last message of rows.
    shown: Option<Time>,
    is_finished: bool,
}

impl Play {
    /// At the beginning.
    pub(crate) fn start(player: Arc<Player>) -> Result<Self, ResultError> {
        let mut runs = Vec::new();
        for run in &player.runs {
            let [queues, flows, events] =
                Series::ALL.map(|series| Playing::open(&run.folder, series));
            runs.push(([queues?, flows?, events?], Words::of(&run.scenario)));
        }
        player.start();
        Ok(Self {
            player,
            runs,
            is_greeted: false,
            shown: None,
            is_finished: false,
        })
    }

    /// The events that follow, and whether they are all until now.
    pub(crate) fn next(&mut self) -> Result<(Vec<String>, bool), ResultError> {
        let mut events = Vec::new();
        if !self.is_greeted {
            self.is_greeted = true;
            events.push(self.player.opened.event(0));
        }
        let mut frame = self.player.frame();
        let (news, is_all) = self.play(frame.now)?;
        frame.is_over &= is_all;
        if self.shown != Some(frame.now) || !news.iter().all(News::is_empty) {
            self.shown = Some(frame.now);
            events.push(messages::rows(frame, &news).event(0));
        }
        if frame.is_over && !self.is_finished {
            self.is_finished = true;
            events.push(self.player.finished.event(0));
        }
        Ok((events, is_all))
    }

    /// What happened since the last call until `now`, and whether that is all of it.
    fn play(&mut self, now: Time) -> Result<(Vec<News>, bool), ResultError> {
        let mut all = Vec::new();
        let mut is_all = true;
        for ((playing, words), run) in self.runs.iter_mut().zip(&self.player.runs) {
            let mut news = News::default();
            for (playing, (series, news)) in playing
                .iter_mut()
                .zip(Series::ALL.iter().zip(&mut news.series))
            {
                let mut columns = vec![Vec::new(); series.columns().len()];
                let added = playing.play(now, run.end, ROWS, words, &mut columns)?;
                is_all &= added < ROWS;
                *news = (added, columns.concat());
            }
            news.words.clone_from(&words.others);
            all.push(news);
        }
        Ok((all, is_all))
    }
}
