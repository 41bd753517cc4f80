//! GAIMD answers the segments of every script in `scripts` as they say.

use std::path::Path;

#[test]
fn the_model_keeps_every_script() {
    own_control::extensions().install().expect("a free name");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    quell_replay::model_keeps(&folder);
}
