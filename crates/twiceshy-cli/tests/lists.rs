//! Lists in every form that people have them: what becomes a key, what is skipped, and what is worth a warning.

mod bench;

use bench::Bench;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, Stdio};

const NAMES: [&str; 3] = ["a.com", "b.com", "c.com"];

/// `xz` of the text "a.com\nb.com\nc.com\n".
const XZ: &[u8] = &[
    0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00, 0x00, 0x04, 0xE6, 0xD6, 0xB4, 0x46, 0x02, 0x00, 0x21, 0x01, 0x16, 0x00, 0x00,
    0x00, 0x74, 0x2F, 0xE5, 0xA3, 0xE0, 0x00, 0x11, 0x00, 0x0F, 0x5D, 0x00, 0x30, 0x8B, 0x88, 0x67, 0x33, 0xFA, 0x0B,
    0xC6, 0x42, 0xB8, 0x8C, 0xD5, 0x7E, 0x00, 0x00, 0x00, 0x00, 0xFC, 0xBD, 0x03, 0x95, 0x27, 0x3F, 0x38, 0xCC, 0x00,
    0x01, 0x2B, 0x12, 0x0A, 0x39, 0x4F, 0xA5, 0x1F, 0xB6, 0xF3, 0x7D, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5A,
];
/// `zstd` of the same.
const ZSTD: &[u8] = &[
    0x28, 0xB5, 0x2F, 0xFD, 0x04, 0x58, 0x91, 0x00, 0x00, 0x61, 0x2E, 0x63, 0x6F, 0x6D, 0x0A, 0x62, 0x2E, 0x63, 0x6F,
    0x6D, 0x0A, 0x63, 0x2E, 0x63, 0x6F, 0x6D, 0x0A, 0xFF, 0x0E, 0x28, 0xBC,
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new("gzip").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
    let mut stdin = child.stdin.take().expect("an input");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(bytes).expect("gzip reads"));
        child.wait_with_output().expect("gzip ends").stdout
    })
}

/// A list of three names in each form, with the options that it needs.
fn forms() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let hosts = b"# hosts\n127.0.0.1 localhost\n::1 ip6-localhost\n\n0.0.0.0 0.0.0.0\n0.0.0.0 a.com # why\n0.0.0.0\tb.com c.com\n";
    vec![
        ("plain", "", b"a.com\nb.com\nc.com\n".to_vec()),
        ("without its last end of line", "", b"a.com\nb.com\nc.com".to_vec()),
        ("CRLF", "", b"a.com\r\nb.com\r\nc.com\r\n".to_vec()),
        ("CRLF without its last end of line", "", b"a.com\r\nb.com\r\nc.com\r".to_vec()),
        ("a byte-order mark", "", b"\xEF\xBB\xBFa.com\r\nb.com\r\nc.com\r\n".to_vec()),
        ("gzip", "", gzip(b"a.com\nb.com\nc.com\n")),
        ("gzip of CRLF with a byte-order mark", "", gzip(b"\xEF\xBB\xBFa.com\r\nb.com\r\nc.com\r\n")),
        ("xz", "", XZ.to_vec()),
        ("zstd", "", ZSTD.to_vec()),
        ("comments", "--comments", b"# a list\n\na.com\n  # more\nb.com # why\nc.com\t#\n".to_vec()),
        ("hosts", "--hosts", hosts.to_vec()),
        ("hosts in gzip", "--hosts", gzip(hosts)),
    ]
}

