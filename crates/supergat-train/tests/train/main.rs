//! Tests of whole trainings: checkpoints, and systems that train in rounds.

mod checkpoints;
mod rounds;
