//! Schema of a feature table: the columns from which features are computed, and how.

use serde::{Deserialize, Serialize};

/// Columns of a feature table, in the order of the features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Schema {
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Whether the features are stored as a sparse matrix.
    pub sparse: bool,
    /// Treatment of missing values.
    #[serde(default)]
    pub missing: Missing,
    /// Words for missing values besides the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_words: Vec<String>,
    /// Whether the features of each node are divided by their sum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub row_normalised: bool,
    /// Decision on each column of the tables, for `supergat inspect`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
}

/// Columns of a table of links.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkSchema {
    /// Column of the weights.
    pub weight: Option<String>,
    /// Columns of the features.
    pub columns: Schema,
    /// Whether edges against the direction of a link have features of their own, which follow the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_way: bool,
}

/// A column of a feature table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Column {
    /// Column that is read as a number: one feature, and one for missing values if training had some.
    Number {
        /// Name of the column.
        name: String,
        /// Mean, which replaces missing values.
        mean: f32,
        /// Standard deviation if values are standardised; `None` if they are used unchanged.
        deviation: Option<f32>,
        /// Notation of the values.
        #[serde(default, skip_serializing_if = "Notation::is_plain")]
        notation: Notation,
        /// Whether a further feature is 1 for missing values.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        indicator: bool,
    },
    /// Categorical column, one-hot encoded: one feature per category, and one for missing values if training
    /// had some.
    Category {
        /// Name of the column.
        name: String,
        /// Categories in alphabetical order.
        values: Vec<String>,
        /// Whether a further feature is 1 for missing values.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        indicator: bool,
    },
    /// Column of free text: the TF-IDF weight of each term.
    Text {
        /// Name of the column.
        name: String,
        /// Terms in alphabetical order.
        terms: Vec<String>,
        /// Inverse document frequency of each term.
        weights: Vec<f64>,
    },
}

/// Notation of a value that is read as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notation {
    /// Number such as `-1.5e3`.
    #[default]
    Plain,
    /// Number with a decimal point and optional currency sign and thousands separators: `$1,234.50`.
    Point,
    /// Number with a decimal comma and optional currency sign and thousands separators: `1.234,50 EUR`.
    Comma,
    /// Boolean: `true` or `false`, `yes` or `no`, `t` or `f`, `y` or `n`.
    Boolean,
    /// Date with the year first, optionally with a time: `2024-03-01T12:00:00Z`. The number is the days since
    /// 1970-01-01.
    YearFirst,
    /// Date with the day first: `01.03.2024`.
    DayFirst,
    /// Date with the month first: `03/01/2024`.
    MonthFirst,
}

/// Treatment of missing values of numbers and categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// Numbers become the mean of the column, categories none of the known ones; a further feature per column
    /// marks them.
    #[default]
    Mean,
    /// All features of the column become 0.
    Zero,
    /// Features are computed from those of neighbours, by feature propagation.
    Propagate,
    /// Missing values are an error.
    Error,
}

/// Decision on a column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Name of the column.
    pub name: String,
    /// Type of the column.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Number of features computed from it.
    pub features: usize,
    /// Reason for the type, and the preparation of the values.
    pub reason: String,
}

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Numbers.
    Number,
    /// Two values such as true and false.
    Boolean,
    /// Words or codes that repeat.
    Category,
    /// Dates.
    Date,
    /// Free text.
    Text,
    /// Ids, names or row numbers: almost every row has another value.
    Id,
    /// No values.
    Empty,
    /// Left out on request, or because it describes the file and not the nodes.
    Ignored,
    /// Id, label, split or graph of a node.
    Role,
}

impl ColumnType {
    /// Returns the name of the type in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Category => "category",
            Self::Date => "date",
            Self::Text => "text",
            Self::Id => "id",
            Self::Empty => "empty",
            Self::Ignored => "ignored",
            Self::Role => "role",
        }
    }
}

impl Notation {
    fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// Returns the type of a column with this notation.
    pub fn column_type(self) -> ColumnType {
        match self {
            Self::Plain | Self::Point | Self::Comma => ColumnType::Number,
            Self::Boolean => ColumnType::Boolean,
            Self::YearFirst | Self::DayFirst | Self::MonthFirst => ColumnType::Date,
        }
    }
}

impl Column {
    /// Returns the name of the column.
    pub fn name(&self) -> &str {
        match self {
            Self::Number { name, .. } | Self::Category { name, .. } | Self::Text { name, .. } => name,
        }
    }