#[test]
fn a_list_in_any_form_is_the_same_set_from_a_file_and_from_a_pipe() {
    for (form, options, list) in forms() {
        for piped in [false, true] {
            let bench = Bench::new();
            bench.yes("create s", b"");
            bench.file("list", &list);
            let (file, input) = if piped { ("", &list[..]) } else { ("list", &b""[..]) };
            let report = bench.json(&format!("insert s {file} {options}"), input);
            assert_eq!(
                (&report["new"], &report["keys"], &report["warnings"]),
                (&3.into(), &3.into(), &json!([])),
                "{form}"
            );
            for name in NAMES {
                assert_eq!(text(&bench.yes("query s", format!("{name}\n").as_bytes())), format!("{name}\n"), "{form}");
            }
            let asked = bench.yes(&format!("query s {file} {options}"), input);
            assert_eq!(text(&asked), "a.com\nb.com\nc.com\n", "{form} is asked for as it was inserted");
            assert_eq!(bench.json("info s", b"")["keys"], 3, "{form}");
            assert_eq!(bench.json(&format!("remove s {file} {options}"), input)["removed"], 3, "{form}");
            assert_eq!(bench.json("info s", b"")["keys"], 0, "{form}");
        }
    }
}

#[test]
fn a_name_of_a_hosts_file_is_blocked_however_it_is_written_there() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    bench.yes("insert s --hosts", b"0.0.0.0 ADS.example tracker.example.\n");
    assert_eq!(bench.yes("query s", b"ads.example\ntracker.example\n"), b"ads.example\ntracker.example\n");
    assert_eq!(bench.yes("query s --hosts", b"127.0.0.1 Tracker.Example\n"), b"tracker.example\n");
}

#[test]
fn bytes_after_an_archive_and_marks_within_a_list_are_warnings() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    bench.file("list.gz", &[gzip(b"a.com\nb.com\n"), b"\0\0junk".to_vec()].concat());
    bench.file("joined", b"\xEF\xBB\xBFc.com\n\xEF\xBB\xBFd.com\n");
    let output = bench.run("insert s list.gz joined --json", b"");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((output.status.code(), &report["new"]), (Some(0), &4.into()));
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains("list.gz, line 2 is the last of an archive with other bytes after its end"),
        "{warnings}"
    );
    assert!(warnings.contains("joined, line 2 begins with a byte-order mark"), "{warnings}");
    assert_eq!(bench.yes("query s -c", b"a.com\nb.com\nc.com\nd.com\n"), b"3\n");
}

#[test]
fn what_is_skipped_is_counted() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let (_, options, hosts) = forms().pop().expect("the last is a hosts file");
    let report = bench.json(&format!("insert s {options}"), &hosts);
    assert_eq!(
        report["skipped"],
        json!({ "empty_lines": 1, "comments": 1, "local_names": 3, "addresses_without_name": 0 })
    );
    assert_eq!((&report["lines"], &report["keys"]), (&7.into(), &3.into()));
    let said = text(&bench.yes("insert s --hosts", &hosts));
    let expected =
        "s: 7 lines read (1 empty line, 1 comment, 3 names of the machine itself skipped), 0 keys new, 3 there before";
    assert!(said.starts_with(expected), "{said}");
}

