//! Choice of the train/validation/test split.

use crate::error::{Error, Result};
use crate::words::shown;
use std::fmt;
use std::str::FromStr;

/// Number of units in the whole: shares are stored in hundredths of a per cent.
const WHOLE: u32 = 10_000;

/// Number of decimals of a share.
const DECIMALS: usize = 2;

/// Choice of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitChoice {
    /// Split of the files, else the split of the paper's results, else a random one with seed 0.
    #[default]
    Published,
    /// Random split: 20 training and 30 validation nodes per class, all others for testing.
    Random {
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Random split by shares of the labelled nodes, uniform over the nodes.
    Shares {
        /// Shares of training, validation and test nodes.
        shares: Shares,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Validation and test nodes as in [`SplitChoice::Published`]; all other labelled nodes for training.
    FullSupervised,
    /// Index of one of several splits in the files, counted from 0.
    Numbered(usize),
}

impl fmt::Display for SplitChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published => write!(f, "published"),
            Self::Random { seed } => write!(f, "random:{seed}"),
            Self::Shares { shares, seed } => write!(f, "random:{shares}:{seed}"),
            Self::FullSupervised => write!(f, "full-supervised"),
            Self::Numbered(number) => write!(f, "{number}"),
        }
    }
}

impl SplitChoice {
    /// Returns the choice without its seed; other random splits of the kind differ from it in the nodes only.
    ///
    /// ```
    /// use supergat_data::SplitChoice;
    /// assert_eq!("random:60/20/20:7".parse::<SplitChoice>()?.without_seed(), "random:60/20/20");
    /// assert_eq!("random:7".parse::<SplitChoice>()?.without_seed(), "random");
    /// # Ok::<(), supergat_data::Error>(())
    /// ```
    pub fn without_seed(self) -> String {
        match self {
            Self::Random { .. } => "random".to_owned(),
            Self::Shares { shares, .. } => format!("random:{shares}"),
            other => other.to_string(),
        }
    }

    /// Returns the choice that readers apply. Splits by shares are drawn after reading and need none.
    pub(crate) fn of_reader(self) -> Self {
        match self {
            Self::Shares { .. } => Self::Shares { shares: Shares::ANY, seed: 0 },
            other => other,
        }
    }
}

impl FromStr for SplitChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(rest) = text.strip_prefix("random:")
            && rest.contains('/')
        {
            let (shares, seed) = rest.split_once(':').unwrap_or((rest, "0"));
            let shares = shares.parse()?;
            let seed = seed.parse().map_err(|_| {
                let expected = format!("random:{shares} or random:{shares}:SEED with a whole number");
                Error::spec(format!("split {text}"), expected, seed)
            })?;
            return Ok(Self::Shares { shares, seed });
        }
        let choice = match text.split_once(':') {
            None if text == "published" => Some(Self::Published),
            None if text == "full-supervised" => Some(Self::FullSupervised),
            None if text == "random" => Some(Self::Random { seed: 0 }),
            None => text.parse().ok().map(Self::Numbered),
            Some(("random", seed)) => seed.parse().ok().map(|seed| Self::Random { seed }),
            Some(_) => None,
        };
        choice.ok_or_else(|| {
            let expected = "published, random, random:SEED, random:60/20/20:SEED, full-supervised, or the number of one of several splits";
            Error::spec(format!("split {text}"), expected, text)
        })
    }
}

/// Shares of the labelled nodes for training, validation and testing, in per cent.
///
/// ```
/// use supergat_data::Shares;
/// let shares: Shares = "60/20/20".parse()?;
/// assert_eq!(shares.to_string(), "60/20/20");
/// assert_eq!("2.5/2.5/95".parse::<Shares>()?.to_string(), "2.5/2.5/95");
/// let error = "60/20/30".parse::<Shares>().unwrap_err().to_string();
/// assert!(error.ends_with("with the sum 100 instead of 110, found `60/20/30`"));
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares([u32; 3]);

impl Shares {
    /// Shares that stand for all others where the nodes of a split do not matter.
    pub(crate) const ANY: Self = Self([WHOLE, 0, 0]);

