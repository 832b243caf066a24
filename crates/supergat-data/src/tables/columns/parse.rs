//! Parses values that are read as numbers: numbers with separators and currency signs, booleans and dates.

use crate::schema::Notation;

/// Signs and codes of currencies, and the percent sign, which may precede or follow a number.
const UNITS: [&str; 11] = ["$", "€", "£", "¥", "₹", "%", "EUR", "USD", "GBP", "CHF", "JPY"];
/// Words for false and true.
pub(in crate::tables) const BOOLEANS: [[&str; 2]; 4] = [["false", "true"], ["no", "yes"], ["f", "t"], ["n", "y"]];

/// Parses a field in a notation.
pub(in crate::tables) fn parse(notation: Notation, field: &str) -> Option<f64> {
    match notation {
        Notation::Plain => field.parse().ok(),
        Notation::Point => separated(field, ',', '.'),
        Notation::Comma => separated(field, '.', ','),
        Notation::Boolean => boolean(field).map(|(_, value)| f64::from(u8::from(value))),
        Notation::YearFirst | Notation::DayFirst | Notation::MonthFirst => days(notation, field),
    }
}

/// Returns whether a field may have one of the notations but booleans: it has a digit, and begins with one, with a
/// minus sign, or as a unit does. This is quicker than to parse it. Plain numbers may also begin in another way.
pub(in crate::tables) fn may_be_number(field: &str) -> bool {
    let begins = |c: char| c.is_ascii_digit() || c == '-' || UNITS.iter().any(|unit| unit.starts_with(c));
    field.trim_start().chars().next().is_some_and(begins) && field.bytes().any(|byte| byte.is_ascii_digit())
}

/// Parses a field as a feature. Plain numbers are rounded once, to single precision.
pub(in crate::tables) fn feature(notation: Notation, field: &str) -> Option<f32> {
    let value = match notation {
        Notation::Plain => field.parse::<f32>().ok(),
        other => parse(other, field).map(|value| value as f32),
    };
    value.filter(|value| value.is_finite())
}

/// Returns whether a field is a whole number with leading zeros, as in postal codes.
pub(in crate::tables) fn has_leading_zero(field: &str) -> bool {
    field.len() > 1 && field.starts_with('0') && field.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the pair of [`BOOLEANS`] that a field belongs to, and its value.
pub(in crate::tables) fn boolean(field: &str) -> Option<(usize, bool)> {
    let value = |pair: &[&str; 2]| pair.iter().position(|word| word.eq_ignore_ascii_case(field));
    BOOLEANS.iter().enumerate().find_map(|(pair, words)| value(words).map(|at| (pair, at == 1)))
}

/// Returns the value of a field of a mask: a boolean, 0 or 1.
pub(in crate::tables) fn mask(field: &str) -> Option<bool> {
    match field.parse::<f64>() {
        Ok(0.0) => Some(false),
        Ok(1.0) => Some(true),
        Ok(_) => None,
        Err(_) => boolean(field).map(|(_, value)| value),
    }
}

/// Returns the unit of a number, if it has one, and the number without it.
fn without_unit(text: &str) -> (Option<&'static str>, &str) {
    let found = UNITS.iter().find_map(|unit| {
        let rest = text.strip_prefix(unit).or_else(|| text.strip_suffix(unit))?;
        Some((Some(*unit), rest.trim()))
    });
    found.unwrap_or((None, text))
}

/// Returns the unit of a field that is a number with a unit.
pub(in crate::tables) fn unit(field: &str) -> Option<&'static str> {
    without_unit(field.trim_start_matches(['+', '-', ' '])).0
}

