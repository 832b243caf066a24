//! Reader for WebKB, web pages of computer science departments (Craven et al., 1998), as an archive of
//! `webkb/CLASS/UNIVERSITY/PAGE` files: Four-Univ.
//!
//! Each of the four universities is a graph; all other pages form a fifth. Preparation as in the paper: nodes
//! are the pages of six classes; each absolute link to a page of the same graph is a directed edge, repeated
//! links included; features are the TF-IDF weights of 2000 terms. Washington, Wisconsin and the fifth graph
//! are for training, Cornell for validation and Texas for testing.
//!
//! The file name of a page is its address with `^` for `/` and, in some archives, `_` for `:`. Pages are
//! decoded as code page 949; pages that cannot be decoded are treated as empty.

use crate::containers::sparse;
use crate::dataset::{Dataset, split};
use crate::error::{Error, Result};
use crate::files::{self, decompress};
use crate::options::LoadOptions;
use crate::tfidf::{Terms, Vocabulary, row as tf_idf_row};
use html5gum::{Token, Tokenizer};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;
use supergat_core::{Direction, Example, Features, Graph, Labels};

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "webkb.tar.gz with pages as webkb/CLASS/UNIVERSITY/PAGE";

const CLASSES: [&str; 6] = ["student", "faculty", "staff", "department", "course", "project"];

/// Graphs and the index of their split: training, validation or test.
const UNIVERSITIES: [(&str, usize); 5] =
    [("washington", 0), ("wisconsin", 0), ("misc", 0), ("cornell", 1), ("texas", 2)];

/// Number of terms used as features.
const TERMS: usize = 2000;

/// Elements whose content is not text.
const NON_TEXT_ELEMENTS: [&[u8]; 2] = [b"script", b"style"];

/// Maximum size of a page in bytes, far above the largest published page.
const MAX_PAGE: u64 = 16 << 20;

/// Returns whether these file names belong to this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().any(|name| is_one(name))
}

/// Returns whether a file of this name contains a dataset.
pub(crate) fn is_one(name: &str) -> bool {
    name.starts_with("webkb") && [".tar.gz", ".gtar.gz", ".tgz"].iter().any(|end| name.ends_with(end))
}

/// Pages by university, class and file name, in the order of the nodes.
type Pages = BTreeMap<(usize, usize, String), Vec<u8>>;

/// Parses the bytes of an archive; `path` is only used in error messages.
pub fn parse(path: &Path, bytes: &[u8], name: String, options: &LoadOptions) -> Result<Dataset> {
    split::fixed(options.split, path, "whole universities are for training, validation or testing")?;
    let tar = decompress::gunzip(path, bytes)?;
    let pages = pages(path, &tar)?;
    drop(tar);
    let terms = Terms::default();
    let contents: Vec<Content> = pages.values().map(|page| Content::parse(page, &terms)).collect();
    let (documents, links): (Vec<_>, Vec<_>) = contents.iter().map(|c| (c.terms.clone(), &c.links)).unzip();
    let vocabulary = Vocabulary::new(&documents, TERMS);
    let unreadable = contents.iter().filter(|content| content.unreadable).count();

    let mut dataset = Dataset {
        name,
        class_names: CLASSES.map(str::to_owned).to_vec(),
        node_ids: Some(Vec::new()),
        notes: vec![
            "links as listed, repetitions and direction kept".into(),
            format!("features: TF-IDF of the {} most frequent terms", vocabulary.terms.len()),
            format!("{unreadable} pages cannot be decoded as code page 949 and count as empty"),
        ],
        ..Dataset::default()
    };
    let keys: Vec<&(usize, usize, String)> = pages.keys().collect();
    let mut first = 0;
    for (university, (university_name, list)) in UNIVERSITIES.iter().enumerate() {
        let count = keys[first..].iter().take_while(|key| key.0 == university).count();
        let range = first..first + count;
        first += count;
        let edges = edges(&keys[range.clone()], &links[range.clone()]);
        let place = path.join(university_name);
        let core = Error::core(&place);
        let entries = (0..).zip(&documents[range.clone()]).flat_map(|(row, document)| {
            let weights = tf_idf_row(document, &vocabulary.terms, &vocabulary.weights);
            weights.into_iter().map(move |(term, weight)| ([row, term], weight))
        });
        let (pairs, values) = entries.unzip();
        let features = sparse::from_entries(path, [count, vocabulary.terms.len()], pairs, values)?;
        let graph = Graph::from_edges(count, &edges, Direction::Directed).map_err(core)?;
        let of = keys[range.clone()].iter().map(|key| key.1 as u32).collect();
        let mut split = [vec![], vec![], vec![]];
        split[*list] = (0..count as u32).collect();
        let labels = Labels::Single { classes: CLASSES.len(), of };
        dataset.examples.push(Example::new(graph, Features::Sparse(features), labels, split).map_err(core)?);
        dataset.node_ids.get_or_insert_default().push(keys[range].iter().map(|key| address(&key.2)).collect());
        dataset.listed_links += edges.len() as u64;
    }
    Ok(dataset)
}

