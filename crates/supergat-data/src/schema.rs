//! Schema of a feature table: the columns from which features are computed.

use serde::{Deserialize, Serialize};

/// Columns of a feature table, in the order of the features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Schema {
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Whether the features are stored as a sparse matrix.
    pub sparse: bool,
}

/// A column of a feature table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Column {
    /// Numeric column: one feature.
    Number {
        /// Name of the column.
        name: String,
        /// Mean, which replaces missing values.
        mean: f32,
        /// Standard deviation if values are standardised; `None` if they are used unchanged.
        deviation: Option<f32>,
    },
    /// Categorical column, one-hot encoded: one feature per category.
    Category {
        /// Name of the column.
        name: String,
        /// Categories.
        values: Vec<String>,
    },
}

impl Column {
    /// Returns the name of the column.
    pub fn name(&self) -> &str {
        match self {
            Self::Number { name, .. } | Self::Category { name, .. } => name,
        }
    }

    /// Returns the number of features.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { .. } => 1,
            Self::Category { values, .. } => values.len(),
        }
    }
}

impl Schema {
    /// Returns the number of features.
    pub fn width(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// Returns the name of each feature: the column name, or `column=category`.
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
    fn categories_become_one_hot_features() {
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
