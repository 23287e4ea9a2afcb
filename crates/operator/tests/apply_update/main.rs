//! Updates carried out: on a directory whose controllers are simulated, and on a real control plane.

mod apply;
mod failing;
mod interrupted;
mod prepare;
mod prune;
mod real;
mod render;
mod world;
