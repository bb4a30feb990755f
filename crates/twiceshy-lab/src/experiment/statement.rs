//! A paper's statement as a hypothesis that the data can support, refute, or leave open.

use super::evidence::{Estimate, Evidence, Place};
use super::finding::{Finding, Verdict};
use crate::statistics::Looks;

/// The probability that any verdict of a run is wrong, *agrees* or *differs*.
const RUN_ERROR: f64 = 0.01;

/// The most statements that all experiments have together, reasons included. They share the error of a run.
pub(crate) const STATEMENTS: usize = 300;

/// A statement of a paper, or of this project, with the evidence for it and against it.
///
/// *Agrees* means that every interval needed lies wholly where the statement says; *differs*, that some lie wholly
/// elsewhere; otherwise it is *open*. So the absence of a difference is never taken for agreement.
///
/// All statements of a run share its error, and each is wrong at most with the probability of its share. That does not mean
/// that the share is divided by the number of points. If all of `n` points must hold, and one truly does not, *agrees* is
/// wrong only if the interval of that one point is wrong: an intersection-union test (R. L. Berger, 1982), in which every
/// interval may have the whole error. *Differs* is wrong if any of the `n` intervals is, so there the error is divided by
/// `n`. The same holds for a share of the points, with other divisors.
///
/// A statement is judged at the planned [`Looks`] of its run.
///
/// ```
/// use twiceshy_lab::experiment::{Evidence, Statement, Verdict};
/// use twiceshy_lab::statistics::Looks;
///
/// let statement = Statement::new("Theorem 4: at most a bit a key", "bits of the selectors found")
///     .every(vec![Evidence::exact("b = 2", 0.7).below(1.0)]);
/// assert_eq!(statement.judge(Looks::from(10)).verdict, Verdict::Agrees);
/// ```
#[derive(Clone, Debug)]
pub struct Statement {
    paper: String,
    tested: String,
    parts: Vec<Part>,
    reason: Option<Box<Statement>>,
}

/// Evidence of which a share must lie where the statement says.
#[derive(Clone, Debug)]
struct Part {
    share: f64,
    evidence: Vec<Evidence>,
}

impl Statement {
    /// A statement: what the paper says, with its place, and what is estimated to test it.
    pub fn new(paper: impl Into<String>, tested: impl Into<String>) -> Statement {
        Statement { paper: paper.into(), tested: tested.into(), parts: Vec::new(), reason: None }
    }

    /// All of these must hold.
    #[must_use]
    pub fn every(self, evidence: Vec<Evidence>) -> Statement {
        self.most(1.0, evidence)
    }

    /// At least this share of these must hold: for "almost all" and "in most cases".
    #[must_use]
    pub fn most(mut self, share: f64, evidence: Vec<Evidence>) -> Statement {
        self.parts.push(Part { share, evidence });
        self
    }

    /// Why the data differ, if they do. The reason is a statement itself, and counts only if its own evidence supports
    /// it.
    #[must_use]
    pub fn because(mut self, reason: Statement) -> Statement {
        self.reason = Some(Box::new(reason));
        self
    }

