use super::super::{Evidence, Picture, Size, Statement, Verdict, line};
use super::*;
use std::sync::atomic::AtomicU32;

/// Ten tasks; one of them fails a given number of times.
struct Failing {
    failures: AtomicU32,
    measured: AtomicU32,
}

static FAILING: Failing = Failing { failures: AtomicU32::new(2), measured: AtomicU32::new(0) };

impl Experiment for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }
    fn claim(&self) -> &'static str {
        "A run continues where it stopped"
    }
    fn measures(&self) -> &'static str {
        "failing"
    }
    fn source(&self) -> &'static str {
        "a test"
    }
    fn method(&self, _: Size) -> Vec<String> {
        Vec::new()
    }
    fn columns(&self) -> &'static [&'static str] {
        &["number", "square"]
    }
    fn budget(&self, _: Size) -> Budget {
        Budget { first: 1, most: 1 }
    }
    fn points(&self, _: &Setup) -> Vec<Point> {
        let point = |number: u64| {
            Point::new(format!("{number}"), 1.0, &"", move |_| {
                FAILING.measured.fetch_add(1, Ordering::Relaxed);
                let fails = |left: u32| left.checked_sub(1);
                if number == 5 && FAILING.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fails).is_ok() {
                    return Err(TaskError::new("not now"));
                }
                Ok(vec![line![number, number * number]])
            })
        };
        (0..10).map(point).collect()
    }
    fn pictures(&self, _: &Table) -> Vec<Picture> {
        Vec::new()
    }
    fn statements(&self, _: &Table, _: Size) -> Vec<Statement> {
        Vec::new()
    }
}

#[test]
fn a_run_continues_where_it_stopped_and_measures_nothing_twice() {
    let place = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(Size::Quick, 7);
    let again = || -> Result<Option<Table>, RunError> {
        let folder = Folder::for_run(place.path(), &setup)?;
        run(&[&FAILING], &folder, &setup, 1, &|_| ())?;
        Ok(folder.table(&FAILING)?)
    };
    assert!(matches!(again(), Err(RunError::Task { task, .. }) if task == "5, trials 0 to 0"));
    assert!(again().is_err());
    assert_eq!(FAILING.measured.load(Ordering::Relaxed), 7, "six, and one again");
    let table = again().expect("no failure is left").expect("complete");
    assert_eq!(FAILING.measured.load(Ordering::Relaxed), 12);
    let numbers: Vec<(f64, f64)> = (0..10).map(|number| (f64::from(number), f64::from(number * number))).collect();
    assert_eq!(table.pairs("number", "square"), numbers);
    assert_eq!(table.first("seed"), Some(7.0));
    again().expect("nothing to do");
    assert_eq!(FAILING.measured.load(Ordering::Relaxed), 12);
}

#[test]
fn a_folder_of_another_run_is_refused_and_left_unchanged() {
    let place = tempfile::tempdir().expect("a folder");
    let setup = |seed| Setup::new(Size::Quick, seed);
    let first = Folder::for_run(place.path(), &setup(1)).expect("a new folder");
    assert!(matches!(Folder::for_run(place.path(), &setup(1)), Err(FolderError::InUse(_))));
    drop(first);
    assert!(matches!(Folder::for_run(place.path(), &setup(2)), Err(FolderError::Another { .. })));
    assert_eq!(Folder::to_draw(place.path()).expect("a run").facts().seed, 1);
    let elsewhere = tempfile::tempdir().expect("a folder");
    assert!(matches!(Folder::to_draw(elsewhere.path()), Err(FolderError::NoRun(_))));
}

