//! Nodes and their ids.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Nodes in the order of the table that defines them.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// Id of each node.
    pub ids: Vec<String>,
    /// Graph of each node, if the tables contain several graphs.
    pub graph_of: Option<Vec<u32>>,
    keys: Keys,
    graphs: HashMap<String, u32>,
    /// Nodes by ids that are whole numbers, in the form of [`whole_number`]; `None` if several nodes have one.
    row_of_number: OnceLock<HashMap<String, Option<u32>>>,
}

/// Nodes by their ids.
#[derive(Debug)]
enum Keys {
    /// Ids as text, after the graph if there are several.
    Text(HashMap<String, u32>),
    /// Whole numbers in a short range: the node of each number from `first` on, or [`NO_NODE`].
    Range { first: i64, nodes: Vec<u32> },
    /// Other whole numbers.
    Whole(HashMap<i64, u32>),
}

impl Default for Keys {
    fn default() -> Self {
        Self::Text(HashMap::new())
    }
}

/// Separator of graph and id in lookup keys.
const KEY_SEPARATOR: char = '\u{0}';
/// Mark of numbers that are no id of a node.
const NO_NODE: u32 = u32::MAX;
/// Maximum length of the range of ids in a list, relative to the number of nodes.
const MAX_SPREAD: usize = 4;

impl Nodes {
    /// Creates nodes with the ids 0, 1, ...
    pub fn numbered(count: usize) -> Self {
        let ids = (0..count).map(|node| node.to_string()).collect();
        Self { ids, keys: Keys::Range { first: 0, nodes: (0..count as u32).collect() }, ..Self::default() }
    }

    /// Creates nodes with whole numbers as ids. Fails with the first row and the second one that have the same id.
    pub fn whole(ids: &[i64]) -> Result<Self, [usize; 2]> {
        let texts = ids.iter().map(i64::to_string).collect();
        Ok(Self { ids: texts, keys: Keys::whole(ids)?, ..Self::default() })
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Looks up a node by its id, and by its graph if there are several.
    pub fn find(&self, graph: Option<&str>, id: &str) -> Option<u32> {
        match (&self.keys, graph) {
            (Keys::Text(rows), Some(graph)) => rows.get(&key(graph, id)).copied(),
            (Keys::Text(rows), None) => rows.get(id).copied(),
            (_, Some(_)) => None,
            (_, None) => self.find_whole(canonical(id)?),
        }
    }

    /// Looks up a node by its id, if there is one graph.
    pub fn find_whole(&self, id: i64) -> Option<u32> {
        match &self.keys {
            Keys::Text(rows) => rows.get(&id.to_string()).copied(),
            Keys::Range { first, nodes } => {
                let at = usize::try_from(id.checked_sub(*first)?).ok()?;
                nodes.get(at).copied().filter(|node| *node != NO_NODE)
            }
            Keys::Whole(rows) => rows.get(&id).copied(),
        }
    }

    /// Looks up a node whose id is the same whole number, such as `0` for `0.0`.
    pub fn find_number(&self, graph: Option<&str>, id: &str) -> Option<u32> {
        let number = whole_number(id)?;
        let Keys::Text(row_of) = &self.keys else { return self.find(graph, &number) };
        let rows = self.row_of_number.get_or_init(|| {
            let mut rows = HashMap::new();
            for (id, row) in row_of {
                let (graph, id) = id.split_once(KEY_SEPARATOR).map_or((None, id.as_str()), |(g, id)| (Some(g), id));
                if let Some(number) = whole_number(id) {
                    let number = graph.map_or_else(|| number.clone(), |graph| key(graph, &number));
                    rows.entry(number).and_modify(|row| *row = None).or_insert(Some(*row));
                }
            }
            rows
        });
        let number = graph.map_or_else(|| number.clone(), |graph| key(graph, &number));
        rows.get(&number).copied().flatten()
    }

    /// Adds a node with a text as id; returns the existing one as error if the id is already taken.
    pub fn insert(&mut self, graph: Option<&str>, id: &str) -> Result<(), u32> {
        let row = self.ids.len() as u32;
        let key = graph.map_or_else(|| id.to_owned(), |graph| key(graph, id));
        if let Keys::Text(rows) = &mut self.keys
            && let Some(first) = rows.insert(key, row)
        {
            return Err(first);
        }
        self.ids.push(id.to_owned());
        if let Some(graph) = graph {
            let next = self.graphs.len() as u32;
            let graph = *self.graphs.entry(graph.to_owned()).or_insert(next);
            self.graph_of.get_or_insert_default().push(graph);
        }
        Ok(())
    }

    /// Returns the number of graphs.
    pub fn graphs(&self) -> usize {
        self.graphs.len().max(1)
    }

    /// Removes the means to look up nodes, which need much memory.
    pub fn forget_keys(&mut self) {
        self.keys = Keys::default();
        self.row_of_number = OnceLock::new();
    }
}

impl Keys {
    /// Fails with the first row and the second one that have the same id.
    fn whole(ids: &[i64]) -> Result<Self, [usize; 2]> {
        let (first, last) = (ids.iter().min().copied().unwrap_or(0), ids.iter().max().copied().unwrap_or(-1));
        let length = last.checked_sub(first).and_then(|length| usize::try_from(length).ok()?.checked_add(1));
        if let Some(length) = length.filter(|length| *length <= ids.len().saturating_mul(MAX_SPREAD)) {
            let mut nodes = vec![NO_NODE; length];
            for (row, id) in ids.iter().enumerate() {
                match std::mem::replace(&mut nodes[(id - first) as usize], row as u32) {
                    NO_NODE => {}
                    earlier => return Err([earlier as usize, row]),
                }
            }
            return Ok(Self::Range { first, nodes });
        }
        let mut rows = HashMap::with_capacity(ids.len());
        for (row, id) in ids.iter().enumerate() {
            if let Some(earlier) = rows.insert(*id, row as u32) {
                return Err([earlier as usize, row]);
            }
        }
        Ok(Self::Whole(rows))
    }
}

/// Returns the lookup key of a node in one of several graphs.
fn key(graph: &str, id: &str) -> String {
    format!("{graph}{KEY_SEPARATOR}{id}")
}

/// Returns a whole number that is written without plus sign and leading zeros.
fn canonical(id: &str) -> Option<i64> {
    let digits = id.strip_prefix('-').unwrap_or(id);
    let written = id == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first));
    written.then(|| id.parse().ok()).flatten()
}

