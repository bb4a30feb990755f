//! The commands on a shared set, on real servers.

mod bench;

use bench::Bench;
use serde_json::{Value, json};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use twiceshy_shared::servers::{self, PostgresServer, RedisServer};

/// A server, the name of one set in it, and a folder to run the command in.
struct Set {
    server: Arc<PostgresServer>,
    name: &'static str,
    bench: Bench,
}

/// The server of all tests that run now; each has a set of its own. It ends with the last of them.
fn server() -> Option<Arc<PostgresServer>> {
    static SERVER: Mutex<Weak<PostgresServer>> = Mutex::new(Weak::new());
    if !PostgresServer::is_installed() {
        servers::skip("postgres");
        return None;
    }
    let mut running = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let server = running.upgrade().unwrap_or_else(|| Arc::new(PostgresServer::start().expect("a server")));
    *running = Arc::downgrade(&server);
    Some(server)
}

impl Set {
    fn new(name: &'static str) -> Option<Set> {
        Some(Set { server: server()?, name, bench: Bench::new() })
    }

    /// A set with these lines.
    fn with_lines(name: &'static str, flags: &str, lines: &[u8]) -> Option<Set> {
        let set = Set::new(name)?;
        set.bench.yes(&set.fill(&format!("create @ {flags}")), b"");
        set.bench.yes(&set.fill("insert @"), lines);
        Some(set)
    }

    fn address(&self) -> String {
        format!("{}#{}", self.server.address(), self.name)
    }

    fn shown(&self) -> String {
        twiceshy_shared::shown(&self.address())
    }

    fn password(&self) -> String {
        let address = self.server.address();
        address.split(['@', ':']).nth(2).expect("a password").to_owned()
    }

    /// Puts the address in the place of `@`.
    fn fill(&self, arguments: &str) -> String {
        arguments.replace('@', &self.address())
    }

    fn json(&self, arguments: &str, input: &[u8]) -> Value {
        self.bench.json(&self.fill(arguments), input)
    }

    fn yes(&self, arguments: &str, input: &[u8]) -> String {
        String::from_utf8(self.bench.yes(&self.fill(arguments), input)).expect("text")
    }

    fn sql(&self, statements: &str) {
        self.server.run_sql(&statements.replace('@', self.name)).expect("SQL");
    }

    /// Statements that write past the guard, and past the triggers that would note it.
    fn sql_unseen(&self, statements: &str) {
        self.sql(&format!("ALTER TABLE @.value DISABLE TRIGGER USER; {statements}"));
    }

    /// What a check that fails says, in words and as an object.
    fn damage(&self) -> (String, Value) {
        let said = String::from_utf8(self.bench.out(&self.fill("check @"), b"", 1)).expect("text");
        let report = self.bench.out(&self.fill("check @ --json"), b"", 1);
        (said, serde_json::from_slice(&report).expect("one JSON object"))
    }

    fn assert_left(&self) {
        let info = self.json("info @", b"");
        for shard in info["shards"].as_array().expect("shards") {
            assert_eq!(shard["members"], json!([]), "{info}");
        }
    }
}

fn lines(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    numbers.flat_map(|number| format!("key {number}\n").into_bytes()).collect()
}

fn counts<const N: usize>(report: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| report[name].as_u64().unwrap_or_else(|| panic!("no count {name} in {report}")))
}

