//! The arguments of `quell characterize`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use quell_experiment::OpenError;
use quell_experiment::characterize::{Profile, Request, Suite};
use quell_lab::World;
use quell_lab::scenario::Override;
use quell_units::{Time, notation};

use crate::arguments::queue_lists::queues;
use crate::arguments::{ArgumentError, Jobs, Patience, TimeBounds, Where};
use crate::output::page::complain;

/// The longest profile file.
const LONGEST_FILE: usize = 64 << 10;

/// `quell characterize QUEUE`.
#[derive(Debug, Args)]
pub(crate) struct Characterize {
    /// Queue with its parameters, such as dualpi2 or pie:target=5ms,ecn=true; several have a card each
    #[arg(required = true, value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,
    /// Other queues to show beside it and drop-tail, such as codel,fq_codel; may be repeated
    #[arg(long, value_name = "LIST")]
    pub(crate) against: Vec<String>,
    /// The path: 10mbit, 100mbit, 1gbit, or a file with rate, rtt and duration
    #[arg(long, value_name = "NAME|FILE", default_value = "100mbit")]
    pub(crate) profile: String,
    /// The scenarios: rfc7928, l4s (L4S beside classic traffic), access (a home's access link), all, or a file of one's own
    #[arg(long, value_name = "NAME|FILE", default_value = "rfc7928")]
    pub(crate) suite: String,
    /// Run only these scenarios of the suite, such as mild,rtt; may be repeated
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Congestion controls of the standard flows, such as reno,cubic [default: NewReno as in RFC 5681]
    #[arg(long, value_name = "LIST")]
    pub(crate) cc: Vec<String>,
    /// Runs of each scenario, with seeds from 1 on [default: 3 to 10, as many as its figures and verdicts need]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(crate) seeds: Option<u64>,
    /// What to measure of each run, such as 20s; a warm-up of a sixth comes before [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// World to run in: sim or virtual
    #[arg(long, value_enum, default_value_t = Where::Sim)]
    pub(crate) world: Where,
    /// Folder of the card; of several queues, around their folders characterize-QUEUE [default: results/characterize-QUEUE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Store of the simulated runs, which cards share; runs that it has do not run again [default: results/characterize]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Print only the card, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Kernel of the virtual world, by its name in `quell kernel list` [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) patience: Patience,
}

impl Characterize {
    /// What is asked for, of each queue.
    pub(crate) fn requests(&self) -> Result<Vec<Request>, ArgumentError> {
        let world = World::from(self.world);
        if world == World::Live {
            return Err(ArgumentError::CardOfLive);
        }
        if world != World::Virtual && self.kernel.is_some() {
            return Err(ArgumentError::OnlyIn("--kernel has", World::Virtual));
        }
        let mut profile = profile(&self.profile)?;
        if let Some(text) = &self.duration {
            let (low, high) = (Time::from_secs(2), Time::from_secs(3_600));
            let time = notation::time(text).map_err(|error| ArgumentError::Value {
                option: "--duration:".to_owned(),
                source: error.into(),
            })?;
            if !(low..=high).contains(&time) {
                return Err(ArgumentError::Time {
                    option: "--duration",
                    text: text.clone(),
                    allowed: TimeBounds::Within(low, high),
                });
            }
            profile.duration = time;
        }
        let list = |option: &str, lists: &[String]| match lists {
            [] => Ok(Vec::new()),
            lists => queues(option, lists),
        };
        let against = list("--against", &self.against)?;
        for queue in self.queues.iter().chain(&against) {
            Override::queue(queue).map_err(|why| {
                ArgumentError::Refused(why.to_string().replace("--queue ", "").into())
            })?;
        }
        let request = Request {
            queue: String::new(),
            against,
            profile,
            suite: suite(&self.suite)?,
            only: self.only.clone(),
            world,
            controls: list("--cc", &self.cc)?,
            seeds: self.seeds,
        };
        let of = |queue: &String| Request {
            queue: queue.trim().to_owned(),
            ..request.clone()
        };
        Ok(self.queues.iter().map(of).collect())
    }
}

/// One of those that are there, or that of a file.
fn suite(name: &str) -> Result<Suite, ArgumentError> {
    if let Some(suite) = Suite::named(name) {
        return Ok(suite);
    }
    Suite::open(Path::new(name)).map_err(|error| match error {
        OpenError::Unreadable(_, source) => ArgumentError::NoFile {
            option: "--suite",
            name: name.to_owned(),
            known: Suite::names().collect::<Vec<_>>().join(", "),
            source,
        },
        OpenError::Wrong(problems) => ArgumentError::Refused(problems.into()),
    })
}

/// One of those that are there, or that of a file.
fn profile(name: &str) -> Result<Profile, ArgumentError> {
    if let Some(profile) = Profile::named(name) {
        return Ok(profile);
    }
    let text = fs::read_to_string(name).map_err(|source| ArgumentError::NoFile {
        option: "--profile",
        name: name.to_owned(),
        known: Profile::NAMES.join(", "),
        source,
    })?;
    if text.len() > LONGEST_FILE {
        return Err(ArgumentError::LongProfile(name.to_owned()));
    }
    let profile = Profile::read(name, &text).map_err(|why| ArgumentError::Refused(why.into()))?;
    complain_of_length(&profile);
    Ok(profile)
}

/// A large link takes long.
fn complain_of_length(profile: &Profile) {
    let bits = u128::from(profile.rate.as_bps()) * u128::from(profile.duration.as_nanos());
    // Ten times what the usual profile carries.
    if bits > 60_000_000_000_000_000_000 {
        complain(
            "note: this profile carries more than ten times what 100mbit does, and takes as much longer",
        );
    }
}
