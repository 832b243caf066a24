//! Self-supervised graph attention networks: node classification on graphs with noisy links.
