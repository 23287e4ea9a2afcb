//! Graph-data, the graph that it becomes, and every question about it, on graphs small enough to read.
//!
//! One program: each file of its own would be compiled, linted and linked with all dependencies once more.

mod blocks;
mod channels;
mod declared;
mod diff;
mod fixtures;
mod limits;
mod lint;
mod paths;
mod properties;
mod releases;
mod render;
mod sketch;
mod stranded;
mod wire;
