//! Options about the guest of the virtual world.

use std::time::Duration;

use clap::{Args, ValueEnum};
use quell_lab::{GuestCommand, GuestDay, GuestOptions, GuestUser};
use quell_units::{Time, notation};

use super::error::{ArgumentError, TimeBounds};
use super::world::VIRTUAL;

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
    pub(crate) fn options(&self, kernel: Option<String>) -> Result<GuestOptions, ArgumentError> {
        let mut options = GuestOptions {
            kernel,
            ..GuestOptions::default()
        };
        if let Some(text) = &self.guest_timeout {
            let time = notation::time(text).map_err(|error| ArgumentError::Value {
                option: "--guest-timeout:".to_owned(),
                source: error.into(),
            })?;
            if time < SHORTEST_PATIENCE {
                return Err(ArgumentError::Time {
                    option: "--guest-timeout",
                    text: text.clone(),
                    allowed: TimeBounds::GuestStart(SHORTEST_PATIENCE),
                });
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

/// The kernel of the virtual world.
#[derive(Debug, Args)]
pub(crate) struct Guest {
    /// Kernel to run, by its name in `quell kernel list` [default: the newest]
    #[arg(long, value_name = "NAME", help_heading = VIRTUAL)]
    kernel: Option<String>,
    #[command(flatten)]
    patience: Patience,
    #[command(flatten)]
    place: GuestPlace,
    /// Run a command with `sh -c` inside the guest, such as '10s:sender:ss -tin'. AT is a time, several times (5s,10s) or
    /// FIRST/INTERVAL; NAMESPACE is sender, receiver or link. The output goes to the folder guest-exec of the result
    #[arg(long, value_name = "AT:NAMESPACE:COMMAND", help_heading = VIRTUAL)]
    guest_exec: Vec<String>,
}

impl Guest {
    /// Whether any of these options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.kernel.is_some()
            || self.patience.guest_timeout.is_some()
            || self.place.is_given()
            || !self.guest_exec.is_empty()
    }
    /// The commands of `--guest-exec`.
    pub(crate) fn commands(&self) -> Result<Vec<GuestCommand>, ArgumentError> {
        let read = |text: &String| {
            GuestCommand::parse(text).map_err(|error| ArgumentError::Value {
                option: "--guest-exec".to_owned(),
                source: error.into(),
            })
        };
        self.guest_exec.iter().map(read).collect()
    }
    /// The options in the library's form.
    pub(crate) fn options(&self) -> Result<GuestOptions, ArgumentError> {
        let options = self.patience.options(self.kernel.clone())?;
        Ok(self.place.set(options))
    }
}
