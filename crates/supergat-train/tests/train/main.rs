//! Tests of whole trainings: checkpoints, and systems.

mod checkpoints;
mod systems;
