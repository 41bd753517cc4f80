//! Random bytes, shrunk where they break a law.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Calls `law` with `cases` lists of up to `most` bytes. If it panics, the shortest such list is in the message.
pub(crate) fn bytes(cases: u32, most: usize, law: impl Fn(&[u8])) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let lists = prop::collection::vec(any::<u8>(), 1..most);
    let outcome = TestRunner::new(config).run(&lists, |bytes| {
        law(&bytes);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
