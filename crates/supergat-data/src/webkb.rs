//! Web pages of computer science departments (Craven et al., 1998), as an archive of `webkb/CLASS/UNIVERSITY/PAGE` files: Four-Univ.
//!
//! Every university is a graph, and pages that belong to none of the four are a fifth. Prepared as in the paper: nodes are the pages of six
//! classes; a page has an edge to another of its graph wherever one of its absolute links names it, as often as it does; features are the
//! TF-IDF weights of 2000 terms. Washington, Wisconsin and the other pages are for training, Cornell for validation, Texas for testing.
//!
//! A page's file is called after its address, with `^` for `/` and, in some archives, `_` for `:`. Pages are decoded as code page 949;
//! those that cannot be count as empty.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::LoadOptions;
use crate::tfidf::{Terms, tf_idf};
use crate::{decompress, file, prepare, sparse, split};
use html5gum::{Token, Tokenizer};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;
use supergat_core::{Direction, Example, Features, Graph, Labels};

/// What the files of a folder must be called.
pub(crate) const EXPECTED: &str = "webkb.tar.gz with pages as webkb/CLASS/UNIVERSITY/PAGE";

const CLASSES: [&str; 6] = ["student", "faculty", "staff", "department", "course", "project"];

/// The graphs, and which list their nodes belong to: training, validation or testing.
const UNIVERSITIES: [(&str, usize); 5] =
    [("washington", 0), ("wisconsin", 0), ("misc", 0), ("cornell", 1), ("texas", 2)];

/// Terms that become features.
const TERMS: usize = 2000;

/// Between these tags is no text.
const PROGRAMS: [&[u8]; 2] = [b"script", b"style"];

/// More than the largest page by far.
const MAX_PAGE: u64 = 16 << 20;

/// Whether files of these names are a dataset of this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    archive(names).is_some()
}

fn archive(names: &[String]) -> Option<&String> {
    let ends = [".tar.gz", ".gtar.gz", ".tgz"];
    names.iter().find(|name| name.starts_with("webkb") && ends.iter().any(|end| name.ends_with(end)))
}

/// Reads the dataset in a folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let names = file::list(folder)?;
    let Some(name) = archive(&names) else {
        let (path, advice) = (folder.join("webkb.tar.gz"), format!("the folder must hold {EXPECTED}"));
        return Err(Error::NotFound { path, advice });
    };
    let path = folder.join(name);
    parse(&path, &file::read(&path, file::MAX_BYTES)?, prepare::name_of(folder), options)
}

/// A page by university, class and name, in the order of the nodes.
type Pages = BTreeMap<(usize, usize, String), Vec<u8>>;