    /// The number of statements here: one, or two with a reason.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        1 + self.reason.as_ref().map_or(0, |reason| reason.count())
    }

    /// Compares it with its evidence.
    pub fn judge(&self, looks: Looks) -> Finding {
        self.judge_and_ask(looks).0
    }

    /// Compares it with its evidence, and names the points that more trials could decide it at.
    pub(super) fn judge_and_ask(&self, looks: Looks) -> (Finding, Vec<String>) {
        let all: usize = self.parts.iter().map(|part| part.evidence.len()).sum();
        let parts: Vec<Judged> = self.parts.iter().map(|part| part.judge(all, looks)).collect();
        let nothing = parts.is_empty() || parts.iter().any(|part| part.estimates.is_empty());
        let places = || parts.iter().map(|part| part.place);
        let (verdict, mut asked) = if nothing {
            (Verdict::Unexplained, Vec::new())
        } else if places().any(|place| place == Place::Outside) {
            self.explained(looks)
        } else if places().all(|place| place == Place::Inside) {
            (Verdict::Agrees, Vec::new())
        } else {
            let asked = parts.iter().flat_map(|part| part.unclear.iter().cloned()).collect();
            (Verdict::Open(format!("not clear after {}", trials(&parts))), asked)
        };
        asked.sort_unstable();
        asked.dedup();
        let measured = if nothing { "nothing was measured".into() } else { told(&parts) };
        let estimates = parts.into_iter().flat_map(|part| part.estimates.into_iter().map(|(it, _)| it)).collect();
        let (paper, tested) = (self.paper.clone(), self.tested.clone());
        (Finding { paper, tested, measured, verdict, estimates }, asked)
    }

    /// The verdict where the data differ: with the reason, if that is supported.
    fn explained(&self, looks: Looks) -> (Verdict, Vec<String>) {
        let Some(reason) = &self.reason else { return (Verdict::Unexplained, Vec::new()) };
        let (finding, asked) = reason.judge_and_ask(looks);
        match finding.verdict {
            Verdict::Agrees => {
                // Its other estimates are in the data.
                let first = finding.measured.split("; ").next().unwrap_or_default();
                let more = if finding.measured.len() > first.len() { "; …" } else { "" };
                (Verdict::Differs(format!("{} ({first}{more})", finding.paper)), Vec::new())
            }
            _ => (Verdict::Unexplained, asked),
        }
    }
}

/// A part of a statement, judged.
struct Judged {
    place: Place,
    estimates: Vec<(Estimate, Place)>,
    /// The points of the evidence that is not clear.
    unclear: Vec<String>,
}

/// The errors of the intervals of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Errors {
    /// Of the intervals by which a point is inside.
    pub(super) inside: f64,
    /// Of the intervals by which a point is outside.
    pub(super) outside: f64,
}

/// How a part of `count` points, of which `needed` must hold, is decided.
///
/// It is inside if at least `inside` intervals are, `inside ≥ needed`. That is wrong if fewer than `needed` points hold: then
/// `k ≥ count − needed + 1` do not, and the intervals of at least `inside − (count − k)` of these are wrong. By Markov's
/// inequality the probability is at most `k·error/(inside − count + k)`, which is largest for the fewest `k`:
/// `(count − needed + 1)·error/(inside − needed + 1)`. So a rule that asks for more intervals inside than must hold may take
/// narrower ones. In the same way it is outside if more than `count − needed` intervals are.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rule {
    /// The number of intervals that must be inside.
    inside: usize,
    /// The number that must be outside.
    outside: usize,
    errors: Errors,
}

impl Rule {
    /// The rule that wants `more.0` intervals inside beyond those that must hold, or `more.1` outside beyond those that may fail.
    fn new((needed, count): (usize, usize), more: (usize, usize), error: Errors) -> Rule {
        let may_fail = count - needed;
        let part = |error: f64, of: usize, more: usize| error * (more + 1) as f64 / of.max(1) as f64;
        Rule {
            inside: needed + more.0,
            outside: may_fail + 1 + more.1,
            errors: Errors {
                inside: part(error.inside, may_fail + 1, more.0),
                outside: part(error.outside, needed, more.1),
            },
        }
    }

    /// The rules of a part; any of them may decide. If a part of the points may fail there are two, which divide the error:
    /// for points that nearly all clearly hold (or do not), and for just enough of them. `share` is the part's share of
    /// the points of its statement: one part outside is enough for *differs*, so the parts divide that error; *agrees* needs
    /// all of them.
    fn all(needed: usize, count: usize, share: f64) -> Vec<Rule> {
        let error = RUN_ERROR / STATEMENTS as f64;
        let of = |divisor: f64| Errors { inside: error / divisor, outside: error * share / divisor };
        let (may_fail, is_all) = (count - needed, needed == count);
        if is_all {
            return vec![Rule::new((needed, count), (0, 0), of(1.0))];
        }
        let half = (may_fail / 2, needed.saturating_sub(1) / 2);
        vec![Rule::new((needed, count), half, of(2.0)), Rule::new((needed, count), (0, 0), of(2.0))]
    }
}

