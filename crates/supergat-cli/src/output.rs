//! The two streams: results on standard output, everything said about the work on standard error.
//!
//! Colours and bold type vanish where the stream is no terminal or `NO_COLOR` is set. A reader that has gone away (`| head`) is no error.

use crate::error::{CliError, Result};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

/// For names and headings.
pub const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Writes a text for people to standard output.
pub fn print(text: &str) -> Result<()> {
    let mut stream = anstream::stdout().lock();
    unless_closed(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()))
}

/// Writes one JSON object and a line break to standard output.
pub fn print_json(object: &impl Serialize) -> Result<()> {
    to_stdout(|out| writeln!(out, "{}", json(object)))
}

/// An object as indented JSON.
pub fn json(object: &impl Serialize) -> String {
    serde_json::to_string_pretty(object).expect("keys are strings")
}

/// Lets `fill` write to standard output what must arrive byte for byte.
pub fn to_stdout(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut stream = io::BufWriter::new(io::stdout().lock());
    unless_closed(fill(&mut stream).and_then(|()| stream.flush()))
}

fn unless_closed(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::job(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says something on standard error. That nobody can read it must not end the work.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Says on standard error, in one line, what is wrong, and gives the exit code.
pub fn failed(error: &CliError) -> ExitCode {
    let line = error.message.split_whitespace().collect::<Vec<_>>().join(" ");
    note(&format!("{RED}error:{RED:#} {line}"));
    error.code.into()
}

/// A line of a table: what, how much, and why it matters.
pub fn row(name: &str, value: &str, explanation: &str) -> String {
    let explanation = if explanation.is_empty() { String::new() } else { format!("  {DIM}{explanation}{DIM:#}") };
    format!("  {name:<20}{BOLD}{value}{BOLD:#}{explanation}\n")
}

/// `12 epochs`, `1 epoch`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
