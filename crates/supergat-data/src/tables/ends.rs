//! Looks up the nodes at the ends of links.

use super::node_ids::Nodes;
use super::rows::sheet::Sheet;
use crate::error::{Error, Result};
use crate::files;
use crate::frames::{Frame, FrameColumn};
use crate::words::quoted;
use rayon::prelude::*;

/// Links of a frame that one task looks up.
const BLOCK: usize = 1 << 16;
/// End of a link that is not known.
const UNKNOWN: u32 = u32::MAX;

/// Ends of all links, in input order.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Source and target of each link between known nodes.
    pub pairs: Vec<(u32, u32)>,
    /// Whether each row is a link between known nodes, if some are not.
    pub known: Option<Vec<bool>>,
    /// Number of links to unknown nodes.
    pub unknown: usize,
    /// First id that was matched as a whole number, and the number of such ids.
    pub converted: Option<(String, usize)>,
    /// Number of rows whose first field begins with `#`.
    pub begin_with_hash: usize,
}

impl Ends {
    /// Reads the ends of all links from the columns of source and target, and of the graph, if there are several. The
    /// first link to an unknown node is an error unless `skip_unknown` is set.
    pub fn read(
        sheet: &Sheet,
        columns: [usize; 2],
        graph: Option<usize>,
        nodes: &Nodes,
        skip_unknown: bool,
    ) -> Result<Self> {
        match (sheet.frame(), graph) {
            (Some(frame), None) => Self::of_frame(sheet, frame, columns, nodes, skip_unknown),
            _ => Self::of_rows(sheet, columns, graph, nodes, skip_unknown),
        }
    }

    fn of_rows(
        sheet: &Sheet,
        [source, target]: [usize; 2],
        graph: Option<usize>,
        nodes: &Nodes,
        skip_unknown: bool,
    ) -> Result<Self> {
        let mut ends = Self::default();
        let mut known = Vec::new();
        sheet.for_each(&mut |line, row| {
            ends.begin_with_hash += usize::from(row[0].starts_with('#'));
            let mut find = |at: usize| {
                let graph = graph.map(|at| &row[at]);
                let number = || {
                    let node = nodes.find_number(graph, &row[at])?;
                    ends.converted.get_or_insert_with(|| (row[at].to_owned(), 0)).1 += 1;
                    Some(node)
                };
                nodes.find(graph, &row[at]).or_else(number).ok_or(at)
            };
            let found = match (find(source), find(target)) {
                (Ok(from), Ok(to)) => Some((from, to)),
                _ if skip_unknown => None,
                (Err(at), _) | (_, Err(at)) => return Err(unknown(sheet, line, at, &row[at])),
            };
            ends.unknown += usize::from(found.is_none());
            files::push(sheet.path(), &mut known, found.is_some())?;
            found.map_or(Ok(()), |pair| files::push(sheet.path(), &mut ends.pairs, pair))
        })?;
        ends.known = Some(known).filter(|_| ends.unknown > 0);
        Ok(ends)
    }

    /// Reads the links of a frame in parallel. The result does not depend on the number of threads.
    fn of_frame(sheet: &Sheet, frame: &Frame, at: [usize; 2], nodes: &Nodes, skip_unknown: bool) -> Result<Self> {
        let column = |at: usize| &frame.columns()[at].1;
        let mut pairs = files::filled(sheet.path(), (UNKNOWN, UNKNOWN), frame.rows())?;
        let blocks = pairs.par_chunks_mut(BLOCK).enumerate().map(|(number, pairs)| {
            let mut block = Block::default();
            for (row, pair) in (number * BLOCK..).zip(pairs) {
                let mut known = [UNKNOWN; 2];
                for (known, at) in known.iter_mut().zip(at) {
                    match find(column(at), nodes, row) {
                        Some((node, converted)) => {
                            *known = node;
                            block.converted += usize::from(converted);
                            block.first_converted = block.first_converted.or(converted.then_some((row, at)));
                        }
                        None => block.first_unknown = block.first_unknown.or(Some((row, at))),
                    }
                }
                match known.contains(&UNKNOWN) {
                    true => block.unknown += 1,
                    false => *pair = known.into(),
                }
            }
            block
        });
        let blocks: Vec<Block> = blocks.collect();
        if let (Some((row, at)), false) = (blocks.iter().find_map(|block| block.first_unknown), skip_unknown) {
            return Err(unknown(sheet, sheet.line_of(row), at, &column(at).text(row)));
        }
        let count = |of: fn(&Block) -> usize| blocks.iter().map(of).sum::<usize>();
        let mut known = None;
        if count(|block| block.unknown) > 0 {
            known = Some(pairs.iter().map(|pair| pair.0 != UNKNOWN).collect());
            pairs.retain(|pair| pair.0 != UNKNOWN);
        }
        let converted = blocks.iter().find_map(|block| block.first_converted);
        let converted = converted.map(|(row, at)| (column(at).text(row).into_owned(), count(|block| block.converted)));
        Ok(Self { pairs, known, unknown: count(|block| block.unknown), converted, begin_with_hash: 0 })
    }
}

/// Counts of a block of links, and row and column of the first ends of their kind.
#[derive(Debug, Default)]
struct Block {
    unknown: usize,
    first_unknown: Option<(usize, usize)>,
    converted: usize,
    first_converted: Option<(usize, usize)>,
}

/// Looks up the node of a cell; returns it, and whether its id is only equal as a whole number.
fn find(column: &FrameColumn, nodes: &Nodes, row: usize) -> Option<(u32, bool)> {
    if let FrameColumn::Integers { values, known } = column
        && known.as_ref().is_none_or(|known| known[row])
        && let Some(node) = nodes.find_whole(values[row])
    {
        return Some((node, false));
    }
    let id = column.text(row);
    let same = nodes.find(None, &id).map(|node| (node, false));
    same.or_else(|| nodes.find_number(None, &id).map(|node| (node, true)))
}

/// Builds the error for a link to an unknown node.
fn unknown(sheet: &Sheet, line: u64, at: usize, id: &str) -> Error {
    let (found, advice) = match id.is_empty() {
        true => ("nothing".to_owned(), "fill in the id, remove the link"),
        false => (quoted(id), "add the node, remove the link"),
    };
    let advice = format!("{advice}, or leave such links out with parameter `skip_unknown=true`");
    sheet.at(line, at).error("the id of a node", found, advice)
}
