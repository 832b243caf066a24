//! Node classification with weights of the classes.

use serde_json::Value;
use supergat_core::{Error, Result};
use supergat_data::{ClassWeight, Dataset};
use supergat_train::fitted::Fitted;
use supergat_train::task::Task;

/// Beginning of the name of the task; the weights follow.
const PREFIX: &str = "class-weight:";

/// Node classification in which the classes have weights in the loss. Its name contains them, so runs with other weights
/// are other runs in a results file.
#[derive(Debug, Clone)]
pub(crate) struct WeighedClassification {
    class_weight: ClassWeight,
    name: String,
}

impl WeighedClassification {
    pub(crate) fn new(class_weight: ClassWeight) -> Self {
        let name = format!("{PREFIX}{class_weight}");
        Self { class_weight, name }
    }

    /// Returns the task of this name, if there is one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(Self::new(name.strip_prefix(PREFIX)?.parse().ok()?))
    }
}

impl Task for WeighedClassification {
    fn name(&self) -> &str {
        &self.name
    }

    fn prepare(&self, dataset: &Dataset, _: u64) -> Result<Option<Dataset>> {
        let mut weighed = dataset.clone();
        weighed.weigh_classes(&self.class_weight).map_err(|error| Error::Hyperparameter {
            name: "class_weight",
            value: self.class_weight.to_string(),
            reason: error.to_string(),
        })?;
        Ok(Some(weighed))
    }

    fn measure(&self, _: &Dataset, _: u64, _: &Fitted) -> Result<Value> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_found_by_its_name() {
        for text in ["balanced", "0=3,1=0.5"] {
            let task = WeighedClassification::new(text.parse().unwrap());
            let found = WeighedClassification::named(task.name()).unwrap();
            assert_eq!((found.name(), &found.class_weight), (task.name(), &task.class_weight));
        }
        assert!(WeighedClassification::named("node").is_none());
        assert!(WeighedClassification::named("class-weight:heavy").is_none());
    }

    #[test]
    fn weighs_a_copy_of_the_dataset() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=4").unwrap();
        let weighed = |text: &str| WeighedClassification::new(text.parse().unwrap()).prepare(&dataset, 0);
        let found = weighed("1=4").unwrap().unwrap();
        assert_eq!(found.examples[0].class_weights.as_deref(), Some(&[1.0, 4.0][..]));
        assert!(dataset.examples[0].class_weights.is_none());
        assert!(weighed("fraud=4").unwrap_err().to_string().contains("one of the classes 0, 1"));
    }
}