#[test]
fn each_command_does_on_an_address_what_it_does_on_a_folder() {
    let Some(set) = Set::new("each") else { return };
    let made = set.json("create @ --filter swapping --fpr 0.01 --keys 5000 --shards 3 --lease 1s", b"");
    assert_eq!((&made["path"], &made["filter"]), (&set.shown().into(), &"swapping".into()));
    assert_eq!((&made["fpr"], &made["shards"], &made["level"]), (&0.01.into(), &3.into(), &"exact".into()));
    assert_eq!((&made["lease_seconds"], &made["beside"]), (&1.0.into(), &false.into()));
    assert!(counts(&made, ["cells"])[0] >= 5000);

    let inserted = set.json("insert @", &lines(0..2500));
    assert_eq!(counts(&inserted, ["lines", "keys", "new", "were_there"]), [2500, 2500, 2500, 0]);
    let inserted = set.json("insert @", &lines(2000..3000));
    assert_eq!(counts(&inserted, ["lines", "new", "were_there"]), [1000, 500, 500]);
    let removed = set.json("remove @", &lines(2900..3100));
    assert_eq!(counts(&removed, ["lines", "removed", "were_absent"]), [200, 100, 100]);

    let asked = set.json("query @", &lines(2800..4000));
    assert_eq!((&asked["path"], &asked["keys"][0]), (&set.shown().into(), &"key 2800".into()));
    assert_eq!(asked["keys"].as_array().expect("keys").len(), 100);
    assert_eq!(counts(&asked, ["asked", "present", "absent", "unfiltered"]), [1200, 100, 1100, 0]);
    let [away, mistakes, _, _] = counts(&asked, ["turned_away", "false_positives", "adapted", "known_absent"]);
    assert_eq!(away + mistakes, 1100);

    let checked = set.json("check @", b"");
    assert_eq!((&checked["ok"], &checked["wrong"], &checked["problems"]), (&true.into(), &Value::Null, &json!([])));
    assert_eq!(counts(&checked, ["keys", "values", "left_behind"]), [2900, 2900, 0]);
    set.assert_left();
}

#[test]
fn queries_print_and_exit_as_on_a_folder() {
    let Some(set) = Set::new("queries") else { return };
    set.yes("create @ --level within:500ms", b"");
    set.yes("insert @ --values", b"a\t1\nb\t\nc\tx\ty\na\t2\n");
    set.yes("insert @", b"a\nd\n");
    for (arguments, input, status, output) in [
        ("query @", "d\nx\na\nd\n", 0, "d\na\nd\n"),
        ("query @ --absent", "d\nx\n", 0, "x\n"),
        ("query @ --values", "a\nz\nc\nb\n", 0, "a\t2\nc\tx\ty\nb\t\n"),
        ("query @ --count", "a\nx\n", 0, "1\n"),
        ("query @ --quiet", "x\na\n", 0, ""),
        ("query @", "x\n", 1, ""),
        ("query @ --key a", "", 0, "a\n"),
    ] {
        let out = set.bench.out(&set.fill(arguments), input.as_bytes(), status);
        assert_eq!(String::from_utf8_lossy(&out), output, "{arguments}");
    }
    set.bench.file("list", b"a\nb\n");
    assert!(set.yes("remove @ list", b"").contains("2 lines read, 2 keys removed, 0 not there"));
    set.assert_left();
}

#[test]
fn what_one_command_learns_the_next_one_knows() {
    let Some(set) = Set::with_lines("learning", "--keys 2000 --fpr 1%", &lines(0..2000)) else { return };
    let asked = |set: &Set| {
        let report = Command::new(env!("CARGO_BIN_EXE_twiceshy"))
            .args(["query", &set.address(), "--count", "--json", "list"])
            .current_dir(set.bench.path("."))
            .output()
            .expect("the command starts");
        serde_json::from_slice::<Value>(&report.stdout).expect("JSON")
    };
    set.bench.file("list", &lines(10_000..20_000));
    let [first] = counts(&asked(&set), ["false_positives"]);
    let [again] = counts(&asked(&set), ["false_positives"]);
    assert!(first > 30 && again <= first / 10, "{first} {again}");
    assert_eq!(set.json("check @", b"")["ok"], true);
}

