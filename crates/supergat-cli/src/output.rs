//! Standard streams: results go to standard output, progress and errors to standard error.
//!
//! Styles are removed if the stream is not a terminal or `NO_COLOR` is set. A closed pipe (`| head`) is not an error.
//!
//! Names of nodes, classes, columns and files come from others. Everything that is printed for people passes through
//! [`visible`], which shows control characters and marks of the writing direction as escapes such as `\u001b`: a
//! terminal would obey them. Files and pipes of CSV contain the data as it is.

use crate::error::{CliError, Result};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use supergat::Dataset;

pub use supergat_core::words::count;

/// Version of the JSON objects that the command prints, unless they have their own. It rises when a field changes its meaning
/// or is removed.
pub const SCHEMA: u32 = 1;
/// Style of names and headings.
pub const BOLD: Mark = Mark('\u{fdd0}');
const DIM: Mark = Mark('\u{fdd1}');
const RED: Mark = Mark('\u{fdd2}');
const OFF: char = '\u{fdd3}';

/// Beginning of a style in a text; the alternate form is its end.
///
/// It is written as a code point that Unicode reserves for use inside programs, and becomes an escape sequence when the
/// text is printed. So the sequences of this program differ from those in names of the user.
#[derive(Debug, Clone, Copy)]
pub struct Mark(char);

impl Display for Mark {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", if f.alternate() { OFF } else { self.0 })
    }
}

/// Replaces marks by escape sequences, and shows all other characters that a terminal would obey. Line breaks are kept
/// outside of styles if `keeps_lines` is set.
fn styled(text: &str, keeps_lines: bool) -> String {
    let text = in_options(text);
    let mut shown = String::with_capacity(text.len());
    let mut is_styled = false;
    for c in text.chars() {
        let style = match c {
            '\u{fdd0}' => Style::new().bold(),
            '\u{fdd1}' => Style::new().dimmed(),
            '\u{fdd2}' => AnsiColor::Red.on_default().bold(),
            OFF => {
                is_styled = false;
                shown += &anstyle::Reset.render().to_string();
                continue;
            }
            '\n' if keeps_lines && !is_styled => {
                shown.push(c);
                continue;
            }
            _ => {
                push_visible(&mut shown, c);
                continue;
            }
        };
        is_styled = true;
        shown += &style.render().to_string();
    }
    shown
}

/// Replaces the parameters that a message of the library names by options of the command.
pub fn in_options(message: &str) -> String {
    supergat_core::parameter::in_words(message, |name, value| {
        let name = name.replace('_', "-");
        match value {
            None | Some("true") => format!("--{name}"),
            Some("false") => format!("--no-{name}"),
            Some(value) => format!("--{name} {value}"),
        }
    })
}

/// Shows characters that a terminal would obey instead of printing them as escapes, in the form of JSON: `\u001b`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(&mut shown, c));
    shown
}

fn push_visible(shown: &mut String, c: char) {
    if !is_obeyed(c) {
        return shown.push(c);
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        *shown += &format!("\\u{unit:04x}");
    }
}

/// Returns whether terminals obey a character instead of showing it: control characters, marks of the writing direction,
/// separators of lines, and characters without a width that hide in names.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Writes a text with styles to standard output.
pub fn print(text: &str) -> Result<()> {
    let mut stream = anstream::stdout().lock();
    unless_closed(stream.write_all(styled(text, true).as_bytes()).and_then(|()| stream.flush()))
}

/// Writes one JSON object and a line break to standard output.
pub fn print_json(object: &impl Serialize) -> Result<()> {
    let text = in_options(&json(object)).split('\n').map(visible).collect::<Vec<_>>().join("\n");
    to_stdout(|out| writeln!(out, "{text}"))
}

/// Prints the result of a command that succeeded: as one JSON object, or as text.
pub fn print_result(as_json: bool, object: &impl Serialize, text: impl FnOnce() -> String) -> Result<ExitCode> {
    if as_json { print_json(object) } else { print(&text()) }?;
    Ok(ExitCode::SUCCESS)
}

/// Formats an object as indented JSON.
pub fn json(object: &impl Serialize) -> String {
    serde_json::to_string_pretty(object).expect("keys are strings")
}

/// Lets `fill` write to standard output: unchanged bytes, unless it is a terminal.
pub fn to_stdout(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut stream = io::BufWriter::new(io::stdout().lock());
    if !io::stdout().is_terminal() {
        return unless_closed(fill(&mut stream).and_then(|()| stream.flush()));
    }
    let mut bytes = Vec::new();
    let written = fill(&mut bytes).and_then(|()| {
        let text = String::from_utf8_lossy(&bytes);
        text.split_inclusive('\n').try_for_each(|line| match line.strip_suffix('\n') {
            Some(line) => writeln!(stream, "{}", visible(line)),
            None => write!(stream, "{}", visible(line)),
        })
    });
    unless_closed(written.and_then(|()| stream.flush()))
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
    let _ = writeln!(anstream::stderr(), "{}", styled(text, false));
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

/// Quotes a word for shells, if needed.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-:=,+".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Writes an error to standard error as one line and returns its exit code.
pub fn failed(error: &CliError) -> ExitCode {
    note(&format!("{RED}error:{RED:#} {}", one_line(&error.message)));
    error.code.into()
}

/// Returns a message as one line.
pub fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats a table row: name, value and explanation.
pub fn row(name: &str, value: &str, explanation: &str) -> String {
    let explanation = if explanation.is_empty() { String::new() } else { format!("  {DIM}{explanation}{DIM:#}") };
    format!("  {name:<19} {BOLD}{value}{BOLD:#}{explanation}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_terminals_would_obey() {
        for (hostile, shown) in [
            ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
            ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
            ("\u{9b}2J a\rb\tc", "\\u009b2J a\\u000db\\u0009c"),
            ("\u{202e}gpj.exe\u{2066}\u{200f}", "\\u202egpj.exe\\u2066\\u200f"),
            ("\u{e0041}", "\\udb40\\udc41"),
            ("Größe 日本語 עברית \u{1f600}", "Größe 日本語 עברית \u{1f600}"),
        ] {
            assert_eq!(visible(hostile), shown);
            assert_eq!(styled(hostile, true), shown);
        }
    }

    #[test]
    fn parameters_of_the_library_are_shown_as_options() {
        let message =
            "name it in parameter `missing_words`, or set parameter `standardise=false` or parameter `missing=zero`";
        assert_eq!(styled(message, false), "name it in --missing-words, or set --no-standardise or --missing zero");
        assert_eq!(in_options("column `missing` of parameter `a"), "column `missing` of parameter `a");
    }

    #[test]
    fn quotes_words_for_shells() {
        assert_eq!(quoted("runs/cora-mlp"), "runs/cora-mlp");
        assert_eq!(quoted("my run's"), "'my run'\\''s'");
    }

    #[test]
    fn only_styles_of_this_program_reach_the_terminal() {
        let text = styled(&format!("{BOLD}a\x1b[1m\nb{BOLD:#}\nc"), true);
        assert_eq!(text, "\x1b[1ma\\u001b[1m\\u000ab\x1b[0m\nc");
        assert_eq!(styled("a\nb", false), "a\\u000ab");
    }
}
