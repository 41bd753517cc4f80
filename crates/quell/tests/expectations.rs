//! Expectations of runs and comparisons, and profiles of links, as people use them.

use std::fs;
use std::process::{Command, Output};

use quell_testing::not_run;
use quell_testing::program::text;
use serde_json::Value;

const SCENARIO: &str = "schema = 1\nname = \"t\"\n[link]\nrate = \"20mbit\"\nqueue = \"fifo\"\n\
    [[group]]\nname = \"down\"\nrtt = \"20ms\"\napp = \"bulk\"\n\
    [[group]]\nname = \"web\"\nrtt = \"20ms\"\nstart = \"1s\"\napp = { kind = \"transfer\", size = \"100MB\" }\n\
    [run]\nduration = \"2s\"\nseeds = [1, 2, 3]\n";

/// A folder with the scenario and more.
struct Place(tempfile::TempDir);

impl Place {
    fn new(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("t.toml"), format!("{SCENARIO}{more}")).unwrap();
        Self(folder)
    }

    /// Runs quell with these words, in which ~ is a blank.
    fn output(&self, words: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
        let words = words.split(' ').map(|word| word.replace('~', " "));
        command
            .args(words)
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    /// What it prints where it succeeds.
    fn said(&self, words: &str) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    }

    /// The exit code, and the lines about expectations.
    fn lines(&self, words: &str) -> (Option<i32>, Vec<String>) {
        let output = self.output(words);
        let said = text(&output.stdout);
        let lines = said.lines().skip_while(|line| !line.starts_with("expect"));
        (output.status.code(), lines.map(str::to_owned).collect())
    }

    fn refused(&self, words: &str, expected: &str) {
        let output = self.output(words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(expected) && said.lines().count() == 1,
            "{said}"
        );
        assert!(output.stdout.is_empty() && !self.0.path().join("results").exists());
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }
}

#[test]
fn what_is_expected_decides_the_exit_code_and_is_reported_line_by_line() {
    let place = Place::new(
        "[[expect]]\nthat = \"queue.queue.delay_ms.p99 < 1s\"\nover = \"worst\"\n\
         [[expect]]\nthat = \"queue.queue.delay_ms.p99 < 5ms\"\nwhy = \"calls\"\nlevel = \"warn\"\n",
    );
    let is = |line: &str, begin: &str, end: &str| {
        assert!(line.starts_with(begin) && line.ends_with(end), "{line}");
    };
    let (code, lines) = place.lines("run t.toml --out one");
    assert_eq!((code, lines.len()), (Some(0), 3), "{lines:?}");
    is(
        &lines[0],
        "expect  met     queue.queue.delay_ms.p99 < 1s: ",
        ")",
    );
    let warned = "expect  warned  queue.queue.delay_ms.p99 < 5ms: with 3 of 3 seeds: ";
    is(&lines[1], warned, "(calls)");
    assert_eq!(lines[2], "        see: quell report one");
    // The value is that of the summary, to the digits that are shown.
    let summary: Value = serde_json::from_str(&place.file("one/seed1/summary.json")).unwrap();
    let p99 = summary["queues"][0]["delay_ms"]["p99"].as_f64().unwrap();
    assert!(
        lines[1].contains(format!("{p99:.1}").trim_end_matches(".0")),
        "{p99}: {lines:?}"
    );

    let full =
        "run t.toml --out two --set run.seeds=[1] --expect link.utilisation~>~99.99%~over~mean";
    let (code, lines) = place.lines(full);
    assert_eq!(code, Some(3));
    is(
        &lines[3],
        "expect  FAILED  link.utilisation > 99.99%: 9",
        " % below",
    );
    // What did not happen is nothing that passes.
    let output =
        place.output("run t.toml --out three --expect group.web.completion_ms.p90<100s --json");
    assert_eq!(output.status.code(), Some(3));
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    let said = text(&output.stderr);
    let expected = "expect  FAILED  group.web.completion_ms.p90<100s: group.web.app.completion_ms.p90 has no value with seed 1";
    assert!(
        said.contains(expected) && said.contains("quell: 1 of 3 expectations failed"),
        "{said}"
    );
    // What warns is shown as skipped.
    let run = "run t.toml --out four --set run.seeds=[1] --junit w.xml";
    assert_eq!(place.lines(run).0, Some(0));
    let junit = place.file("w.xml");
    let counted = junit.contains("failures=\"0\" errors=\"0\" skipped=\"1\"");
    assert!(
        counted && junit.contains("<skipped message=\"warning: "),
        "{junit}"
    );
    // With nothing to say nothing is said.
    assert_eq!(Place::new("").lines("run t.toml"), (Some(0), Vec::new()));
}

