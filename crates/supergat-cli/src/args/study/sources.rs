//! Several datasets in one argument.

/// Datasets, as they are loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources(pub Vec<String>);

/// Splits at commas, except within the specification of a generated graph: `random-partition:classes=3,nodes=180`.
pub fn sources(text: &str) -> Result<Sources, String> {
    let mut sources: Vec<String> = Vec::new();
    for part in text.split(',') {
        match sources.last_mut() {
            Some(last) if last.contains(':') && part.contains('=') && !part.contains(':') => {
                last.push(',');
                last.push_str(part);
            }
            _ => sources.push(part.trim().to_owned()),
        }
    }
    if sources.iter().any(String::is_empty) {
        return Err("expected names, folders or generated graphs such as cora,citeseer".to_owned());
    }
    Ok(Sources(sources))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_graphs_keep_their_commas() {
        let of = |text| sources(text).unwrap().0;
        assert_eq!(of("cora, citeseer"), ["cora", "citeseer"]);
        let generated = "random-partition:classes=3,nodes=180";
        assert_eq!(of(&format!("cora,{generated},{generated},ppi")), ["cora", generated, generated, "ppi"]);
        assert!(sources("cora,").is_err() && sources("").is_err());
    }
}