/// The warnings of a command, from its JSON report. They are the same on standard error.
fn warnings(bench: &Bench, arguments: &str, input: &[u8]) -> Vec<String> {
    let output = bench.run(&format!("{arguments} --json"), input);
    let said = text(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{arguments}: {said}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = report["warnings"].as_array().unwrap_or_else(|| panic!("{arguments}: {report}"));
    let warnings: Vec<String> = list.iter().map(|it| it.as_str().expect("text").to_owned()).collect();
    let printed: String = warnings.iter().map(|warning| format!("twiceshy: warning: {warning}\n")).collect();
    assert_eq!(said, printed, "{arguments}");
    warnings
}

#[test]
fn what_looks_wrong_is_said_once_with_what_to_do() {
    let same = [b"same\n".repeat(300), b"other\n".to_vec()].concat();
    for (options, input, parts) in [
        (
            "--keep-cr",
            b"x\na\r\nb\r\n".as_slice(),
            ["2 lines hold a carriage return", "standard input, line 2", "leave --keep-cr out"],
        ),
        ("", b"a\rb\rc\r", ["line 1 holds a carriage return", "standard input", "tr '\\r' '\\n'"]),
        ("", b"# a\nb # c\nd\n", ["2 lines are comments or end with one", "line 1", "add --comments"]),
        ("", b"0.0.0.0 a.com\n::1 b\n", ["2 lines look like lines of a hosts file", "line 1", "add --hosts"]),
        (
            "--hosts",
            b"1.2.3.4\n::1\n",
            ["2 lines are addresses without a name and were skipped", "line 1", "--hosts out"],
        ),
        ("--hosts", b"0.0.0.0 a.com\nb.com\n", ["line 2 is a name without an address", "was taken", "--hosts out"]),
        ("", b"a\n b\n", ["line 2 has a blank at the start or end of its key", "standard input", "sed"]),
        ("", b"a\t\n", ["line 1 has a blank at the start or end of its key", "standard input", "sed"]),
        ("", b"a\0b\nc\x01\x02\n", ["2 lines look like binary data", "line 1", "text file with one key per line"]),
        ("--hosts", b"0.0.0.0 a\0b\n", ["line 1 looks like binary data", "standard input", "text file"]),
        ("", b"||a.com^\n! b\n", ["2 lines look like HTML, rules of an ad blocker", "line 1", "one key per line"]),
        ("", b"a\n\n\r\nb\n", ["2 lines are empty and were skipped", "line 2", "--key ''"]),
        ("", &same, ["at least ", "of 301 keys are the same, `same`", "right file"]),
    ] {
        let bench = Bench::new();
        bench.yes("create s", b"");
        for command in ["insert", "query", "remove"] {
            let found = warnings(&bench, &format!("{command} s {options}"), input);
            if command == "query" && input == same {
                assert_eq!(found, [""; 0], "queries may repeat");
                continue;
            }
            assert_eq!(found.len(), 1, "{command} {options}: {found:?}");
            assert!(parts.iter().all(|part| found[0].contains(part)), "{command} {options}: {found:?}");
        }
    }
}

#[test]
fn warnings_come_before_an_error_too_and_what_is_right_has_none() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let why = bench.error("insert s --max-line 9", b"# a\nlong enough to fail\n");
    assert!(why.starts_with("twiceshy: warning: standard input, line 1 is a comment"), "{why}");
    assert!(why.ends_with("raise the limit with --max-line if this line is a key\n"), "{why}");
    assert_eq!(warnings(&bench, "insert s --values", b"1.2.3.4\tname\na\t#fff\nb\t\n"), [""; 0]);
    assert_eq!(bench.yes("query s --values --key a", b""), b"a\t#fff\n");
    // With values, only whole lines are comments.
    bench.yes("insert s --values --comments", b"# c\nd\t1 # 2\n");
    assert_eq!(bench.yes("query s --values --key d", b""), b"d\t1 # 2\n");
    bench.yes("insert s --values", b"e\tcarriage return\r\n");
    assert_eq!(bench.yes("query s --values --key e", b""), b"e\tcarriage return\n");
}

#[test]
fn a_list_with_values_is_removed_as_it_was_inserted_and_a_forgotten_option_is_noticed() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let list = b"k1\tv1\nk2\tv2\tmore\n";
    bench.yes("insert s --values", list);
    let report = bench.json("query s --values --key k2", b"");
    assert_eq!(report["keys"], json!([{ "key": "k2", "value": "v2\tmore" }]));
    let asked = warnings(&bench, "query s", list);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].starts_with("2 keys with a tab are absent, the first is standard input, line 1: "), "{asked:?}");
    assert!(asked[0].contains("`cut -f 1 LIST | twiceshy query STORE`"), "{asked:?}");
    let removed = warnings(&bench, "remove s", list);
    assert!(removed.len() == 1 && removed[0].starts_with("2 lines hold a tab, the first is "), "{removed:?}");
    assert!(removed[0].ends_with("add --values if a value follows it"), "{removed:?}");
    let report = bench.json("remove s --values", &[&list[..], b"k3\n"].concat());
    assert_eq!((&report["removed"], &report["were_absent"], &report["warnings"]), (&2.into(), &1.into(), &json!([])));
    let stored = warnings(&bench, "insert s", b"k1\tv1\n");
    assert_eq!(
        stored,
        ["standard input, line 1 holds a tab: it is part of the key; add --values if a value follows it"]
    );
    assert_eq!(warnings(&bench, "query s", b"k1\tv1\n"), [""; 0], "a key may hold a tab");
    let no_key = warnings(&bench, "insert s --values", b"\tv\n");
    assert!(no_key.len() == 1 && no_key[0].contains("line 1 has nothing before its tab"), "{no_key:?}");
    assert_eq!(bench.yes("query s --values --key=", b""), b"\tv\n");
}

