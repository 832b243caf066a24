//! TF-IDF features of texts.
//!
//! The weight of term t in document d is `count(t, d) * (ln((1 + n) / (1 + df(t))) + 1)`, where df(t) is the
//! number of documents that contain t, out of n. Each document is then scaled to unit length. Terms are words
//! of at least two letters, digits or underscores, in lower case, without English stop words. This matches
//! the default settings of scikit-learn's `TfidfVectorizer(stop_words="english")`.

use std::collections::{HashMap, HashSet};

/// English stop words of the Glasgow Information Retrieval Group, as in scikit-learn (BSD-3-Clause).
const STOP_WORDS: &str = include_str!("stop_words.txt");

/// Terms and their inverse document frequencies.
#[derive(Debug)]
pub struct Vocabulary {
    /// Terms in alphabetical order.
    pub terms: Vec<String>,
    /// Inverse document frequency of each term.
    pub weights: Vec<f64>,
}

impl Vocabulary {
    /// Selects the `max_terms` most frequent terms; ties are broken alphabetically.
    pub fn new(documents: &[Vec<String>], max_terms: usize) -> Self {
        // Number of occurrences and of documents of each term.
        let mut frequencies: HashMap<&str, (u64, u64)> = HashMap::new();
        for document in documents {
            let mut seen = HashSet::new();
            for term in document {
                let (count, documents) = frequencies.entry(term).or_default();
                *count += 1;
                *documents += u64::from(seen.insert(term));
            }
        }
        let mut kept: Vec<(&str, (u64, u64))> = frequencies.into_iter().collect();
        kept.sort_unstable_by_key(|(term, (count, _))| (std::cmp::Reverse(*count), *term));
        kept.truncate(max_terms);
        kept.sort_unstable_by_key(|(term, _)| *term);
        let n = documents.len() as f64;
        let weight = |df: u64| ((1.0 + n) / (1.0 + df as f64)).ln() + 1.0;
        let weights = kept.iter().map(|(_, (_, df))| weight(*df)).collect();
        Self { terms: kept.into_iter().map(|(term, _)| term.to_owned()).collect(), weights }
    }
}

/// Computes the pairs of term number and weight of one document, in ascending order; `terms` are in alphabetical order.
pub fn row(document: &[String], terms: &[String], weights: &[f64]) -> Vec<(u32, f32)> {
    let mut found: Vec<usize> = document.iter().filter_map(|term| terms.binary_search(term).ok()).collect();
    found.sort_unstable();
    let weight = |same: &[usize]| (same[0] as u32, same.len() as f64 * weights[same[0]]);
    let weighed: Vec<(u32, f64)> = found.chunk_by(|a, b| a == b).map(weight).collect();
    let length = weighed.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
    weighed.into_iter().map(|(term, weight)| (term, (weight / length) as f32)).collect()
}

/// Splits texts into terms.
#[derive(Debug)]
pub struct Terms {
    stop_words: HashSet<&'static str>,
}

impl Default for Terms {
    fn default() -> Self {
        Self { stop_words: STOP_WORDS.split_whitespace().collect() }
    }
}

impl Terms {
    /// Appends the terms of a text.
    pub fn append(&self, text: &str, to: &mut Vec<String>) {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let terms = words.filter(|word| word.chars().nth(1).is_some() && !self.stop_words.contains(word));
        to.extend(terms.map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values computed with scikit-learn 1.9.
    #[test]
    fn matches_scikit_learn() {
        let documents: Vec<Vec<String>> = [
            "The Cat sat on the mat; the cat_2 sat!",
            "a Dog & a cat: dogs, x y Z naïve DOG",
            "",
            "mat MAT mat bird über",
        ]
        .iter()
        .map(|text| {
            let mut terms = Vec::new();
            Terms::default().append(text, &mut terms);
            terms
        })
        .collect();
        assert_eq!(documents[0], ["cat", "sat", "mat", "cat_2", "sat"]);
        let Vocabulary { terms, weights } = Vocabulary::new(&documents, 6);
        let rows = documents.iter().map(|document| row(document, &terms, &weights));
        assert_eq!(terms, ["bird", "cat", "cat_2", "dog", "mat", "sat"]);
        let expected: [&[(u32, f64)]; 4] = [
            &[(1, 0.31553666), (2, 0.40021825), (4, 0.31553666), (5, 0.80043650)],
            &[(1, 0.36673901), (3, 0.93032387)],
            &[],
            &[(0, 0.38941666), (4, 0.92106170)],
        ];
        for (row, expected) in rows.zip(expected) {
            assert_eq!(row.len(), expected.len());
            for ((term, weight), (expected_term, expected)) in row.iter().zip(expected) {
                assert!(term == expected_term && (f64::from(*weight) - expected).abs() < 1e-6, "{weight} {expected}");
            }
        }
    }
}
