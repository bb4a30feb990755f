//! What every page of the report has: its head and its style, without network access or scripts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// A whole page.
pub(super) fn shell(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Without it, a browser requests an icon that does not exist.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    }
    .into_string()
}

/// A link to a file next to the page. Names are experiment names; other characters are escaped.
pub(super) fn file(name: &str, ending: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    format!("./{}.{ending}", name.bytes().map(escaped).collect::<String>())
}

/// The words of a sentence that data wrote: text between backquotes is code.
pub(super) fn words(text: &str) -> Markup {
    // With an odd number of quotes the last one is a letter like others.
    let (paired, rest) = match text.matches('`').count() % 2 {
        0 => (text, ""),
        _ => text.rsplit_once('`').map_or((text, ""), |(before, _)| text.split_at(before.len())),
    };
    html! {
        @for (i, part) in paired.split('`').enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (part) }
        }
        (rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_cannot_leave_the_folder() {
        assert_eq!(file("a b/../c", "svg"), "./a%20b%2F..%2Fc.svg");
    }

    #[test]
    fn only_text_between_two_backquotes_is_code_and_none_is_markup() {
        let told = |text: &str| words(text).into_string();
        assert_eq!(told("a `b` c"), "a <code>b</code> c");
        assert_eq!(told("`b` <c>`"), "<code>b</code> &lt;c&gt;`");
        assert_eq!(told("a"), "a");
    }
}
