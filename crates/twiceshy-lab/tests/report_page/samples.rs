//! A report over made-up data that looks like the lab's, and over data that is hard to show.

use twiceshy_lab::experiment::{Axis, Curve, Evidence, Finding, Origin, Picture, Size, Statement, Table};
use twiceshy_lab::line;
use twiceshy_lab::report::{Absent, Report, Section};
use twiceshy_lab::workload::rng::Rng;

const FILTERS: [(&str, f64, f64); 7] = [
    ("cuckoo filter", 8e-3, 0.0),
    ("cyclic, s = 1", 5e-3, 0.9),
    ("cyclic, s = 2", 6e-3, 1.1),
    ("swapping", 3e-3, 1.3),
    ("cuckooing", 4e-3, 1.2),
    ("telescoping", 3.9e-3, 1.9),
    ("broom", 4.1e-3, 2.1),
];
const RATIOS: [f64; 10] = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 70.0, 100.0];

/// The report.
pub(crate) fn report() -> Report {
    let sections = vec![rates(), games(), speeds(), hard()];
    let absent = Absent {
        name: "recorded-traces".into(),
        measures: "False-positive rates on recorded requests, over A/S".into(),
        source: "this project: no paper uses these traces".into(),
        why: "needs recorded traces: name their folder with `--data`".into(),
    };
    Report { version: "0.1.0".into(), seed: 20_260_801, size: Size::Quick, sections, absent: vec![absent] }
}

fn rate(filter: usize, ratio: f64) -> f64 {
    let (_, start, slope) = FILTERS[filter];
    start / (100.0 / ratio).powf(slope)
}

fn origin(date: &str, seconds: f64) -> Origin {
    Origin {
        trials: None,
        earlier: Vec::new(),
        adding: None,
        version: "0.1.0".into(),
        build: "0123456789ab".into(),
        commit: "74cbff39c4e244250a12bc82b3402b78f22f571b".into(),
        machine: "A processor with a long name and a number, at 2.80 GHz".into(),
        cores: 2,
        date: date.into(),
        seconds,
    }
}

fn section(name: &str, claim: &str, source: &str) -> Section {
    Section {
        name: name.into(),
        measures: format!("What was measured of: {claim}"),
        claim: claim.into(),
        source: source.into(),
        method: vec![],
        pictures: vec![],
        findings: vec![],
        table: Table::new(["filter"]),
        gaps: vec![],
        origin: None,
    }
}

fn picture(name: &str, title: &str, x: Axis, y: Axis, lines: Vec<Curve>) -> Picture {
    Picture { name: name.into(), title: title.into(), x, y, lines }
}

/// Twelve lines over six decades, with zeros.
fn rates() -> Section {
    let mut rng = Rng::new(1);
    let mut table = Table::new(["filter", "ratio", "queries", "false positives", "fpr"]);
    let mut measured = |filter: usize, least: f64| {
        let mut points = Vec::new();
        for ratio in RATIOS {
            let found = rate(filter, ratio) * (0.85 + 0.3 * rng.unit());
            let found = if found < least { 0.0 } else { found };
            table.push(line![FILTERS[filter].0, ratio, 10_000_000u64, (found * 1e7) as u64, found]);
            points.push((ratio, found));
        }
        Curve::measured(FILTERS[filter].0, filter, points)
    };
    let mut lines: Vec<_> = (0..7).map(|filter| measured(filter, 0.0)).collect();
    let thin = (0..7).map(|filter| measured(filter, 3e-6)).collect();
    lines.extend((1..6).map(|filter| {
        let points = (0..=60).map(|i| 10f64.powf(f64::from(i) / 30.0)).map(|ratio| (ratio, rate(filter, ratio)));
        Curve::model(
            format!("model of {}", FILTERS[filter].0.split(", ").next().unwrap_or("")),
            filter,
            points.collect::<Vec<_>>(),
        )
    }));
    let axes = || (Axis::log("A/S: distinct absent queries for each stored key"), Axis::log("false positives a query"));
    let ((x, y), (x2, y2)) = (axes(), axes());
    Section {
        method: vec![
            "A set of 8,192 keys; A/S times as many absent keys, each asked in random order ten times. The data is \
             made up, to see what such a picture looks like."
                .into(),
            "The filters have the same number of cells.".into(),
        ],
        pictures: vec![
            picture("uniform-queries", "Uniform queries: rates of seven filters and five models, 8 bits", x, y, lines),
            picture("uniform-queries-thin", "The same with too few queries: some saw no false positive", x2, y2, thin),
        ],
        findings: findings(),
        table,
        gaps: vec!["Planned, but without data: A/S 200, A/S 500.".into()],
        origin: Some(origin("2026-11-18", 734.2)),
        ..section(
            "uniform",
            "Uniform queries: the adaptive filters err less the fewer distinct queries there are",
            "003, Figures 1 to 3",
        )
    }
}

