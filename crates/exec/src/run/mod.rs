//! A program behind a link, or a link in front of what runs already, from the first namespace to the report, in five steps.
//!
//! The order matters: copies of the process while it has one thread; namespaces, sockets and the link while it has rights; then no rights
//! any more; then the relay and the program. The calling thread stays in the host's network, where the relay's sockets to the world are.

mod build;
mod finish;
mod main_loop;
mod outcome;
mod prepare;
mod start;
mod watch;

use crate::config::Config;
use crate::error::Result;
use crate::net::Net;
use crate::option_error::OptionError;
use crate::program::{FAILED, NotStarted};
pub use outcome::Outcome;

/// The exit code of an error of quell itself.
pub const OWN_FAILURE: u8 = FAILED;

/// Runs the program; the inner error says why it could not be started.
///
/// # Errors
///
/// The link, its namespaces or its relay could not be made, or failed; the program has then been ended.
pub fn run(mut config: Config) -> Result<Result<Outcome, NotStarted>> {
    let has_relay = config.attachment.is_none() && config.net == Net::Relay;
    if config.plan.needs_relay() && !has_relay {
        return Err(OptionError::NoRelay.into());
    }
    let built = match &config.attachment {
        Some(attachment) => build::build_attached(&config, attachment)?,
        None => {
            let prepared = prepare::prepare(&config)?;
            build::build(&mut config, prepared)?
        }
    };
    let mut started = match start::start(&mut config, built)? {
        Ok(started) => started,
        Err(refused) => return Ok(Err(refused)),
    };
    let watched = watch::watch(&config, &mut started)?;
    finish::finish(config, started, watched).map(Ok)
}
