//! Standard streams: results go to standard output, progress and errors to standard error.
//!
//! Styles are removed if the stream is not a terminal or `NO_COLOR` is set. A closed pipe (`| head`) is not an error.

use crate::error::{CliError, Result};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;
use supergat::Dataset;

/// Version of all JSON objects that the command prints. It rises when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;
/// Style of names and headings.
pub const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Writes a text with styles to standard output.
pub fn print(text: &str) -> Result<()> {
    let mut stream = anstream::stdout().lock();
    unless_closed(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()))
}

/// Writes one JSON object and a line break to standard output.
pub fn print_json(object: &impl Serialize) -> Result<()> {
    to_stdout(|out| writeln!(out, "{}", json(object)))
}

/// Formats an object as indented JSON.
pub fn json(object: &impl Serialize) -> String {
    serde_json::to_string_pretty(object).expect("keys are strings")
}

/// Lets `fill` write unchanged bytes to standard output.
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

/// Writes a line to standard error. Errors are ignored: a closed stream must not end the work.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Returns a note about the order of the nodes inside the engine, unless it is the given one.
pub fn node_order(dataset: &Dataset) -> Option<String> {
    let order = match dataset.node_order() {
        "given" => return None,
        "parts" => "in the order of its parts",
        _ => "in an order that keeps neighbours close; --node-order given keeps the order of the files",
    };
    Some(format!("note: the engine computes with the nodes {order}"))
}

/// Writes an error to standard error as one line and returns its exit code.
pub fn failed(error: &CliError) -> ExitCode {
    let line = error.message.split_whitespace().collect::<Vec<_>>().join(" ");
    note(&format!("{RED}error:{RED:#} {line}"));
    error.code.into()
}

/// Formats a table row: name, value and explanation.
pub fn row(name: &str, value: &str, explanation: &str) -> String {
    let explanation = if explanation.is_empty() { String::new() } else { format!("  {DIM}{explanation}{DIM:#}") };
    format!("  {name:<19} {BOLD}{value}{BOLD:#}{explanation}\n")
}

/// Formats a count with its noun: `12 epochs`, `1 epoch`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
