//! What makes the command pleasant in a shell: completions, manual pages, numbers as people write them, JSON.

mod bench;

use bench::Bench;
use serde_json::Value;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_shell_has_completions_of_every_command() {
    let bench = Bench::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&bench.yes(&format!("completions {shell}"), b""));
        for word in ["create", "insert", "remove", "query", "torture", "invert-match", "keep-cr", "beside"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(bench.error("completions tcsh", b"").contains("possible values: bash"));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let bench = Bench::new();
    let page = text(&bench.yes("man", b""));
    assert!(page.contains(".TH twiceshy 1") && page.contains("twiceshy\\-query"), "{page}");
    assert_eq!(text(&bench.yes("man --out pages/man1", b"")), "pages/man1: 33 pages written\n");
    let folder = std::fs::read_dir(bench.path("pages/man1")).expect("a folder");
    let mut names: Vec<String> =
        folder.map(|file| file.expect("a file").file_name().into_string().expect("text")).collect();
    names.sort();
    assert_eq!(names.len(), 33, "{names:?}");
    for name in ["twiceshy.1", "twiceshy-query.1", "twiceshy-lab.1", "twiceshy-lab-run.1", "twiceshy-man.1"] {
        assert!(names.iter().any(|it| it == name), "{names:?}");
        let page = std::fs::read_to_string(bench.path("pages/man1").join(name)).expect("a page");
        assert!(page.len() > 500 && page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    assert!(!names.iter().any(|name| name.contains("child") || name.contains("help")), "{names:?}");
    bench.file("in-the-way", b"");
    assert!(bench.error("man --out in-the-way", b"").contains("cannot make the folder in-the-way"));
}

#[test]
fn the_help_of_create_names_every_filter_that_it_makes() {
    let bench = Bench::new();
    let help = text(&bench.yes("create --help", b"")).split_whitespace().collect::<Vec<_>>().join(" ");
    for (number, kind) in twiceshy::Kind::ALL.iter().enumerate() {
        let name = kind.name();
        assert!(
            help.contains(&format!(" {name},"))
                || help.contains(&format!(" {name} or"))
                || help.contains(&format!(" {name};")),
            "{name}: {help}"
        );
        bench.yes(&format!("create s{number} --filter {name}"), b"");
    }
}

#[test]
fn numbers_may_be_written_as_people_write_them() {
    let bench = Bench::with_lines(b"a\n");
    assert_eq!(bench.yes("query s --count --max-line 1K", b"a\n"), b"1\n");
    let cells = |keys: &str, store: &str| {
        let report = bench.json(&format!("create {store} --keys {keys} --fpr 1%"), b"");
        assert_eq!(report["fpr"], 0.01);
        report["cells"].as_u64().expect("a count")
    };
    let plain = cells("20000", "a");
    for (at, keys) in ["20_000", "20,000", "2e4", "20k", "0.02M"].iter().enumerate() {
        assert_eq!(cells(keys, &format!("b{at}")), plain, "{keys}");
    }
    assert_eq!(bench.json("create c --fpr 1/256", b"")["fpr"], 1.0 / 256.0);
    assert_eq!(bench.json("create d --fpr 1e-3", b"")["fpr"], 0.001);
    let replayed = "--filter cyclic --cells 1k --load 90% --ratio 1/2 --per-key 1e1 --trials 1 --bits 8";
    let report = bench.json(&format!("replay {replayed}"), b"");
    assert_eq!((&report["keys"], &report["queries"]), (&900.into(), &4500.into()));
    for (arguments, why) in [
        ("create e --keys 1.5", "1.5 is not a whole number"),
        ("create e --keys 1e30", "too large"),
        ("create e --keys 1,5", "not a count"),
        ("create e --fpr 150%", "between 1e-9 and 1"),
        ("create e --fpr -1", "between 1e-9 and 1"),
        ("create e --keys -1", "not a count"),
        ("create e --fpr 1/0", "divides by 0"),
        ("advise --keys ten --fpr 1% --workload uniform", "not a count"),
        ("attack --filter cyclic --adversary fresh --games 1.5", "not a whole number"),
        ("replay --filter cyclic --trials 5G", "too large"),
        ("replay --filter cyclic --ratio ten", "not a number"),
        ("lab guard --keys 0", "at least 1"),
        ("lab torture --rounds=-1", "not a count"),
    ] {
        let said = bench.error(arguments, b"");
        assert!(said.contains(why), "{arguments}: {said}");
    }
    assert!(!bench.path("e").exists());
}

#[test]
fn the_demo_is_one_json_object_too() {
    let report = Bench::new().json("demo --keys 1k", b"");
    for traffic in ["visitors", "attacker"] {
        let lines = report[traffic].as_array().expect("an array");
        assert_eq!(lines.len(), 6, "{report}");
        let share = |line: &Value| line["reads_saved"].as_f64().expect("a share");
        assert!(lines.iter().all(|line| (0.0..=1.0).contains(&share(line))), "{report}");
        assert_eq!(lines[0]["filter"], "plain cuckoo");
        assert!(lines[0]["wrong_again"].as_u64() > lines[4]["wrong_again"].as_u64(), "{report}");
    }
    assert_eq!((&report["keys"], &report["seed"]), (&1000.into(), &1.into()));
}

#[test]
fn the_help_of_an_attack_says_what_each_adversary_may_do_and_whom_it_beats() {
    let help = text(&Bench::new().yes("attack --help", b""));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "- rounds: Asks n keys,",
        "names a survivor. It asks. Beats cuckoo and quotient.",
        "It asks and waits until the process crashes. Beats every filter except broom.",
        "It asks. Beats cuckoo, cyclic, quotient and remembering with short fingerprints.",
        "It does nothing else. Beats no filter.",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    assert_eq!(help.matches(" Beats ").count(), 28);
}