#[test]
fn info_tells_of_shards_positions_members_and_digests() {
    let flags = "--shards 2 --keys 1000 --lease 1min";
    let Some(set) = Set::with_lines("info", flags, &lines(0..500)) else { return };
    let engine = twiceshy_shared::connect(&set.address()).expect("an address");
    let member = twiceshy_shared::Blocking::open_with(twiceshy_shared::Opening::new(), engine).expect("a set");
    let info = set.json("info @", b"");
    assert_eq!((&info["path"], &info["filter"]), (&set.shown().into(), &"telescoping".into()));
    assert_eq!(
        (&info["level"], &info["lease_seconds"], &info["beside"]),
        (&"exact".into(), &60.0.into(), &false.into())
    );
    assert_eq!(counts(&info, ["keys", "outbox"]), [500, 0]);
    assert!(info["bits_per_key"].as_f64().expect("a number") > 8.0 && info["load"].as_f64().expect("a number") > 0.1);
    let shards = info["shards"].as_array().expect("shards");
    assert_eq!(shards.len(), 2);
    let mine = member.shared().digests();
    for ((at, digest), shard) in mine.iter().zip(shards) {
        let [position, cells, _, lag] = counts(shard, ["position", "cells", "local_bits", "lag"]);
        assert_eq!((position, lag), (at.position, 0), "{shard}");
        assert_eq!(shard["tag"], format!("{:016x}", at.tag));
        assert_eq!(shard["digest"], format!("{:016x}", digest.expect("a filter")));
        assert!(cells > 250 && counts(shard, ["log_bytes"])[0] > 0);
        assert_eq!(counts(shard, ["log_records", "announcements", "abandoned"]), [position, 0, 0]);
        assert_eq!(shard["snapshot"], Value::Null);
        let members = shard["members"].as_array().expect("members");
        assert_eq!(members.len(), 1, "{shard}");
        assert_eq!(counts(&members[0], ["acknowledged", "lag"]), [position, 0]);
    }
    let text = set.yes("info @", b"");
    for part in ["exact", "lease", "60 s", "shard 1: record ", "digest ", "member ", "0 behind", "no snapshot"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    member.close().expect("a server");
    // A row that was written past all guards waits until somebody moves it.
    set.sql("INSERT INTO @.value VALUES ('past', 'v')");
    assert_eq!(set.json("info @", b"")["outbox"], 1);
    assert_eq!(set.json("check @", b"")["ok"], true);
    assert_eq!(set.yes("query @ --key past", b""), "past\n");
}

#[test]
fn a_command_leaves_the_set_also_after_an_error_and_when_it_is_interrupted() {
    let flags = "--lease 1h";
    let Some(set) = Set::with_lines("leaving", flags, b"a\n") else { return };
    let long = format!("b\n{}\nc\n", "x".repeat(3_000));
    let why = set.bench.error(&set.fill("insert @"), long.as_bytes());
    assert!(why.contains("1 key stored") && why.contains("line 2") && why.contains("up to 2000"), "{why}");
    set.assert_left();
    assert_eq!(set.yes("query @ -v", long.as_bytes()), long[2..]);
    // A key that cannot be there is only counted.
    assert_eq!(set.json("remove @", long.as_bytes())["removed"], 1);

    let mut child = set.bench.command(&set.fill("query @")).spawn().expect("the command starts");
    let begin = Instant::now();
    let members = || set.json("info @", b"")["shards"][0]["members"].as_array().expect("members").len();
    while members() == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "it does not join");
    }
    // Waiting would close its input, and the end of the input ends the command too.
    let input = child.stdin.take();
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    drop(input);
    set.assert_left();
    let begin = Instant::now();
    set.yes("insert @", b"d\n");
    assert!(begin.elapsed() < Duration::from_secs(20), "it waited for a lease");
}

#[test]
fn a_set_that_is_there_or_is_not_is_told_with_the_command_that_helps() {
    let Some(set) = Set::new("nowhere") else { return };
    for command in ["insert", "remove", "query", "info", "check"] {
        let why = set.bench.error(&set.fill(&format!("{command} @")), b"a\n");
        assert!(why.contains(&set.shown()) && why.contains("`twiceshy create ADDRESS`"), "{why}");
    }
    set.yes("create @", b"");
    let why = set.bench.error(&set.fill("create @"), b"");
    assert!(why.contains("already") && why.contains("`twiceshy insert ADDRESS`"), "{why}");
}

