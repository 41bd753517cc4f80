//! Compares experiment files with the sections of Rust: `twin STORE EXPERIMENTS ID...`.

use std::path::Path;

use quell_lab::sweep::Store;
use quell_reproduce::{ExperimentFile, registry, twin};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let store = arguments.next().expect("a store");
    let folder = arguments.next().expect("a folder of experiments");
    let store = Store::at(Path::new(&store)).trusted(true);
    std::panic::set_hook(Box::new(|_| {}));
    let fine = std::env::var_os("TWIN_SWEEP").is_some();
    let mut failed = 0;
    for id in arguments {
        let path = Path::new(&folder).join(format!("{id}.toml"));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                println!("{id}: {error}");
                failed += 1;
                continue;
            }
        };
        let beside = path.parent().unwrap_or(Path::new(".")).to_owned();
        let files = move |name: &str| std::fs::read_to_string(beside.join(name)).ok();
        let file = match ExperimentFile::read(&id, &text, &files) {
            Ok(file) => Box::leak(Box::new(file)),
            Err(problems) => {
                println!("{id}: the file is refused\n{problems}");
                failed += 1;
                continue;
            }
        };
        let Some(rust) = registry::all().into_iter().find(|one| one.id == id) else {
            println!("{id}: there is no such experiment in Rust");
            failed += 1;
            continue;
        };
        let mut all = twin::definitions(rust, file).0;
        let mut notes = Vec::new();
        match (twin::results(rust, &store), twin::results(file, &store)) {
            (Ok((plan, one)), Ok((file_plan, other))) => {
                let (out, more) = twin::findings(rust, &one, file, &other);
                all.extend(out.0);
                notes.extend(more);
                if all.is_empty() {
                    for round in 1..=6 {
                        let one = twin::perturbed(&plan, &one, round);
                        let other = twin::perturbed(&file_plan, &other, round);
                        let (out, more) = twin::findings(rust, &one, file, &other);
                        all.extend(
                            out.0
                                .into_iter()
                                .map(|text| format!("perturbed {round}: {text}")),
                        );
                        notes.extend(
                            more.into_iter()
                                .map(|text| format!("perturbed {round}: {text}")),
                        );
                        if all.len() > 12 {
                            break;
                        }
                    }
                }
                let rounds = if one.len() > 300 { 12 } else { 240 };
                if all.is_empty() && fine {
                    for round in 0..rounds {
                        let factor = 6_f64.powf((f64::from(round) / f64::from(rounds)).sqrt());
                        let hash = u64::from(round as u32 % 4);
                        let one = twin::swept(&plan, &one, factor, hash);
                        let other = twin::swept(&file_plan, &other, factor, hash);
                        let out = twin::verdicts(rust, &one, file, &other);
                        all.extend(
                            out.0
                                .into_iter()
                                .map(|text| format!("factor {factor:.3}: {text}")),
                        );
                        if all.len() > 6 {
                            break;
                        }
                    }
                }
            }
            (one, other) => {
                for why in [one.err(), other.err()].into_iter().flatten() {
                    all.push(format!("results: {why}"));
                }
            }
        }
        for text in &all {
            println!("  {text}");
        }
        notes.truncate(4);
        for text in &notes {
            println!("  note: {text}");
        }
        println!(
            "{id}: {}",
            if all.is_empty() {
                "equal".to_owned()
            } else {
                format!("{} differences", all.len())
            }
        );
        failed += usize::from(!all.is_empty());
    }
    std::process::exit(i32::from(failed > 0));
}
