//! `scripts/linux-source`: only what is pinned is compared with, wherever it comes from.

use std::process::Command;

use crate::scripts::{Place, project, said};

/// A package whose data is its only content, in the archive `archive` of the place; its hash.
fn package(place: &Place, archive: &str, version: &str) -> String {
    let script = format!(
        "set -e; cd {root}; mkdir -p {archive}/pool; tree=work/linux-source-9.9
         for file in Makefile README include/net/pie.h include/linux/reciprocal_div.h include/uapi/linux/pkt_sched.h \
             lib/math/reciprocal_div.c net/sched/sch_pie.c; do
             mkdir -p $tree/$(dirname $file); echo {version} >$tree/$file
         done
         tar -C work -cJf work/linux-source-9.9.tar.xz linux-source-9.9
         tar -C work -cf {archive}/pool/linux-source-9.9_{version}_all.deb ./linux-source-9.9.tar.xz
         sha256sum <{archive}/pool/linux-source-9.9_{version}_all.deb | cut -d' ' -f1; rm -rf work",
        root = place.path("").display(),
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    said(&output).trim().to_owned()
}

/// A machine whose archives are folders named by the URL's host.
fn machine() -> Place {
    let place = Place::new();
    place.program("dpkg-deb", "case $1 in --contents) echo '-rw-r--r-- root/root 9 ./linux-source-9.9.tar.xz' ;; *) cat \"$2\" ;; esac");
    // apt-get names the archives that apt is set up for.
    place.program("apt-get", "[ \"$1\" != indextargets ] || printf '%s\\n' 'Other http://elsewhere/x/' 'Debian http://mirror/debian/'");
    place.program(
        "apt-helper",
        r#"url=${@: -2:1} file=${@: -1}
echo "$url" >>"$RECORD"
url=${url#http://}
cp "$ARCHIVES/${url%%/*}/pool/${url##*/}" "$file""#,
    );
    place
}

fn pin(place: &Place, lines: &[(&str, &str)]) {
    let line = |(version, hash): &(&str, &str)| {
        format!(
            "sid debian linux-source-9.9 {version} {hash} 20260101 pool/linux-source-9.9_{version}_all.deb\n"
        )
    };
    let text: String = lines.iter().map(line).collect();
    place.write("scripts/linux-source.pins", &format!("# head\n{text}"));
}

fn fetch(place: &Place) -> (bool, String) {
    let archives = place.path("");
    let output = place.run(
        "scripts/linux-source",
        &[],
        &[("ARCHIVES", archives.to_str().unwrap())],
    );
    (
        output.status.success(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn each_pinned_source_is_brought_once_and_what_is_not_pinned_goes() {
    let place = machine();
    let (one, two) = (
        package(&place, "mirror", "1-1"),
        package(&place, "mirror", "2-1"),
    );
    pin(&place, &[("1-1", &one), ("2-1", &two)]);
    place.write("target/linux/linux-source-9.8_1-1/Makefile", "");
    assert_eq!(fetch(&place), (true, String::new()));
    for version in ["1-1", "2-1"] {
        let tree = format!("target/linux/linux-source-9.9_{version}");
        let law = place.read(&format!("{tree}/net/sched/sch_pie.c"));
        assert_eq!(law.trim(), version);
        assert!(!place.path(&format!("{tree}/README")).exists());
    }
    assert!(!place.path("target/linux/linux-source-9.8_1-1").exists());
    // The last one is what a kernel is built from.
    let kept: Vec<_> = std::fs::read_dir(place.path("target/linux-source"))
        .unwrap()
        .collect();
    assert_eq!(kept.len(), 1);
    assert!(
        place
            .path("target/linux-source/linux-source-9.9_2-1_all.deb")
            .exists()
    );
    let record = place.record();
    assert_eq!(record.lines().count(), 2, "{record}");
    assert_eq!(fetch(&place), (true, String::new()));
    assert_eq!(place.record(), record, "nothing is fetched twice");
}

#[test]
fn what_the_mirror_dropped_comes_from_the_archive_that_keeps_everything() {
    let place = machine();
    let hash = package(&place, "snapshot.debian.org", "1-1");
    pin(&place, &[("1-1", &hash)]);
    assert_eq!(fetch(&place), (true, String::new()));
    let asked = place.record();
    let asked: Vec<&str> = asked.lines().collect();
    assert!(
        asked[0].starts_with("http://mirror/debian/pool/"),
        "{asked:?}"
    );
    assert!(
        asked[1].starts_with("http://snapshot.debian.org/archive/debian/20260101T000000Z/pool/"),
        "{asked:?}"
    );
}

#[test]
fn a_source_that_nobody_has_or_that_is_another_is_refused_and_the_others_are_brought() {
    let place = machine();
    let hash = package(&place, "mirror", "2-1");
    package(&place, "mirror", "3-1");
    pin(&place, &[("1-1", &hash), ("3-1", &hash), ("2-1", &hash)]);
    let (brought_all, said) = fetch(&place);
    assert!(!brought_all);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(
        lines[0].starts_with("linux-source-9.9 1-1: cannot be fetched")
            && lines[0].contains("scripts/linux-source pin"),
        "{said}"
    );
    assert!(
        lines[1].starts_with("linux-source-9.9 3-1: what http://mirror/debian has"),
        "{said}"
    );
    let trees: Vec<_> = std::fs::read_dir(place.path("target/linux"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(trees, ["linux-source-9.9_2-1"]);
}

#[test]
fn the_pins_are_whole_and_one_has_dualpi2() {
    let text = std::fs::read_to_string(project().join("scripts/linux-source.pins")).unwrap();
    let mut versions = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, package, version, hash, day, path] = fields[..] else {
            panic!("{line}")
        };
        assert!(
            hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{line}"
        );
        assert!(
            day.len() == 8 && path.ends_with(&format!("/{package}_{version}_all.deb")),
            "{line}"
        );
        let numbers = version
            .split(['.', '-'])
            .take(2)
            .map(|part| part.parse().unwrap());
        versions.push(numbers.collect::<Vec<u32>>());
    }
    // net/sched/sch_dualpi2.c came with Linux 6.17.
    assert!(
        versions.iter().any(|version| *version >= vec![6, 17]),
        "{versions:?}"
    );
}