/// Parses a number with a unit or thousands separators. Blanks and apostrophes also separate thousands.
fn separated(field: &str, group: char, point: char) -> Option<f64> {
    let sign = |text: &str| text.strip_prefix('-').map(|rest| rest.trim_start().to_owned());
    let (outer, field) = sign(field).map_or((1.0, field.to_owned()), |rest| (-1.0, rest));
    let (_, number) = without_unit(&field);
    let (inner, number) = sign(number).map_or((1.0, number.to_owned()), |rest| (-1.0, rest));
    let number = number.replace([' ', '\u{a0}', '\u{202f}', '\''], &group.to_string());
    let (whole, fraction) = number.split_once(point).unwrap_or((&number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(group);
    let first = groups.next().filter(|first| digits(first))?;
    let mut text = first.to_owned();
    for (at, group) in groups.enumerate() {
        // Groups after a leading zero are those of a telephone number.
        if group.len() != 3 || !digits(group) || at == 0 && (first.len() > 3 || first.starts_with('0')) {
            return None;
        }
        text += group;
    }
    let value: f64 = digits(fraction).then(|| format!("{text}.{fraction}"))?.parse().ok()?;
    (outer * inner < 0.0).then_some(-value).or(Some(value))
}

/// Parses a date, optionally with a time, as days since 1970-01-01.
fn days(notation: Notation, field: &str) -> Option<f64> {
    let (date, time) = field.split_once(['T', ' ']).unwrap_or((field, ""));
    let separator = date.chars().find(|c| !c.is_ascii_digit()).filter(|c| "-/.".contains(*c))?;
    let parts: Vec<&str> = date.split(separator).collect();
    let [first, second, third] = parts[..] else { return None };
    let (year, month, day) = match notation {
        Notation::YearFirst => (first, second, third),
        Notation::DayFirst => (third, second, first),
        // Dates with points have the day first.
        Notation::MonthFirst if separator != '.' => (third, first, second),
        _ => return None,
    };
    let number = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        let digits = lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<i64>().ok()).flatten()
    };
    let (year, month, day) = (number(year, 4..=4)?, number(month, 1..=2)?, number(day, 1..=2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last one; 719468 days from 0000-03-01 to 1970-01-01.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let whole = 365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(whole as f64 + if time.is_empty() { 0.0 } else { day_fraction(time)? })
}

/// Parses a time such as `12:30`, `12:30:59.5Z` or `12:30:00+02:00` as a fraction of a day.
fn day_fraction(time: &str) -> Option<f64> {
    let time = time.strip_suffix(['Z', 'z']).unwrap_or(time);
    let (clock, offset) = match time.rfind(['+', '-']) {
        Some(at) => (&time[..at], Some(&time[at..])),
        None => (time, None),
    };
    let minutes = |text: &str| -> Option<f64> {
        let mut parts = text.split(':');
        let mut next = |limit: f64| match parts.next() {
            Some(part) if part.starts_with(|c: char| c.is_ascii_digit()) => {
                part.parse::<f64>().ok().filter(|value| *value < limit).map(Some)
            }
            Some(_) => None,
            None => Some(None),
        };
        let (hours, minutes, seconds) = (next(24.0)??, next(60.0)??, next(61.0)?.unwrap_or(0.0));
        parts.next().is_none().then_some(60.0 * hours + minutes + seconds / 60.0)
    };
    let shift = match offset {
        Some(offset) => minutes(&offset[1..])? * if offset.starts_with('-') { -1.0 } else { 1.0 },
        None => 0.0,
    };
    Some((minutes(clock)? - shift) / 1440.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::columns::profile::OTHERS;
    use proptest::prelude::*;

    #[test]
    fn parses_numbers_with_separators_and_units() {
        for (field, point, comma) in [
            ("$1,234.50", Some(1234.5), None),
            ("1.234,50 EUR", None, Some(1234.5)),
            ("-€ 3", Some(-3.0), Some(-3.0)),
            ("$-3.25", Some(-3.25), None),
            ("3,25", None, Some(3.25)),
            ("1,234", Some(1234.0), Some(1.234)),
            ("12 %", Some(12.0), Some(12.0)),
            ("1 234 567,8", None, Some(1_234_567.8)),
            ("1'234.5", Some(1234.5), None),
            ("1,23,456", None, None),
            ("030 123 456", None, None),
            ("1234,567", None, Some(1234.567)),
            ("1,2,3", None, None),
            ("$", None, None),
            ("1.", None, None),
            ("twelve", None, None),
        ] {
            assert_eq!((parse(Notation::Point, field), parse(Notation::Comma, field)), (point, comma), "{field}");
        }
        assert_eq!((unit("-$3"), unit("3 EUR"), unit("3")), (Some("$"), Some("EUR"), None));
    }

    #[test]
    fn parses_dates_as_days() {
        for (notation, field, expected) in [
            (Notation::YearFirst, "1970-01-01", Some(0.0)),
            (Notation::YearFirst, "2024-03-01", Some(19783.0)),
            (Notation::YearFirst, "2024-03-01T12:00:00Z", Some(19783.5)),
            (Notation::YearFirst, "2024-03-01 06:00", Some(19783.25)),
            (Notation::YearFirst, "2024-03-01T01:00:00+01:00", Some(19783.0)),
            (Notation::YearFirst, "1969-12-31", Some(-1.0)),
            (Notation::YearFirst, "2023-02-29", None),
            (Notation::YearFirst, "2024-13-01", None),
            (Notation::YearFirst, "2024-03-01 noon", None),
            (Notation::DayFirst, "01.03.2024", Some(19783.0)),
            (Notation::DayFirst, "1/3/2024", Some(19783.0)),
            (Notation::MonthFirst, "03/01/2024", Some(19783.0)),
            (Notation::MonthFirst, "03.01.2024", None),
            (Notation::MonthFirst, "31/01/2024", None),
            (Notation::DayFirst, "2024-03-01", None),
            (Notation::DayFirst, "1.2", None),
        ] {
            assert_eq!(parse(notation, field), expected, "{field}");
        }
    }

    proptest! {
        #[test]
        fn numbers_may_be_numbers(field in "[-+$€%EURUSDT 0-9.,'/:]{0,12}|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}|[-$€ ]{0,2}[0-9]{1,3}[,. ][0-9]{3} ?(EUR|%)?") {
            for notation in OTHERS {
                prop_assert!(may_be_number(&field) || parse(notation, &field).is_none(), "{field:?} {notation:?}");
            }
        }
    }

    #[test]
    fn recognises_masks_and_leading_zeros() {
        assert_eq!(["True", "0", "1.0", "", "2"].map(mask), [Some(true), Some(false), Some(true), None, None]);
        assert!(has_leading_zero("01234") && !has_leading_zero("0") && !has_leading_zero("0.5"));
    }
}
