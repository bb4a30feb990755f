//! The Markov chain of 003 section 3.1, simulated query by query, compared with the formulas.

use super::*;
use crate::models::sampling::{poisson, wait};
use crate::workload::rng::Rng;

/// A filter and its traffic, as one cell sees them.
struct Scene {
    model: CyclicModel,
    keys_per_bucket: f64,
    queries_per_key: f64,
}

impl Scene {
    fn formula(&self, rate: impl Fn(&CyclicModel, u64, u64, u64) -> f64) -> f64 {
        let buckets = 100_000;
        let keys = self.keys_per_bucket * buckets as f64;
        let queries = keys * self.queries_per_key;
        rate(&self.model, buckets, keys as u64, queries as u64)
    }

    /// The rate over `cells` cells, and its standard error.
    fn simulate(&self, cells: u32, seed: u64) -> (f64, f64) {
        let mut rng = Rng::new(seed);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..cells {
            let false_positives = self.cell(&mut rng);
            sum += false_positives;
            squares += false_positives * false_positives;
        }
        let mean = sum / f64::from(cells);
        let error = ((squares / f64::from(cells) - mean * mean) / f64::from(cells)).sqrt();
        let per_query = f64::from(self.model.tables) * self.model.load / (self.keys_per_bucket * self.queries_per_key);
        (mean * per_query, error * per_query)
    }

    /// The false positives of one occupied cell: keys that collide or not, then queries one at a time.
    fn cell(&self, rng: &mut Rng) -> f64 {
        let keys = poisson(rng, self.keys_per_bucket);
        let colliding: Vec<u64> =
            self.model.collision.iter().map(|kappa| (0..keys).filter(|_| rng.unit() < *kappa).count() as u64).collect();
        let (mut selector, mut false_positives) = (0, 0.0);
        let mut time = wait(rng);
        while colliding[selector] > 0 && time < keys as f64 * self.queries_per_key {
            if rng.below(keys) < colliding[selector] {
                false_positives += 1.0;
                selector = (selector + 1) % colliding.len();
            }
            time += wait(rng);
        }
        false_positives
    }
}

fn scene(model: Result<CyclicModel, ModelError>, keys_per_bucket: f64, queries_per_key: f64) -> Scene {
    Scene { model: model.expect("the numbers describe a filter"), keys_per_bucket, queries_per_key }
}

fn equal(fingerprint_bits: u32, selector_bits: u32) -> Result<CyclicModel, ModelError> {
    CyclicModel::equal_ranges(4, 0.95, fingerprint_bits, selector_bits, EmptyCell::Ignored)
}

fn unequal(cell_bits: u32, selector_bits: u32, r: u32) -> Result<CyclicModel, ModelError> {
    CyclicModel::unequal_ranges(4, 0.95, cell_bits, selector_bits, r, EmptyCell::Reserved)
}

#[test]
fn after_many_queries_a_simulated_chain_has_the_rate_of_the_formula_within_four_errors() {
    for (scene, cells) in [
        (scene(equal(7, 0), 10.0, 50.0), 40_000),
        (scene(equal(7, 1), 40.0, 60.0), 20_000),
        (scene(equal(7, 2), 80.0, 60.0), 8_000),
        (scene(unequal(9, 1, 2), 40.0, 60.0), 30_000),
    ] {
        let expected = scene.formula(CyclicModel::rate);
        let (found, error) = scene.simulate(cells, 42);
        let what = format!("{:?}: {found} ± {error} for {expected}", scene.model);
        assert!(error < 0.05 * expected, "too coarse to tell: {what}");
        assert!((found - expected).abs() <= 4.0 * error, "{what}");
    }
}

#[test]
fn after_few_queries_or_with_narrow_fingerprints_only_the_refined_rate_is_that_of_the_chain() {
    for (scene, cells) in [
        (scene(equal(6, 2), 38.0, 1.0), 50_000),
        (scene(equal(5, 3), 38.0, 3.0), 30_000),
        (scene(equal(4, 4), 38.0, 40.0), 8_000),
        (scene(unequal(8, 2, 3), 38.0, 1.0), 60_000),
    ] {
        let (found, error) = scene.simulate(cells, 43);
        let refined = scene.formula(CyclicModel::rate_finite);
        let coarse = scene.formula(CyclicModel::rate);
        let what = format!("{:?}: {found} ± {error} for {refined}", scene.model);
        assert!((found - refined).abs() <= 4.0 * error, "{what}");
        assert!((found - coarse).abs() > 4.0 * error, "{what}, not {coarse}");
    }
}

/// The mean number of false positives before rest of cells with 40 absent keys, and its standard error.
fn before_rest(kappa: &[f64], cells: u32) -> (f64, f64) {
    let rng = &mut Rng::new(44);
    let found = crate::models::sampling::mean(cells.into(), 1.0, || {
        let collides = |kappa: &f64, rng: &mut Rng| (0..40).filter(|_| rng.unit() < *kappa).count() > 0;
        let colliding: Vec<bool> = kappa.iter().map(|kappa| collides(kappa, rng)).collect();
        colliding.iter().position(|collides| !collides).unwrap_or(0) as f64
    });
    (found.rate, found.standard_error)
}

#[test]
fn the_first_sum_of_section_3_2_is_that_of_the_chain_as_corrected_and_not_as_printed() {
    let model = unequal(9, 2, 2).expect("a filter");
    let (found, error) = before_rest(model.collision(), 100_000);
    // With the actual ranges, μ_j = ζ/R_j; the factor e^-μ_(i+1) inside the product, or once after it.
    let mu: Vec<f64> = model.collision().iter().map(|kappa| 40.0 * kappa).collect();
    let collides = |j: usize| 1.0 - (-mu[j]).exp();
    let sum = |term: &dyn Fn(usize) -> f64| (0..mu.len() - 1).map(|i| term(i) * (i + 1) as f64).sum::<f64>();
    let printed = sum(&|i| (0..=i).map(|j| collides(j) * (-mu[j + 1]).exp()).product());
    let corrected = sum(&|i| (0..=i).map(collides).product::<f64>() * (-mu[i + 1]).exp());
    assert!((model.bucket(40.0, Law::Poisson).before_rest() / corrected - 1.0).abs() < 1e-12);
    assert!((model.bucket(40.0, Law::Binomial).before_rest() - found).abs() < 4.0 * error, "{found} ± {error}");
    // The counts of the chain are binomial: they differ from Poisson by about 1/R.
    assert!((corrected / found - 1.0).abs() < 0.05, "{corrected} for {found} ± {error}");
    assert!(printed < 0.8 * found, "{printed} for {found} ± {error}");
}
