//! Learning Discrete Structures (LDS).