#[test]
fn a_report_in_json_is_whole_after_an_error_too() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let list = b"a\nb\nlong enough to fail\nc\n";
    for (command, counts) in [
        ("insert s", json!({ "keys": 2, "new": 2, "were_there": 0 })),
        ("query s", json!({ "keys": ["a", "b"], "asked": 2, "present": 2, "absent": 0 })),
        ("query s --count", json!({ "asked": 2, "present": 2 })),
        ("remove s", json!({ "keys": 2, "removed": 2, "were_absent": 0 })),
    ] {
        let output = bench.run(&format!("{command} --json --max-line 9"), list);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        for (name, count) in counts.as_object().expect("an object") {
            assert_eq!(&report[name], count, "{command}: {name}");
        }
        let error = report["error"].as_str().expect("a text");
        assert!(error.contains("standard input, line 3 is longer than 9 bytes"), "{command}: {error}");
        assert_eq!(text(&output.stderr), format!("twiceshy: {error}\n"), "{command}");
    }
    let output = bench.run("insert nothing --json", list);
    assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()), "nothing was begun");
}

#[test]
fn archives_and_encodings_that_are_not_read_change_nothing() {
    let mut tar = vec![0; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    for (list, what, remedy) in [
        (b"BZh91AY&SYrest".to_vec(), "a bzip2 archive", "bzip2 -dc"),
        (b"PK\x03\x04rest".to_vec(), "a zip archive", "unzip -p"),
        (b"7z\xBC\xAF\x27\x1Crest".to_vec(), "a 7z archive", "7z x -so"),
        (b"\x04\x22\x4D\x18rest".to_vec(), "an lz4 archive", "lz4 -dc"),
        (tar.clone(), "a tar archive", "tar -xOf"),
        (gzip(&tar), "a tar archive", "tar -xOf"),
        (b"\xFF\xFEa\0\n\0".to_vec(), "UTF-16", "iconv"),
        (b"\xFE\xFF\0a\0\n".to_vec(), "UTF-16", "iconv"),
    ] {
        let bench = Bench::with_lines(b"x\n");
        bench.file("list", &list);
        for command in ["insert s list", "query s list", "remove s list", "insert s"] {
            let why = bench.error(command, &list);
            assert!(why.contains(what) && why.contains(remedy), "{command}: {why}");
        }
        let why = bench.error("replay --filter cyclic --workload trace:list", b"");
        assert!(why.contains(what) && why.contains(remedy), "{why}");
        assert_eq!(bench.json("info s", b"")["keys"], 1, "{what}");
    }
}

#[test]
fn an_archive_that_is_cut_short_stores_the_lines_before_the_cut() {
    let lines: String = (0..5_000).map(|number| format!("key {number} {}\n", number * number)).collect();
    let archive = gzip(lines.as_bytes());
    let bench = Bench::new();
    bench.yes("create s", b"");
    bench.file("list.gz", &archive[..archive.len() / 2]);
    let why = bench.error("insert s list.gz", b"");
    let stored = bench.json("info s", b"")["keys"].as_u64().expect("a count");
    assert!((500..4_500).contains(&stored), "{stored}");
    assert!(why.contains("list.gz is a damaged gzip archive after line ") && why.contains("gzip -t"), "{why}");
    assert_eq!(why.matches(&format!("line {stored} ")).count(), 1, "{stored}: {why}");
    let head: String = lines.lines().take(stored as usize).map(|line| format!("{line}\n")).collect();
    assert_eq!(text(&bench.yes("query s", lines.as_bytes())), head);
    let why = bench.error("replay --filter cyclic --workload trace:list.gz", b"");
    assert_eq!(why.matches("deflate").count(), 1, "the cause is named once: {why}");
}

#[test]
fn a_hosts_line_of_several_fields_without_an_address_is_an_error_at_its_line() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let why = bench.error("insert s --hosts", b"0.0.0.0 a.com\nb.com c.com\n");
    assert!(why.contains("1 key stored, and then: standard input, line 2: `b.com` is not an IP address"), "{why}");
    assert!(why.contains("leave --hosts out"), "{why}");
    assert!(bench.error("insert s --hosts --values", b"").contains("cannot be used with"));
}

