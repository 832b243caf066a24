//! Interval between checkpoints.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Interval between two checkpoints of a run.
///
/// ```
/// use std::time::Duration;
/// use supergat_train::Interval;
/// assert_eq!("10m".parse(), Ok(Interval::Time(Duration::from_secs(600))));
/// assert_eq!("100e".parse::<Interval>().unwrap().to_string(), "100e");
/// assert_eq!("none".parse(), Ok(Interval::Never));
/// assert!("10".parse::<Interval>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// Time since the last checkpoint.
    Time(Duration),
    /// Number of epochs since the last checkpoint.
    Epochs(usize),
    /// No checkpoints.
    Never,
}

impl Default for Interval {
    /// Ten minutes: short runs write no checkpoint.
    fn default() -> Self {
        Self::Time(Duration::from_secs(600))
    }
}

impl Interval {
    /// Returns whether a checkpoint must be written after this time and number of epochs.
    pub(crate) fn is_over(self, time: Duration, epochs: usize) -> bool {
        match self {
            Self::Time(interval) => time >= interval,
            Self::Epochs(interval) => epochs >= interval,
            Self::Never => false,
        }
    }
}

impl FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Never);
        }
        let refused =
            || format!("expected a time such as 10m or 30s, a number of epochs such as 100e, or none, found {text}");
        let unit = text.chars().last().ok_or_else(refused)?;
        let number: u32 = text.strip_suffix(unit).and_then(|number| number.parse().ok()).ok_or_else(refused)?;
        match (unit, u64::from(number)) {
            (_, 0) => Err(refused()),
            ('s', seconds) => Ok(Self::Time(Duration::from_secs(seconds))),
            ('m', minutes) => Ok(Self::Time(Duration::from_secs(60 * minutes))),
            ('h', hours) => Ok(Self::Time(Duration::from_secs(3600 * hours))),
            ('e', _) => Ok(Self::Epochs(number as usize)),
            _ => Err(refused()),
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => match time.as_secs() {
                seconds if seconds > 0 && seconds.is_multiple_of(3600) => write!(formatter, "{}h", seconds / 3600),
                seconds if seconds > 0 && seconds.is_multiple_of(60) => write!(formatter, "{}m", seconds / 60),
                seconds => write!(formatter, "{seconds}s"),
            },
            Self::Epochs(epochs) => write!(formatter, "{epochs}e"),
            Self::Never => formatter.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["30s", "90s", "10m", "2h", "1e", "100e", "none"] {
            assert_eq!(text.parse::<Interval>().unwrap().to_string(), text);
        }
        assert_eq!("120m".parse::<Interval>().unwrap().to_string(), "2h");
        assert_eq!(Interval::default().to_string(), "10m");
        for text in ["", "m", "0s", "0e", "-1m", "1.5m", "10", "10 m", "99999999999s", "10é", "never"] {
            assert!(text.parse::<Interval>().unwrap_err().ends_with(&format!("found {text}")), "{text}");
        }
    }

    #[test]
    fn is_over_after_the_time_or_the_epochs() {
        let second = Duration::from_secs(1);
        assert!(Interval::Time(second).is_over(second, 0) && !Interval::Time(second).is_over(second / 2, 99));
        assert!(Interval::Epochs(5).is_over(second, 5) && !Interval::Epochs(5).is_over(600 * second, 4));
        assert!(!Interval::Never.is_over(Duration::MAX, usize::MAX));
    }
}
