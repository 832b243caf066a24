//! Weights of classes in the loss, for rare classes.

use super::Dataset;
use crate::error::{Error, Result};
use crate::words::quoted;
use std::fmt;
use std::str::FromStr;
use supergat_core::{Example, Labels};

/// How much each class counts in the loss.
///
/// ```
/// use supergat_data::ClassWeight;
/// let mut dataset = supergat_data::load("random-partition:classes=2,nodes=250,degree=4")?;
/// dataset.weigh_classes(&"1=20".parse::<ClassWeight>().unwrap())?;
/// assert_eq!(dataset.examples[0].class_weights.as_deref(), Some(&[1.0, 20.0][..]));
/// assert!("1=-3".parse::<ClassWeight>().is_err());
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeight {
    /// All training nodes count the same.
    #[default]
    None,
    /// All classes count the same: a training node of a class with c of n training nodes, of k classes that have any,
    /// has the weight n / (k c).
    Balanced,
    /// Weights of some classes by name; other classes have weight 1.
    Given(Vec<(String, f64)>),
}

impl FromStr for ClassWeight {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("must be balanced, none, or a list such as fraud=20,other=1, not {text}");
        let pair = |pair: &str| {
            let (name, weight) = pair.rsplit_once('=').ok_or_else(wrong)?;
            let weight: f64 = weight.trim().parse().map_err(|_| wrong())?;
            let is_valid = weight.is_finite() && weight >= 0.0;
            if is_valid {
                Ok((name.trim().to_owned(), weight))
            } else {
                Err(format!("weight {weight}: must be a finite number, 0 or more"))
            }
        };
        match text {
            "none" => Ok(Self::None),
            "balanced" => Ok(Self::Balanced),
            _ => Ok(Self::Given(text.split(',').map(pair).collect::<std::result::Result<_, _>>()?)),
        }
    }
}

impl fmt::Display for ClassWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Balanced => f.pad("balanced"),
            Self::Given(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(name, weight)| format!("{name}={weight}")).collect();
                f.pad(&pairs.join(","))
            }
        }
    }
}

impl ClassWeight {
    /// Returns the weight of each class, if classes have weights. `counts` are the numbers of training nodes by class.
    /// Fails for the name of an unknown class.
    ///
    /// ```
    /// use supergat_data::ClassWeight;
    /// let names = ["no", "yes"].map(String::from);
    /// assert_eq!(ClassWeight::Balanced.weights(&names, &[30, 10])?, Some(vec![2.0 / 3.0, 2.0]));
    /// assert_eq!(ClassWeight::None.weights(&names, &[30, 10])?, None);
    /// # Ok::<(), supergat_data::Error>(())
    /// ```
    pub fn weights(&self, class_names: &[String], counts: &[u64]) -> Result<Option<Vec<f64>>> {
        match self {
            Self::None => Ok(None),
            Self::Balanced => Ok(Some(balanced(counts))),
            Self::Given(pairs) => {
                let mut weights = vec![1.0; class_names.len()];
                for (name, weight) in pairs {
                    let class = class_names.iter().position(|class| class == name);
                    weights[class.ok_or_else(|| unknown_class(class_names, name))?] = *weight;
                }
                Ok(Some(weights))
            }
        }
    }
}

impl Dataset {
    /// Sets the weights of the classes in the loss. Fails if nodes may have several classes, or for an unknown class.
    pub fn weigh_classes(&mut self, choice: &ClassWeight) -> Result<()> {
        let Some(weights) = choice.weights(&self.class_names, &training_classes(&self.examples, self.classes()))?
        else {
            self.examples.iter_mut().for_each(|example| example.class_weights = None);
            return Ok(());
        };
        for example in &mut self.examples {
            let weighed = example.clone().with_class_weights(weights.clone());
            *example = weighed
                .map_err(|error| Error::array("weights of classes", "a weight for each of several classes", error))?;
        }
        Ok(())
    }
}

fn unknown_class(class_names: &[String], name: &str) -> Error {
    let names: Vec<&str> = class_names.iter().map(String::as_str).take(20).collect();
    let expected = format!("one of the classes {}", names.join(", "));
    Error::array("parameter `class_weight`", expected, quoted(name))
}

/// Returns the number of training nodes of each class.
fn training_classes(examples: &[Example<f32>], classes: usize) -> Vec<u64> {
    let mut counts = vec![0u64; classes];
    for example in examples {
        if let Labels::Single { of, .. } = &example.labels {
            example.train.iter().for_each(|&node| counts[of[node as usize] as usize] += 1);
        }
    }
    counts
}

/// Returns weights with which all classes of training nodes count the same.
fn balanced(counts: &[u64]) -> Vec<f64> {
    let (all, present) = (counts.iter().sum::<u64>() as f64, counts.iter().filter(|count| **count > 0).count() as f64);
    counts.iter().map(|&count| if count == 0 { 1.0 } else { all / (present * count as f64) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        for text in ["none", "balanced", "fraud=20,a=b=0.5"] {
            assert_eq!(text.parse::<ClassWeight>().unwrap().to_string(), text);
        }
        for text in ["", "heavy", "a", "a=", "a=-1", "a=nan", "a=inf"] {
            assert!(text.parse::<ClassWeight>().is_err(), "{text}");
        }
    }

    #[test]
    fn balanced_classes_have_equal_sums() {
        let mut dataset = crate::load("random-partition:classes=3,nodes=180,degree=4").unwrap();
        dataset.examples[0].train.truncate(25);
        dataset.weigh_classes(&ClassWeight::Balanced).unwrap();
        let example = &dataset.examples[0];
        let Labels::Single { of, .. } = &example.labels else { panic!("single labels") };
        let weights = example.class_weights.as_deref().unwrap();
        let sum = |class: u32| {
            let nodes = example.train.iter().filter(|node| of[**node as usize] == class);
            nodes.map(|_| weights[class as usize]).sum::<f64>()
        };
        let sums: Vec<f64> = (0..3).map(sum).filter(|sum| *sum > 0.0).collect();
        assert!(sums.iter().all(|other| (other - sums[0]).abs() < 1e-9), "{sums:?}");
        assert!((example.training_weight() - 25.0).abs() < 1e-9);
    }

    #[test]
    fn unknown_classes_and_several_labels_are_refused() {
        let mut dataset = crate::load("random-partition:classes=2,nodes=180,degree=4").unwrap();
        let error = dataset.weigh_classes(&"fraud=3".parse().unwrap()).unwrap_err().to_string();
        assert_eq!(error, "parameter `class_weight`: expected one of the classes 0, 1, found `fraud`");
        let nodes = dataset.nodes();
        dataset.examples[0].labels = Labels::Multi { classes: 2, of: vec![1; 2 * nodes] };
        assert!(dataset.weigh_classes(&ClassWeight::Balanced).is_err());
    }
}
