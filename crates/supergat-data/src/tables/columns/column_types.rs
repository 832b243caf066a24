//! Detects the types of columns.

use super::parse::BOOLEANS;
use super::profile::{MIN_ID_ROWS, Profile, Reading, Sums};
use crate::error::Result;
use crate::options::{TableOptions, names};
use crate::schema::{ColumnType, Notation};
use crate::tables::rows::sheet::Sheet;
use crate::words::{count, shown};
use std::collections::HashMap;

/// Maximum number of categories of a column with fewer than two nodes per word on average.
///
/// Such a column with more distinct words contains names or free text.
const MAX_RARE_WORDS: usize = 50;
/// Minimum share of distinct values of a column of ids, in percent.
const ID_PERCENT: usize = 95;
/// Minimum number of words per value of free text, on average.
const TEXT_WORDS: usize = 3;
/// Minimum number of distinct values of free text.
const MIN_TEXTS: usize = 10;

/// Reason for categories that needs no note.
pub(in crate::tables) const WORDS: &str = "words";

/// Contents of a column.
#[derive(Debug)]
pub(in crate::tables) enum Content {
    /// Values that are read as numbers.
    Numbers(Notation, Sums),
    /// Values that are categories.
    Categories,
    /// Free text.
    Text,
    /// Values that are not used, as they are ids or missing.
    Unused(ColumnType),
}

/// Content of a column and the reason for it.
pub(in crate::tables) type Detected = (Content, String);

/// Type that the user requests for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tables) enum Requested {
    Number,
    Category,
    Date,
    Text,
}

/// Returns the requested type of each column; a column with two types is an error.
pub(in crate::tables) fn requested<'a>(
    sheet: &Sheet,
    options: &'a TableOptions,
) -> Result<HashMap<&'a str, Requested>> {
    let types = [Requested::Number, Requested::Category, Requested::Date, Requested::Text];
    let mut all = HashMap::new();
    for ((parameter, list), kind) in options.column_lists().into_iter().zip(types) {
        for name in names(list) {
            if all.insert(name, kind).is_some_and(|other| other != kind) {
                let at = sheet.header.iter().position(|column| column == name).unwrap_or(usize::MAX);
                let advice = format!("remove it from parameter `{parameter}` or from the other one");
                return Err(sheet.at(0, at).error("one type per column", "two types requested", advice));
            }
        }
    }
    Ok(all)
}

/// Decides on the content of the column `at`.
pub(in crate::tables) fn detect(
    sheet: &Sheet,
    at: usize,
    profile: &Profile,
    requested: Option<Requested>,
) -> Result<Detected> {
    if profile.filled == 0 {
        return Ok((Content::Unused(ColumnType::Empty), "no values".to_owned()));
    }
    let because = |parameter: &str| format!("requested with parameter `{parameter}`");
    match requested {
        Some(Requested::Category) => Ok((Content::Categories, because("categorical"))),
        Some(Requested::Text) => Ok((Content::Text, because("text"))),
        Some(Requested::Number) => {
            let (best, _) = best_number(profile);
            let content = whole_column(sheet, at, profile, best, Some("numeric"))?;
            Ok((content, because("numeric")))
        }
        Some(Requested::Date) => {
            if is_ambiguous(profile) {
                let expected = "dates with the day or the month clearly first";
                let found = "days from 1 to 12 only".to_owned();
                return Err(sheet.at(0, at).error(expected, found, "write the dates as 2024-03-01"));
            }
            let best = profile.words.readings[..3].iter().rev().max_by_key(|reading| reading.sums.count);
            let content = whole_column(sheet, at, profile, best.unwrap_or(&profile.plain), Some("date"))?;
            Ok((content, because("date")))
        }
        None if profile.categorical => Ok(detect_booleans(profile).unwrap_or_else(|| detect_texts(profile))),
        None if profile.plain.sums.count == profile.filled => Ok(detect_numbers(sheet, at, profile)),
        None => detect_words(sheet, at, profile),
    }
}

