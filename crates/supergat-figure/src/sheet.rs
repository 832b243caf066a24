//! Tables as Markdown, CSV, JSON or a self-contained HTML page.

use crate::{Page, Tone};
use serde_json::{Map, Value, json};

/// A text table.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Title.
    pub title: String,
    /// Unit of the numbers in the rows, such as `in percent`, which texts add to the title; may be empty. Numbers of the CSV
    /// file have no unit.
    pub unit: &'static str,
    /// Column names.
    pub header: Vec<String>,
    /// Rows, each with its colour on an HTML page.
    pub rows: Vec<(Tone, Vec<String>)>,
    /// Header line of the CSV file.
    pub csv_header: String,
    /// Rows of the CSV file, with numbers in full precision.
    pub csv_rows: Vec<Vec<String>>,
    /// Notes below the table.
    pub notes: Vec<String>,
}

/// Returns tables as Markdown, with aligned columns.
pub fn markdown(sheets: &[Sheet]) -> String {
    sheets.iter().map(|sheet| sheet.markdown()).collect::<Vec<_>>().join("\n")
}

/// Returns a table as CSV.
pub fn csv(sheet: &Sheet) -> String {
    let quoted = |field: &String| match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.clone(),
    };
    let rows = sheet.csv_rows.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(","));
    std::iter::once(sheet.csv_header.clone()).chain(rows).map(|line| line + "\n").collect()
}

/// Returns a table as JSON: its title, the rows of its CSV file as objects, and its notes.
pub fn json(sheet: &Sheet) -> Value {
    let value = |field: &String| match field.parse::<f64>() {
        Ok(number) => json!(number),
        Err(_) if field.is_empty() => Value::Null,
        Err(_) => json!(field),
    };
    let names = || sheet.csv_header.split(',').map(str::to_owned);
    let rows = sheet.csv_rows.iter().map(|row| names().zip(row.iter().map(value)).collect::<Map<_, _>>());
    json!({ "title": sheet.title, "rows": rows.collect::<Vec<_>>(), "notes": sheet.notes })
}

/// Returns tables as one self-contained HTML page.
pub fn html(sheets: &[Sheet]) -> String {
    let page = Page::new("Reproduction of the paper's tables", "SuperGAT");
    sheets.iter().fold(page, |page, sheet| sheet.add_to(page)).html()
}

/// Returns a text of a table; `-` if there is none.
pub fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

/// Returns a number of a CSV file in full precision; an empty text if there is none.
pub fn exact(number: Option<f64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// Returns a p-value with four decimals.
pub fn p_value(p: f64) -> String {
    if p < 1e-4 { "<0.0001".into() } else { format!("{p:.4}") }
}

impl Sheet {
    /// Creates a table without notes, whose CSV file has the same texts.
    pub fn new(
        title: impl Into<String>,
        header: impl IntoIterator<Item: Into<String>>,
        rows: impl IntoIterator<Item = (Tone, Vec<String>)>,
    ) -> Self {
        let header: Vec<String> = header.into_iter().map(Into::into).collect();
        let rows: Vec<(Tone, Vec<String>)> = rows.into_iter().collect();
        let (csv_header, csv_rows) = (header.join(","), rows.iter().map(|(_, row)| row.clone()).collect());
        Self { title: title.into(), unit: "", header, rows, csv_header, csv_rows, notes: Vec::new() }
    }

    /// Sets the unit of the numbers in the rows.
    #[must_use]
    pub fn with_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Sets header line and rows of the CSV file.
    #[must_use]
    pub fn with_csv(self, header: &str, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        Self { csv_header: header.to_owned(), csv_rows: rows.into_iter().collect(), ..self }
    }

    /// Sets the notes below the table.
    #[must_use]
    pub fn with_notes(self, notes: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { notes: notes.into_iter().map(Into::into).collect(), ..self }
    }

    /// Adds a section with the table and its notes to a page.
    pub fn add_to(&self, page: Page) -> Page {
        page.section(&self.heading()).toned_table(&self.header, &self.rows).notes(&self.notes)
    }

    /// Returns the title with the unit.
    fn heading(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{}, {}", self.title, self.unit) }
    }

    fn markdown(&self) -> String {
        let texts = || std::iter::once(&self.header).chain(self.rows.iter().map(|(_, row)| row));
        let width = |column: usize| texts().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(text, &width)| format!(" {:<width$} ", text.replace('|', "\\|")));
            format!("|{}|\n", cells.collect::<Vec<_>>().join("|"))
        };
        let rule: String = widths.iter().map(|&width| format!("|{}", "-".repeat(width + 2))).collect();
        let rows: String = self.rows.iter().map(|(_, row)| line(row)).collect();
        let notes: String = self.notes.iter().map(|note| format!("- {}\n", note.replace('*', "\\*"))).collect();
        format!("## {}\n\n{}{rule}|\n{rows}\n{notes}", self.heading(), line(&self.header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        Sheet {
            title: "A & B".into(),
            unit: "",
            header: vec!["dataset".into(), "p".into()],
            rows: vec![
                (Tone::Good, vec!["cora".into(), "<0.0001".into()]),
                (Tone::Bad, vec!["cora".into(), "±".into()]),
            ],
            csv_header: "dataset,p".into(),
            csv_rows: vec![vec!["co\"r,a".into(), "0.1".into()]],
            notes: vec!["** is two stars.".into()],
        }
    }

    #[test]
    fn aligns_markdown_columns() {
        let text = markdown(&[sheet()]);
        let expected = "## A & B\n\n| dataset | p       |\n|---------|---------|\n| cora    | <0.0001 |\n| cora    | ±       |\n\n- \\*\\* is two stars.\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn texts_have_the_unit() {
        let sheets = [sheet().with_unit("in percent")];
        assert!(markdown(&sheets).starts_with("## A & B, in percent\n"));
        assert!(html(&sheets).contains("<h2>A &amp; B, in percent</h2>"));
        assert_eq!(json(&sheets[0])["title"], "A & B");
    }

    #[test]
    fn quotes_csv_fields() {
        assert_eq!(csv(&sheet()), "dataset,p\n\"co\"\"r,a\",0.1\n");
    }

    #[test]
    fn json_rows_are_objects_with_numbers_and_nulls() {
        let mut sheet = sheet();
        sheet.csv_rows.push(vec![String::new(), "x".into()]);
        let expected = json!([{ "dataset": "co\"r,a", "p": 0.1 }, { "dataset": null, "p": "x" }]);
        assert_eq!(json(&sheet)["rows"], expected);
    }

    #[test]
    fn html_is_escaped_and_self_contained() {
        let page = html(&[sheet(), sheet()]);
        assert!(page.contains("<h2>A &amp; B</h2>") && page.contains(">&lt;0.0001</td>"));
        assert_eq!(page.matches("<table>").count(), 2);
        assert_eq!(page.matches("<tr class=\"first good\">").count(), 2);
        assert!(!page.contains("http") && !page.contains("src="));
    }
}
