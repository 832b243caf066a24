//! Self-contained HTML pages.

use crate::text::escaped;
use std::fmt::Write as _;

/// Meaning of a table row, shown by its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// No meaning.
    Plain,
    /// Expected or passed.
    Good,
    /// Unexpected or failed.
    Bad,
    /// Less important.
    Pale,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Pale => "pale",
        }
    }
}

/// A page with a title, a subtitle and contents in the order in which they are added. All text is escaped.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    title: String,
    body: String,
}

impl Page {
    /// Creates a page without contents. The subtitle may be empty.
    pub fn new(title: impl Into<String>, subtitle: &str) -> Self {
        let title = title.into();
        let mut body = format!("<h1>{}</h1>\n", escaped(&title));
        if !subtitle.is_empty() {
            let _ = writeln!(body, "<p class=\"subtitle\">{}</p>", escaped(subtitle));
        }
        Self { title, body }
    }

    /// Adds a heading.
    #[must_use]
    pub fn section(self, heading: &str) -> Self {
        self.with(format!("<h2>{}</h2>\n", escaped(heading)))
    }

    /// Adds a paragraph.
    #[must_use]
    pub fn text(self, paragraph: &str) -> Self {
        self.with(format!("<p>{}</p>\n", escaped(paragraph)))
    }

    /// Adds a list of sentences, for instance notes below a table.
    #[must_use]
    pub fn notes<S: AsRef<str>>(self, notes: &[S]) -> Self {
        let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note.as_ref()))).collect();
        self.with(format!("<ul>\n{items}</ul>\n"))
    }

    /// Adds an SVG figure of this crate with a caption.
    #[must_use]
    pub fn figure(self, svg: &str, caption: &str) -> Self {
        self.with(format!(
            "<figure>\n<div class=\"drawn\">\n{svg}</div>\n<figcaption>{}</figcaption>\n</figure>\n",
            escaped(caption)
        ))
    }

    /// Adds a list of facts, each a name and a value.
    #[must_use]
    pub fn facts<N: AsRef<str>, V: AsRef<str>>(self, facts: &[(N, V)]) -> Self {
        let one = |(name, value): &(N, V)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name.as_ref()), escaped(value.as_ref()))
        };
        self.with(format!("<dl>\n{}</dl>\n", facts.iter().map(one).collect::<String>()))
    }

    /// Adds a table. Columns of numbers are aligned right.
    #[must_use]
    pub fn table<H: AsRef<str>, C: AsRef<str>>(self, header: &[H], rows: &[Vec<C>]) -> Self {
        let rows: Vec<(Tone, Vec<&str>)> =
            rows.iter().map(|row| (Tone::Plain, row.iter().map(AsRef::as_ref).collect())).collect();
        self.toned_table(header, &rows)
    }

    /// Adds a table whose rows have a tone, which colours the last cell, or all cells of a pale row.
    #[must_use]
    pub fn toned_table<H: AsRef<str>, C: AsRef<str>>(self, header: &[H], rows: &[(Tone, Vec<C>)]) -> Self {
        let right: Vec<bool> = (0..header.len())
            .map(|k| rows.iter().filter_map(|(_, row)| row.get(k)).all(|cell| is_number(cell.as_ref())))
            .collect();
        let side = |k: usize| if right.get(k) == Some(&true) { " class=\"number\"" } else { "" };
        let mut text = String::from("<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr>");
        for (k, name) in header.iter().enumerate() {
            let _ = write!(text, "<th{}>{}</th>", side(k), escaped(name.as_ref()));
        }
        text += "</tr></thead>\n<tbody>\n";
        let mut group = "";
        for (tone, row) in rows {
            let name = row.first().map_or("", AsRef::as_ref);
            let first = if std::mem::replace(&mut group, name) == name { "" } else { "first" };
            let _ = write!(text, "<tr class=\"{}\">", [first, tone.class()].join(" ").trim());
            for (k, cell) in row.iter().enumerate() {
                let _ = write!(text, "<td{}>{}</td>", side(k), escaped(cell.as_ref()));
            }
            text += "</tr>\n";
        }
        self.with(text + "</tbody></table></div>\n")
    }

    /// Adds preformatted code.
    #[must_use]
    pub fn code(self, code: &str) -> Self {
        let lines: Vec<String> = code.lines().map(escaped).collect();
        self.with(format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", lines.join("\n")))
    }

    /// Returns the page as HTML.
    pub fn html(&self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
            escaped(&self.title),
            self.body
        )
    }

    fn with(mut self, more: String) -> Self {
        self.body += &more;
        self
    }
}

/// Whether a cell is aligned right: it begins with a number and is not a list, or is empty.
fn is_number(cell: &str) -> bool {
    let begins = cell.trim_start_matches(['-', '+', '−', '<', '±', '~', ' ']);
    begins.is_empty()
        || (begins.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains(", ") && !cell.contains(": "))
}

const STYLE: &str = include_str!("page.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_all_text_and_fetches_nothing() {
        let page = Page::new("<a>", "b & c")
            .section("s\"")
            .text("1 < 2")
            .facts(&[("<k>", "v")])
            .table(&["<h>", "n"], &[vec!["<x>", "<0.001"], vec!["2, 3", "-3 ± 1"]])
            .code("a <b>\n  c")
            .notes(&["<note>"])
            .html();
        for raw in ["<a>", "<k>", "<h>", "<x>", "<b>", "<note>"] {
            assert!(!page.contains(raw), "{raw} in {page}");
        }
        assert!(page.contains("a &lt;b&gt;\n  c") && page.contains("<td>2, 3</td><td class=\"number\">-3 ± 1</td>"));
        assert!(!page.contains("http") && !page.contains("src=") && !page.contains("<script"));
    }

    #[test]
    fn marks_tones_and_groups_of_rows() {
        let rows = [(Tone::Good, vec!["a", "1"]), (Tone::Bad, vec!["a", "2"]), (Tone::Pale, vec!["b", "3"])];
        let page = Page::new("t", "").toned_table(&["x", "y"], &rows).html();
        for class in ["first good", "bad", "first pale"] {
            assert_eq!(page.matches(&format!("<tr class=\"{class}\">")).count(), 1, "{class}");
        }
    }
}
