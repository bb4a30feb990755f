//! Opens a page in a headless browser and reports what is wrong with it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The output of the script in `measure.js`.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Seen {
    /// The faults, including the browser's console.
    pub(crate) faults: Vec<String>,
    /// Frames checked: two widths in two colour schemes.
    pub(crate) frames: usize,
    /// Pictures in all frames together.
    pub(crate) pictures: usize,
    /// Texts within them.
    pub(crate) texts: usize,
    /// The lowest contrast of a text against its background.
    pub(crate) least_contrast: f64,
}

const PATIENCE: Duration = Duration::from_secs(120);
const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
    "--dump-dom",
];

/// The browser of this machine: the path in `CHROMIUM`, or Chromium or Chrome on the path.
pub(crate) fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

/// What a browser sees in a page.
pub(crate) fn look_at(browser: &Path, page: &str) -> Seen {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let wrapper = folder.path().join("wrapper.html");
    // A tag inside the script would end it.
    let quoted = serde_json::to_string(page).expect("text").replace('<', "\\u003c");
    let script = format!("const PAGE = {quoted};\n{}", include_str!("measure.js"));
    fs::write(&wrapper, format!("<!doctype html><meta charset=utf-8><body><script>{script}</script>"))
        .expect("written");
    let (dom, log) = run(browser, folder.path(), &wrapper);
    let result = dom.split("RESULT").find(|part| part.starts_with('{'));
    let result = result.unwrap_or_else(|| panic!("the browser measured nothing: {dom}\n{log}"));
    let result = result.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let mut seen: Seen = serde_json::from_str(&result).expect("what the script writes");
    seen.faults.extend(log.lines().filter(|line| line.contains(":CONSOLE")).map(|line| format!("console: {line}")));
    seen
}

/// The document after its scripts ran, and the browser's log.
fn run(browser: &Path, folder: &Path, page: &Path) -> (String, String) {
    let (dom, log) = (folder.join("dom"), folder.join("log"));
    let mut child = Command::new(browser)
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&dom).expect("a file"))
        .stderr(File::create(&log).expect("a file"))
        .spawn()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", browser.display()));
    let begun = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().expect("killed");
            child.wait().expect("ended");
            panic!("{} did not end within {PATIENCE:?}", browser.display());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let text = |path| String::from_utf8_lossy(&fs::read(path).expect("written by the browser")).into_owned();
    (text(&dom), text(&log))
}
