//! Tables as text: Markdown, CSV, and one page for a browser that needs nothing else; JSON for programs.

use serde_json::{Map, Value, json};

/// A table of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows, each with the class that colours it on a page.
    pub rows: Vec<(&'static str, Vec<String>)>,
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
    let body: String = sheets.iter().map(Sheet::html).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>SuperGAT: the paper's tables, made again</title>\n<style>{STYLE}</style>\n\
         <h1>The paper's tables, made again</h1>\n{body}</html>\n"
    )
}

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap }
th { border-bottom: 2px solid #888 }
th:nth-child(-n+2), td:nth-child(-n+2), th:last-child, td:last-child { text-align: left }
tr.first td { border-top: 1px solid #ccc }
tr.within td:last-child { color: #0a6b2d }
tr.outside td:last-child { color: #b3261e; font-weight: 600 }
tr.other, tr.missing { color: #777 }
div { overflow-x: auto }
li { color: #555; font-size: 13px }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #191919 }
  tr.within td:last-child { color: #6fcf8e }
  tr.outside td:last-child { color: #ff8a80 }
  li, tr.other, tr.missing { color: #999 }
}
";

impl Sheet {
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

    fn html(&self) -> String {
        let cells = |tag: &str, row: &[String]| -> String {
            row.iter().map(|text| format!("<{tag}>{}</{tag}>", escaped(text))).collect()
        };
        let mut rows = String::new();
        let mut group = "";
        for (class, row) in &self.rows {
            let first = if std::mem::replace(&mut group, &row[0]) == row[0] { "" } else { " first" };
            rows += &format!("<tr class=\"{class}{first}\">{}</tr>\n", cells("td", row));
        }
        let notes: String = self.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
        format!(
            "<h2>{}</h2>\n<div><table>\n<tr>{}</tr>\n{rows}</table></div>\n<ul>\n{notes}</ul>\n",
            escaped(&self.title),
            cells("th", &self.header)
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        Sheet {
            title: "A & B".into(),
            header: vec!["dataset".into(), "p".into()],
            rows: vec![("within", vec!["cora".into(), "<0.0001".into()]), ("outside", vec!["cora".into(), "±".into()])],
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
        assert!(page.contains("<h2>A &amp; B</h2>") && page.contains("<td>&lt;0.0001</td>"));
        assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
        assert_eq!(page.matches("<tr class=\"within first\">").count(), 2);
        assert!(!page.contains("http") && !page.contains("src="));
    }
}