#[test]
fn a_comparison_judges_each_queue() {
    let place = Place::new("[[expect]]\nthat = \"link.utilisation > 50%\"\n");
    let compare = "compare t.toml --queue fifo,dualpi2:target=5ms --set run.seeds=[1] --expect";
    let one = "dualpi2:target=5ms:~queue.l4s.packets~>~0 --out c --junit c.xml";
    let (code, lines) = place.lines(&format!("{compare} {one}"));
    assert_eq!(code, Some(3));
    let begins: Vec<&str> = lines
        .iter()
        .map(|line| line.rsplit_once(": ").unwrap().0)
        .collect();
    assert_eq!(
        begins,
        [
            "expect  met     fifo: link.utilisation > 50%",
            "expect  met     dualpi2:target=5ms: link.utilisation > 50%",
            "expect  FAILED  dualpi2:target=5ms: queue.l4s.packets > 0",
            "        see",
        ]
    );
    let junit = place.file("c.xml");
    assert!(
        junit.contains("<testsuite name=\"t fifo\" tests=\"1\" failures=\"0\""),
        "{junit}"
    );
    assert!(junit.contains("<testsuite name=\"t dualpi2:target=5ms\" tests=\"2\" failures=\"1\""));
    let place = Place::new("");
    let why = "with fifo: at character 1: there is no figure queue.l4s.packets";
    place.refused(&format!("{compare} queue.l4s.packets>0"), why);
    let why = "there is no queue fiof, but fifo, dualpi2:target=5ms; did you mean fifo?";
    place.refused(&format!("{compare} fiof:~jain>0"), why);
}

#[test]
fn what_cannot_be_judged_is_refused_before_anything_starts() {
    let place = Place::new("");
    for (options, why) in [
        (
            "--expect queue.queue.delay_ms.p98<1s",
            "did you mean queue.queue.delay_ms.",
        ),
        (
            "--expect jain<5mbit",
            "5mbit does not fit: the figure is a share",
        ),
        (
            "--expect jain<",
            "at character 6: the expression has no end",
        ),
        (
            "--expect fifo:~jain>0",
            "has an effect only with quell compare",
        ),
        (
            "--expect jain>0 --junit nowhere/x.xml",
            "there is no such folder; make it first",
        ),
        (
            "--expect jain>0 --junit .",
            "is a folder; name a file in it",
        ),
        ("--junit x.xml", "nothing is expected; give --expect"),
        (
            "--expect jain>0~where~link.rate==2mbit",
            "where link.rate==2mbit' is about nothing here: link.rate is 20mbit",
        ),
    ] {
        place.refused(&format!("run t.toml {options}"), why);
    }
    let place = Place::new("[[expect]]\nthat = \"jian > 0\"\n");
    for command in ["run", "check"] {
        let why = "t.toml: expect.1.that = \"jian > 0\": at character 1: there is no figure jian; did you mean jain?";
        place.refused(&format!("{command} t.toml"), why);
    }
}

/// What a reader of JUnit finds, by the standard library of Python: each case with its failure.
#[test]
fn junit_is_read_by_a_reader_of_xml() {
    let place = Place::new("");
    let odd = "queue.queue.packets<1~and~'a&<\"'=='a&<\"'";
    let run = format!("run t.toml --junit t.xml --out o --expect jain>0 --expect {odd}");
    assert_eq!(place.output(&run).status.code(), Some(3));
    let script = "import xml.etree.ElementTree as e
for suite in e.parse('t.xml').getroot():
  print(suite.get('name'), suite.get('tests'), suite.get('failures'), float(suite.get('time')) > 0)
  for case in suite:
    failure = case.find('failure')
    why = failure is not None and failure.get('message').split(' is ')[0]
    print(case.get('classname'), case.get('name'), why, 'run t.toml' in case.find('system-out').text)";
    let mut python = Command::new("python3");
    let Ok(read) = python
        .args(["-c", script])
        .current_dir(place.0.path())
        .output()
    else {
        return not_run("junit_is_read_by_a_reader_of_xml", "python3 is missing");
    };
    let odd = odd.replace('~', " ");
    let expected = format!("t 2 1 True\nt jain>0 False True\nt {odd} queue.queue.packets True\n");
    assert_eq!(text(&read.stdout), expected, "{}", text(&read.stderr));
}

#[test]
fn the_figures_of_a_scenario_and_of_a_result_are_listed_for_expectations() {
    let place = Place::new("");
    let has = |said: &str, wanted: &str| {
        let mut lines = said.lines().map(|line| line.split_whitespace());
        assert!(
            lines.any(|line| line.eq(wanted.split(' '))),
            "{wanted}: {said}"
        );
    };
    let p90 = "group.web.completion_ms.p90";
    let said = place.said("explain --figures t.toml");
    has(&said, &format!("{p90} a time: write s, ms or us"));
    place.said("run t.toml --out r");
    let said = place.said("explain --figures r");
    has(&said, "link.rate_bps 20 Mbit/s, 20 Mbit/s, 20 Mbit/s");
    has(&said, &format!("{p90} -, -, -"));
    place.refused("explain --figures nowhere", "cannot read nowhere");
}