#[test]
fn a_set_without_values_can_be_described_and_checked_but_not_changed() {
    let Some(set) = Set::new("beside") else { return };
    assert_eq!(set.json("create @ --beside", b"")["beside"], true);
    for command in ["insert", "remove", "query"] {
        let why = set.bench.error(&set.fill(&format!("{command} @")), b"a\n");
        assert!(why.contains("elsewhere"), "{why}");
    }
    assert!(set.yes("info @", b"").contains("elsewhere; the set may lack keys"), "no resync has ended");
    assert_eq!(set.json("info @", b"")["complete"], false);
    assert_eq!(set.json("check @", b"")["values"], Value::Null);
    set.assert_left();
}

#[test]
fn flags_in_the_wrong_place_are_refused() {
    let Some(set) = Set::with_lines("flags", "", b"a\n") else { return };
    let set = Set { bench: Bench::with_lines(b"a\n"), ..set };
    for flag in ["--shards 2", "--level exact", "--lease 2s", "--beside"] {
        let why = set.bench.error(&format!("create folder {flag}"), b"");
        assert!(why.contains("is for a shared set") && why.contains(&flag[..6]), "{why}");
        assert!(!set.bench.path("folder").exists());
    }
    for (arguments, hint) in [
        ("check @ --repair", "--repair is for a folder"),
        ("create @x --level within:2s --lease 2s", "--lease is for --level exact"),
        ("create @x --level soon", "within:2s"),
        ("create @x --lease 2", "500ms"),
        ("create @x --shards 0", "from 1 to"),
        ("create @x --lease 1ms", "20 ms"),
        ("create @x --filter broom", "broom"),
        ("create @-x", "letters, digits and underscores"),
        ("insert s @", "not a file"),
        ("create folder @", "unexpected argument"),
    ] {
        let why = set.bench.error(&set.fill(arguments), b"");
        assert!(why.contains(hint) && !why.contains(&set.password()), "{arguments}: {why}");
    }
}

fn run(address: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
    command.arg(arguments[0]).arg(address).args(&arguments[1..]).env_remove("PGPASSWORD");
    command.envs(variables.iter().copied()).output().expect("the command starts")
}

