//! A telephone call: who talks when, when the listener plays what arrives, and how good that sounds.
//!
//! * [`talker`]: the packets of one direction.
//! * [`playout`]: when a packet is played; [`listener`]: what becomes of each.
//! * [`score`]: the E-model of ITU-T G.107; [`report`]: the figures of a call.
//!
//! The two directions of a call are independent: nobody waits for the other to finish.

pub mod listener;
pub mod playout;
pub mod report;
pub mod score;
pub mod talker;
