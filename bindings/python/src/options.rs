//! Options of trainings and searches, from Python to the library and back.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::fmt::Display;
use std::str::FromStr;
use supergat::hyperparameters::{Hyperparameter, Value};
use supergat::{ClassWeight, Select, Settings};

/// Parses an option. Errors name it.
pub fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|reason| PyValueError::new_err(format!("{name}: {reason}")))
}

/// Converts a value of a hyperparameter.
pub fn value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(value) = value.extract::<bool>() {
        return Ok(Value::Switch(value));
    }
    if let Ok(value) = value.extract::<u64>() {
        return Ok(Value::Whole(value));
    }
    if let Ok(choice) = value.extract::<String>() {
        let named = Hyperparameter::find(name).and_then(|hyperparameter| hyperparameter.choice(&choice));
        return named.map_err(|error| PyValueError::new_err(error.to_string()));
    }
    let message = || PyValueError::new_err(format!("{name}: expected a number, a boolean or a name, found {value}"));
    value.extract::<f64>().map(Value::Number).map_err(|_| message())
}

/// Weights of classes: a word, or pairs of a class and its weight.
#[derive(FromPyObject)]
pub enum Weights {
    Word(String),
    Pairs(Vec<(String, f64)>),
}

/// Returns the choice of weights of classes.
pub fn class_weight(weights: Option<Weights>) -> PyResult<ClassWeight> {
    match weights {
        None => Ok(ClassWeight::None),
        Some(Weights::Word(word)) => parsed("class_weight", &word),
        Some(Weights::Pairs(pairs)) => Ok(ClassWeight::Given(pairs)),
    }
}

/// Parses the score that selects. Without a choice, accuracy or micro-F1 does.
pub fn select(name: Option<&str>) -> PyResult<Option<Select>> {
    let name = name.filter(|name| !["accuracy", "micro-f1"].contains(name));
    name.map(|name| parsed("select", name)).transpose()
}

/// Converts settings to JSON, with names of keywords and the positive class by name.
pub fn settings_of(settings: &Settings, class_names: &[String]) -> serde_json::Value {
    let mut found = json!({ "model": settings.model });
    for (known, value) in settings.values() {
        found[known.name] = json!(value);
    }
    if let Some(select) = settings.select {
        found["select"] = json!(select);
    }
    if let Some(name) = settings.positive.and_then(|class| class_names.get(class)) {
        found["positive"] = json!(name);
    }
    found
}