impl Part {
    /// How many of its points must hold.
    fn needed(&self) -> usize {
        (self.share * self.evidence.len() as f64 - 1e-9).ceil() as usize
    }

    /// `all` is the number of points of all parts.
    fn judge(&self, all: usize, looks: Looks) -> Judged {
        let count = self.evidence.len();
        let mut judged = Judged { place: Place::Unclear, estimates: Vec::new(), unclear: Vec::new() };
        for rule in Rule::all(self.needed().min(count), count, count as f64 / all.max(1) as f64) {
            let by_rule = self.judge_by(rule, looks);
            if by_rule.place != Place::Unclear {
                return by_rule;
            }
            // More trials may decide by any rule. The last has the widest intervals, so it shows why nothing is clear.
            let unclear = [judged.unclear, by_rule.unclear].concat();
            judged = Judged { unclear, ..by_rule };
        }
        judged
    }

    fn judge_by(&self, rule: Rule, looks: Looks) -> Judged {
        let estimates: Vec<(Estimate, Place)> = self.evidence.iter().map(|it| it.judge(rule.errors, looks)).collect();
        let count = |wanted: Place| estimates.iter().filter(|(_, place)| *place == wanted).count();
        let place = if count(Place::Inside) >= rule.inside {
            Place::Inside
        } else if count(Place::Outside) >= rule.outside {
            Place::Outside
        } else {
            Place::Unclear
        };
        let unclear = self.evidence.iter().zip(&estimates).filter(|(_, (_, place))| *place == Place::Unclear);
        let unclear = unclear.flat_map(|(evidence, _)| evidence.points().iter().cloned()).collect();
        Judged { place, unclear: if place == Place::Unclear { unclear } else { Vec::new() }, estimates }
    }
}

/// The fewest and the most trials of what is not clear.
fn trials(parts: &[Judged]) -> String {
    let unclear = parts.iter().flat_map(|part| &part.estimates).filter(|(_, place)| *place == Place::Unclear);
    let counts: Vec<usize> = unclear.map(|(estimate, _)| estimate.trials).collect();
    let (least, most) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    if least == most { format!("{most} trials") } else { format!("{least} to {most} trials") }
}

/// How many estimates are shown in words; the others are in the data.
const SHOWN: usize = 6;

