//! Connections: whatever happens to one, with any congestion control and any settings, its laws hold.
//!
//! The first byte chooses the world and the second the control; the next are the settings of both ends, and the rest is what happens.

#![no_main]

use quell_laws::choices::Choices;
use quell_laws::control::ends::Ends;
use quell_laws::control::{Subject, honest, hostile};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices(bytes);
    let world = choices.byte() % 3;
    let controls: Vec<Subject> = Subject::all().collect();
    let control = choices.of(&controls);
    let ends = Ends::of(&control, &mut choices);
    match world {
        0 => {
            honest::keep_the_laws(&ends, &honest::of(&mut choices));
        }
        1 => hostile::sender_keeps_the_laws(&ends, &mut choices),
        _ => hostile::receiver_keeps_the_laws(&ends, &mut choices),
    }
});
