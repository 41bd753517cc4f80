//! Items and pages of published experiments, each under one name.

use crate::PresetSettings;

pub(super) const PRESETS: &[PresetSettings] = &[
    PresetSettings {
        name: "l4s-demo",
        summary: "browsing of the L4S demonstration: 10 items/s at 40 Mbit/s, Pareto 0.9 from 1 kB to 1 MB",
        settings: &[
            ("model", "items"),
            ("rate", "10"),
            ("size", r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#),
        ],
    },
    PresetSettings {
        name: "ccafct",
        summary: "flow completion times of heistp/ccafct: 5 items/s, log-normal, 64 KiB (P5) to 2 MiB (P95)",
        settings: &[("model", "items"), ("rate", "5"), ("size", CCAFCT_SIZES)],
    },
    PresetSettings {
        name: "antler",
        summary: "flow completion times of heistp/antler at 100 Mbit/s: 20 items/s, sizes of ccafct",
        settings: &[("model", "items"), ("rate", "20"), ("size", CCAFCT_SIZES)],
    },
    page(
        "median-2024",
        "median page for desktops of October 2024 (Web Almanac): 71 objects, 2.65 MB, over HTTP/2",
        &[("model", "pages"), ("recipe", "median-2024")],
    ),
    page(
        "mobile-2024",
        "median page for mobiles of October 2024 (Web Almanac): 66 objects, 2.31 MB, over HTTP/2",
        &[("model", "pages"), ("recipe", "mobile-2024")],
    ),
    page(
        "heavy",
        "90th percentile of pages of 2019 (Web Almanac): 179 objects, 6 MB, over HTTP/2",
        &[("model", "pages"), ("recipe", "heavy")],
    ),
    page(
        "3gpp",
        "browsing of 3GPP as in ns-3: small pages of 2001, one object after the other on one connection, read for 30 s",
        THREE_GPP,
    ),
    page(
        "docsis",
        "the same, read for 3 s, as in the residential studies of DOCSIS",
        DOCSIS,
    ),
];

const fn page(
    name: &'static str,
    summary: &'static str,
    settings: &'static [(&'static str, &'static str)],
) -> PresetSettings {
    PresetSettings {
        name,
        summary,
        settings,
    }
}

const THREE_GPP: &[(&str, &str)] = &three_gpp(r#"{ mean = "30s", distribution = "exponential" }"#);
const DOCSIS: &[(&str, &str)] = &three_gpp(r#"{ mean = "3s", distribution = "exponential" }"#);

const fn three_gpp(reading: &'static str) -> [(&'static str, &'static str); 9] {
    [
        ("model", "pages"),
        ("recipe", "3gpp"),
        ("protocol", "http1"),
        ("connections", "1"),
        ("tls", "none"),
        ("request", "328B"),
        ("response-header", "0B"),
        (
            "parse",
            r#"{ mean = "130ms", distribution = "exponential" }"#,
        ),
        ("reading", reading),
    ]
}

pub(super) const CCAFCT_SIZES: &str = r#"{ p5 = "64KiB", p95 = "2MiB", min = "1B", max = "1GB" }"#;