/// Returns the numbers of a column in a notation, or an error at the first value in another one. `parameter` requests the
/// notation.
fn whole_column(
    sheet: &Sheet,
    at: usize,
    profile: &Profile,
    reading: &Reading,
    parameter: Option<&str>,
) -> Result<Content> {
    let Some((line, word)) = &reading.failure else {
        return Ok(Content::Numbers(reading.notation, reading.sums.clone()));
    };
    let (one, many) = match reading.notation.column_type() {
        ColumnType::Date => ("a date", "dates"),
        _ => ("a number", "numbers"),
    };
    let (filled, others) = (profile.filled, profile.filled - reading.sums.count);
    let share = match others {
        _ if others == filled => format!("no value of the column is {one}"),
        1 => format!("the only one of {filled} values that is not {one}"),
        _ => format!("the first of {others} values, of {filled}, that are not {many}"),
    };
    let unless = parameter.map_or("leave the column out with parameter `ignore_columns`".to_owned(), |parameter| {
        format!("do not name the column in parameter `{parameter}`")
    });
    let advice = format!(
        "fix the value, leave it empty or name it in parameter `missing_words` if it is not known, or {unless}"
    );
    Err(sheet.at(*line, at).error(one, format!("`{}` ({share})", shown(word)), advice))
}

/// Returns the notation of numbers that most values have, and whether several notations fit all values.
fn best_number(profile: &Profile) -> (&Reading, bool) {
    let [.., point, comma] = &profile.words.readings[..] else { return (&profile.plain, false) };
    let best = [comma, point, &profile.plain].into_iter().max_by_key(|reading| reading.sums.count);
    (best.unwrap_or(&profile.plain), point.failure.is_none() && comma.failure.is_none())
}

/// Returns whether all values are dates both with the day and with the month first.
fn is_ambiguous(profile: &Profile) -> bool {
    let counts =
        |notation| profile.words.readings.iter().any(|r| r.notation == notation && r.sums.count == profile.filled);
    counts(Notation::DayFirst) && counts(Notation::MonthFirst)
}

/// Detects the type of a column of plain numbers.
fn detect_numbers(sheet: &Sheet, at: usize, profile: &Profile) -> Detected {
    let distinct = profile.words.values.len();
    if profile.leading_zeros > 0 {
        let why = format!(
            "leading 0 in {}, as in codes (parameter `numeric` reads numbers)",
            count(profile.leading_zeros, "value")
        );
        return categories_or_ids(profile, why);
    }
    if profile.numbers_rows() {
        let why = "numbers the rows (parameter `numeric` uses it)".to_owned();
        return (Content::Unused(ColumnType::Id), why);
    }
    let named = is_id_name(&sheet.header[at]) && profile.is_whole();
    if named && distinct == profile.filled && distinct >= MIN_ID_ROWS {
        let why = "named like an id, and every row has another whole number (parameter `numeric` uses it)".to_owned();
        return (Content::Unused(ColumnType::Id), why);
    }
    (Content::Numbers(Notation::Plain, profile.plain.sums.clone()), "all values are numbers".to_owned())
}

/// Returns whether the name of a column says that it contains ids. Such names end in the word `id`.
pub(in crate::tables) fn is_id_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let ends = |ending: &str| lower.len() > ending.len() && lower.ends_with(ending);
    ["id", "uuid", "guid"].contains(&lower.as_str())
        || ends("_id")
        || ends(" id")
        || ends("-id")
        || name.ends_with("Id")
}

/// Returns booleans, if all values are the two words of a pair.
fn detect_booleans(profile: &Profile) -> Option<Detected> {
    let words = &profile.words;
    let both = |pair: &[bool; 2]| pair[0] && pair[1];
    let pairs = words.boolean_words.iter().filter(|pair| pair[0] || pair[1]).count();
    let pair = words.boolean_words.iter().position(both)?;
    (words.booleans.count == profile.filled && pairs == 1).then(|| {
        let [no, yes] = BOOLEANS[pair];
        let why = format!("all values are {yes} or {no}");
        (Content::Numbers(Notation::Boolean, words.booleans.clone()), why)
    })
}

