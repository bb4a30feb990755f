//! Estimates the width of a text without its font.

/// The width of a text in ems, rounded up: the reader's font is unknown, and clipped text is worse than a margin.
fn ems(text: &str) -> f64 {
    text.chars().map(em).sum()
}

/// Widths of Verdana and DejaVu Sans, which are wider than most system fonts.
fn em(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '\'' | '|' => 0.3,
        ' ' | '.' | ',' | '·' => 0.33,
        ':' | ';' | '!' | '/' | 'f' | '-' => 0.37,
        '(' | ')' | '[' | ']' | 't' | 'r' => 0.41,
        '⁰' | '¹' | '²' | '³' | '⁴'..='⁻' => 0.45,
        'c' | 's' | 'z' => 0.56,
        'k' | 'v' | 'x' | 'y' => 0.6,
        'a' | 'e' | 'o' => 0.62,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '→' | '↑' | '—' => 1.0,
        '=' | '+' | '<' | '>' | '−' => 0.84,
        'A'..='Z' => 0.79,
        letter if u32::from(letter) >= 0x2e80 => 1.1,
        _ => 0.64,
    }
}

/// The width of a text at a font size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    ems(text) * size
}

/// Removes what XML does not allow: control characters and non-characters.
pub(super) fn clean(text: &str) -> String {
    let allowed = |letter: &char| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}');
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(allowed).collect()
}

/// Breaks a text into lines no wider than `room`. A wider word is cut.
pub(super) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in clean(text).split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.extend(cut(word, size, room)),
        }
    }
    lines
}

/// Cuts a word into pieces no wider than `room`, each with at least one letter.
fn cut(word: &str, size: f64, room: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0.0;
    for letter in word.chars() {
        let wide = em(letter) * size;
        if used > 0.0 && used + wide > room {
            pieces.push(String::new());
            used = 0.0;
        }
        used += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_every_word_and_are_no_wider_than_the_room() {
        let text = "false positives a query, by the distinct absent queries for each stored key";
        let lines = wrapped(text, 12.0, 150.0);
        assert!(lines.len() > 2);
        assert_eq!(lines.join(" "), text);
        assert!(lines.iter().all(|line| width(line, 12.0) <= 150.0));
    }

    #[test]
    fn a_word_wider_than_the_room_is_cut_and_not_lost() {
        let lines = wrapped(&"w".repeat(50), 10.0, 100.0);
        assert_eq!(lines.concat().len(), 50);
        assert!(lines.len() == 5 && lines.iter().all(|line| width(line, 10.0) <= 100.0), "{lines:?}");
        assert_eq!(wrapped("ab", 10.0, 0.0), ["a", "b"]);
    }

    #[test]
    fn characters_that_xml_forbids_are_removed() {
        assert_eq!(clean("a\u{0}b\u{ffff} \n c\u{1b}"), "ab c");
        assert!(wrapped(" \u{1} ", 10.0, 100.0).is_empty());
    }
}