#[test]
fn keys_may_be_arguments_and_nothing_else_is_read_then() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let report = bench.json("insert s --key a --key #b --key=", b"x\n");
    assert_eq!((&report["new"], &report["lines"]), (&3.into(), &0.into()));
    assert!(text(&bench.yes("insert s --key a", b"")).starts_with("s: 1 key given, 0 keys new, 1 there before"));
    for (arguments, status, output) in [
        ("query s --key a", 0, "a\n"),
        ("query s --key x", 1, ""),
        ("query s --key x --key #b", 0, "#b\n"),
        ("query s --key=", 0, "\n"),
        ("query s -c --key a --key x", 0, "1\n"),
        ("query s -q --key a", 0, ""),
        ("query s -q --key x", 1, ""),
        ("query s -v --key a --key x", 0, "x\n"),
        ("query s --invert-match --key a --key x", 0, "x\n"),
        ("query s -vc --key a --key x --key y", 0, "2\n"),
        ("query s -vq --key a", 1, ""),
    ] {
        assert_eq!(text(&bench.out(arguments, b"a\n#b\n", status)), output, "{arguments}");
    }
    assert_eq!(bench.json("query s --key a --key x", b"")["asked"], 2);
    assert!(
        text(&bench.yes("remove s --key a --key x", b"a\n")).starts_with("s: 2 keys given, 1 key removed, 1 not there")
    );
    assert!(bench.error("query s --key a list", b"").contains("cannot be used with"));
    assert!(bench.error("insert s --values --key a", b"").contains("--key number 1: no tab"));
}

#[test]
#[cfg(unix)]
fn an_argument_may_be_any_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    let bench = Bench::new();
    bench.yes("create s", b"");
    for command in ["insert s --key", "query s --key"] {
        let mut command = bench.command(command);
        let output = command.arg(std::ffi::OsStr::from_bytes(b"\xFF\xFE")).output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(bench.run("query s", b"x\n\xFF\xFE\n").stdout, b"\xFF\xFE\n");
}

#[test]
fn a_trace_is_read_by_the_same_rules() {
    let bench = Bench::new();
    let lines: Vec<u8> = (0..200).flat_map(|number| format!("key {number}\r\n").into_bytes()).collect();
    bench.file("list", &[b"\xEF\xBB\xBF# requests\r\n", &lines[..]].concat());
    let output = bench.run("replay --filter cyclic --ratio 3 --trials 1 --workload trace:list --json", b"");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let warning =
        "list, line 1 is a comment or ends with one: remove them first, such as with `grep -v '^#'`, or they are keys";
    assert_eq!(report["warnings"], json!([warning]));
    assert_eq!(text(&output.stderr), format!("twiceshy: warning: {warning}\n"));
    bench.file("list", &lines);
    assert!(
        bench.json("replay --filter cyclic --ratio 3 --trials 1 --workload trace:list", b"").get("warnings").is_none()
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_million_packed_lines_take_no_more_memory_than_a_few() {
    let bench = Bench::with_lines(b"x\n");
    // 300 MB of lines, within 256 MB of addresses: the list cannot be in memory.
    let script = "yes \"$(printf %0300d 7)\" | head -n 1000000 | gzip -1 > list.gz
        ulimit -v 262144; exec \"$0\" query s --count --json list.gz";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_twiceshy")]).current_dir(bench.path("")).stdin(Stdio::null());
    let output = shell.output().expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["asked"], &report["present"]), (&1_000_000.into(), &0.into()));
}