fn findings() -> Vec<Finding> {
    let of = |paper: &str, tested: &str, value: f64, most: f64| {
        Statement::new(paper, tested).every(vec![Evidence::exact("A/S 10", value).below(most)])
    };
    let reason = of(
        "The table here is filled to 95 percent, the paper's to 90: more cells match by chance",
        "the rate over that at 90 percent",
        1.1,
        1.2,
    );
    let statements = [
        of("003 section 4.1: the second variant is better in almost all cases", "the ratio of the rates", 0.8, 1.0),
        of("003 Figure 2: at A/S = 1 the rate is below 1e-6", "the rate", 4.1e-6, 1e-6).because(reason),
        of("004 Figure 5: the rate rises with A/S", "the rate at 70 over that at 100", 1.5, 1.0),
        of("001 Theorem 4: at most ε n and a term of lower order", "the games won", f64::NAN, 0.1),
    ];
    statements.iter().map(|statement| statement.judge(twiceshy_lab::statistics::Looks::from(10))).collect()
}

/// Shares with intervals.
fn games() -> Section {
    let mut rng = Rng::new(2);
    let mut lines = Vec::new();
    for (look, (name, floor)) in
        [("quotient filter", 0.97), ("cyclic", 0.34), ("telescoping", 0.02)].into_iter().enumerate()
    {
        let shares: Vec<f64> = (0..8).map(|i| (floor + 0.03 * f64::from(i) * rng.unit()).min(1.0)).collect();
        let points = shares.iter().enumerate().map(|(i, share)| (4.0 + i as f64, *share));
        let intervals = shares.iter().map(|share| ((share - 0.05).max(0.0), (share + 0.05).min(1.0)));
        lines.push(Curve::measured(name, look + 4, points.collect::<Vec<_>>()).within(intervals.collect()));
    }
    let y = Axis::linear("games that the adversary won, with 95 % intervals");
    let picture = picture("games", "An adversary who replays mistakes", Axis::linear("bits of remainder"), y, lines);
    let claim = "An adversary wins nearly every game against a filter that does not adapt";
    Section {
        pictures: vec![picture],
        origin: Some(origin("2026-11-19", 4.25)),
        ..section("games", claim, "001, Definition 3")
    }
}

/// Millions over a narrow range.
fn speeds() -> Section {
    let loads = || (0..=20).map(|i| 0.5 + 0.0235 * f64::from(i));
    let speed = |base: f64, bend: f64| -> Vec<(f64, f64)> {
        loads().map(|load| (load, base * (1.0 - bend * load.powi(9)))).collect()
    };
    let lines = vec![
        Curve::measured("quotient filter", 7, speed(14.2e6, 0.8)),
        Curve::measured("telescoping", 5, speed(11.9e6, 0.85)),
        Curve::measured("broom", 6, speed(9.5e6, 0.7)),
        Curve::measured("cyclic", 1, speed(17.4e6, 0.1)),
    ];
    let y = Axis::linear("look-ups a second");
    let picture = picture("speeds", "Look-ups while the table fills", Axis::own_range("load factor"), y, lines);
    let claim = "The look-ups of the quotient family slow down as the table fills, those of the cuckoo family do not";
    Section { pictures: vec![picture], ..section("speeds", claim, "004, Figure 7") }
}

/// No data, only zeros, one point, long words, a long and wide table.
fn hard() -> Section {
    let word = "supercalifragilistic".repeat(6);
    let mut table = Table::new((0..40).map(|i| format!("column {i} of a table that is wide")));
    (0..300u64).for_each(|i| table.push((0..40).map(|j| ((i * 7919 + j) * 104_729).into()).collect()));
    let zeros =
        (0..20).map(|i| Curve::measured(format!("filter {i}"), i, vec![(1.0, 0.0), (2.0, 0.0), (3.0 + i as f64, 0.0)]));
    let looks = (0..20).map(|i| {
        let points = (0..8).map(|x| (f64::from(x), i as f64 + f64::from(x % 2) * 0.4));
        Curve::measured(format!("look {i}"), i, points.collect::<Vec<_>>())
    });
    let huge = vec![(1e-300, 5e-324), (1.0, 1.0), (1e300, f64::MAX), (f64::NAN, 3.0)];
    let log = || (Axis::log("x"), Axis::log("y"));
    let ((a, b), (c, d), (e, f)) = (log(), log(), log());
    let offset = vec![(0.0, 1_000_000.1), (1.0, 1_000_000.3)];
    Section {
        method: vec![word.clone()],
        pictures: vec![
            picture("none", "No line at all", Axis::linear("x"), Axis::linear("y"), vec![]),
            picture("zeros", "Zeros alone", a, b, zeros.collect()),
            picture("looks", "All looks", Axis::linear("x"), Axis::linear("y"), looks.collect()),
            picture("huge", "From the least number to the greatest", c, d, vec![Curve::measured("huge", 3, huge)]),
            picture("one", &word, e, f, vec![Curve::measured(&word, 2, vec![(5.0, 5e-4)])]),
            picture(
                "offset",
                "Far from zero",
                Axis::linear("x"),
                Axis::own_range("y"),
                vec![Curve::measured("a", 0, offset)],
            ),
        ],
        findings: vec![
            Statement::new(&word, &word)
                .every(vec![Evidence::exact(&word, f64::NAN)])
                .judge(twiceshy_lab::statistics::Looks::from(10)),
        ],
        table,
        ..section("hard", &word, &word)
    }
}
