//! `scripts/live-repeat`: rounds are counted, failures named, and what was not judged is listed with its figures.

use crate::scripts::{Place, said};

/// A cargo whose second round of tests fails; `--no-run` builds.
const CARGO: &str = r#"case " $* " in *" --no-run "*) exit 0 ;; esac
case " $* " in *" --lib "*) exit 0 ;; esac
echo round >>"$RECORD"
echo "not run: a_rate: not judged: machine busy (others had 43 % of the processors; 3 runs)" >>"$QUELL_NOT_RUN"
echo "not run: a_port: this kernel has no fq, or this machine no tc" >>"$QUELL_NOT_RUN"
echo "test a_port ... ok"
[ "$(grep -c round "$RECORD")" != 2 ] || { echo "test a_delay ... FAILED"; exit 101; }"#;

#[test]
fn a_round_that_fails_fails_the_whole_and_is_named() {
    let place = Place::new();
    place.program("cargo", CARGO);
    for (rounds, passes) in [("1", true), ("3", false)] {
        let _ = std::fs::remove_file(place.path("record"));
        let output = place.run("scripts/live-repeat", &[rounds, "1"], &[]);
        let said = said(&output);
        assert_eq!(output.status.success(), passes, "{said}");
        assert!(said.contains("round   1 "), "{said}");
        assert!(said.contains("not judged  1  passed"), "{said}");
        assert_eq!(said.contains("FAILED: a_delay"), !passes, "{said}");
        let failed = u8::from(!passes);
        let total = format!("{rounds} rounds beside 1 busy processes: {failed} failed");
        assert!(said.contains(&total), "{said}");
        let unjudged = format!(
            "  {rounds}  not judged: a_rate: machine busy (others had 43 % of the processors; 3 runs)"
        );
        assert!(said.contains(&unjudged), "{said}");
        assert!(
            said.contains("not run: a_port: this kernel has no fq"),
            "{said}"
        );
    }
}

#[test]
fn what_does_not_build_is_not_repeated() {
    let place = Place::new();
    place.program("cargo", "echo 'error: no such thing' >&2; exit 101");
    let output = place.run("scripts/live-repeat", &["3"], &[]);
    assert!(!output.status.success());
    assert!(said(&output).contains("no such thing"));
    assert!(!said(&output).contains("round"), "{}", said(&output));
}