/// Extracts the pages of the archive that belong to a class and a university.
fn pages(path: &Path, tar: &[u8]) -> Result<Pages> {
    let broken = |source| files::failed(path, MAX_PAGE, source);
    let mut pages = Pages::new();
    for entry in tar::Archive::new(tar).entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let member = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let parts: Vec<&str> = member.trim_start_matches("./").split('/').collect();
        let [_, class, university, page] = parts[..] else { continue };
        let class = CLASSES.iter().position(|known| *known == class);
        let university = UNIVERSITIES.iter().position(|(known, _)| *known == university);
        let (Some(class), Some(university)) = (class, university) else { continue };
        if !entry.header().entry_type().is_file() || page.is_empty() {
            continue;
        }
        let mut content = Vec::new();
        entry.take(MAX_PAGE + 1).read_to_end(&mut content).map_err(broken)?;
        if content.len() as u64 > MAX_PAGE {
            return Err(Error::too_large(&path.join(member), "bytes of a page", MAX_PAGE, content.len() as u64));
        }
        pages.insert((university, class, page.trim().to_owned()), content);
    }
    if pages.is_empty() {
        let expected = format!("webkb/CLASS/UNIVERSITY/PAGE with one of the classes {}", CLASSES.join(", "));
        return Err(Error::mismatch(path, "pages of the archive", expected, "none"));
    }
    Ok(pages)
}

/// Terms and link targets of a page.
struct Content {
    terms: Vec<String>,
    links: Vec<String>,
    /// Whether the page could not be decoded.
    unreadable: bool,
}

impl Content {
    fn parse(page: &[u8], terms: &Terms) -> Self {
        let mut content = Self { terms: Vec::new(), links: Vec::new(), unreadable: false };
        // EUC-KR is the web standard's name of code page 949.
        let Some(text) = encoding_rs::EUC_KR.decode_without_bom_handling_and_without_replacement(page) else {
            content.unreadable = true;
            return content;
        };
        let text = close_comments(&text);
        // A tokenizer suffices. These pages predate standard rules for nesting elements, so no tree is built.
        let mut skipped = None;
        for token in Tokenizer::new(text.as_bytes()) {
            let Ok(token) = token;
            match token {
                Token::EndTag(tag) if skipped.as_deref() == Some(&tag.name[..]) => skipped = None,
                _ if skipped.is_some() => {}
                Token::StartTag(tag) if NON_TEXT_ELEMENTS.contains(&&tag.name[..]) => skipped = Some(tag.name.to_vec()),
                Token::StartTag(tag) if tag.name.as_slice() == b"a" => {
                    let target = tag.attributes.get(&b"href"[..]).map(|target| String::from_utf8_lossy(target));
                    let absolute = target.filter(|target| target.contains("http") || target.contains("ftp"));
                    content.links.extend(absolute.map(|target| page_name(&target)));
                }
                Token::String(text) => terms.append(&String::from_utf8_lossy(&text), &mut content.terms),
                _ => {}
            }
        }
        content
    }
}

/// Turns unclosed comments into declarations, which end at the next `>`, as in browsers of the 1990s.
fn close_comments(text: &str) -> Cow<'_, str> {
    let mut end = 0;
    while let Some(start) = text[end..].find("<!--").map(|at| end + at) {
        match text[start..].find("-->") {
            Some(length) => end = start + length,
            None => return Cow::Owned(text[..start].to_owned() + &text[start..].replace("<!--", "<! ")),
        }
    }
    Cow::Borrowed(text)
}

/// Returns the file name of the page at an address.
fn page_name(address: &str) -> String {
    address.replace('/', "^").replace(':', "_").trim().to_owned()
}

/// Returns the address of the page in a file.
fn address(name: &str) -> String {
    let address = name.replace('^', "/");
    match address.split_once("_//") {
        Some((scheme, rest)) if ["http", "ftp"].contains(&scheme) => format!("{scheme}://{rest}"),
        _ => address,
    }
}

/// Returns the edges between pages of a university, repeated links included.
///
/// If two classes contain the same page name, links to it lead to the page of the later class.
fn edges(pages: &[&(usize, usize, String)], links: &[&Vec<String>]) -> Vec<(u32, u32)> {
    let by_name: HashMap<String, u32> = pages.iter().zip(0..).map(|(page, node)| (page_name(&page.2), node)).collect();
    let edges = |(from, targets): (usize, &&Vec<String>)| {
        let found = targets.iter().filter_map(|target| by_name.get(target));
        found.map(|&to| (from as u32, to)).collect::<Vec<_>>()
    };
    links.iter().enumerate().flat_map(edges).collect()
}
