use super::*;
use crate::experiment::{Axis, Curve, Scale};

fn picture(scale: Scale, lines: Vec<Curve>) -> Picture {
    let axis = |label: &str| Axis { label: label.into(), scale };
    Picture { name: "p".into(), title: "A < B & \"C\"".into(), x: axis("distance"), y: axis("rate"), lines }
}

const SCALES: [Scale; 3] = [Scale::Linear, Scale::LinearOwnRange, Scale::Log];

#[test]
fn a_picture_scales_and_says_what_it_shows() {
    let text =
        svg(&picture(Scale::Log, vec![Curve::measured("swapping", 1, vec![(1.0, 0.1), (2.0, 0.2)])])).expect("drawn");
    let (open, _) = text.split_once('>').expect("a tag");
    assert!(open.starts_with("<svg ") && open.contains("viewBox=\"0 0 ") && open.contains("role=\"img\""), "{open}");
    assert!(!open.contains(" width=") && !open.contains(" height="), "{open}");
    assert!(open.contains("Vertical axis: rate") && open.contains("swapping"), "{open}");
    assert!(text.contains("<title>A &lt; B &amp; &quot;C&quot;</title>"), "{text}");
    assert!(
        !text.contains(" id=\"") && !text.contains("#010203"),
        "ids would clash, and the sentinel colour must be gone"
    );
}

#[test]
fn extreme_data_is_drawn_without_nan_or_infinity() {
    let hard =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0, 5e-324, 1e-300, 1.0, 1e16, f64::MAX, f64::MIN];
    for scale in SCALES {
        let mut sets: Vec<Vec<(f64, f64)>> = vec![vec![], vec![(1.0, 1.0)], vec![(3.0, 1.0), (3.0, 2.0)]];
        sets.push((0..9).map(|i| (f64::from(i), 0.5)).collect());
        sets.push(hard.iter().flat_map(|x| hard.map(|y| (*x, y))).collect());
        sets.extend(hard.iter().flat_map(|x| hard.map(|y| vec![(*x, y)])));
        for points in sets {
            let intervals = points.iter().map(|(x, y)| (y - 0.1, x * 2.0)).collect();
            let lines = vec![Curve::measured("a", 0, points.clone()).within(intervals), Curve::model("b", 99, points)];
            let text = svg(&picture(scale, lines)).expect("drawn");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            // The edge of the sheet, where plotters puts everything beyond it.
            assert!(!text.contains("99999"), "{text}");
        }
    }
}

#[test]
fn the_legend_explains_a_zero_on_a_log_axis_only_if_there_is_one() {
    let drawn =
        |y| svg(&picture(Scale::Log, vec![Curve::measured("a", 0, vec![(1.0, y), (2.0, 0.5)])])).expect("drawn");
    assert!(drawn(0.0).contains("zero: not on a logarithmic axis"));
    assert!(!drawn(0.1).contains("zero: not on a logarithmic axis"));
}

#[test]
fn a_picture_without_a_point_says_so() {
    for scale in SCALES {
        assert!(svg(&picture(scale, vec![])).expect("drawn").contains("no data"));
        assert!(
            !svg(&picture(scale, vec![Curve::measured("a", 0, vec![(1.0, 1.0)])])).expect("drawn").contains("no data")
        );
    }
}

#[test]
fn a_line_of_many_points_is_thinned_to_the_picture_s_resolution() {
    let points: Vec<_> = (0..200_000).map(|i| (f64::from(i), f64::from(i))).collect();
    let text = svg(&picture(Scale::Linear, vec![Curve::measured("a", 0, points)])).expect("drawn");
    assert!(text.len() < 150_000, "{}", text.len());
}