#[test]
fn profiles_are_listed_explained_and_make_scenarios() {
    let place = Place::new("");
    assert!(
        place
            .said("profiles")
            .contains("16mbit/1mbit       25ms  ADSL2+ at home\n")
    );
    let dsl = place.said("profiles dsl");
    assert!(
        dsl.contains("an estimate of ours") && dsl.contains("    rate = \"16mbit\"\n"),
        "{dsl}"
    );
    let browser = place.said("profiles lighthouse-mobile");
    assert!(browser.starts_with("devtools-fast-3g\n") && browser.contains("Source: Chrome"));
    place.said("new --profile 3g -o mobile.toml");
    let run = place.said("run mobile.toml --duration 20s --json --out r");
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(
        (&run["scenario"], &run["link"]["rate_bps"]),
        (&"3g".into(), &1_600_000.into())
    );
    // In the place of the scenario's link, with single values from elsewhere.
    let run = "run t.toml --set run.seeds=[1] --profile 3g --queue pie";
    place.said(&format!("{run} --set link.reverse.rate=2mbit --out p"));
    let scenario = place.file("p/scenario.toml");
    let rates = ["rate = \"1.6mbit\"", "rate = \"2mbit\"", "kind = \"pie\""];
    let has_all = rates.iter().all(|one| scenario.contains(one));
    assert!(
        has_all && scenario.matches("rtt = \"300ms\"").count() == 2,
        "{scenario}"
    );
    let named = Place::new("");
    let links = SCENARIO.replace("[link]", "[[link]]\nname = \"a\"");
    fs::write(named.0.path().join("t.toml"), links).unwrap();
    named.refused("run t.toml --profile dsl", "scenario have names");
    let why = "there is no profile dls; did you mean dsl?";
    named.refused("compare t.toml --profile dls", why);
    named.refused("profiles dls", why);
    place.refused(
        "new --profile 4gg",
        "there is no profile 4gg; did you mean 4g?",
    );
}

#[test]
fn each_point_of_a_sweep_is_judged_by_its_seeds() {
    let place = Place::new("[[expect]]\nthat = \"link.utilisation > 50%\"\nover = \"mean\"\n");
    let sweep = "schema = 1\nscenario = \"t.toml\"\nseeds = [1, 2]\n[axis]\n\"link.queue.limit\" = [\"5p\", \"100p\"]\n\"link.rate\" = [\"10mbit\", \"20mbit\"]\n";
    fs::write(place.0.path().join("s.toml"), sweep).unwrap();
    let met = place.said("sweep s.toml");
    assert!(met.contains("4 points are as expected"), "{met}");
    // Another condition runs nothing again.
    let condition = "queue.queue.delay_ms.max~<~30ms";
    let output = place.output(&format!("sweep s.toml --expect {condition} --junit s.xml"));
    assert_eq!(output.status.code(), Some(3));
    let (said, why) = (text(&output.stdout), text(&output.stderr));
    assert!(
        said.contains("8 were there, 0 ran") && said.contains("2 of 4 points"),
        "{said}"
    );
    let failed: Vec<&str> = why
        .lines()
        .filter(|line| line.starts_with("expect"))
        .collect();
    let [first, second] = failed[..] else {
        panic!("{why}")
    };
    assert!(
        first.starts_with("expect  FAILED  link.queue.limit=100p link.rate=10mbit: "),
        "{why}"
    );
    assert!(
        second.contains("=20mbit: queue.queue.delay_ms.max < 30ms: ") && second.contains("seed"),
        "{why}"
    );
    let junit = fs::read_to_string(place.0.path().join("s.xml")).unwrap();
    assert_eq!(
        (
            junit.matches("<testsuite ").count(),
            junit.matches("<failure").count()
        ),
        (4, 2)
    );
    // Of half of the points.
    fs::write(place.0.path().join("t.toml"), SCENARIO).unwrap();
    let met = place.said("sweep s.toml --expect link.utilisation>50%~where~link.rate==10mbit");
    assert!(met.contains("2 of 2 points are as expected"), "{met}");
    let key = "[[expect]]\nthat = \"link.utilisation > 50%\"\nwhere = \"link.rate == 10mbit\"\n";
    fs::write(place.0.path().join("t.toml"), format!("{SCENARIO}{key}")).unwrap();
    let met = place.said("sweep s.toml");
    assert!(met.contains("2 of 2 points are as expected"), "{met}");
    fs::write(place.0.path().join("t.toml"), SCENARIO).unwrap();
    let output = place.output("sweep s.toml --expect queue.queue.dely~<~1ms --store new");
    assert_eq!(output.status.code(), Some(2));
    assert!(!place.0.path().join("new").exists(), "nothing starts");
}