    /// Returns the numbers of training, validation and test nodes among `nodes`: ends of the lists are rounded.
    pub(crate) fn sizes(self, nodes: usize) -> [usize; 3] {
        let Self([train, validation, _]) = self;
        let end = |share: u32| ((nodes as u64 * u64::from(share) + u64::from(WHOLE / 2)) / u64::from(WHOLE)) as usize;
        let [first, second] = [end(train), end(train + validation)];
        [first, second - first, nodes - second]
    }

    /// Returns the note on a split with these shares.
    pub(crate) fn note(self, seed: u64) -> String {
        let Self(shares) = self;
        let [train, validation, test] = shares.map(text);
        format!(
            "a split drawn with seed {seed}: {train} % of the labelled nodes for training, {validation} % for validation, \
             {test} % for testing"
        )
    }
}

/// Returns a share as text, without trailing zeros.
fn text(share: u32) -> String {
    let unit = 10u32.pow(DECIMALS as u32);
    let text = format!("{}.{:0DECIMALS$}", share / unit, share % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Parses a share such as `60` or `2.5`.
fn parse(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || whole.len() > 3 || decimals.len() > DECIMALS {
        return None;
    }
    format!("{whole}{decimals:0<DECIMALS$}").parse().ok()
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.map(text).join("/"))
    }
}

impl FromStr for Shares {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self> {
        let refused = |sum: u32| {
            let expected = format!(
                "three shares in per cent such as 60/20/20, each above 0 with at most {DECIMALS} decimals, with the sum 100{}",
                if sum == WHOLE { String::new() } else { format!(" instead of {}", text(sum)) }
            );
            Error::spec(format!("split random:{given}"), expected, shown(given))
        };
        let shares: Option<Vec<u32>> = given.split('/').map(parse).collect();
        let shares: Option<[u32; 3]> = shares.and_then(|shares| shares.try_into().ok());
        let shares = shares.ok_or_else(|| refused(WHOLE))?;
        let sum: u32 = shares.iter().sum();
        match sum == WHOLE && !shares.contains(&0) {
            true => Ok(Self(shares)),
            false => Err(refused(sum)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_displays_choices() {
        for text in ["published", "random:7", "random:60/20/20:7", "full-supervised", "12"] {
            assert_eq!(text.parse::<SplitChoice>().unwrap().to_string(), text);
        }
        assert_eq!("random".parse::<SplitChoice>().unwrap(), SplitChoice::Random { seed: 0 });
        let shares = "60/20/20".parse().unwrap();
        assert_eq!("random:60/20/20".parse::<SplitChoice>().unwrap(), SplitChoice::Shares { shares, seed: 0 });
        for (wrong, part) in [
            ("random:60/20/20:x", "expected random:60/20/20 or random:60/20/20:SEED with a whole number, found `x`"),
            ("random:60/20/20:1:2", "found `1:2`"),
            ("random:60/20/30:1", "with the sum 100 instead of 110, found `60/20/30`"),
            ("random:3:60/20/20", "expected three shares in per cent"),
        ] {
            let error = wrong.parse::<SplitChoice>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        for wrong in ["", "randon", "random:", "random:-1", "published:1", "-1", "1.5"] {
            let error = wrong.parse::<SplitChoice>().unwrap_err().to_string();
            assert!(error.contains("expected published, random, random:SEED"), "{error}");
        }
    }

    #[test]
    fn parses_and_displays_shares() {
        for text in ["60/20/20", "2.5/2.5/95", "0.01/0.09/99.9", "33.33/33.33/33.34"] {
            assert_eq!(text.parse::<Shares>().unwrap().to_string(), text);
        }
        assert_eq!("60.0/20.00/20".parse::<Shares>().unwrap().to_string(), "60/20/20");
        for wrong in [
            "",
            "60",
            "60/20",
            "60/20/20/0",
            "60/20/20/",
            "a/20/20",
            "-60/80/80",
            "60/20/20.001",
            "6e1/20/20",
            "./50/50",
        ] {
            let error = wrong.parse::<Shares>().unwrap_err().to_string();
            assert!(error.contains("expected three shares in per cent such as 60/20/20"), "{error}");
        }
        for (wrong, sum) in [
            ("60/20/30", " instead of 110"),
            ("50/50/0", ""),
            ("1/1/1", " instead of 3"),
            ("33.33/33.33/33.33", " instead of 99.99"),
        ] {
            let error = wrong.parse::<Shares>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("with the sum 100{sum}, found `{wrong}`")), "{error}");
        }
    }
}
