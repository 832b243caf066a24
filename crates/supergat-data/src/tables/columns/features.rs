//! Builds features from the columns of a table.

use super::column_types::{Content, WORDS, detect, is_id_name, requested};
use super::encode::encode;
use super::missing::MissingWords;
use super::profile::{Profile, Sums, profiles};
use super::records::Records;
use crate::dataset::graph_features;
use crate::error::Result;
use crate::options::TableOptions;
use crate::schema::{Column, ColumnType, Decision, Missing, Notation, Schema};
use crate::tfidf::{Terms, Vocabulary};
use crate::words::{count, first_few, quoted, shown};
use supergat_core::Features;

/// Minimum number of features for sparse storage.
const MIN_SPARSE_WIDTH: usize = 64;
/// Maximum fraction of nonzero values for sparse storage.
const MAX_SPARSE_DENSITY: f64 = 0.25;
/// Numbers with a root mean square above this are standardised by default.
const MAX_ROOT_MEAN_SQUARE: f64 = 10.0;
/// Maximum number of categories of a column of links, unless they are requested.
const MAX_LINK_CATEGORIES: usize = 64;
/// Maximum number of terms of a column of free text.
const MAX_TERMS: usize = 500;

/// Features, their schema and notes for the user.
#[derive(Debug)]
pub(in crate::tables) struct FeatureTable {
    pub features: Features<f32>,
    /// Whether each value is known, if unknown ones are to be computed from those of neighbours.
    pub known: Option<Vec<bool>>,
    pub schema: Option<Schema>,
    pub notes: Vec<String>,
}

impl FeatureTable {
    /// Returns a table without features.
    pub fn none(nodes: usize, notes: Vec<String>) -> Self {
        Self { features: graph_features::none(nodes), schema: None, known: None, notes }
    }
}

/// Properties of a table that `dataset.toml` states.
#[derive(Debug, Clone, Copy)]
pub(in crate::tables) struct Stated {
    /// Storage of the features; by default it depends on the data.
    pub sparse: Option<bool>,
    /// Whether the columns are finished features, which are used as they are.
    pub prepared: bool,
    /// Whether the rows are links. Their columns of text, or with many categories, are used on request only.
    pub of_links: bool,
}

/// Builds features from the columns of a table.
/// `known` are the columns of a trained model; else they are inferred.
pub(in crate::tables) fn build(
    records: &dyn Records,
    known: Option<&Schema>,
    options: &TableOptions,
    stated: Stated,
) -> Result<FeatureTable> {
    let mut notes = Vec::new();
    let words = MissingWords::of_options(options);
    let (mut schema, columns) = match known {
        Some(schema) => (schema.clone(), match_columns(records, schema, &mut notes)?),
        None => Inference { records, options, stated, words: &words }.schema(&mut notes)?,
    };
    schema.missing_words = words.into_words();
    let (features, known) = encode(records, &schema, &columns, &mut notes)?;
    Ok(FeatureTable { features, known, schema: Some(schema), notes })
}

/// Finds the columns of a trained model's schema by name.
fn match_columns(records: &dyn Records, schema: &Schema, notes: &mut Vec<String>) -> Result<Vec<usize>> {
    let sheet = records.sheet();
    let header = &sheet.header;
    let find = |name: &str| records.columns().iter().copied().find(|at| header[*at] == name);
    let columns = schema.columns.iter().map(|column| {
        find(column.name()).ok_or_else(|| {
            let expected = format!("a column `{}`, which the model was trained with", shown(column.name()));
            let advice = "add the column; its values may be left empty";
            sheet.at_header().error(expected, sheet.columns_in_words(), advice)
        })
    });
    let columns = columns.collect::<Result<Vec<usize>>>()?;
    let unused: Vec<String> =
        records.columns().iter().filter(|at| !columns.contains(at)).map(|at| quoted(&header[*at])).collect();
    if !unused.is_empty() {
        notes.push(format!("{}: the model does not know {}, not used", sheet.name(), first_few(unused)));
    }
    Ok(columns)
}

/// Inference of a schema from the values of a table.
struct Inference<'a> {
    records: &'a dyn Records,
    options: &'a TableOptions,
    stated: Stated,
    words: &'a MissingWords,
}

