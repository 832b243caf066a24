//! Encodes the columns of a frame that contain numbers and booleans, without writing them as text.

use super::matrix::{Matrix, Target, missing_features, number};
use super::missing;
use crate::error::Result;
use crate::frames::FrameColumn;
use crate::schema::{Column, Missing, Notation};
use crate::tables::rows::sheet::Sheet;
use rayon::prelude::*;
use std::borrow::Cow;

/// Rows that one task encodes.
const BLOCK: usize = 512;

/// A column of numbers or booleans.
#[derive(Debug)]
pub(in crate::tables) struct Typed<'a> {
    target: Target<'a>,
    /// Position in the schema.
    pub number: usize,
    values: Cow<'a, FrameColumn>,
    mean: f32,
    deviation: Option<f32>,
}

impl<'a> Typed<'a> {
    /// Returns `None` if the schema does not read the values as what they are. The numbers in `missing` denote missing
    /// values.
    pub fn new(target: Target<'a>, values: &'a FrameColumn, missing: &[f64]) -> Option<Self> {
        let booleans = matches!(values, FrameColumn::Booleans { .. });
        match *target.column {
            Column::Number { mean, deviation, notation, .. }
                if notation == if booleans { Notation::Boolean } else { Notation::Plain } =>
            {
                Some(Self { target, number: target.number, values: values.without(missing), mean, deviation })
            }
            _ => None,
        }
    }

    fn scaled(&self, value: f32) -> f32 {
        self.deviation.map_or(value, |deviation| (value - self.mean) / deviation)
    }

    /// Returns the error for the value of a row that cannot be encoded.
    fn refused(&self, sheet: &Sheet, row: usize) -> Result<()> {
        let (line, at) = (sheet.line_of(row), self.target.at);
        let field = self.values.text(row);
        match field.is_empty() {
            true => Err(missing::refused(sheet.at(line, at))),
            false => number(sheet, line, at, &field, Notation::Plain).map(|_| ()),
        }
    }
}

/// Encodes the columns; returns the number of missing values of each.
pub(in crate::tables) fn encode(
    sheet: &Sheet,
    columns: &[Typed<'_>],
    treatment: Missing,
    matrix: &mut Matrix<'_>,
) -> Result<Vec<usize>> {
    let width = matrix.width;
    let rows = columns.first().map_or(0, |column| column.values.len());
    let blocks: Vec<Block> = match &mut matrix.dense {
        Some(dense) if !columns.is_empty() => {
            let blocks = dense.par_chunks_mut(BLOCK * width).enumerate();
            blocks.map(|(block, features)| encode_block(columns, treatment, block * BLOCK, features, width)).collect()
        }
        _ => Vec::new(),
    };
    if let Some((row, column)) = blocks.iter().find_map(|block| block.refused) {
        columns[column].refused(sheet, row)?;
    }
    if matrix.dense.is_none() {
        return encode_sparse(sheet, columns, treatment, matrix, rows);
    }
    let missing = |column: usize| blocks.iter().map(|block| block.missing[column]).sum();
    let missing: Vec<usize> = (0..columns.len()).map(missing).collect();
    if let Some(known) = &mut matrix.known {
        for column in columns.iter().zip(&missing).filter(|(_, missing)| **missing > 0).map(|(column, _)| column) {
            column.values.for_each_feature(0..rows, |row, value| {
                if value.is_none() {
                    known[row * width + column.target.first..][..column.target.column.width()].fill(false);
                }
            });
        }
    }
    Ok(missing)
}

/// Result of encoding a block of rows.
struct Block {
    /// Number of missing values of each column.
    missing: Vec<usize>,
    /// First row with a value that cannot be encoded, and the column of the value.
    refused: Option<(usize, usize)>,
}

fn encode_block(
    columns: &[Typed<'_>],
    treatment: Missing,
    first_row: usize,
    features: &mut [f32],
    width: usize,
) -> Block {
    let mut block = Block { missing: vec![0; columns.len()], refused: None };
    let rows = first_row..first_row + features.len() / width;
    for (number, column) in columns.iter().enumerate() {
        let first = column.target.first;
        let mut refuse = |row: usize| block.refused = [block.refused, Some((row, number))].into_iter().flatten().min();
        column.values.for_each_feature(rows.clone(), |row, value| {
            let features = &mut features[(row - first_row) * width + first..];
            match value {
                Some(value) if value.is_finite() => features[0] = column.scaled(value),
                None if treatment != Missing::Error => {
                    block.missing[number] += 1;
                    let values = missing_features(treatment, column.target.column);
                    values.for_each(|(offset, value)| features[offset] = value);
                }
                _ => refuse(row),
            }
        });
    }
    block
}

fn encode_sparse(
    sheet: &Sheet,
    columns: &[Typed<'_>],
    treatment: Missing,
    matrix: &mut Matrix<'_>,
    rows: usize,
) -> Result<Vec<usize>> {
    let mut missing = vec![0; columns.len()];
    for (column, missing) in columns.iter().zip(&mut missing) {
        let mut result = Ok(());
        let mut set = |row: usize, value: Option<f32>| match value {
            Some(value) if value.is_finite() => matrix.set(row, column.target.first, column.scaled(value)),
            None if treatment != Missing::Error => {
                *missing += 1;
                matrix.set_missing(treatment, column.target.column, row, column.target.first)
            }
            _ => column.refused(sheet, row),
        };
        column.values.for_each_feature(0..rows, |row, value| {
            if result.is_ok() {
                result = set(row, value);
            }
        });
        result?;
    }
    Ok(missing)
}
