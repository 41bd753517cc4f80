//! An interactive game: commands one way, states the other, and how long a command takes to show.
//!
//! * [`random_value`]: how sizes and intervals of datagrams vary; [`source`]: datagrams at such intervals.
//! * [`stream`]: the same over TCP.
//! * [`round`]: which commands a state shows, and when each was shown; [`report`]: the figures.
//!
//! Neither end controls its rate. Each state says which commands the server has, so that the client
//! measures from the command to the first state that shows it, whatever was lost between.

pub mod random_value;
pub mod report;
pub mod round;
pub mod source;
pub mod stream;
