//! The columns that features are made from.

use serde::{Deserialize, Serialize};

/// The columns of a table of features, in the order in which they become features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Schema {
    /// The columns.
    pub columns: Vec<Column>,
    /// Whether the features are kept sparse.
    pub sparse: bool,
}

/// A column of a table of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Column {
    /// A number: one feature.
    Number {
        /// Its name.
        name: String,
        /// The mean, which stands for missing values.
        mean: f32,
        /// What values are divided by once the mean is taken off; `None`: they are used as they are.
        deviation: Option<f32>,
    },
    /// One of several words: a feature of its own for each, 1 for the word that stands there.
    Category {
        /// Its name.
        name: String,
        /// The words.
        values: Vec<String>,
    },
}

impl Column {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Number { name, .. } | Self::Category { name, .. } => name,
        }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { .. } => 1,
            Self::Category { values, .. } => values.len(),
        }
    }
}

impl Schema {
    /// Number of features.
    pub fn width(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// The name of every feature: that of its column, or `column=word`.
    pub fn feature_names(&self) -> Vec<String> {
        let names = |column: &Column| match column {
            Column::Number { name, .. } => vec![name.clone()],
            Column::Category { name, values } => values.iter().map(|value| format!("{name}={value}")).collect(),
        };
        self.columns.iter().flat_map(names).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_features_of_their_own() {
        let schema = Schema {
            columns: vec![
                Column::Number { name: "age".into(), mean: 0.0, deviation: None },
                Column::Category { name: "colour".into(), values: vec!["blue".into(), "red".into()] },
            ],
            sparse: false,
        };
        assert_eq!(schema.width(), 3);
        assert_eq!(schema.feature_names(), ["age", "colour=blue", "colour=red"]);
    }
}
