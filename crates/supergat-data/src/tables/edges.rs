//! Reads the table of links.

use super::ends::Ends;
use super::index_column;
use super::link_columns::{self, LinkColumns};
use super::node_ids::Nodes;
use super::roles::{GRAPH, Role, SOURCE, TARGET};
use super::rows::location::Location;
use super::rows::sheet::Sheet;
use crate::containers::matrix_market;
use crate::error::Result;
use crate::options::TableOptions;
use crate::words::{count, shown};
use std::path::Path;

/// Links of all graphs, in input order.
#[derive(Debug)]
pub(super) struct Links {
    /// Source and target of each link.
    pub pairs: Vec<(u32, u32)>,
    /// Weights and features of each link.
    pub columns: LinkColumns,
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

/// Reads the links. Unknown nodes are an error unless the options say to skip them. The columns of features are used as
/// they are if they are `prepared`.
pub(super) fn read(sheet: &Sheet, nodes: &Nodes, options: &TableOptions, prepared: bool) -> Result<Links> {
    let graph = if nodes.graph_of.is_some() { GRAPH.find(sheet, None)? } else { None };
    let weight = link_columns::weight_column(sheet, options)?;
    let index = index_column::find(sheet)?;
    let (source, target) = end_columns(sheet, [graph, index, weight], options)?;
    let index = index.filter(|at| ![source, target].contains(at));
    let Ends { mut pairs, known, unknown, converted, begin_with_hash } =
        Ends::read(sheet, [source, target], graph, nodes, options.skip_unknown)?;
    let name = sheet.name();
    let mut notes = vec![format!(
        "{name}: {} from `{}` to `{}`, {}",
        count(pairs.len(), "link"),
        shown(&sheet.header[source]),
        shown(&sheet.header[target]),
        if options.directed { "direction kept" } else { "read in both directions (parameter `directed` keeps one)" }
    )];
    if !sheet.has_header {
        notes.push(format!("{name}: no header: the first row is a link"));
    }
    let comments = sheet.comment_lines().saturating_sub(begin_with_hash);
    if comments > 0 {
        notes.push(format!("{name}: {} skipped (lines that begin with `#`)", count(comments, "comment")));
    }
    if let Some((id, ids)) = converted {
        notes.push(format!("{name}: matched as whole numbers: {}, such as `{}`", count(ids, "id"), shown(&id)));
    }
    notes.extend(sheet.encoding_note());
    notes.extend(index.map(|at| index_column::note(sheet, at)));
    let roles = [
        (Some(source), "sources of the links"),
        (Some(target), "targets of the links"),
        (graph, "graphs of the links"),
        (index, "numbers the rows"),
    ];
    let roles: Vec<(usize, &str)> = roles.into_iter().filter_map(|(at, what)| Some((at?, what))).collect();
    let rows = pairs.len() + unknown;
    let mut columns = link_columns::read(sheet, rows, weight, &roles, options, prepared, &mut notes)?;
    if unknown > 0 {
        notes.push(format!("{name}: {} to unknown nodes left out", count(unknown, "link")));
        columns.retain(&known.unwrap_or_default());
    }
    let listed = pairs.len();
    columns.remove_unweighted(&mut pairs);
    if pairs.len() < listed {
        notes.push(format!("{name}: {} of weight 0 left out", count(listed - pairs.len(), "link")));
    }
    Ok(Links { pairs, columns, notes })
}

/// Returns the columns of source and target: by name, else the first two without another role.
fn end_columns(
    sheet: &Sheet,
    [graph, index, weight]: [Option<usize>; 3],
    options: &TableOptions,
) -> Result<(usize, usize)> {
    let find = |role: &Role, named: &Option<String>| role.find(sheet, named.as_deref());
    let (source, target) = (find(&SOURCE, &options.source_column)?, find(&TARGET, &options.target_column)?);
    let free =
        |taken: Option<usize>| (0..sheet.header.len()).find(|at| ![graph, index, weight, taken].contains(&Some(*at)));
    let source = source.or_else(|| free(target));
    let target = target.or_else(|| free(source));
    match (source, target) {
        (Some(source), Some(target)) if source != target => Ok((source, target)),
        _ => Err(sheet.at_header().error(
            "two columns with the ids of a link's ends",
            sheet.columns_in_words(),
            "say with parameter `delimiter` which character separates the fields, or name the columns with parameter `source_column` and parameter `target_column`",
        )),
    }
}
