//! Weights and features of links: the columns of their table besides the ends.

use super::columns::features::{self, FeatureTable, Stated, decision};
use super::columns::records::{Records, Visit};
use super::roles::WEIGHT;
use super::rows::sheet::Sheet;
use crate::error::Result;
use crate::files;
use crate::options::TableOptions;
use crate::schema::{ColumnType, Decision, LinkSchema, Missing};
use crate::words::{quoted, shown};
use supergat_core::{Duplicates, EdgeAttributes, Features, Graph};

/// Weights and features of all links, in input order.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkColumns {
    /// Weight of each link, if there is a column of weights.
    pub weights: Option<Vec<f64>>,
    /// Number of features per link.
    pub width: usize,
    /// Features of all links, row after row.
    pub features: Vec<f32>,
    pub schema: LinkSchema,
}

/// Rows of a table of links.
struct LinkRecords<'a> {
    sheet: &'a Sheet,
    /// Columns of features.
    columns: Vec<usize>,
    /// Columns with a role, and the role in words.
    roles: Vec<(usize, &'static str)>,
    rows: usize,
}

impl Records for LinkRecords<'_> {
    fn sheet(&self) -> &Sheet {
        self.sheet
    }

    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn count(&self) -> usize {
        self.rows
    }

    fn for_each(&self, visit: &mut Visit<'_>) -> Result<()> {
        let mut row_number = 0;
        self.sheet.for_each(&mut |line, row| {
            visit(row_number, line, row)?;
            row_number += 1;
            Ok(())
        })
    }

    fn role_decisions(&self, options: &TableOptions) -> Vec<(usize, Decision)> {
        let header = &self.sheet.header;
        let of_role = |(at, what): &(usize, &str)| (*at, decision(&header[*at], ColumnType::Role, 0, *what));
        let ignored = (0..header.len()).filter(|at| options.ignores(&header[*at]));
        let because = "requested with parameter `ignore_columns`";
        let ignored = ignored.map(|at| (at, decision(&header[at], ColumnType::Ignored, 0, because)));
        self.roles.iter().map(of_role).chain(ignored).collect()
    }

    fn noun(&self) -> &'static str {
        "link"
    }

    fn name(&self, record: usize) -> String {
        record.to_string()
    }
}

/// Finds the column of the weights: the one that the options or the trained model name, or one with a usual name.
pub(super) fn weight_column(sheet: &Sheet, options: &TableOptions) -> Result<Option<usize>> {
    match trained_links(options) {
        Some(LinkSchema { weight: None, .. }) => Ok(None),
        Some(LinkSchema { weight: name, .. }) => WEIGHT.find(sheet, name.as_deref()),
        None => {
            let found = WEIGHT.find(sheet, options.edge_weight.as_deref())?;
            Ok(found.filter(|at| options.edge_weight.is_some() || !options.ignores(&sheet.header[*at])))
        }
    }
}

/// Returns the columns of links that the trained model of the options knows.
fn trained_links(options: &TableOptions) -> Option<&LinkSchema> {
    options.expected.as_ref().map(|expected| &expected.links).or(options.link_schema.as_ref())
}