#[test]
fn data_of_another_build_are_refused_and_other_experiments_are_measured_beside_them() {
    let place = tempfile::tempdir().expect("a folder");
    let (setup, quiet) = (Setup::new(Size::Quick, 1), |_: Event<'_>| ());
    let again = |experiment: &dyn Experiment| {
        run(&[experiment], &Folder::for_run(place.path(), &setup).expect("the folder"), &setup, 1, &quiet)
    };
    again(&Coins).expect("measured");
    let origin = Folder::to_draw(place.path()).expect("a run").origin(&Coins).expect("an origin");
    assert!(origin.build.len() == 12 && origin.seconds > 0.0, "{origin:?}");
    let facts = std::fs::read_to_string(place.path().join("run.json")).expect("facts");
    std::fs::write(place.path().join("run.json"), facts.replace(&origin.build, "another")).expect("facts");
    let refused = again(&Coins);
    assert!(matches!(refused, Err(RunError::Folder(FolderError::OtherBuild { .. }))), "{refused:?}");
    let other = Failing { failures: AtomicU32::new(0), measured: AtomicU32::new(0) };
    again(&other).expect("another experiment");
    std::fs::remove_file(place.path().join("coins.csv")).expect("a table");
    again(&Coins).expect("measured anew");
}

/// Coins measured up to ten trials by another build, and what happens if a run adds more.
fn continued(change: impl Fn(String) -> String) -> (tempfile::TempDir, Result<(), RunError>) {
    let place = tempfile::tempdir().expect("a folder");
    let of = |trials: Option<u64>, more: bool| {
        let setup = Setup { trials, more, ..Setup::new(Size::Quick, 3) };
        run(&[&Coins], &Folder::for_run(place.path(), &setup).expect("the folder"), &setup, 2, &|_| ())
    };
    of(Some(10), false).expect("measured");
    let facts = std::fs::read_to_string(place.path().join("run.json")).expect("facts");
    let build = Folder::to_draw(place.path()).expect("a run").origin(&Coins).expect("an origin").build;
    std::fs::write(place.path().join("run.json"), facts.replace(&build, "another")).expect("facts");
    let csv = place.path().join("coins.csv");
    std::fs::write(&csv, change(std::fs::read_to_string(&csv).expect("data"))).expect("data");
    let outcome = of(None, true);
    (place, outcome)
}

#[test]
fn trials_are_added_to_data_of_another_build_as_if_it_had_gone_on() {
    let (place, outcome) = continued(|csv| csv);
    outcome.expect("more trials");
    let folder = Folder::to_draw(place.path()).expect("a run");
    let origin = folder.origin(&Coins).expect("an origin");
    assert_eq!((origin.earlier.len(), origin.earlier[0].build.as_str(), origin.trials), (1, "another", None));
    assert!(!folder.journal(&Coins).exists());
    let whole = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(Size::Quick, 3);
    let in_one_go = Folder::for_run(whole.path(), &setup).expect("a folder");
    run(&[&Coins], &in_one_go, &setup, 2, &|_| ()).expect("a run");
    let [again, once] = [&folder, &in_one_go].map(|folder| std::fs::read(folder.csv(&Coins)).expect("data"));
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&once));
    // Nothing more can be added.
    drop(in_one_go);
    let more = Setup { more: true, ..setup };
    let folder = Folder::for_run(place.path(), &more).expect("the folder");
    assert_eq!(work_ahead(&[&Coins], &folder, &more).expect("work"), 0.0);
    run(&[&Coins], &folder, &more, 2, &|_| ()).expect("nothing to do");
    assert!(!folder.journal(&Coins).exists());
}

#[test]
fn no_trials_are_added_to_data_that_come_out_otherwise() {
    let is_of_check = |line: &str| line.starts_with("fair,") && line.contains(",fair,9,");
    let forged = |csv: String| -> String {
        let line = |line: &str| if is_of_check(line) { line.replacen("fair,", "fair,1", 1) } else { line.to_owned() };
        csv.lines().map(|it| line(it) + "\n").collect()
    };
    let (place, outcome) = continued(forged);
    assert!(matches!(&outcome, Err(RunError::Changed { point, .. }) if point == "fair"), "{outcome:?}");
    let kept = std::fs::read_to_string(place.path().join("coins.csv")).expect("data");
    assert!(kept.lines().any(|line| line.starts_with("fair,1")), "left as it was");
    let folder = Folder::to_draw(place.path()).expect("a run");
    let origin = folder.origin(&Coins).expect("an origin");
    assert_eq!((origin.build.as_str(), origin.trials), ("another", Some(10)), "the data are still the other build's");
    let measured = std::fs::read_to_string(folder.journal(&Coins)).expect("a journal");
    assert!(measured.lines().all(|task| task.contains(" again\"")), "no new trial was measured: {measured}");
    // What this build has begun to add, a third one does not mix with its own.
    let facts = std::fs::read_to_string(place.path().join("run.json")).expect("facts");
    let adding = origin.adding.expect("this build").build;
    std::fs::write(place.path().join("run.json"), facts.replace(&adding, "third")).expect("facts");
    let setup = Setup { more: true, ..Setup::new(Size::Quick, 3) };
    let again = Folder::for_run(place.path(), &setup).expect("the folder");
    let outcome = work_ahead(&[&Coins], &again, &setup);
    assert!(
        matches!(&outcome, Err(RunError::Folder(FolderError::AddedByOther { found, .. })) if found == "third"),
        "{outcome:?}"
    );
    std::fs::remove_file(again.journal(&Coins)).expect("a journal");
    assert!(work_ahead(&[&Coins], &again, &setup).expect("begun anew") > 0.0);
}

