//! Statistics of the columns of a table, from which their types are detected.

use super::missing::MissingWords;
use super::parse::{BOOLEANS, boolean, has_leading_zero, may_be_number, parse, unit};
use super::records::Records;
use crate::error::Result;
use crate::frames::FrameColumn;
use crate::schema::Notation;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Notations other than plain numbers, in order of precedence.
pub(in crate::tables) const OTHERS: [Notation; 5] =
    [Notation::YearFirst, Notation::DayFirst, Notation::MonthFirst, Notation::Point, Notation::Comma];

/// Minimum number of rows of a column that is recognised as row numbers or ids.
pub(in crate::tables) const MIN_ID_ROWS: usize = 20;

/// Sums over the numbers of a column.
#[derive(Debug, Default, Clone)]
pub(in crate::tables) struct Sums {
    pub count: usize,
    pub nonzero: usize,
    pub sum: f64,
    pub sum_of_squares: f64,
}

/// Values of a column read in one notation.
#[derive(Debug, Clone)]
pub(in crate::tables) struct Reading {
    pub notation: Notation,
    pub sums: Sums,
    /// Line and text of the first value in another notation.
    pub failure: Option<(u64, String)>,
}

/// Statistics of a column.
#[derive(Debug, Clone)]
pub(in crate::tables) struct Profile {
    pub filled: usize,
    pub missing: usize,
    pub plain: Reading,
    pub leading_zeros: usize,
    /// Smallest and largest number if all are whole.
    whole: Option<(i64, i64)>,
    /// Whether the column has a categorical type.
    pub categorical: bool,
    /// Statistics of words, for columns that may not be plain numbers.
    pub words: Words,
}

/// Statistics of the values of a column as words.
#[derive(Debug, Clone)]
pub(in crate::tables) struct Words {
    /// Distinct values in alphabetical order.
    pub values: BTreeSet<String>,
    /// Number of words, separated by blanks, over all values.
    pub tokens: usize,
    /// The column in the notations of [`OTHERS`].
    pub readings: Vec<Reading>,
    pub booleans: Sums,
    /// Which words of [`BOOLEANS`] occur.
    pub boolean_words: [[bool; 2]; BOOLEANS.len()],
    /// Distinct units of numbers, such as currency signs.
    pub units: Vec<&'static str>,
}

/// Reads the statistics of the feature columns. `needs_words` tells for the name of a column whether its words
/// are needed even if all its values are numbers.
pub(in crate::tables) fn profiles(
    records: &dyn Records,
    missing: &MissingWords,
    needs_words: &dyn Fn(&str) -> bool,
) -> Result<Vec<Profile>> {
    let (sheet, columns) = (records.sheet(), records.columns());
    let typed: Vec<Option<&FrameColumn>> = columns.iter().map(|at| sheet.typed(*at)).collect();
    let of_column = |column: &FrameColumn| Profile::of_column(&column.without(missing.numbers()));
    let profile = |column: &Option<&FrameColumn>| column.map_or_else(Profile::default, of_column);
    let mut profiles: Vec<Profile> = typed.par_iter().map(profile).collect();
    profiles.iter_mut().zip(columns).for_each(|(profile, at)| profile.categorical = sheet.is_categorical(*at));
    let texts = columns.iter().zip(&mut profiles).zip(&typed).filter(|(_, column)| column.is_none());
    let mut texts: Vec<(usize, &mut Profile)> = texts.map(|((at, profile), _)| (*at, profile)).collect();
    if !texts.is_empty() {
        records.for_each(&mut |_, line, row| {
            texts.iter_mut().for_each(|(at, profile)| profile.add(line, &row[*at], missing));
            Ok(())
        })?;
    }
    let booleans = |at: usize| matches!(sheet.typed(at), Some(FrameColumn::Booleans { .. }));
    let needed =
        |at: usize, profile: &Profile| (profile.is_unclear() || needs_words(&sheet.header[at])) && !booleans(at);
    let mut unclear: Vec<(usize, &mut Profile)> =
        columns.iter().copied().zip(&mut profiles).filter(|(at, profile)| needed(*at, profile)).collect();
    if !unclear.is_empty() {
        records.for_each(&mut |_, line, row| {
            unclear.iter_mut().for_each(|(at, profile)| profile.words.add(line, &row[*at], missing));
            Ok(())
        })?;
    }
    Ok(profiles)
}

impl Default for Profile {
    fn default() -> Self {
        let words = Words {
            values: BTreeSet::new(),
            tokens: 0,
            readings: OTHERS.map(Reading::new).to_vec(),
            booleans: Sums::default(),
            boolean_words: Default::default(),
            units: Vec::new(),
        };
        let (plain, whole) = (Reading::new(Notation::Plain), Some((i64::MAX, i64::MIN)));
        Self { filled: 0, missing: 0, plain, leading_zeros: 0, whole, categorical: false, words }
    }
}

