//! Reads the table of links.

use super::ends::{EndColumns, Ends};
use super::index_column;
use super::location::Location;
use super::node_ids::Nodes;
use super::roles::{GRAPH, Role, SOURCE, TARGET, WEIGHT};
use super::sheet::Sheet;
use crate::error::{Result, shown};
use crate::matrix_market;
use crate::options::TableOptions;
use std::path::Path;

/// Links of all graphs, in input order.
#[derive(Debug)]
pub(super) struct Links {
    /// Source and target of each link.
    pub pairs: Vec<(u32, u32)>,
    pub notes: Vec<String>,
}

/// Opens the file of the links. A first row with the ids of nodes is no header.
pub(super) fn open(path: &Path, nodes: &Nodes, options: &TableOptions) -> Result<Sheet> {
    let known = |id: &str| nodes.graph_of.is_none() && nodes.find(None, id).is_some();
    let sheet = Sheet::open(path, options, &|row| {
        let named =
            |name: &str| [&options.source_column, &options.target_column].iter().any(|n| n.as_deref() == Some(name));
        let roles = row.iter().any(|name| named(name) || !known(name) && (SOURCE.is(name) || TARGET.is(name)));
        roles || !row.iter().any(known) && !row.iter().all(|name| name.parse::<f64>().is_ok())
    })?;
    if matrix_market::is_matrix(path) && nodes.find(None, "0").is_some() {
        let expected = "nodes that are counted from 1, as in this file";
        let advice = "give the tables a column id with numbers from 1";
        return Err(Location::file(path).error(expected, "a node 0 in the tables", advice));
    }
    Ok(sheet)
}

/// Reads the links. Unknown nodes are an error unless the options say to skip them.
pub(super) fn read(sheet: &Sheet, nodes: &Nodes, options: &TableOptions) -> Result<Links> {
    let graph = if nodes.graph_of.is_some() { GRAPH.find(sheet, None)? } else { None };
    let weight = WEIGHT.find(sheet, None)?;
    let index = index_column::find(sheet)?;
    let (source, target) = end_columns(sheet, graph, index, options)?;
    let index = index.filter(|at| ![source, target].contains(at));
    let columns = EndColumns { source, target, graph };
    let Ends { pairs, unknown, converted, begin_with_hash } = Ends::read(sheet, columns, nodes, options.skip_unknown)?;
    let name = sheet.name();
    let mut notes = vec![format!(
        "{name}: {} links from `{}` to `{}`, {}",
        pairs.len(),
        shown(&sheet.header[source]),
        shown(&sheet.header[target]),
        if options.directed { "direction kept" } else { "read in both directions (--directed keeps one)" }
    )];
    if !sheet.has_header {
        notes.push(format!("{name}: no header: the first row is a link"));
    }
    let comments = sheet.comment_lines().saturating_sub(begin_with_hash);
    if comments > 0 {
        notes.push(format!("{name}: {comments} lines that begin with `#` skipped as comments"));
    }
    if let Some((id, count)) = converted {
        notes.push(format!("{name}: {count} ids such as `{}` are matched as whole numbers", shown(&id)));
    }
    notes.extend(sheet.encoding_note());
    notes.extend(index.map(|at| index_column::note(sheet, at)));
    if let Some(weight) = weight {
        notes.push(format!(
            "{name}: column `{}` was read but is not used: attention weighs links itself",
            sheet.header[weight]
        ));
    }
    let used = [Some(source), Some(target), graph, weight, index];
    let unused: Vec<String> = (0..sheet.header.len())
        .filter(|at| !used.contains(&Some(*at)))
        .map(|at| format!("`{}`", shown(&sheet.header[at])))
        .collect();
    if !unused.is_empty() {
        notes.push(format!("{name}: not used: {}", super::features::first_few(&unused)));
    }
    if unknown > 0 {
        notes.push(format!("{name}: {unknown} links to unknown nodes left out"));
    }
    Ok(Links { pairs, notes })
}

/// Returns the columns of source and target: by name, else the first two that do not number the rows.
fn end_columns(
    sheet: &Sheet,
    graph: Option<usize>,
    index: Option<usize>,
    options: &TableOptions,
) -> Result<(usize, usize)> {
    let find = |role: &Role, named: &Option<String>| role.find(sheet, named.as_deref());
    let (source, target) = (find(&SOURCE, &options.source_column)?, find(&TARGET, &options.target_column)?);
    let free = |taken: Option<usize>| (0..sheet.header.len()).find(|at| ![graph, index, taken].contains(&Some(*at)));
    let source = source.or_else(|| free(target));
    let target = target.or_else(|| free(source));
    match (source, target) {
        (Some(source), Some(target)) if source != target => Ok((source, target)),
        _ => Err(sheet.at_header().error(
            "two columns with the ids of a link's ends",
            sheet.columns_in_words(),
            "say with --delimiter which character separates the fields, or name --source-column and --target-column",
        )),
    }
}
