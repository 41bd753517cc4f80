use std::fs;
use std::path::Path;

use quell_testing::compare_or_bless;

use super::*;
use crate::plot::{Axis, Mark, Panel, Series};

type Vector = [f64; 3];
type Color = fn(&Entry) -> &str;

/// What somebody sees of linear RGB: everything; without the pigment for long, middle, short waves. Machado, Oliveira and Fernandes, A
/// Physiologically-based Model for Simulation of Color Vision Deficiency (2009), severity 1.0, applied to linear RGB.
const VISIONS: [[Vector; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
];

/// From linear RGB of sRGB to XYZ, beside the white of D65 (IEC 61966-2-1).
const XYZ: [Vector; 3] = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
];

fn times(matrix: &[Vector; 3], by: Vector) -> Vector {
    matrix.map(|row| row.iter().zip(by).map(|(a, b)| a * b).sum())
}

fn linear(color: &str) -> Vector {
    channels(color).map(|part| match f64::from(part) / 255.0 {
        part if part <= 0.04045 => part / 12.92,
        part => ((part + 0.055) / 1.055).powf(2.4),
    })
}

fn lab(rgb: Vector) -> Vector {
    let [x, y, z] = times(&XYZ, rgb.map(|part| part.clamp(0.0, 1.0)));
    let [x, y, z] = [x / 0.95047, y, z / 1.08883].map(|part| match part {
        part if part > 216.0 / 24389.0 => part.cbrt(),
        part => (24389.0 / 27.0 * part + 16.0) / 116.0,
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// CIEDE2000, as in Sharma, Wu and Dalal, The CIEDE2000 Color-Difference Formula (2005), whose symbols it keeps.
fn distance([l1, a1, b1]: Vector, [l2, a2, b2]: Vector) -> f64 {
    let seventh = |c: f64| (c.powi(7) / (c.powi(7) + 25.0_f64.powi(7))).sqrt();
    let g = 1.0 + 0.5 * (1.0 - seventh((a1.hypot(b1) + a2.hypot(b2)) / 2.0));
    let polar = |a: f64, b: f64| (a.hypot(b), b.atan2(a).to_degrees().rem_euclid(360.0));
    let ((c1, h1), (c2, h2)) = (polar(a1 * g, b1), polar(a2 * g, b2));
    let turn = (h2 - h1 + 180.0).rem_euclid(360.0) - 180.0;
    let (l, c) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let h = h1 + turn / 2.0;
    let cos = |times: f64, shift: f64| (times * h + shift).to_radians().cos();
    let t = 1.0 - 0.17 * cos(1.0, -30.0) + 0.24 * cos(2.0, 0.0) + 0.32 * cos(3.0, 6.0)
        - 0.2 * cos(4.0, -63.0);
    let theta = 30.0 * (-((h.rem_euclid(360.0) - 275.0) / 25.0).powi(2)).exp();
    let (sc, sh) = (1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let sl = 1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt();
    let dh = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin() / sh;
    let (dl, dc) = ((l2 - l1) / sl, (c2 - c1) / sc);
    let rt = -(2.0 * theta).to_radians().sin() * 2.0 * seventh(c);
    (dl * dl + dc * dc + dh * dh + rt * dc * dh).sqrt()
}

#[test]
fn the_distance_is_that_of_the_published_pairs() {
    // Pairs 1, 9, 17 and 25 of Sharma, Wu and Dalal: blue, across the hue of 0, far apart, near.
    let pairs = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0009], 7.1792),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        (
            [60.2574, -34.0099, 36.2677],
            [60.4626, -34.1751, 39.4387],
            1.2644,
        ),
    ];
    for (one, other, published) in pairs {
        let ours = distance(one, other);
        assert!((ours - published).abs() < 1e-4, "{ours} for {published}");
    }
}

/// The bounds are those of the design of the colours, to the digit that it gives: 0.05 below it.
#[test]
fn two_colours_differ_for_every_kind_of_vision() {
    let (queues, traffic) = PALETTE.split_at(families());
    let least = |of: &[Entry], color: Color| {
        let pairs = (0..of.len()).flat_map(|a| (0..a).map(move |b| [&of[a], &of[b]]));
        let each = pairs.flat_map(|pair| VISIONS.map(|vision| (pair, vision)));
        each.map(|(pair, vision)| {
            let [a, b] = pair.map(|entry| lab(times(&vision, linear(color(entry)))));
            distance(a, b)
        })
        .fold(f64::INFINITY, f64::min)
    };
    let (light, dark): (Color, Color) = (|entry| &entry.light, |entry| &entry.dark);
    let traffic = &traffic[..CLASSES];
    for (of, color, bound) in [
        (traffic, light, 27.5),
        (traffic, dark, 25.4),
        (queues, light, 19.4),
        (queues, dark, 17.0),
    ] {
        let found = least(of, color);
        assert!(found > bound - 0.05, "{found} for {bound}");
    }
}

/// The contrast of WCAG 2, with the papers of pictures and of the page: 3.7, to the digit that is given.
#[test]
fn every_colour_stands_out_from_its_paper() {
    let luminance = |color: &str| times(&XYZ, linear(color))[1];
    for entry in PALETTE.iter() {
        for (color, paper) in [
            (&entry.light, "#ffffff"),
            (&entry.dark, "#16181d"),
            (&entry.dark, "#12161c"),
        ] {
            let pair = [luminance(color), luminance(paper)].map(|y| y + 0.05);
            let contrast = f64::max(pair[0], pair[1]) / f64::min(pair[0], pair[1]);
            assert!(contrast > 3.65, "{contrast} of {} on {paper}", entry.name);
        }
    }
}

/// In grey print a line is known by its dashes and its width; a second line of a kind, such as that of another group, still differs from the
/// first.
#[test]
fn without_colours_every_queue_has_a_line_of_its_own() {
    let mut lines = Vec::new();
    for kind in PALETTE.iter().flat_map(|entry| &entry.kinds) {
        let (color, home) = family(kind).unwrap();
        let of = |place| Style::new(color, (home, PALETTE[color].kinds.len()), place);
        assert_ne!(of(0).dashes, of(1).dashes, "{kind}");
        lines.push((kind, of(0).width.to_bits(), of(0).dashes));
    }
    for (index, (kind, width, dashes)) in lines.iter().enumerate() {
        let same = |other: &&(_, u64, &[f64])| (&other.1, &other.2) == (width, dashes);
        assert!(lines[..index].iter().find(same).is_none(), "{kind}");
    }
    let traffic = [0, 1, 2].map(|class| Style::new(families() + class, (class, CLASSES), 0).dashes);
    assert!(traffic[0] != traffic[1] && traffic[1] != traffic[2] && traffic[0] != traffic[2]);
}

#[test]
fn every_queue_has_a_family() {
    for kind in quell_aqm::disciplines::KINDS {
        assert!(family(kind.name).is_some(), "{}", kind.name);
    }
}

#[test]
fn a_queue_has_its_colour_wherever_it_stands() {
    let styled = |labels: &[&str]| {
        let axis = || Axis::new("", "");
        let mut panel = Panel::new("", axis(), axis());
        panel.series = (0..)
            .zip(labels)
            .map(|(place, label)| {
                let of = (place, String::new());
                Series::new(label, of, Mark::Line, Vec::new())
            })
            .collect();
        let figure = Figure {
            title: String::new(),
            panels: vec![panel],
            columns: 1,
        };
        styles(&figure).remove(0)
    };
    let some = styled(&["fifo l4s", "pie:target=5ms", "pie", "mine"]);
    let others = styled(&["pie:target=5ms", "codel", "pie", "fifo l4s"]);
    assert_eq!(some[..3], [others[3], others[0], others[2]]);
    assert_eq!(some[1].color, some[2].color);
    assert_ne!(some[1].dashes, some[2].dashes);
    assert_eq!(PALETTE[some[3].color].name, "ink");
    // What is neither takes the colours in turn, and never blue or orange.
    let unnamed: Vec<usize> = styled(&["a"; 9]).iter().map(|one| one.color).collect();
    assert_eq!(unnamed, [0, 1, 2, 3, 4, 0, 1, 2, 3]);
}

/// The lines between the two comments, for one kind of paper.
fn variables(indent: &str, color: Color) -> String {
    let traffic = &PALETTE[families()..families() + CLASSES];
    let of = |prefix: &'static str, entries: &[Entry]| -> String {
        let each = entries.iter();
        each.map(|entry| format!("{indent}--{prefix}{}: {};\n", entry.name, color(entry)))
            .collect()
    };
    of("", traffic) + &of("queue-", &PALETTE[..families()])
}

#[test]
fn the_copies_for_the_page_and_for_python_are_current() {
    const ENDS: [&str; 2] = ["/* colours.json */\n", "/* end */\n"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = root.join("web/static/page.css");
    let kept = fs::read_to_string(&page).unwrap();
    let mut papers = [
        variables("    ", |entry| &entry.light),
        variables("        ", |entry| &entry.dark),
    ]
    .into_iter();
    let mut current = String::new();
    let mut is_copy = false;
    for line in kept.split_inclusive('\n') {
        is_copy &= line.trim_start() != ENDS[1];
        if !is_copy {
            current.push_str(line);
        }
        if line.trim_start() == ENDS[0] {
            is_copy = true;
            current.push_str(&papers.next().unwrap());
        }
    }
    assert_eq!(papers.next(), None, "page.css has both papers");
    compare_or_bless(&page, &current);
    let python = format!(
        "\"\"\"The colours of traffic and queues: generated from colours.json, which pictures and page share.\"\"\"\n\n\
         from typing import Any\n\nCOLOURS: Any = {FILE}",
    );
    compare_or_bless(&root.join("python/src/quell/_colours.py"), &python);
}
