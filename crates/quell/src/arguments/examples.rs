//! Examples, as each command's `--help` ends with them.

pub(crate) const QUELL: &str = "\
Examples:
  quell demo                                   the headline experiment
  quell run scenarios/dualq2015/coexistence.toml
  quell compare FILE --queue fifo,pie,dualpi2  one scenario over several queues
  quell help run                               the options of one command

Exit codes: 0 success; 1 failure, or a warning with --strict; 2 wrong input; 3 results that are not \
as expected. Ctrl-C ends a run, keeps what was measured, and then ends \
quell by the same signal: a shell reports 130 and stops the loop around it";

pub(crate) const RUN: &str = "\
Examples:
  quell run FILE
  quell run FILE --set link.rate=20mbit --set group.l4s.count=10 --duration 30s
  quell run FILE --set run.seeds=[1,2,3,4,5] --confidence 0.95
  quell run FILE --world virtual --packets --out results/one
  quell run FILE --json | jq .groups[0].delay_ms.p99
  quell run FILE --expect 'link.utilisation > 90%' --junit report.xml
  generate-scenario | quell run -";

pub(crate) const EXEC: &str = "\
Examples:
  quell exec --down 40mbit --up 10mbit --rtt 20ms --queue dualpi2 -- chromium
  quell exec --rate 10mbit --queue fifo:limit=250ms -- curl -O https://example.org/file
  quell exec --down 20mbit --at 10s down=5mbit --out results/drop -- ffplay rtsp://camera
  quell exec --net none --rate 50mbit --far 'iperf3 -s' -- sh -c 'iperf3 -c $QUELL_FAR'
  quell exec --host-loopback=8080 --rtt 100ms -- sh -c 'curl http://$QUELL_HOST:8080/'

The far edge is the TCP of this kernel: it sends the downloads, with the congestion control of --far-cc, and fetches them from the real \
server meanwhile. The server's own congestion control does not cross the link. This is no sandbox: the program has your files.

Exit codes: the program's own; 128 and the signal that ended it; 125 quell failed; 126 the program cannot be executed; 127 it is not found; \
3 the program succeeded, and --expect does not hold";

pub(crate) const SHELL: &str = "\
Examples:
  quell shell --rate 10mbit --rtt 40ms --queue dualpi2

Exit codes: as of quell exec";

pub(crate) const LINK: &str = "\
Examples:
  quell exec --name office --rate 20mbit -- chromium
  quell link set office down=2mbit link.queue.target=5ms
  quell link show office";

pub(crate) const DEMO: &str = "\
Examples:
  quell demo
  quell demo home
  quell demo --duration 20s --out results/demo
  quell demo --world virtual";

pub(crate) const COMPARE: &str = "\
Examples:
  quell compare FILE --queue fifo,pie,dualpi2
  quell compare FILE --queue fifo:limit=100ms --queue dualpi2:target=5ms,any_ect=true
  quell compare FILE --queue codel,fq_codel --set run.seeds=[1,2,3] --confidence 0.95
  quell compare FILE --world sim,virtual
  quell compare FILE --world virtual --kernel 6.12,7.2";

pub(crate) const SWEEP: &str = "\
Examples:
  quell sweep queues.toml --dry-run
  quell sweep queues.toml --store results/queues --jobs 4
  quell sweep queues.toml --store results/queues --shard 1/8   one of eight parts, on any machine
  quell sweep merge results/queues part1 part2
  quell sweep table results/queues --out queues.csv
  quell sweep table results/queues --over-seeds
  quell sweep check results/queues

Exit codes: 0 every cell is there; 1 a cell failed or is left; 2 wrong input";

pub(crate) const REPRODUCE: &str = "\
Examples:
  quell reproduce                       every experiment, with its source
  quell reproduce homegateway2011/m3    one experiment
  quell reproduce vdq2020 gsp2014       all experiments of two sources
  quell reproduce all --quick           whether everything runs, in two minutes
  quell reproduce all --report book.html
  quell reproduce all --shard 1/4 --store part1

Exit codes: 0 every run is there; 1 a run failed or is left; 2 wrong input";

