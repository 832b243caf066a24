//! Tables as text: Markdown, CSV, and one page for a browser that needs nothing else; JSON for programs.

use serde_json::{Map, Value, json};
use supergat_figure::{Page, Tone};

/// A table of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows, each with what its colour says on a page.
    pub rows: Vec<(Tone, Vec<String>)>,
    /// The first line of its CSV file.
    pub csv_header: String,
    /// The rows of its CSV file, with all digits.
    pub csv_rows: Vec<Vec<String>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

/// Tables in Markdown, aligned, so that they can be read as they are.
pub fn markdown(sheets: &[Sheet]) -> String {
    sheets.iter().map(|sheet| sheet.markdown()).collect::<Vec<_>>().join("\n")
}

/// A table as CSV.
pub fn csv(sheet: &Sheet) -> String {
    let quoted = |field: &String| match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.clone(),
    };
    let rows = sheet.csv_rows.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(","));
    std::iter::once(sheet.csv_header.clone()).chain(rows).map(|line| line + "\n").collect()
}

/// A table for programs: the rows of its CSV file with the names of their columns, and its notes.
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

/// Tables as one page, without anything that must be fetched.
pub fn html(sheets: &[Sheet]) -> String {
    let page = Page::new("The paper's tables, made again", "SuperGAT");
    sheets.iter().fold(page, |page, sheet| sheet.shown_on(page)).html()
}

impl Sheet {
    /// A section of a page, with this table and its notes.
    pub fn shown_on(&self, page: Page) -> Page {
        page.section(&self.title).toned_table(&self.header, &self.rows).notes(&self.notes)
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
        format!("## {}\n\n{}{rule}|\n{rows}\n{notes}", self.title, line(&self.header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        Sheet {
            title: "A & B".into(),
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
    fn markdown_is_aligned() {
        let text = markdown(&[sheet()]);
        let expected = "## A & B\n\n| dataset | p       |\n|---------|---------|\n| cora    | <0.0001 |\n| cora    | ±       |\n\n- \\*\\* is two stars.\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn fields_of_csv_are_quoted() {
        assert_eq!(csv(&sheet()), "dataset,p\n\"co\"\"r,a\",0.1\n");
    }

    #[test]
    fn programs_get_numbers_and_names() {
        let mut sheet = sheet();
        sheet.csv_rows.push(vec![String::new(), "x".into()]);
        let expected = json!([{ "dataset": "co\"r,a", "p": 0.1 }, { "dataset": null, "p": "x" }]);
        assert_eq!(json(&sheet)["rows"], expected);
    }

    #[test]
    fn the_page_is_escaped_and_fetches_nothing() {
        let page = html(&[sheet(), sheet()]);
        assert!(page.contains("<h2>A &amp; B</h2>") && page.contains(">&lt;0.0001</td>"));
        assert_eq!(page.matches("<table>").count(), 2);
        assert_eq!(page.matches("<tr class=\"first good\">").count(), 2);
        assert!(!page.contains("http") && !page.contains("src="));
    }
}