/// Detects the type of a column with values that are not plain numbers.
fn detect_words(sheet: &Sheet, at: usize, profile: &Profile) -> Result<Detected> {
    let words = &profile.words;
    let whole = |reading: &&Reading| reading.sums.count == profile.filled;
    if let Some(booleans) = detect_booleans(profile) {
        return Ok(booleans);
    }
    if is_ambiguous(profile) {
        let why = "dates in which day and month cannot be told apart; write them as 2024-03-01".to_owned();
        return Ok(categories_or_ids(profile, why));
    }
    if let Some(date) = words.readings[..3].iter().find(whole) {
        let first = match date.notation {
            Notation::YearFirst => "year",
            Notation::DayFirst => "day",
            _ => "month",
        };
        let why = format!("all values are dates with the {first} first, as days since 1970-01-01");
        return Ok((Content::Numbers(date.notation, date.sums.clone()), why));
    }
    let (best, either) = best_number(profile);
    if best.failure.is_none() && words.units.len() > 1 {
        let mut units = words.units.clone();
        units.sort_unstable();
        return Ok(categories_or_ids(profile, format!("amounts in different units ({})", units.join(", "))));
    }
    if best.failure.is_none() {
        let why = match (best.notation, either) {
            (_, true) if words.values.iter().any(|value| value.contains(',')) => {
                "all values are numbers, in which a comma is read as a thousands separator"
            }
            (Notation::Comma, _) => "all values are numbers with a decimal comma",
            _ => "all values are numbers with a unit or thousands separators",
        };
        return Ok((Content::Numbers(best.notation, best.sums.clone()), why.to_owned()));
    }
    let plain = profile.plain.sums.count;
    if profile.leading_zeros == 0 && 2 * plain >= profile.filled {
        return Ok((whole_column(sheet, at, profile, &profile.plain, None)?, String::new()));
    }
    let best = words.readings.iter().rev().max_by_key(|reading| reading.sums.count);
    if let Some((best, (line, word))) = best.and_then(|best| Some((best, best.failure.as_ref()?)))
        && 2 * best.sums.count >= profile.filled
    {
        let what = if best.notation.column_type() == ColumnType::Date { "dates" } else { "numbers" };
        let (count, filled, word, unit) = (best.sums.count, profile.filled, shown(word), sheet.unit());
        let why = format!("{count} of {filled} values are {what}, but not `{word}` in {unit} {line}");
        return Ok(categories_or_ids(profile, why));
    }
    Ok(detect_texts(profile))
}

/// Returns free text, categories or ids.
fn detect_texts(profile: &Profile) -> Detected {
    let words = &profile.words;
    if words.values.len() >= MIN_TEXTS
        && 2 * words.values.len() > profile.filled
        && words.tokens >= TEXT_WORDS * profile.filled
    {
        let average = words.tokens as f64 / profile.filled as f64;
        return (Content::Text, format!("{} different texts of {average:.0} words on average", words.values.len()));
    }
    categories_or_ids(profile, WORDS.to_owned())
}

/// Returns categories, or ids if almost every row has another value.
fn categories_or_ids(profile: &Profile, why: String) -> Detected {
    let distinct = profile.words.values.len();
    let almost_all = distinct >= MIN_ID_ROWS && 100 * distinct >= ID_PERCENT * profile.filled;
    if almost_all || distinct > MAX_RARE_WORDS && 2 * distinct > profile.filled {
        let what = format!("holds {distinct} different texts, not categories");
        let why = if why == WORDS { what } else { format!("{what}; {why}") };
        return (Content::Unused(ColumnType::Id), why);
    }
    (Content::Categories, why)
}
