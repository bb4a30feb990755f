//! The lines that a query selects, written as they come.

use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};

/// The output format.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Form {
    Lines,
    /// Only the number of lines.
    Count,
    Nothing,
    /// A JSON object with the lines and a report.
    Json,
    /// A JSON object with the report only.
    JsonOfCounts,
}

impl Form {
    /// `true` if lines are printed while input is read.
    pub(crate) fn prints_lines(self) -> bool {
        matches!(self, Form::Lines | Form::Json)
    }

    /// `true` if a JSON object is printed.
    pub(crate) fn is_json(self) -> bool {
        matches!(self, Form::Json | Form::JsonOfCounts)
    }
}

/// Writes the selected lines. None of them is kept: a JSON object is written piece by piece.
pub(crate) struct Selected<W> {
    out: W,
    form: Form,
    count: u64,
}

impl<W: Write> Selected<W> {
    pub(crate) fn begin(mut out: W, form: Form, path: &str) -> io::Result<Selected<W>> {
        let path = json!(path);
        match form {
            Form::Json => write!(out, r#"{{"path":{path},"keys":["#)?,
            Form::JsonOfCounts => write!(out, r#"{{"path":{path},"#)?,
            Form::Lines | Form::Count | Form::Nothing => {}
        }
        Ok(Selected { out, form, count: 0 })
    }

    /// Writes a key, with its value if there is one.
    pub(crate) fn line(&mut self, key: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        self.count += 1;
        match self.form {
            Form::Lines => {
                self.out.write_all(key)?;
                if let Some(value) = value {
                    self.out.write_all(b"\t")?;
                    self.out.write_all(value)?;
                }
                self.out.write_all(b"\n")
            }
            Form::Json => {
                if self.count > 1 {
                    self.out.write_all(b",")?;
                }
                let key = String::from_utf8_lossy(key);
                match value {
                    None => serde_json::to_writer(&mut self.out, &key)?,
                    Some(value) => {
                        let value = String::from_utf8_lossy(value);
                        serde_json::to_writer(&mut self.out, &json!({ "key": key, "value": value }))?;
                    }
                }
                Ok(())
            }
            Form::Count | Form::Nothing | Form::JsonOfCounts => Ok(()),
        }
    }

    /// Passes on all that was written so far.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes what follows the lines. Returns the number of lines.
    pub(crate) fn end(mut self, report: &impl Serialize) -> io::Result<u64> {
        if self.form == Form::Json {
            self.out.write_all(b"],")?;
        }
        match self.form {
            // The object has been opened already.
            Form::Json | Form::JsonOfCounts => writeln!(self.out, "{}", &serde_json::to_string(report)?[1..])?,
            Form::Count => writeln!(self.out, "{}", self.count)?,
            Form::Lines | Form::Nothing => {}
        }
        self.out.flush()?;
        Ok(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: Form, lines: &[(&[u8], Option<&[u8]>)]) -> String {
        let mut out = Vec::new();
        let mut selected = Selected::begin(&mut out, form, "a \"b\"").expect("room");
        for (key, value) in lines {
            selected.line(key, *value).expect("room");
        }
        assert_eq!(selected.end(&json!({ "asked": 3 })).expect("room"), lines.len() as u64);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn every_form_is_whole_with_none_one_and_two_lines() {
        let lines: [(&[u8], Option<&[u8]>); 2] = [(b"x\"\xff", None), (b"", Some(b"v"))];
        for count in 0..=2 {
            let object: serde_json::Value = serde_json::from_str(&written(Form::Json, &lines[..count])).expect("JSON");
            let keys = [json!("x\"\u{fffd}"), json!({ "key": "", "value": "v" })];
            assert_eq!(object, json!({ "path": "a \"b\"", "keys": keys[..count], "asked": 3 }));
            assert_eq!(written(Form::Count, &lines[..count]), format!("{count}\n"));
            assert_eq!(written(Form::Nothing, &lines[..count]), "");
            assert_eq!(written(Form::JsonOfCounts, &lines[..count]), "{\"path\":\"a \\\"b\\\"\",\"asked\":3}\n");
        }
        assert_eq!(written(Form::Lines, &[(b"a", None), (b"", Some(b"v"))]), "a\n\tv\n");
    }
}