/// Reads weights and features of all rows of the table of links. `roles` are the columns that are used in another way.
pub(super) fn read(
    sheet: &Sheet,
    rows: usize,
    weight: Option<usize>,
    roles: &[(usize, &'static str)],
    options: &TableOptions,
    prepared: bool,
    notes: &mut Vec<String>,
) -> Result<LinkColumns> {
    let mut roles = roles.to_vec();
    let mut columns = LinkColumns::default();
    if let Some(at) = weight {
        columns.weights = Some(weights(sheet, at, rows)?);
        columns.schema.weight = Some(sheet.header[at].clone());
        notes.push(format!("{}: weights of links in `{}`", sheet.name(), shown(&sheet.header[at])));
        roles.push((at, "weights of the links"));
    }
    let taken = |at: &usize| roles.iter().any(|(taken, _)| taken == at);
    let free = (0..sheet.header.len()).filter(|at| !taken(at) && !options.ignores(&sheet.header[*at]));
    let records = LinkRecords { sheet, columns: free.collect(), roles: roles.clone(), rows };
    let trained = trained_links(options);
    columns.schema.two_way = trained.map_or(options.two_way, |schema| schema.two_way);
    let known = trained.map(|schema| &schema.columns);
    if records.columns.is_empty() && known.is_none_or(|known| known.columns.is_empty()) {
        return Ok(columns);
    }
    let missing = if options.missing == Missing::Propagate { Missing::Mean } else { options.missing };
    let options = TableOptions { missing, ..options.clone() };
    let stated = Stated { sparse: Some(false), prepared, of_links: true };
    let FeatureTable { features, schema, notes: more, .. } = features::build(&records, known, &options, stated)?;
    if let Features::Dense { columns: width, values, .. } = features {
        (columns.width, columns.features) = (width, values);
    }
    columns.schema.columns = schema.unwrap_or_default();
    notes.extend(more);
    Ok(columns)
}

/// Reads the weights of all links.
fn weights(sheet: &Sheet, at: usize, rows: usize) -> Result<Vec<f64>> {
    let mut weights = files::with_capacity(sheet.path(), rows)?;
    let refused = |line: u64, found: &str| {
        let found = if found.is_empty() { "nothing".to_owned() } else { quoted(found) };
        let name = shown(&sheet.header[at]);
        let advice = format!(
            "give every link a weight (0 removes it), name another column with parameter `edge_weight`, or leave the weights out \
             with parameter `ignore_columns={name}`"
        );
        sheet.at(line, at).error("the weight of a link, a number that is not negative", found, advice)
    };
    let is_weight = |weight: &f64| weight.is_finite() && *weight >= 0.0;
    if let Some(column) = sheet.typed(at) {
        let mut bad = None;
        column.for_each_number(|weight| match weight.filter(is_weight) {
            Some(weight) => weights.push(weight),
            None => {
                bad.get_or_insert(weights.len());
                weights.push(0.0);
            }
        });
        return bad.map_or(Ok(weights), |row| Err(refused(sheet.line_of(row), &column.text(row))));
    }
    sheet.for_each(&mut |line, row| {
        let weight = row[at].parse().ok().filter(is_weight).ok_or_else(|| refused(line, &row[at]))?;
        files::push(sheet.path(), &mut weights, weight)
    })?;
    Ok(weights)
}

impl LinkColumns {
    /// Returns whether links have neither weights nor features.
    pub fn is_empty(&self) -> bool {
        self.weights.is_none() && self.width == 0
    }

    /// Keeps the rows for which `keep` is true.
    pub fn retain(&mut self, keep: &[bool]) {
        let kept: Vec<usize> = (0..keep.len()).filter(|row| keep[*row]).collect();
        *self = self.rows(&kept);
    }

    /// Removes links of weight 0 from the columns and from `pairs`, the ends of the links.
    pub fn remove_unweighted(&mut self, pairs: &mut Vec<(u32, u32)>) {
        let is_kept = |weights: &Vec<f64>| weights.iter().map(|weight| *weight > 0.0).collect::<Vec<bool>>();
        if let Some(keep) = self.weights.as_ref().map(is_kept).filter(|keep| keep.contains(&false)) {
            let mut kept = keep.iter();
            pairs.retain(|_| kept.next() == Some(&true));
            self.retain(&keep);
        }
    }

    /// Returns the links of the given rows.
    pub fn rows(&self, rows: &[usize]) -> Self {
        let features = rows.iter().flat_map(|row| &self.features[row * self.width..][..self.width]).copied();
        Self {
            weights: self.weights.as_ref().map(|weights| rows.iter().map(|row| weights[*row]).collect()),
            width: self.width,
            features: features.collect(),
            schema: self.schema.clone(),
        }
    }

    /// Returns the attributes of the edges of a graph of these links; `None` if there are none. Fails for links that are
    /// listed twice if the choice refuses them.
    pub fn attributes(
        &self,
        graph: &Graph,
        duplicates: Duplicates,
    ) -> supergat_core::Result<Option<EdgeAttributes<f32>>> {
        if self.is_empty() && duplicates != Duplicates::Error {
            return Ok(None);
        }
        let of = if self.schema.two_way { EdgeAttributes::of_two_way_links } else { EdgeAttributes::of_links };
        let attributes = of(graph, self.weights.as_deref(), self.width, &self.features, duplicates)?;
        Ok(Some(attributes).filter(|_| !self.is_empty()))
    }
}
