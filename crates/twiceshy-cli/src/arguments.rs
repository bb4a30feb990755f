//! What the command says about its arguments.

use std::io::Write as _;
use std::{env, io};
use twiceshy_shared::shown;

/// Prints why the arguments are refused, or the help or version that was asked for. Returns the exit status.
pub(crate) fn refuse(error: &clap::Error) -> u8 {
    let plain = error.render().to_string();
    let arguments = || env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let hidden = hide_passwords(&plain, arguments());
    // If the output is closed, the exit status still tells.
    let _ = if hidden == plain { error.print() } else { io::stderr().write_all(hidden.as_bytes()) };
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// A text without the passwords of the addresses on the command line.
fn hide_passwords(text: &str, arguments: impl Iterator<Item = String>) -> String {
    let is_secret = |argument: &String| argument.contains("://");
    // An option may stand before its address: `--out=postgres://…`.
    let addresses = arguments.filter(is_secret).flat_map(|argument| {
        let value = argument.split_once('=').map(|(_, value)| value.to_owned()).filter(is_secret);
        [argument].into_iter().chain(value).collect::<Vec<_>>()
    });
    addresses.fold(text.to_owned(), |text, address| text.replace(&address, &shown(&address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_about_an_address_has_no_password() {
        let arguments = ["create", "s", "postgres://me:secret@host/d", "--out=redis://:secret@host"];
        let text = "unexpected 'postgres://me:secret@host/d' found; 'redis://:secret@host' and '--out=redis://:secret@host' too";
        let hidden = hide_passwords(text, arguments.iter().map(ToString::to_string));
        assert!(!hidden.contains("secret") && hidden.contains("'postgres://host/d'"), "{hidden}");
        assert_eq!(hide_passwords("nothing", arguments.iter().map(ToString::to_string)), "nothing");
    }
}
