//! Lists of datasets in one argument.

/// Dataset arguments, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources(pub Vec<String>);

/// Parses a comma-separated list. Commas within a generated graph do not separate:
/// `random-partition:classes=3,nodes=180`.
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
    fn keeps_commas_within_generated_graphs() {
        let parsed = |text| sources(text).unwrap().0;
        assert_eq!(parsed("cora, citeseer"), ["cora", "citeseer"]);
        let generated = "random-partition:classes=3,nodes=180";
        assert_eq!(parsed(&format!("cora,{generated},{generated},ppi")), ["cora", generated, generated, "ppi"]);
        assert!(sources("cora,").is_err() && sources("").is_err());
    }
}