#[test]
fn more_looks_than_planned_are_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let of = |trials: u64, more: bool| {
        let setup = Setup { trials: Some(trials), more, ..Setup::new(Size::Quick, 3) };
        let folder = Folder::for_run(place.path(), &setup).expect("the folder");
        run(&[&Coins], &folder, &setup, 2, &|_| ())?;
        let table = folder.table(&Coins)?.expect("complete");
        Ok::<usize, RunError>(table.only("point", "fair").len())
    };
    assert_eq!(of(4, false).expect("measured"), 4);
    assert!(matches!(of(10, true), Err(RunError::Short { trials: 4, first: 10, .. })));
    std::fs::remove_file(place.path().join("coins.csv")).expect("data");
    // The look at 15 is the second, cut short. The third is at more than 20.
    let trials = [(15, false), (16, true), (20, true), (25, true)].map(|(most, more)| of(most, more).expect("a run"));
    assert_eq!(trials, [15, 15, 15, 25]);
}

/// Coins: one is fair, the others are not; the statement says that all of them are about as likely to fall on heads.
struct Coins;

const CHANCES: [(&str, f64); 3] = [("fair", 0.5), ("nearly", 0.57), ("false", 0.9)];

impl Experiment for Coins {
    fn name(&self) -> &'static str {
        "coins"
    }
    fn claim(&self) -> &'static str {
        "More trials go where they are needed"
    }
    fn measures(&self) -> &'static str {
        "coins"
    }
    fn source(&self) -> &'static str {
        "a test"
    }
    fn method(&self, _: Size) -> Vec<String> {
        Vec::new()
    }
    fn columns(&self) -> &'static [&'static str] {
        &["coin", "heads", "throws"]
    }
    fn budget(&self, _: Size) -> Budget {
        Budget { first: 10, most: 320 }
    }
    fn points(&self, _: &Setup) -> Vec<Point> {
        let point = |(name, chance): (&'static str, f64)| {
            Point::new(name, 1e-4, &chance, move |seed| {
                let mut rng = crate::workload::rng::Rng::new(seed);
                let heads = (0..10).filter(|_| rng.unit() < chance).count() as u64;
                Ok(vec![line![name, heads, 10u32]])
            })
        };
        CHANCES.map(point).into()
    }
    fn pictures(&self, _: &Table) -> Vec<Picture> {
        Vec::new()
    }
    fn statements(&self, table: &Table, _: Size) -> Vec<Statement> {
        let share = |name: &str| {
            let own = table.only("coin", name);
            Evidence::share(name, &own.sample("heads"), &own.sample("throws")).within(0.4, 0.6)
        };
        CHANCES.map(|(name, _)| Statement::new(name, "the share of heads").every(vec![share(name)])).into()
    }
}

#[test]
fn points_get_more_trials_until_their_statements_are_clear_or_the_budget_ends() {
    let place = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(Size::Quick, 3);
    let folder = Folder::for_run(place.path(), &setup).expect("a folder");
    run(&[&Coins], &folder, &setup, 2, &|_| ()).expect("a run");
    let table = folder.table(&Coins).expect("a table").expect("complete");
    let trials = CHANCES.map(|(name, _)| table.only("point", name).len());
    assert!(trials[0] > 10 && trials[0] < 320 && trials[1] > trials[0], "{trials:?}");
    assert_eq!(trials[2], 10, "the false coin is found out at once");
    let verdicts: Vec<Verdict> = Coins.findings(&table, setup.size).into_iter().map(|it| it.verdict).collect();
    assert!(matches!(&verdicts[..], [Verdict::Agrees, Verdict::Agrees | Verdict::Open(_), Verdict::Unexplained]));
}
#[test]
fn a_limit_of_trials_ends_the_budget_and_is_recorded() {
    let place = tempfile::tempdir().expect("a folder");
    let setup = Setup { trials: Some(4), ..Setup::new(Size::Quick, 3) };
    let folder = Folder::for_run(place.path(), &setup).expect("a folder");
    run(&[&Coins], &folder, &setup, 2, &|_| ()).expect("a run");
    let table = folder.table(&Coins).expect("a table").expect("complete");
    assert!(CHANCES.iter().all(|(name, _)| table.only("point", *name).len() == 4));
    let verdicts: Vec<Verdict> = Coins.findings(&table, setup.size).into_iter().map(|it| it.verdict).collect();
    assert!(matches!(verdicts[0], Verdict::Open(_)), "{verdicts:?}");
    assert_eq!(folder.origin(&Coins).and_then(|origin| origin.trials), Some(4));
}