    /// Returns the number of features.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { indicator, .. } => 1 + usize::from(*indicator),
            Self::Category { values, indicator, .. } => values.len() + usize::from(*indicator),
            Self::Text { terms, .. } => terms.len(),
        }
    }

    /// Returns whether features can be computed with the numbers of the column.
    fn is_usable(&self) -> bool {
        match self {
            Self::Number { mean, deviation, .. } => {
                mean.is_finite() && deviation.is_none_or(|deviation| deviation > 0.0 && deviation.is_finite())
            }
            Self::Category { .. } => true,
            Self::Text { terms, weights, .. } => {
                terms.len() == weights.len() && weights.iter().all(|weight| weight.is_finite())
            }
        }
    }

    /// Returns the name of each feature.
    fn feature_names(&self) -> Vec<String> {
        let (mut names, marked): (Vec<String>, bool) = match self {
            Self::Number { name, indicator, .. } => (vec![name.clone()], *indicator),
            Self::Category { name, values, indicator } => {
                (values.iter().map(|value| format!("{name}={value}")).collect(), *indicator)
            }
            Self::Text { name, terms, .. } => (terms.iter().map(|term| format!("{name}:{term}")).collect(), false),
        };
        if marked {
            names.push(format!("{} is missing", self.name()));
        }
        names
    }
}

impl Schema {
    /// Returns the number of features.
    pub fn width(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// Returns the name of a column whose mean, standard deviation or weights are damaged, if there is one.
    pub fn damaged_column(&self) -> Option<&str> {
        self.columns.iter().find(|column| !column.is_usable()).map(Column::name)
    }

    /// Returns the name of each feature: the column name, `column=category`, `column:term` or
    /// `column is missing`.
    pub fn feature_names(&self) -> Vec<String> {
        self.columns.iter().flat_map(Column::feature_names).collect()
    }
}

impl LinkSchema {
    /// Returns the number of features of an edge.
    pub fn width(&self) -> usize {
        self.columns.width() * if self.two_way { 2 } else { 1 }
    }

    /// Returns the name of each feature of an edge. Those against the direction of a link end in `(reverse)`.
    pub fn feature_names(&self) -> Vec<String> {
        let forward = self.columns.feature_names();
        let reverse = self.two_way.then(|| forward.iter().map(|name| format!("{name} (reverse)")).collect());
        [forward, reverse.unwrap_or_default()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_columns_are_found() {
        let damaged = |text: &str| {
            let columns = serde_json::from_str(text).unwrap();
            Schema { columns, ..Schema::default() }.damaged_column().map(str::to_owned)
        };
        let number = |rest: &str| damaged(&format!(r#"[{{"kind": "number", "name": "age", {rest}}}]"#));
        assert_eq!(number(r#""mean": 1.5, "deviation": 0.5"#), None);
        for rest in
            [r#""mean": 1e39, "deviation": null"#, r#""mean": 0, "deviation": 0"#, r#""mean": 0, "deviation": -1"#]
        {
            assert_eq!(number(rest).as_deref(), Some("age"), "{rest}");
        }
        let text = damaged(r#"[{"kind": "text", "name": "about", "terms": ["a", "b"], "weights": [1.0]}]"#);
        assert_eq!(text.as_deref(), Some("about"));
    }

    #[test]
    fn names_the_features_of_each_column_type() {
        let number = |name: &str, indicator| Column::Number {
            name: name.into(),
            mean: 0.0,
            deviation: None,
            notation: Notation::Plain,
            indicator,
        };
        let schema = Schema {
            columns: vec![
                number("age", false),
                number("income", true),
                Column::Category { name: "colour".into(), values: vec!["blue".into(), "red".into()], indicator: true },
                Column::Text { name: "note".into(), terms: vec!["book".into()], weights: vec![1.5] },
            ],
            ..Schema::default()
        };
        assert_eq!(schema.width(), 7);
        let names =
            ["age", "income", "income is missing", "colour=blue", "colour=red", "colour is missing", "note:book"];
        assert_eq!(schema.feature_names(), names);
        let text = serde_json::to_string(&schema).unwrap();
        assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema);
    }

    /// Files written before columns had notations and indicators stay readable.
    #[test]
    fn reads_schemas_of_earlier_versions() {
        let text = r#"{"columns":[{"kind":"number","name":"age","mean":41.5,"deviation":10.5},
            {"kind":"category","name":"colour","values":["blue"]}],"sparse":false}"#;
        let schema: Schema = serde_json::from_str(text).unwrap();
        assert_eq!((schema.feature_names().join(" "), schema.missing), ("age colour=blue".into(), Missing::Mean));
    }
}