impl Profile {
    /// Reads the statistics of a column of numbers, without its words, or of booleans.
    fn of_column(column: &FrameColumn) -> Self {
        match column {
            FrameColumn::Booleans { .. } => Self::of_booleans(column),
            _ => {
                let mut profile = Self::default();
                column.for_each_number(|number| match number {
                    Some(number) => {
                        profile.filled += 1;
                        profile.plain.sums.add(number);
                        profile.add_whole(Some(number));
                    }
                    None => profile.missing += 1,
                });
                profile
            }
        }
    }

    /// Reads the statistics of a column of booleans: those of the first false and true, with the counts of all.
    fn of_booleans(column: &FrameColumn) -> Self {
        let (mut booleans, mut row, mut missing) = (Sums::default(), 0, 0);
        let mut first = [None; 2];
        column.for_each_number(|value| {
            match value {
                Some(value) => {
                    booleans.add(value);
                    first[usize::from(value != 0.0)].get_or_insert(row);
                }
                None => missing += 1,
            }
            row += 1;
        });
        let mut profile = Self::default();
        first.sort_unstable();
        for row in first.into_iter().flatten() {
            let (line, field) = (row as u64 + 1, column.text(row));
            profile.add(line, &field, &MissingWords::default());
            profile.words.add(line, &field, &MissingWords::default());
        }
        (profile.filled, profile.missing, profile.words.tokens) = (booleans.count, missing, booleans.count);
        profile.words.booleans = booleans;
        profile
    }

    /// Adds a field of the column.
    fn add(&mut self, line: u64, field: &str, missing: &MissingWords) {
        if missing.include(field) {
            self.missing += 1;
            return;
        }
        self.filled += 1;
        self.leading_zeros += usize::from(has_leading_zero(field));
        let number = self.plain.add(line, field);
        self.add_whole(number);
    }

    /// Extends the range of the numbers if this one is whole too.
    fn add_whole(&mut self, number: Option<f64>) {
        let whole = number.filter(|number| number.abs() < 1e15 && (*number as i64) as f64 == *number);
        let whole = whole.map(|number| number as i64);
        self.whole = self.whole.zip(whole).map(|((least, most), number)| (least.min(number), most.max(number)));
    }

    /// Returns whether words are needed to decide on the type.
    fn is_unclear(&self) -> bool {
        self.plain.sums.count < self.filled || self.leading_zeros > 0 || self.categorical || self.may_number_rows()
    }

    /// Returns whether all numbers are whole.
    pub fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Returns whether the values span 0, 1, ... or 1, 2, ... without room for repetitions.
    fn may_number_rows(&self) -> bool {
        let spans = |(least, most): (i64, i64)| [0, 1].contains(&least) && most - least + 1 == self.filled as i64;
        self.missing == 0 && self.filled >= MIN_ID_ROWS && self.whole.is_some_and(spans)
    }

    /// Returns whether the values are 0, 1, ... or 1, 2, ..., each once, in any order.
    pub fn numbers_rows(&self) -> bool {
        self.may_number_rows() && self.words.values.len() == self.filled
    }
}

impl Words {
    fn add(&mut self, line: u64, field: &str, missing: &MissingWords) {
        if missing.include(field) {
            return;
        }
        if !self.values.contains(field) {
            self.values.insert(field.to_owned());
        }
        self.tokens += field.split_whitespace().count();
        if let Some((pair, value)) = boolean(field) {
            self.boolean_words[pair][usize::from(value)] = true;
            self.booleans.add(f64::from(u8::from(value)));
        }
        // Most words are no numbers in any notation. Units matter in columns of numbers only.
        if may_be_number(field) {
            self.readings.iter_mut().for_each(|reading| _ = reading.add(line, field));
            self.units.extend(unit(field).filter(|unit| !self.units.contains(unit)));
        } else {
            self.readings.iter_mut().for_each(|reading| reading.fail(line, field));
        }
    }
}

impl Reading {
    fn new(notation: Notation) -> Self {
        Self { notation, sums: Sums::default(), failure: None }
    }

    /// Adds a field; returns its number.
    fn add(&mut self, line: u64, field: &str) -> Option<f64> {
        let number = parse(self.notation, field);
        match number {
            Some(number) => self.sums.add(number),
            None => self.fail(line, field),
        }
        number
    }

    /// Adds a field that is not in this notation.
    fn fail(&mut self, line: u64, field: &str) {
        if self.failure.is_none() {
            self.failure = Some((line, field.to_owned()));
        }
    }
}

impl Sums {
    fn add(&mut self, number: f64) {
        self.count += 1;
        self.nonzero += usize::from(number != 0.0);
        self.sum += number;
        self.sum_of_squares += number * number;
    }

    /// Returns the mean of the numbers.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// Returns the standard deviation, or 1 if all numbers are equal.
    pub fn deviation(&self) -> f32 {
        let mean = self.mean();
        let deviation = (self.sum_of_squares / self.count as f64 - mean * mean).max(0.0).sqrt() as f32;
        if deviation > 0.0 { deviation } else { 1.0 }
    }

    /// Returns the root mean square of the numbers.
    pub fn root_mean_square(&self) -> f64 {
        (self.sum_of_squares / self.count.max(1) as f64).sqrt()
    }
}