/// A column of the schema, and the number of its feature values that are not zero.
type Prepared = (Column, f64);

impl Inference<'_> {
    /// Returns the schema and the columns of the table that it uses.
    fn schema(&self, notes: &mut Vec<String>) -> Result<(Schema, Vec<usize>)> {
        let (sheet, prepared) = (self.records.sheet(), self.stated.prepared);
        let requested = requested(sheet, self.options)?;
        let needs_words = |name: &str| !prepared && (requested.contains_key(name) || is_id_name(name));
        let profiles = profiles(self.records, self.words, &needs_words)?;
        let mut decisions = self.records.role_decisions(self.options);
        let (mut columns, mut kept, mut filled) = (Vec::new(), Vec::new(), 0.0);
        let mut standardised = Vec::new();
        for (&at, profile) in self.records.columns().iter().zip(&profiles) {
            let name = &sheet.header[at];
            let (content, reason) = match prepared && profile.plain.failure.is_none() && profile.filled > 0 {
                true => (Content::Numbers(Notation::Plain, profile.plain.sums.clone()), String::new()),
                false => detect(sheet, at, profile, requested.get(name.as_str()).copied())?,
            };
            let (content, mut reason) =
                match self.is_too_wide(&content, profile) && !requested.contains_key(name.as_str()) {
                    true => (
                        Content::Unused(ColumnType::Ignored),
                        "too many words for links (parameter `categorical` uses it)".to_owned(),
                    ),
                    false => (content, reason),
                };
            let mut kind = content_type(&content);
            if let Some((column, nonzero)) = self.column(at, profile, content)? {
                if let Column::Number { deviation: Some(_), .. } = &column {
                    standardised.push(quoted(name));
                    reason += "; standardised";
                }
                if kind == ColumnType::Category && !requested.contains_key(name.as_str()) && reason != WORDS {
                    let file = sheet.name();
                    notes.push(format!("{file}: column `{}` is read as categories: {reason}", shown(name)));
                }
                if profile.missing > 0 {
                    reason += &format!("; {} missing", profile.missing);
                }
                decisions.push((at, decision(name, kind, column.width(), reason)));
                columns.push(column);
                kept.push(at);
                filled += nonzero;
                continue;
            }
            let said = match kind {
                ColumnType::Empty => "is empty".to_owned(),
                ColumnType::Text => "holds texts without words to use".to_owned(),
                _ => reason.clone(),
            };
            if kind == ColumnType::Text {
                kind = ColumnType::Empty;
            }
            notes.push(format!("{}: column `{}` {said}: not used", sheet.name(), shown(name)));
            decisions.push((at, decision(name, kind, 0, format!("{reason}; not used"))));
        }
        let width: usize = columns.iter().map(Column::width).sum();
        let density = filled / (self.records.count() as f64 * width as f64).max(1.0);
        let sparse = self.stated.sparse.unwrap_or(width >= MIN_SPARSE_WIDTH && density < MAX_SPARSE_DENSITY);
        let sparse = sparse && self.options.missing != Missing::Propagate;
        notes.push(self.summary(&columns) + if sparse { "; kept sparse" } else { "" });
        notes.extend(self.standardised(standardised));
        decisions.sort_by_key(|(at, _)| *at);
        let decisions =
            if prepared { Vec::new() } else { decisions.into_iter().map(|(_, decision)| decision).collect() };
        let missing = self.options.missing;
        Ok((Schema { columns, sparse, missing, decisions, ..Schema::default() }, kept))
    }

    /// Returns whether a column of links would need much memory.
    fn is_too_wide(&self, content: &Content, profile: &Profile) -> bool {
        let is_wide = match content {
            Content::Text => true,
            Content::Categories => profile.words.values.len() > MAX_LINK_CATEGORIES,
            _ => false,
        };
        is_wide && self.stated.of_links
    }

    /// Prepares a column; returns `None` if it yields no features.
    fn column(&self, at: usize, profile: &Profile, content: Content) -> Result<Option<Prepared>> {
        let name = self.records.sheet().header[at].clone();
        let rows = self.records.count();
        let indicator = profile.missing > 0 && self.options.missing == Missing::Mean;
        let marked = if indicator { profile.missing as f64 } else { 0.0 };
        Ok(match content {
            Content::Unused(_) => None,
            Content::Numbers(notation, sums) => {
                let deviation = self.standardises(notation, &sums).then(|| sums.deviation());
                let replaced = if self.options.missing == Missing::Mean { profile.missing } else { 0 };
                let nonzero = if deviation.is_some() { rows } else { sums.nonzero + replaced };
                let column = Column::Number { name, mean: sums.mean() as f32, deviation, notation, indicator };
                Some((column, nonzero as f64 + marked))
            }
            Content::Categories => {
                let values = profile.words.values.iter().cloned().collect();
                Some((Column::Category { name, values, indicator }, profile.filled as f64 + marked))
            }
            Content::Text => {
                let documents = self.documents(at)?;
                let Vocabulary { terms, weights } = Vocabulary::new(&documents, MAX_TERMS);
                let nonzero = documents.iter().map(Vec::len).sum::<usize>() as f64;
                (!terms.is_empty()).then_some((Column::Text { name, terms, weights }, nonzero))
            }
        })
    }

    /// Returns whether a column of numbers is standardised: on request, or if its values are large.
    fn standardises(&self, notation: Notation, sums: &Sums) -> bool {
        let large = sums.root_mean_square() > MAX_ROOT_MEAN_SQUARE || notation.column_type() == ColumnType::Date;
        self.options.standardise.unwrap_or(large && !self.stated.prepared)
    }

    /// Returns the terms of each text of a column.
    fn documents(&self, at: usize) -> Result<Vec<Vec<String>>> {
        let terms = Terms::default();
        let mut documents = vec![Vec::new(); self.records.count()];
        self.records.for_each(&mut |node, _, row| {
            if !self.words.include(&row[at]) {
                terms.append(&row[at], &mut documents[node]);
            }
            Ok(())
        })?;
        Ok(documents)
    }

    /// Summarises the columns by type.
    fn summary(&self, columns: &[Column]) -> String {
        let width: usize = columns.iter().map(Column::width).sum();
        let numbers = |kind: ColumnType| {
            let is =
                |column: &&Column| matches!(column, Column::Number { notation, .. } if notation.column_type() == kind);
            columns.iter().filter(is).count()
        };
        let listed = |text: bool| -> Vec<String> {
            let is = |column: &&Column| match column {
                Column::Number { .. } => false,
                Column::Category { .. } => !text,
                Column::Text { .. } => text,
            };
            columns.iter().filter(is).map(|c| format!("`{}` ({})", shown(c.name()), c.width())).collect()
        };
        let mut parts = vec![format!("{} of numbers", count(numbers(ColumnType::Number), "column"))];
        for (kind, words) in [(ColumnType::Boolean, "of true and false"), (ColumnType::Date, "of dates")] {
            if numbers(kind) > 0 {
                parts.push(format!("{} {words}", numbers(kind)));
            }
        }
        for (list, words) in [(listed(false), "of words"), (listed(true), "of text")] {
            if !list.is_empty() {
                parts.push(format!("{} {words}: {}", list.len(), first_few(list)));
            }
        }
        let last = parts.pop().unwrap_or_default();
        let listed = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
        format!("{}: {} from {listed}", self.records.sheet().name(), count(width, "feature"))
    }

    /// Notes the columns that are standardised without a request.
    fn standardised(&self, columns: Vec<String>) -> Option<String> {
        let automatic = self.options.standardise.is_none() && !columns.is_empty();
        automatic.then(|| {
            format!(
                "{}: scaled to mean 0 and standard deviation 1, since the values are large or dates: {} \
                 (parameter `standardise=false` keeps them)",
                self.records.sheet().name(),
                first_few(columns)
            )
        })
    }
}

fn content_type(content: &Content) -> ColumnType {
    match content {
        Content::Numbers(notation, _) => notation.column_type(),
        Content::Categories => ColumnType::Category,
        Content::Text => ColumnType::Text,
        Content::Unused(kind) => *kind,
    }
}

/// Builds the decision on a column.
pub(in crate::tables) fn decision(
    name: &str,
    kind: ColumnType,
    features: usize,
    reason: impl Into<String>,
) -> Decision {
    Decision { name: name.to_owned(), kind, features, reason: reason.into() }
}