/// Returns an id that is a whole number without leading zeros and decimals: `7` for `7.0` and `007`.
fn whole_number(id: &str) -> Option<String> {
    let (sign, digits) = id.strip_prefix('-').map_or(("", id), |digits| ("-", digits));
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let valid = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    let zeros = decimals.bytes().all(|byte| byte == b'0');
    let number = whole.trim_start_matches('0');
    (valid && zeros).then(|| if number.is_empty() { "0".to_owned() } else { format!("{sign}{number}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_up_whole_numbers_like_texts() {
        for ids in [&[5, -3, 0][..], &[i64::MAX, 7, i64::MIN], &[0, 1, 2], &[9]] {
            let whole = Nodes::whole(ids).unwrap();
            let mut text = Nodes::default();
            ids.iter().for_each(|id| text.insert(None, &id.to_string()).unwrap());
            assert_eq!(whole.ids, text.ids);
            for id in [i64::MIN, -4, -3, -1, 0, 1, 2, 5, 7, 9, i64::MAX] {
                assert_eq!(whole.find_whole(id), text.find_whole(id), "{id}");
                for id in [format!("{id}"), format!("0{id}"), format!("{id}.0"), format!("+{id}"), format!("-{id}")] {
                    assert_eq!(whole.find(None, &id), text.find(None, &id), "{id}");
                    assert_eq!(whole.find_number(None, &id), text.find_number(None, &id), "{id}");
                }
            }
            assert_eq!(
                (whole.find(None, ""), whole.find(Some("g"), "0"), whole.find_number(None, "x")),
                (None, None, None)
            );
        }
        assert_eq!(Nodes::whole(&[1, 2, 1]).unwrap_err(), [0, 2]);
        assert_eq!(Nodes::whole(&[1, 1 << 40, 7, 1 << 40]).unwrap_err(), [1, 3]);
    }
}
