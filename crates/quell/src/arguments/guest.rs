//! Arguments that several commands have.

pub(crate) mod examples;
pub(crate) mod queue_lists;
pub(crate) mod strict;

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, ValueEnum};
use quell_lab::{GuestDay, GuestOptions, GuestUser, World};
use quell_units::{Time, notation};

/// Heading of the options that only the virtual world has.
pub(crate) const VIRTUAL: &str = "Virtual world";

/// Where a scenario runs.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Where {
    /// Modelled hosts in virtual time
    Sim,
    /// Real TCP of a user-mode kernel in virtual time
    Virtual,
    /// Real TCP of this host in real time
    Live,
}

impl From<Where> for World {
    fn from(place: Where) -> Self {
        match place {
            Where::Sim => Self::Sim,
            Where::Virtual => Self::Virtual,
            Where::Live => Self::Live,
        }
    }
}

/// The shortest time to wait for a guest.
const SHORTEST_PATIENCE: Time = Time::from_secs(1);

/// How long to wait for a guest whose clock has stopped.
#[derive(Debug, Args)]
pub(crate) struct Patience {
    /// Abort a guest whose clock stops for this long [default: 60s]
    #[arg(long, value_name = "TIME", help_heading = VIRTUAL)]
    pub(crate) guest_timeout: Option<String>,
}

impl Patience {
    /// The options in the library's form, with this kernel.
    pub(crate) fn options(&self, kernel: Option<String>) -> Result<GuestOptions, String> {
        let mut options = GuestOptions {
            kernel,
            ..GuestOptions::default()
        };
        if let Some(text) = &self.guest_timeout {
            let time = notation::time(text).map_err(|error| format!("--guest-timeout: {error}"))?;
            if time < SHORTEST_PATIENCE {
                return Err(format!(
                    "--guest-timeout {text}: must be at least {SHORTEST_PATIENCE}; a guest needs about that to begin"
                ));
            }
            options.patience = Duration::from_nanos(time.as_nanos());
        }
        Ok(options)
    }
}

/// What programs of this host find in a guest.
#[derive(Debug, Args)]
pub(crate) struct GuestPlace {
    /// Day on which the guest's clock begins, at 22:13:20 UTC, such as 2026-11-28 [default: with programs the next one, so that certificates made
    /// now are valid; without, 2023-11-14]
    #[arg(long, value_name = "DATE", help_heading = VIRTUAL)]
    pub(crate) guest_day: Option<GuestDay>,
    /// User of the guest's kernel, which reads the programs and their files, where root starts it
    #[arg(long, value_enum, value_name = "USER", help_heading = VIRTUAL)]
    pub(crate) guest_user: Option<GuestUserArgument>,
}

/// The user of a guest's kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GuestUserArgument {
    /// One that owns nothing, or the owner of the kernel: what is taken where nothing is said
    Own,
    /// Root, without capabilities: for programs that only root may read. The kernel reads what they read
    Caller,
}

impl GuestPlace {
    /// Whether any of these options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.guest_day.is_some() || self.guest_user.is_some()
    }

    /// `options` with them.
    pub(crate) fn set(&self, options: GuestOptions) -> GuestOptions {
        GuestOptions {
            day: self.guest_day,
            user: match self.guest_user {
                None | Some(GuestUserArgument::Own) => GuestUser::Own,
                Some(GuestUserArgument::Caller) => GuestUser::Caller,
            },
            ..options
        }
    }
}

/// How many runs at once.
#[derive(Debug, Args)]
pub(crate) struct Jobs {
    /// Simulator and virtual world: number of parallel runs, fewer if memory is short [default: one per
    /// processor]. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
}

fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().and_then(NonZeroUsize::new);
    number.ok_or_else(|| "must be a whole number of at least 1".to_owned())
}

impl Jobs {
    /// The number given, otherwise one per processor; one in the live world, where runs would disturb each other.
    pub(crate) fn number(&self, world: World) -> Result<NonZeroUsize, String> {
        match (self.jobs, world) {
            (None, World::Sim | World::Virtual) => {
                Ok(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
            }
            (Some(jobs), World::Sim | World::Virtual) => Ok(jobs),
            (None, World::Live) => Ok(NonZeroUsize::MIN),
            (Some(_), World::Live) => Err("--jobs has no effect with --world live".to_owned()),
        }
    }
}

/// Parses the level of a confidence interval.
pub(crate) fn level(text: &str) -> Result<f64, String> {
    let level = text
        .parse()
        .ok()
        .filter(|level| (0.5..=0.9999).contains(level));
    level.ok_or_else(|| "must be from 0.5 to 0.9999, such as 0.95".to_owned())
}