/// Takes the bytes of an archive; `path` is only named in errors.
pub fn parse(path: &Path, bytes: &[u8], name: String, options: &LoadOptions) -> Result<Dataset> {
    split::fixed(options.split, path, "whole universities are for training, validation or testing")?;
    let tar = decompress::gunzip(path, bytes)?;
    let pages = pages(path, &tar)?;
    drop(tar);
    let terms = Terms::default();
    let contents: Vec<Content> = pages.values().map(|page| Content::of(page, &terms)).collect();
    let (documents, links): (Vec<_>, Vec<_>) = contents.iter().map(|c| (c.terms.clone(), &c.links)).unzip();
    let (weights, vocabulary) = tf_idf(&documents, TERMS);
    let unreadable = contents.iter().filter(|content| content.unreadable).count();

    let mut dataset = Dataset {
        name,
        examples: Vec::new(),
        class_names: CLASSES.map(str::to_owned).to_vec(),
        node_ids: Some(Vec::new()),
        listed_links: 0,
        schema: None,
        notes: vec![
            "links as often as pages name them, direction kept".into(),
            format!("features: TF-IDF of the {} most frequent terms", vocabulary.len()),
            format!("{unreadable} pages cannot be decoded as code page 949 and count as empty"),
        ],
    };
    let keys: Vec<&(usize, usize, String)> = pages.keys().collect();
    let mut first = 0;
    for (university, (place, list)) in UNIVERSITIES.iter().enumerate() {
        let count = keys[first..].iter().take_while(|key| key.0 == university).count();
        let range = first..first + count;
        first += count;
        let edges = edges(&keys[range.clone()], &links[range.clone()]);
        let core = |source| Error::Core { path: path.join(place), source };
        let entries = weights[range.clone()].iter().enumerate();
        let entries =
            entries.flat_map(|(row, terms)| terms.iter().map(move |(term, weight)| ([row as u32, *term], *weight)));
        let (pairs, values) = entries.unzip();
        let features = sparse::from_entries(path, [count, vocabulary.len()], pairs, values)?;
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

/// The pages of the archive that belong to a class and a university.
fn pages(path: &Path, tar: &[u8]) -> Result<Pages> {
    let broken = |source| file::failed(path, MAX_PAGE, source);
    let mut pages = Pages::new();
    for entry in tar::Archive::new(tar).entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let place = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let parts: Vec<&str> = place.trim_start_matches("./").split('/').collect();
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
            let (path, limit, found) = (path.join(place), MAX_PAGE, content.len() as u64);
            return Err(Error::TooLarge { path, what: "bytes of a page", limit, found });
        }
        pages.insert((university, class, page.trim().to_owned()), content);
    }
    if pages.is_empty() {
        return Err(Error::Mismatch {
            path: path.to_owned(),
            what: "pages of the archive".into(),
            expected: format!("webkb/CLASS/UNIVERSITY/PAGE with one of the classes {}", CLASSES.join(", ")),
            found: "none".into(),
        });
    }
    Ok(pages)
}

/// What a page says and where it leads.
struct Content {
    terms: Vec<String>,
    links: Vec<String>,
    unreadable: bool,
}

impl Content {
    fn of(page: &[u8], terms: &Terms) -> Self {
        let mut content = Self { terms: Vec::new(), links: Vec::new(), unreadable: false };
        // The web's name of code page 949.
        let Some(text) = encoding_rs::EUC_KR.decode_without_bom_handling_and_without_replacement(page) else {
            content.unreadable = true;
            return content;
        };
        let text = close_comments(&text);
        // Only the tokens are needed: these pages are older than any rule on how elements nest.
        let mut program = None;
        for token in Tokenizer::new(text.as_bytes()) {
            let Ok(token) = token;
            match token {
                Token::EndTag(tag) if program.as_deref() == Some(&tag.name[..]) => program = None,
                _ if program.is_some() => {}
                Token::StartTag(tag) if PROGRAMS.contains(&&tag.name[..]) => program = Some(tag.name.to_vec()),
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

/// Comments that never end become declarations, which end at the next `>`, as the browsers of that time had it.
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

/// The name of the file of the page at an address.
fn page_name(address: &str) -> String {
    address.replace('/', "^").replace(':', "_").trim().to_owned()
}

/// The address of the page in a file.
fn address(name: &str) -> String {
    let address = name.replace('^', "/");
    match address.split_once("_//") {
        Some((scheme, rest)) if ["http", "ftp"].contains(&scheme) => format!("{scheme}://{rest}"),
        _ => address,
    }
}

/// The edges between pages of a university, as often as they are named. A name that two classes hold means the latter.
fn edges(pages: &[&(usize, usize, String)], links: &[&Vec<String>]) -> Vec<(u32, u32)> {
    let by_name: HashMap<String, u32> = pages.iter().zip(0..).map(|(page, node)| (page_name(&page.2), node)).collect();
    let edges = |(from, targets): (usize, &&Vec<String>)| {
        let found = targets.iter().filter_map(|target| by_name.get(target));
        found.map(|&to| (from as u32, to)).collect::<Vec<_>>()
    };
    links.iter().enumerate().flat_map(edges).collect()
}