pub(crate) const CHARACTERIZE: &str = "\
Examples:
  quell characterize dualpi2
  quell characterize pie:target=5ms --against codel,fq_codel
  quell characterize codel --only mild,rtt --cc reno,cubic
  quell characterize codel:target=3ms codel:target=5ms codel:target=9ms
  quell characterize dualpi2 --suite access --out results/home
  quell characterize red --profile 10mbit --json | jq .verdicts

Ctrl-C keeps every run that has ended, and the same command goes on";

pub(crate) const PLOT: &str = "\
Examples:
  quell plot results/one                              overview.svg
  quell plot results/one --kind ccdf -o delays.pdf
  quell plot results/compared --kind cdf
  quell plot results/fifo results/dualpi2 --kind completion
  quell plot results/queues --figure link.utilisation --against link.rate
  quell plot --list                                   what can be drawn";

pub(crate) const REPORT: &str = "\
Examples:
  quell report results/one                  report.html
  quell report results/compared -o queues.html --open
  quell run FILE --report one.html          the same with the run";

#[cfg(feature = "serve")]
pub(crate) const SERVE: &str = "\
Examples:
  quell serve                        the page opens what you choose
  quell serve FILE --speed 4
  quell serve FILE --world live      real packets, which the page can change
  quell serve results/one            plays a result
  quell serve --export site          a folder for any web server

Ctrl-C ends it";

pub(crate) const CHECK: &str = "\
Examples:
  quell check FILE
  quell check FILE --world live --set link.queue.target=5ms
  generate-scenario | quell check -";

pub(crate) const SCHEMA: &str = "\
Examples:
  quell schema > quell.schema.json   for editors: completes and checks scenario files
  quell schema sweep                 the same of sweep files; so experiment and suite
  quell schema summary               the keys of summary.json
  quell schema card                  the keys of card.json";

pub(crate) const NEW: &str = "\
Examples:
  quell new access -o mine.toml && quell run mine.toml
  quell new satellite | quell run -";

pub(crate) const EXPLAIN: &str = "\
Examples:
  quell explain --figures FILE
  quell explain --figures results/one | grep delay";

pub(crate) const KEYS: &str = "\
Examples:
  quell keys
  quell keys link.reverse";

pub(crate) const JUDGE: &str = "\
Examples:
  quell judge list
  quell judge explain law-scalable
  quell judge stacks/prague.toml --quick
  quell judge stacks/quinn.toml --claims l4s --clause response
  quell judge matrix results/judge -o matrix.html";

pub(crate) const PROFILES: &str = "\
Examples:
  quell profiles
  quell profiles dsl
  quell exec --profile dsl --queue dualpi2 -- chromium
  quell new --profile 3g -o mobile.toml";

pub(crate) const QUEUES: &str = "\
Examples:
  quell queues
  quell queues dualpi2";

pub(crate) const APPS: &str = "\
Examples:
  quell apps
  quell apps web";

pub(crate) const VALUES: &str = "\
Examples:
  quell values
  quell values gold";

pub(crate) const CC: &str = "\
Examples:
  quell cc
  quell cc --json
  quell cc load dctcp
  quell cc unload dctcp";

pub(crate) const KERNEL: &str = "\
Examples:
  quell kernel build                      from the distribution's newest source
  quell kernel build --source ~/linux     from your own tree
  quell kernel list -v                    with the controls and queues of each
  quell run FILE --world virtual --kernel 6.12";

pub(crate) const KERNEL_BUILD: &str = "\
Examples:
  quell kernel build
  quell kernel build --package 6.12
  quell kernel build --source ~/linux --name mine --config mine.config";

pub(crate) const DOCTOR: &str = "\
Example:
  quell doctor";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  quell completions bash > ~/.local/share/bash-completion/completions/quell
  quell completions zsh > ~/.zfunc/_quell       with fpath+=~/.zfunc before compinit
  quell completions fish > ~/.config/fish/completions/quell.fish";

pub(crate) const MAN: &str = "\
Example:
  quell man ~/.local/share/man/man1 && man quell-run
  quell man reference --reference";