#[test]
fn no_password_is_ever_printed() {
    let Some(set) = Set::with_lines("secrets", "", b"a\n") else { return };
    let (right, password) = (set.address(), set.password());
    let wrong = right.replace(&password, "wrongsecret");
    let addresses = [
        right.clone(),
        wrong.clone(),
        format!("postgres://postgres:{password}@127.0.0.1:1/postgres"),
        format!("postgres://postgres:{password}@127.0.0.1:port/postgres"),
        format!("postgres://postgres:{password}@127.0.0.1:99999/postgres"),
        format!("postgres://postgres:{password}@no.such.host.invalid/postgres"),
        format!("postgres://postgres:{password}"),
        format!("postgres://postgres:x/{password}@127.0.0.1/postgres"),
        format!("postgres://127.0.0.1:1/postgres?user=postgres&password={password}"),
        format!("mysql://postgres:{password}@127.0.0.1/postgres"),
        format!("redis://:{password}@127.0.0.1:1"),
    ];
    for address in &addresses {
        for arguments in [
            &["create"][..],
            &["insert", "--key", "b"],
            &["remove", "--key", "b"],
            &["query", "--key", "b", "--json"],
            &["info"],
            &["info", "--json"],
            &["check"],
            &["check", "--json"],
            &["query", "--no-such-flag"],
            &["info", &address.clone()],
        ] {
            let Output { status, stdout, stderr } = run(address, arguments, &[]);
            let said = format!("{} {}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
            assert!(!said.contains(&password) && !said.contains("wrongsecret"), "{arguments:?} {said}");
            assert!(!said.contains("this is a bug"), "{said}");
            if *address != right {
                assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{arguments:?}: {said}");
            }
        }
    }
    let said = |address: &str| String::from_utf8_lossy(&run(address, &["info"], &[]).stderr).into_owned();
    assert!(said(&wrong).contains("password authentication failed"), "{}", said(&wrong));
    assert!(said(&addresses[2]).contains("Connection refused"), "{}", said(&addresses[2]));
    assert!(said(&addresses[3]).contains("not one of PostgreSQL"), "{}", said(&addresses[3]));
    assert!(said(&addresses[9]).contains("begins with postgres://"), "{}", said(&addresses[9]));
}

#[test]
fn a_password_may_come_from_the_environment() {
    let Some(set) = Set::with_lines("environment", "", b"a\n") else { return };
    let (address, password) = (set.address(), set.password());
    let without = address.replace(&format!(":{password}@"), "@");
    let query = ["query", "--key", "a"];
    assert_eq!(run(&without, &query, &[("PGPASSWORD", &password)]).stdout, b"a\n");
    assert_eq!(run(&without, &query, &[]).status.code(), Some(2));
    // That of the address goes first.
    assert_eq!(run(&address, &query, &[("PGPASSWORD", "wrong")]).stdout, b"a\n");
    let help = set.yes("create --help", b"");
    assert!(help.contains("PGPASSWORD") && help.contains("REDISCLI_AUTH"), "{help}");
}

#[test]
fn a_check_names_a_value_that_processes_may_deny() {
    let Some(set) = Set::with_lines("denied", "--shards 2", &lines(0..50)) else { return };
    set.sql_unseen("INSERT INTO @.value VALUES ('un\\012known', 'v')");
    let (said, report) = set.damage();
    assert!(
        said.starts_with(&format!("{}: 50 keys, and something is wrong: the key un\\nknown has", set.shown())),
        "{said}"
    );
    assert!(said.contains("Insert it again with its value"), "{said}");
    assert_eq!((&report["ok"], &report["keys"], &report["values"]), (&false.into(), &50.into(), &51.into()));
    assert_eq!(report["problems"], json!([report["wrong"]]));
    // What the check advises helps.
    let mut command = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
    let inserted = command.args(["insert", &set.address(), "--key", "un\nknown"]).output().expect("the command starts");
    assert!(inserted.status.success());
    assert_eq!(set.json("check @", b"")["ok"], true);
}

#[test]
fn a_check_finds_rows_that_are_gone_from_the_index_and_from_the_values() {
    let Some(set) = Set::with_lines("gone", "", &lines(0..50)) else { return };
    set.sql_unseen("DELETE FROM @.value WHERE key = 'key 7'");
    let report = set.json("check @", b"");
    assert_eq!(counts(&report, ["keys", "values", "left_behind"]), [50, 49, 1]);
    assert!(set.yes("check @", b"").contains("1 key has neither a value nor an insertion under way"));
    set.sql("DELETE FROM @.entry WHERE key = 'key 8'");
    let (said, report) = set.damage();
    assert!(said.contains("2 things are wrong:\n- the key key 8 has a value and is not in the index"), "{said}");
    assert_eq!(report["problems"].as_array().expect("problems").len(), 2);
}

#[test]
fn a_check_finds_a_damaged_snapshot_and_a_damaged_log() {
    let Some(set) = Set::with_lines("damaged", "", &lines(0..50)) else { return };
    let copy = "CREATE TABLE @.kept AS SELECT * FROM @.log";
    let flip = "UPDATE @.log SET record = set_byte(record, 20, get_byte(record, 20) # 1) WHERE position = 1";
    set.sql(&format!("{copy}; {flip}"));
    let (said, _) = set.damage();
    assert!(said.contains("cannot be loaded") && said.contains("checksum"), "{said}");
    let info = set.json("info @", b"");
    assert!(info["shards"][0]["error"].as_str().is_some_and(|why| why.contains("checksum")), "{info}");
    set.sql("DELETE FROM @.log WHERE position = 1");
    let (said, _) = set.damage();
    assert!(said.contains("the log ends after record 0, and 1 were appended"), "{said}");
    set.sql("DELETE FROM @.log; INSERT INTO @.log SELECT * FROM @.kept");
    assert_eq!(set.json("check @", b"")["ok"], true);
    // A snapshot whose bytes are not those that were saved.
    set.sql(
        "INSERT INTO @.snapshot SELECT id, 1, position, tag, 7, 3 FROM @.shard;
         INSERT INTO @.chunk SELECT id, 1, 0, 0, 'abc' FROM @.shard",
    );
    let (said, _) = set.damage();
    assert!(said.contains("a saved filter does not match its digest"), "{said}");
    let info = set.json("info @", b"");
    assert_eq!(info["shards"][0]["snapshot"]["bytes"], 3, "{info}");
}

#[test]
fn a_set_in_redis_needs_no_level_and_says_which_one_it_has() {
    if !RedisServer::is_installed() {
        return servers::skip("redis-server");
    }
    let (server, bench) = (RedisServer::start("").expect("a server"), Bench::new());
    let address = server.address();
    let made = bench.json(&format!("create {address}#first"), b"");
    assert_eq!((&made["level"], &made["lease_seconds"]), (&"within".into(), &2.0.into()), "{made}");
    let said = String::from_utf8(bench.yes(&format!("create {address}#second"), b"")).expect("text");
    assert!(said.contains("a new shared set, exact after 2 s, "), "{said}");
    for exact in ["--level exact", "--lease 2s"] {
        let why = bench.error(&format!("create {address}#third {exact}"), b"");
        assert!(why.contains("cannot be exact") && why.contains("within:2s"), "{why}");
    }
}

#[test]
fn a_check_compares_the_values_in_redis_with_the_index() {
    if !RedisServer::is_installed() {
        return servers::skip("redis-server");
    }
    let (server, bench) = (RedisServer::start("").expect("a server"), Bench::new());
    let address = format!("{}#in_redis", server.address());
    let fill = |arguments: &str| arguments.replace('@', &address);
    bench.yes(&fill("create @ --shards 2 --level within:1s"), b"");
    bench.yes(&fill("insert @"), &lines(0..3_000));
    bench.yes(&fill("remove @"), &lines(0..10));
    let checked = bench.json(&fill("check @"), b"");
    assert_eq!(counts(&checked, ["keys", "values", "left_behind"]), [2_990, 2_990, 0]);
    assert_eq!(checked["ok"], true);

    // A value that no record tells of. One of the shards is that of its key.
    let shards: Vec<String> = (0..2).map(|shard| format!("twiceshy:{{in_redis:{shard}}}")).collect();
    let says = |command: String| server.says(&command).expect("a server");
    for shard in &shards {
        says(format!("HSET {shard}:values stranger v\r\nZADD {shard}:valued 0 stranger"));
    }
    let said = String::from_utf8(bench.out(&fill("check @"), b"", 1)).expect("text");
    assert!(said.contains("2,990 keys, and something is wrong: the keys stranger") && said.contains("deny"), "{said}");
    for shard in &shards {
        says(format!("HDEL {shard}:values stranger\r\nZREM {shard}:valued stranger"));
    }
    assert_eq!(bench.json(&fill("check @"), b"")["ok"], true);

    // A value that was deleted past the guard.
    for shard in &shards {
        says(format!("HDEL {shard}:values \"key 77\"\r\nZREM {shard}:valued \"key 77\""));
    }
    let checked = bench.json(&fill("check @"), b"");
    assert_eq!(counts(&checked, ["keys", "values", "left_behind"]), [2_990, 2_989, 1]);
    says(format!("HSET {}:values half v", shards[1]));
    let why = bench.error(&fill("check @"), b"");
    assert!(why.contains("shard 1 has more values than keys of values"), "{why}");
}
