//! Settings as entries of an object in a file.

use super::{HYPERPARAMETERS, Hyperparameter, SettingsGroup, Value};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// Value of a hyperparameter in a file.
///
/// ```
/// use supergat_core::hyperparameters::{Hyperparameter, StoredValue, Value};
/// let stored: StoredValue = serde_json::from_str("\"batch\"").unwrap();
/// assert_eq!(stored.of(Hyperparameter::named("norm").unwrap())?, Value::Choice("batch"));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum StoredValue {
    /// True or false.
    Switch(bool),
    /// Whole number.
    Whole(u64),
    /// Number.
    Number(f64),
    /// Name of a choice.
    Name(String),
}

impl StoredValue {
    /// Returns the value of a hyperparameter, without a check of its range. Fails for a name that is no choice.
    pub fn of(&self, known: &Hyperparameter) -> crate::Result<Value> {
        match self {
            Self::Switch(on) => Ok(Value::Switch(*on)),
            Self::Whole(number) => Ok(Value::Whole(*number)),
            Self::Number(number) => Ok(Value::Number(*number)),
            Self::Name(name) => known.choice(name),
        }
    }
}

/// Object of a file: groups of settings and other entries, in the order in which they are written.
///
/// Hyperparameters that every version has written are always there. Others are left out if they have their default, which
/// readers give to missing ones, so that a new hyperparameter changes no file that does not use it.
pub(crate) struct Entries<'a, M> {
    map: M,
    groups: &'a [&'a dyn SettingsGroup],
    /// Names of the hyperparameters so far.
    done: Vec<&'static str>,
}

impl<'a, M: SerializeMap> Entries<'a, M> {
    /// Begins an object.
    pub(crate) fn new(map: M, groups: &'a [&'a dyn SettingsGroup]) -> Self {
        Self { map, groups, done: Vec::new() }
    }

    /// Returns the hyperparameters of the groups with their values, in the order of the declaration.
    fn values(&self) -> impl Iterator<Item = (&'static Hyperparameter, Value)> + use<'a, M> {
        let groups = self.groups;
        let value = move |known: &Hyperparameter| groups.iter().find_map(|group| group.get(known.name));
        HYPERPARAMETERS.iter().filter_map(move |known| Some((known, value(known)?)))
    }

    /// Writes an entry that is no hyperparameter.
    pub(crate) fn other(&mut self, key: &'static str, value: &impl Serialize) -> Result<(), M::Error> {
        self.map.serialize_entry(key, value)
    }

    /// Writes hyperparameters.
    pub(crate) fn always(&mut self, names: &[&'static str]) -> Result<(), M::Error> {
        for name in names {
            let entry = self.values().find(|(known, _)| known.name == *name);
            let (known, value) = entry.expect("it is declared in one of the groups");
            self.map.serialize_entry(known.stored, &value)?;
        }
        self.done.extend(names);
        Ok(())
    }

    /// Writes hyperparameters that do not have their default.
    pub(crate) fn changed(&mut self, names: &[&'static str]) -> Result<(), M::Error> {
        for (known, value) in self.values().filter(|(known, _)| names.contains(&known.name)) {
            if value != known.default_of_groups() {
                self.map.serialize_entry(known.stored, &value)?;
            }
        }
        self.done.extend(names);
        Ok(())
    }

    /// Writes a switch: an object of the hyperparameters whose names begin with its own, or null if it is off.
    pub(crate) fn switch(&mut self, switch: &'static str) -> Result<(), M::Error> {
        let is_on = self.values().any(|(known, value)| known.name == switch && value == Value::Switch(true));
        let values = self.values().filter_map(|(known, value)| Some((known.stored_within(switch)?, value)));
        self.map.serialize_entry(switch, &is_on.then(|| Object(values.collect())))?;
        self.done.push(switch);
        self.done.extend(self.values().filter_map(|(known, _)| known.stored_within(switch).map(|_| known.name)));
        Ok(())
    }

    /// Writes all other hyperparameters that do not have their default, and ends the object.
    pub(crate) fn end(mut self) -> Result<M::Ok, M::Error> {
        let names = self.values().map(|(known, _)| known.name).filter(|name| !self.done.contains(name));
        let others: Vec<_> = names.collect();
        self.changed(&others)?;
        self.map.end()
    }
}

impl Hyperparameter {
    /// Returns the name in the object of a switch; `None` if it does not depend on the switch.
    pub(crate) fn stored_within(&self, switch: &str) -> Option<&'static str> {
        self.stored.strip_prefix(switch)?.strip_prefix('_')
    }
}

/// Entries of an object.
struct Object(Vec<(&'static str, Value)>);

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