/// How many hold, and the estimates that decide: first those outside, then those that are not clear, then the others.
fn told(parts: &[Judged]) -> String {
    let all: Vec<&(Estimate, Place)> = parts.iter().flat_map(|part| &part.estimates).collect();
    let of = |wanted: Place| all.iter().filter(move |(_, place)| *place == wanted).map(|(estimate, _)| estimate);
    let ordered = of(Place::Outside).chain(of(Place::Unclear)).chain(of(Place::Inside));
    let shown: Vec<String> = ordered.take(SHOWN).map(ToString::to_string).collect();
    if all.len() == 1 {
        return shown.join("");
    }
    let counts = [
        (Place::Inside, ["holds", "hold"]),
        (Place::Outside, ["does not", "do not"]),
        (Place::Unclear, ["not clear"; 2]),
    ]
    .map(|(place, [one, many])| {
        let count = of(place).count();
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    });
    let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let more = if all.len() > SHOWN { "; …" } else { "" };
    format!("{counts}, of {}: {}{more}", all.len(), shown.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Table, line};
    use crate::workload::rng::Rng;

    const LOOKS: Looks = Looks::from(10);

    fn exact(values: &[f64]) -> Vec<Evidence> {
        values.iter().map(|value| Evidence::exact("value", *value).below(1.0)).collect()
    }

    fn of(share: f64, values: &[f64]) -> Verdict {
        Statement::new("", "").most(share, exact(values)).judge(LOOKS).verdict
    }

    #[test]
    fn all_means_all_and_almost_all_means_the_stated_share() {
        assert_eq!(of(1.0, &[0.5, 0.9]), Verdict::Agrees);
        assert_eq!(of(1.0, &[0.5, 1.1]), Verdict::Unexplained);
        assert_eq!(of(0.75, &[0.5, 0.5, 0.5, 1.1]), Verdict::Agrees);
        assert_eq!(of(0.8, &[0.5, 0.5, 0.5, 1.1]), Verdict::Unexplained);
        assert_eq!(of(0.5, &[]), Verdict::Unexplained, "nothing measured");
        assert!(matches!(of(1.0, &[0.5, f64::NAN]), Verdict::Open(_)));
        assert_eq!(of(1.0, &[2.0, f64::NAN]), Verdict::Unexplained, "one counterexample is enough");
    }

    #[test]
    fn a_reason_counts_only_if_its_own_evidence_supports_it() {
        let reason = |value: f64| Statement::new("too full", "load").every(exact(&[value]));
        let differing = |value| Statement::new("", "").every(exact(&[2.0])).because(reason(value)).judge(LOOKS).verdict;
        assert!(matches!(differing(0.5), Verdict::Differs(why) if why.starts_with("too full")));
        assert_eq!(differing(2.0), Verdict::Unexplained, "the reason is refuted");
        assert_eq!(differing(f64::NAN), Verdict::Unexplained, "the reason is not shown");
        let agreeing = Statement::new("", "").every(exact(&[0.5])).because(reason(0.5));
        assert_eq!((agreeing.judge(LOOKS).verdict, agreeing.count()), (Verdict::Agrees, 2));
    }

    /// Draws around a mean, at the point `here`.
    fn sample(mean: f64, trials: u64, seed: u64) -> super::super::Sample {
        let mut rng = Rng::new(seed);
        let mut table = Table::new(["value", "point", "trial"]);
        for trial in 0..trials {
            let sum: f64 = (0..12).map(|_| rng.unit()).sum();
            table.push(line![mean + 0.1 * (sum - 6.0), "here", trial]);
        }
        table.sample("value")
    }

    #[test]
    fn an_open_statement_asks_for_trials_where_it_is_not_clear() {
        let statement = |trials| {
            let evidence = Evidence::mean("mean", &sample(0.9, trials, 1)).within(0.8, 1.0);
            Statement::new("", "").every(vec![evidence, Evidence::exact("sure", 0.9).below(1.0)])
        };
        let (few, asked) = statement(10).judge_and_ask(LOOKS);
        assert!(matches!(few.verdict, Verdict::Open(_)), "{few:?}");
        assert_eq!(asked, ["here"]);
        let (many, asked) = statement(200).judge_and_ask(LOOKS);
        assert_eq!((many.verdict, asked), (Verdict::Agrees, vec![]));
    }

    #[test]
    fn where_no_rule_decides_any_of_them_may_ask() {
        // Two of four must hold. One surely does, two surely do not; the last does by the first rule, which wants three.
        let [first, second] = Rule::all(2, 4, 1.0)[..] else { panic!("two rules") };
        let sample = sample(0.9, 10, 1);
        let low = |rule: Rule| Evidence::mean("", &sample).above(0.0).at(rule.errors.inside, LOOKS).0.interval.low;
        assert!(low(first) > low(second));
        let between = Evidence::mean("", &sample).above(f64::midpoint(low(first), low(second)));
        let statement = Statement::new("", "").most(0.5, [exact(&[0.5, 2.0, 2.0]), vec![between]].concat());
        let (finding, asked) = statement.judge_and_ask(LOOKS);
        assert!(matches!(&finding.verdict, Verdict::Open(why) if why.contains("10 trials")), "{finding:?}");
        assert_eq!(asked, ["here"]);
    }

    fn close(one: f64, other: f64) -> bool {
        (one / other - 1.0).abs() < 1e-9
    }

    #[test]
    fn agreement_at_all_points_costs_no_more_than_at_one_and_a_share_costs_what_may_fail() {
        let error = RUN_ERROR / STATEMENTS as f64;
        let rules = |needed, count, share| -> Vec<(usize, f64, usize, f64)> {
            let told = |rule: Rule| {
                let of = |error_of_rule: f64| error / error_of_rule;
                (rule.inside, of(rule.errors.inside), rule.outside, of(rule.errors.outside))
            };
            Rule::all(needed, count, share).into_iter().map(told).collect()
        };
        let is_near = |found: &[(usize, f64, usize, f64)], wanted: &[(usize, f64, usize, f64)]| {
            found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(found, wanted)| {
                    (found.0, found.2) == (wanted.0, wanted.2) && close(found.1, wanted.1) && close(found.3, wanted.3)
                })
        };
        assert!(is_near(&rules(1, 1, 1.0), &[(1, 1.0, 1, 1.0)]));
        assert!(is_near(&rules(585, 585, 1.0), &[(585, 1.0, 1, 585.0)]));
        assert!(is_near(&rules(2, 2, 0.5), &[(2, 1.0, 1, 4.0)]));
        // 90 of 100: 95 inside with 6/11 of half of the error, or 90 with 1/11 of it.
        let of_90 = [(95, 2.0 * 11.0 / 6.0, 55, 2.0 * 90.0 / 45.0), (90, 22.0, 11, 180.0)];
        assert!(is_near(&rules(90, 100, 1.0), &of_90), "{:?}", rules(90, 100, 1.0));
        let many = |trials| (0..585).map(|seed| Evidence::mean("", &sample(0.8, trials, seed)).below(1.0)).collect();
        assert_eq!(Statement::new("", "").every(many(60)).judge(LOOKS).verdict, Verdict::Agrees);
    }

    /// How many of a hundred runs agree that 18 of 20 points hold, if `failing` of them lie on the border, where an interval
    /// is wrong most often, and the others surely hold. Each rule has this error.
    fn agreed(failing: u64, error: f64, rule: impl Fn(Errors) -> Rule) -> usize {
        let errors = Errors { inside: error, outside: error };
        let agreed_at = |run: u64, trials: u64| {
            let point = |number: u64| {
                let mean = if number < failing { 1.0 } else { 0.5 };
                Evidence::mean("", &sample(mean, trials, 1_000 * run + number)).below(1.0)
            };
            let part = Part { share: 0.9, evidence: (0..20).map(point).collect() };
            part.judge_by(rule(errors), LOOKS).place == Place::Inside
        };
        (0..100).filter(|run| [10, 20, 40, 80].iter().any(|trials| agreed_at(*run, *trials))).count()
    }

    #[test]
    fn points_that_fail_are_seldom_taken_for_enough_that_hold() {
        let error = 0.2;
        let most = (error * 100.0 + 4.0 * (error * (1.0 - error) * 100.0f64).sqrt()) as usize;
        let just = agreed(3, error, |errors| Rule::new((18, 20), (0, 0), errors));
        let nearly_all = agreed(3, error, |errors| Rule::new((18, 20), (1, 0), errors));
        assert!((1..=most).contains(&just) && nearly_all <= most, "{just}, {nearly_all}");
        // If each interval had much of the error for itself, this would go wrong too often.
        let careless = agreed(3, 0.5, |errors| Rule { errors, ..Rule::new((18, 20), (0, 0), errors) });
        assert!(careless > most, "{careless}");
    }

    #[test]
    fn the_absence_of_a_difference_is_not_agreement() {
        // Three trials that happen to lie near 1 say nothing.
        let evidence = Evidence::mean("mean", &sample(1.0, 3, 2)).within(0.99, 1.01);
        assert!(matches!(Statement::new("", "").every(vec![evidence]).judge(LOOKS).verdict, Verdict::Open(_)));
    }

    #[test]
    fn no_verdict_flips_with_the_seed() {
        for (mean, wrong) in [(0.9, false), (1.1, true), (1.0, true), (1.0, false)] {
            for seed in 0..40 {
                let evidence = Evidence::mean("mean", &sample(mean, 40, seed)).below(1.0);
                let verdict = Statement::new("", "").every(vec![evidence]).judge(LOOKS).verdict;
                let unwanted = if wrong { Verdict::Agrees } else { Verdict::Unexplained };
                assert_ne!(verdict, unwanted, "mean {mean}, seed {seed}");
            }
        }
    }
}
