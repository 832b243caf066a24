//! Form of settings in files: one object of all values by name, in the order of the first version.

use super::Settings;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use supergat_core::hyperparameters::{CorrectAndSmoothSettings, HYPERPARAMETERS, Hyperparameter, StoredValue};
use supergat_core::{ModelKind, Select};

/// Returns all hyperparameters in the order of files: that of the table, except that `max_epochs` precedes
/// `early_stop`.
fn in_order_of_files() -> impl Iterator<Item = &'static Hyperparameter> {
    let late = |known: &&Hyperparameter| known.name == "max_epochs";
    let early_stop = HYPERPARAMETERS.iter().position(|known| known.name == "early_stop").unwrap_or(0);
    let (before, after) = HYPERPARAMETERS.split_at(early_stop);
    before.iter().filter(move |known| !late(known)).chain(before.iter().filter(late)).chain(after)
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.model)?;
        for known in in_order_of_files() {
            if let Some(value) = self.get(known.name) {
                map.serialize_entry(known.stored, &value)?;
            }
        }
        if let Some(select) = self.select {
            map.serialize_entry("select", &select)?;
        }
        if let Some(class) = self.positive {
            map.serialize_entry("positive", &class)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Settings {
    /// Hyperparameters that a file does not have are newer than it; they get their defaults in the style of the paper.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Settings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings of a model")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
        let (mut model, mut select, mut positive) = (None::<ModelKind>, None::<Select>, None::<usize>);
        let (mut values, mut seen) = (Vec::new(), BTreeSet::new());
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "model" => model = Some(map.next_value()?),
                "select" => select = map.next_value()?,
                "positive" => positive = map.next_value()?,
                _ => {
                    let unknown = || de::Error::custom(format_args!("unknown field `{name}`"));
                    let known = Hyperparameter::named(&name).ok_or_else(unknown)?;
                    values.push((known, map.next_value::<Option<StoredValue>>()?));
                }
            }
            if !seen.insert(name.clone()) {
                return Err(de::Error::custom(format_args!("duplicate field `{name}`")));
            }
        }
        let mut settings = Settings::general(model.ok_or_else(|| de::Error::missing_field("model"))?);
        (settings.select, settings.positive) = (select, positive);
        if values.iter().any(|(known, value)| known.group.switch().is_some() && value.is_some()) {
            settings.correct_and_smooth = Some(CorrectAndSmoothSettings::default());
        }
        for (known, stored) in values {
            let Some(stored) = stored else { continue };
            let value = stored.of(known).map_err(de::Error::custom)?;
            if settings.get(known.name).is_some() {
                let refuse = |_| de::Error::custom(format_args!("`{}` = {value}: {}", known.stored, known.range));
                settings.put(known.name, known.check(value).map_err(refuse)?);
            }
        }
        settings.correct_and_smooth = settings.correct_and_smooth.filter(|given| given.correct_and_smooth);
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings as the version before groups of settings wrote them: (kind, dataset, settings) per line.
    const WRITTEN: &str = include_str!("../../tests/settings.jsonl");

    #[test]
    fn files_keep_their_bytes() {
        assert_eq!(WRITTEN.lines().count(), 102);
        for line in WRITTEN.lines() {
            let (kind, dataset, settings): (String, String, Settings) = serde_json::from_str(line).unwrap();
            let model = settings.model;
            let now = match kind.as_str() {
                "general" => Settings::general(model),
                "new" => Settings::on_new_graphs(model),
                task => Settings::published_for(task, &dataset, model).unwrap(),
            };
            let mut text = serde_json::to_string(&(&kind, &dataset, now)).unwrap();
            // Hyperparameters that were added since.
            for (known, value) in now.values().filter(|(known, _)| !WRITTEN.contains(&format!("\"{}\":", known.stored)))
            {
                text = text.replace(&format!(",\"{}\":{}", known.stored, serde_json::to_string(&value).unwrap()), "");
            }
            assert_eq!(text, line);
            assert_eq!(settings, now, "{kind} {dataset} {model}");
        }
    }

    #[test]
    fn refuses_unknown_and_wrong_values() {
        let read = |text: &str| serde_json::from_str::<Settings>(text).map_err(|error| error.to_string());
        let error = |text: &str| read(text).unwrap_err();
        assert!(error("{}").contains("missing field `model`"));
        assert!(error(r#"{"model":"gcn","layer":2}"#).contains("unknown field `layer`"));
        assert!(error(r#"{"model":"gcn","lr":0.1,"lr":0.2}"#).contains("duplicate field `lr`"));
        assert!(error(r#"{"model":"gcn","layers":2.5}"#).contains("`layers` = 2.5: must be a whole number"));
        assert!(error(r#"{"model":"trees","tree_depth":1000000000}"#).contains("must be a whole number from 1 to 64"));
        assert!(error(r#"{"model":"gcn","norm":"group"}"#).contains("must be one of none, layer, batch"));
        assert_eq!(read(r#"{"model":"gcn"}"#), Ok(Settings::general("gcn".parse().unwrap())));
    }

    #[test]
    fn keeps_all_values() {
        for model in ModelKind::ALL {
            let mut settings = Settings { select: Some(Select::Auroc), positive: Some(0), ..Settings::general(model) };
            settings.set("smooth_alpha", 0.7).unwrap();
            let text = serde_json::to_string(&settings).unwrap();
            assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
        }
    }
}
