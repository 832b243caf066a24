//! Comparison of given values with those of a recorded run.

use super::Choices;
use super::keys::{Key, shown};
use supergat::{Model, SplitChoice};
use toml::Value;

impl Choices {
    /// Returns the first given value that differs from that of a recorded run, and the recorded one.
    pub fn contradiction(&self, recorded: &Self) -> Option<(String, String)> {
        let options = self.options.iter().map(|(name, value)| (*name, value, None));
        let file = self.file.iter().flat_map(|(path, values)| {
            let overridden = |name: &str| self.options.contains_key(name);
            let values = values.iter().filter(move |(name, _)| !overridden(name));
            values.map(move |(name, value)| (*name, value, Some(path)))
        });
        options.chain(file).find_map(|(name, value, path)| {
            let key = Key::named(name).expect("values are keys");
            let has = match recorded.given(name) {
                Some(has) if is_same(name, value, has) => return None,
                // The model does not read it.
                None if key.is_setting() => return None,
                Some(has) => format!("{name} = {}", shown(has)),
                None => format!("no {name}"),
            };
            let given = match path {
                Some(path) => format!("{name} = {} in {}", shown(value), path.display()),
                None if name == "dataset" => format!("the dataset {}", value.as_str().unwrap_or_default()),
                None => key.as_option(value),
            };
            Some((given, has))
        })
    }
}

/// Returns whether a given value of a key leads to the recorded one.
fn is_same(name: &str, given: &Value, recorded: &Value) -> bool {
    let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    let split = |value: &Value| value.as_str().and_then(|text| text.parse::<SplitChoice>().ok());
    match name {
        // The recorded model is the one that was recommended.
        "model" if given.as_str().is_some_and(|name| name.parse().ok() == Some(Model::Auto)) => true,
        "split" => split(given) == split(recorded),
        _ => given == recorded || (number(given).is_some() && number(given) == number(recorded)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::choices;

    #[test]
    fn names_values_that_contradict_a_recorded_run() {
        let recorded =
            choices("dataset = 'cora'\nmodel = 'gat-go'\nlr = 1\nsplit = 'random:0'\nseed = 3", &[]).unwrap();
        let text = |text: &str| Value::String(text.into());
        let found = |file: &str, options: &[_]| choices(file, options).unwrap().contradiction(&recorded);
        let same = [
            ("lr", Value::Float(1.0)),
            ("model", text("auto")),
            ("split", text("random")),
            ("top_k", Value::Integer(2)),
        ];
        assert_eq!(found("dataset = 'cora'", &same), None);
        let (given, has) = found("", &[("lr", Value::Float(0.5))]).unwrap();
        assert_eq!((given.as_str(), has.as_str()), ("--lr 0.5", "lr = 1"));
        let (given, has) = found("", &[("dataset", text("citeseer"))]).unwrap();
        assert_eq!((given.as_str(), has.as_str()), ("the dataset citeseer", "dataset = \"cora\""));
        let (given, has) = found("seed = 4", &[]).unwrap();
        assert!(given.starts_with("seed = 4 in ") && has == "seed = 3", "{given}, {has}");
        assert_eq!(found("seed = 4", &[("seed", Value::Integer(3))]), None);
        let (given, has) = found("", &[("directed", Value::Boolean(true))]).unwrap();
        assert_eq!((given.as_str(), has.as_str()), ("--directed", "no directed"));
    }
}
